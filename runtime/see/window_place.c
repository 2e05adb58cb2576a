/* SPDX-License-Identifier: MIT */
/*
 * Where a window is: the socket's path made from its template, the socket itself, and a sign by which it is found when
 * only the process is known. All of it is taken down at the end of the run, but never a file that is another's.
 */
#include <coir/listen.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/see/template.h"
#include "runtime/see/window.h"

/* Whoever may look at this process's descriptors reads it there. One that cannot be made is done without. */
static int make_sign(const char *path)
{
    char name[16 + PATH_MAX], here[PATH_MAX];

    if (*path == '/' || *path == '@')
        snprintf(name, sizeof name, "coir-see:%s", path);
    else if (getcwd(here, sizeof here))
        snprintf(name, sizeof name, "coir-see:%.*s/%s", PATH_MAX - 110, here, path);
    else
        return -1;
    return memfd_create(name, MFD_CLOEXEC);          /* fails for a name of over 249 bytes */
}

static const char *why(int err)
{
    switch (err) {
    case -ENAMETOOLONG: return "a socket's path has at most 107 bytes";
    case -EADDRINUSE: return "another process listens there, or it is no socket";
    default: return coir_template_why(err);
    }
}

bool coir_window_place(struct coir_window *w, const char *template)
{
    const struct coir_listen_options mine = { .backlog = COIR_WINDOW_CLIENTS, .mode = 0600 };
    char where[sizeof w->path + 8];
    struct stat st;
    int err = coir_template_expand(template, w->path, sizeof w->path);

    if (!err) {
        snprintf(where, sizeof where, "unix:%s", w->path);
        w->listener = coir_listen(where, &mine);
        err = w->listener < 0 ? w->listener : 0;
    }
    if (err) {
        fprintf(stderr, "coir: nobody will see this run: no window at \"%s\": %s\n", template, why(err));
        return false;
    }
    fcntl(w->listener, F_SETFL, fcntl(w->listener, F_GETFL) | O_NONBLOCK);
    if (w->path[0] != '@' && lstat(w->path, &st) == 0) {
        w->dev = st.st_dev;
        w->ino = st.st_ino;
    }
    w->sign = make_sign(w->path);
    return true;
}

void coir_window_unplace(struct coir_window *w)
{
    struct stat st;

    if (w->path[0] != '@' && lstat(w->path, &st) == 0 && st.st_dev == w->dev && st.st_ino == w->ino)
        unlink(w->path);
    close(w->listener);
    if (w->sign >= 0)
        close(w->sign);
    w->listener = w->sign = -1;
}
