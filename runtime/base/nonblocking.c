/* SPDX-License-Identifier: MIT */
/*
 * Who holds the mode of which descriptor: a list, since there are hardly more than the threads of a pool. The first
 * to hold a number finds out what it is; the others take that over.
 */
#include "runtime/base/nonblocking.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>

/* Guards the list, and the mode of every descriptor in it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct coir_nonblocking *holds;

static struct coir_nonblocking *find(int fd)
{
    struct coir_nonblocking *h = holds;

    while (h && h->fd != fd)
        h = h->next;
    return h;
}

static int make(struct coir_nonblocking *hold)
{
    const struct coir_nonblocking *const other = find(hold->fd);
    int flags;

    if (other) {
        hold->blocking = other->blocking;
        return 0;
    }
    flags = fcntl(hold->fd, F_GETFL);
    hold->blocking = flags >= 0 && !(flags & O_NONBLOCK);
    return flags < 0 || (hold->blocking && fcntl(hold->fd, F_SETFL, flags | O_NONBLOCK) < 0) ? -errno : 0;
}

int coir_nonblocking_begin(struct coir_nonblocking *hold, int fd)
{
    int err;

    hold->fd = fd;
    pthread_mutex_lock(&lock);
    err = make(hold);
    if (!err) {
        hold->next = holds;
        holds = hold;
    }
    pthread_mutex_unlock(&lock);
    return err;
}

void coir_nonblocking_end(struct coir_nonblocking *hold)
{
    struct coir_nonblocking **at = &holds;

    pthread_mutex_lock(&lock);
    while (*at != hold)
        at = &(*at)->next;
    *at = hold->next;
    if (hold->blocking && !find(hold->fd))
        fcntl(hold->fd, F_SETFL, fcntl(hold->fd, F_GETFL) & ~O_NONBLOCK);
    pthread_mutex_unlock(&lock);
}

bool coir_is_nonblocking(int fd)
{
    const struct coir_nonblocking *other;
    bool is;

    pthread_mutex_lock(&lock);
    other = find(fd);
    if (other) {
        is = !other->blocking;
    } else {
        const int flags = fcntl(fd, F_GETFL);
        is = flags >= 0 && (flags & O_NONBLOCK);
    }
    pthread_mutex_unlock(&lock);
    return is;
}
