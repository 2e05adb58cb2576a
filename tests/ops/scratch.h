/* SPDX-License-Identifier: MIT */
/*
 * For tests of files: a folder of the program's own that is the working directory and goes at its end, the
 * number of open descriptors, and a shorthand for an await whose status is known. Included once a program.
 */
#ifndef COIR_TESTS_OPS_SCRATCH_H
#define COIR_TESTS_OPS_SCRATCH_H

#include <coir/coir.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

/* In a body whose frame is f: awaits, and checks the status. */
#define SAYS(expected, slot, op, ...) do { \
    coir_await(f, slot, op, __VA_ARGS__); \
    EQ(coir_status(slot), expected, "%s: %s at line %d", #op, coir_strerror(expected), __LINE__); \
    } while (0)

static char scratch_folder[64];

static inline void scratch_begin(void)
{
    const char *where = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";

    snprintf(scratch_folder, sizeof scratch_folder, "%s/coir-test-XXXXXX", where);
    if (!mkdtemp(scratch_folder) || chdir(scratch_folder) < 0)
        SKIP_ALL("no folder under %s", where);
}

static inline int scratch_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static inline void scratch_end(void)
{
    if (chdir("/") == 0)
        nftw(scratch_folder, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static inline int open_descriptors(void)
{
    DIR *fds = opendir("/proc/self/fd");
    int n = -3;                             /* ".", "..", and this one */

    if (!fds)
        return -1;
    while (readdir(fds))
        n++;
    closedir(fds);
    return n;
}

/* A file with `n` bytes of `what`. */
static inline void make_file(const char *path, char what, size_t n)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    while (n-- > 0 && write(fd, &what, 1) == 1)
        ;
    close(fd);
}

static inline long long size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) < 0 ? -1 : (long long)st.st_size;
}

#endif
