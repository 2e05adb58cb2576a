/* SPDX-License-Identifier: MIT */
/*
 * Whole files. See output.h. A file that is not finished has another name, in the folder of the one it will get; it is
 * gone again whatever goes wrong, and signals that end the process are taken when it has its name or is gone.
 */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_all(int fd, char *to, size_t n)
{
    for (size_t done = 0; done < n;) {
        const ssize_t got = read(fd, to + done, n - done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        done += (size_t)got;
    }
    return 0;
}

int cli_read_file(const char *path, void **bytes, size_t *length, struct stat *file)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    void *room = NULL;
    int status = 0;

    if (fd < 0)
        return -errno;
    if (fstat(fd, file) < 0)
        status = -errno;
    else if (!S_ISREG(file->st_mode))
        status = S_ISDIR(file->st_mode) ? -EISDIR : -EINVAL;
    else if (!(room = malloc((size_t)file->st_size + 1)))
        status = -ENOMEM;
    else
        status = read_all(fd, room, (size_t)file->st_size);
    close(fd);
    if (status < 0) {
        free(room);
        return status;
    }
    *bytes = room;
    *length = (size_t)file->st_size;
    return 0;
}

/* ---- writing ---- */

static int write_all(int fd, const char *from, size_t n)
{
    while (n > 0) {
        const ssize_t put = write(fd, from, n);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -errno;
        from += put;
        n -= (size_t)put;
    }
    return 0;
}

static int fill(int fd, mode_t mode, const struct iovec *parts, size_t n)
{
    const mode_t mask = umask(0);
    int status = 0;

    umask(mask);
    for (size_t i = 0; i < n && status == 0; i++)
        status = write_all(fd, parts[i].iov_base, parts[i].iov_len);
    if (status == 0 && fchmod(fd, mode & ~mask) < 0)
        status = -errno;
    return status;
}

/* As cli_write_file, with signals held back. */
static int write_beside(const char *path, mode_t mode, const struct iovec *parts, size_t n)
{
    const char *const slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    char other[PATH_MAX];
    int fd, status;

    if ((size_t)snprintf(other, sizeof other, "%.*s.coir-XXXXXX", (int)folder, path) >= sizeof other)
        return -ENAMETOOLONG;
    fd = mkostemp(other, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    status = fill(fd, mode, parts, n);
    if (close(fd) < 0 && status == 0)
        status = -errno;
    if (status == 0 && rename(other, path) < 0)
        status = -errno;
    if (status < 0)
        unlink(other);
    return status;
}

int cli_write_file(const char *path, mode_t mode, const struct iovec *parts, size_t n)
{
    struct sigaction before, ignore = { .sa_handler = SIG_IGN };
    sigset_t held, were;
    int status;

    sigemptyset(&held);
    sigaddset(&held, SIGHUP);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigprocmask(SIG_BLOCK, &held, &were);
    sigaction(SIGXFSZ, &ignore, &before);           /* a limit on files is -EFBIG then */
    status = write_beside(path, mode, parts, n);
    sigaction(SIGXFSZ, &before, NULL);
    sigprocmask(SIG_SETMASK, &were, NULL);
    return status;
}
