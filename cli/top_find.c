/* SPDX-License-Identifier: MIT */
/*
 * Finding windows. A program that has one holds a memory file whose name says where it is; it is to be seen among its
 * descriptors in /proc. A path that is too long for a socket's address is reached through its folder's descriptor.
 */
#include "cli/top_find.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char SIGN[] = "/memfd:coir-see:";

enum { GONE = sizeof " (deleted)" - 1, LONGEST = sizeof ((struct sockaddr_un *)0)->sun_path - 1 };

/* ---- a path ---- */

static int through_folder(const char *path, struct top_place *out)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    int n;

    if (!slash || slash - path >= PATH_MAX)
        return -ENAMETOOLONG;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path + 1), path);
    out->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (out->folder < 0)
        return -errno;
    n = snprintf(out->where, sizeof out->where, "unix:/proc/self/fd/%d/%s", out->folder, slash + 1);
    if (n - 5 <= LONGEST)
        return 0;
    close(out->folder);
    out->folder = -1;
    return -ENAMETOOLONG;
}

static int by_path(const char *path, struct top_place *out)
{
    out->folder = -1;
    if (strlen(path) > LONGEST)
        return through_folder(path, out);
    snprintf(out->where, sizeof out->where, "unix:%s", path);
    return 0;
}

/* ---- a process ---- */

/* True when it sees other files than this one does, under the same names. */
static bool is_elsewhere(const char *pid)
{
    char name[64], here[64], there[64];
    ssize_t n;

    snprintf(name, sizeof name, "/proc/%s/ns/mnt", pid);
    n = readlink(name, there, sizeof there);
    return n > 0 && readlink("/proc/self/ns/mnt", here, sizeof here) == n && memcmp(here, there, (size_t)n) != 0;
}

/* Reads one of its descriptors: the path of its window, if that is what it says. */
static bool read_sign(const char *pid, const char *fd, char *path, size_t size)
{
    char name[64], target[PATH_MAX];
    ssize_t n;
    size_t len;

    snprintf(name, sizeof name, "/proc/%.20s/fd/%.20s", pid, fd);
    n = readlink(name, target, sizeof target - 1);
    if (n < 0)
        return false;
    target[n] = '\0';
    len = (size_t)n;
    if (strncmp(target, SIGN, sizeof SIGN - 1) != 0 || len < sizeof SIGN + GONE)
        return false;
    target[len - GONE] = '\0';
    if (target[sizeof SIGN - 1] == '/' && is_elsewhere(pid))
        n = snprintf(path, size, "/proc/%.20s/root%s", pid, target + sizeof SIGN - 1);
    else
        n = snprintf(path, size, "%s", target + sizeof SIGN - 1);
    return n < (ssize_t)size;
}

/* The path of a process's window. -ENOENT: it has none, -ESRCH: there is no such process, -EACCES: it is not ours. */
static int path_of(const char *pid, char *path, size_t size)
{
    char name[64];
    DIR *dir;
    bool found = false;

    snprintf(name, sizeof name, "/proc/%.20s/fd", pid);
    dir = opendir(name);
    if (!dir)
        return errno == ENOENT ? -ESRCH : -errno;
    for (const struct dirent *e; !found && (e = readdir(dir));)
        found = read_sign(pid, e->d_name, path, size);
    closedir(dir);
    return found ? 0 : -ENOENT;
}

static bool is_number(const char *s)
{
    return *s && strspn(s, "0123456789") == strlen(s);
}

static int by_process(const char *pid, bool quiet, struct top_place *out)
{
    char path[PATH_MAX];
    const int err = path_of(pid, path, sizeof path);

    if (!err)
        return by_path(path, out);
    if (err == -EACCES && !quiet)
        fprintf(stderr, "coir: process %s is another user's\n", pid);
    else if (err == -ENOENT && !quiet)
        fprintf(stderr, "coir: process %s has no window: it is to be started with COIR_SEE=PATH, or options.see\n",
                pid);
    else if (err == -ESRCH && !quiet)
        fprintf(stderr, "coir: there is no process %s\n", pid);
    return err == -ESRCH ? -ENOENT : err;
}

/* ---- whichever there is ---- */

static void print_one(const char *pid, const char *path)
{
    char name[64], comm[32] = "?\n";
    FILE *file;

    snprintf(name, sizeof name, "/proc/%.20s/comm", pid);
    file = fopen(name, "re");
    if (file) {
        if (!fgets(comm, sizeof comm, file))
            snprintf(comm, sizeof comm, "?\n");
        fclose(file);
    }
    comm[strcspn(comm, "\n")] = '\0';
    fprintf(stderr, "  %-7s %-15s %s\n", pid, comm, path);
}

/* The number of processes that have a window; `path` is the last one's. */
static unsigned look_around(bool print, char *path, size_t size)
{
    DIR *dir = opendir("/proc");
    char one[PATH_MAX];
    unsigned n = 0;

    for (const struct dirent *e; dir && (e = readdir(dir));) {
        if (!is_number(e->d_name) || path_of(e->d_name, one, sizeof one) != 0)
            continue;
        snprintf(path, size, "%s", one);
        n++;
        if (print)
            print_one(e->d_name, one);
    }
    if (dir)
        closedir(dir);
    return n;
}

static int by_looking(bool quiet, struct top_place *out)
{
    char path[PATH_MAX];
    const unsigned n = look_around(false, path, sizeof path);

    if (n == 1)
        return by_path(path, out);
    if (n == 0 && !quiet)
        fprintf(stderr, "coir: no program here has a window: it is to be started with COIR_SEE=PATH, or options.see\n");
    if (n == 0)
        return -ENOENT;
    fprintf(stderr, "coir: which one?\n");
    look_around(true, path, sizeof path);
    return -EINVAL;
}

int top_find(const char *target, bool quiet, struct top_place *out)
{
    int err;

    out->folder = -1;
    if (!target)
        return by_looking(quiet, out);
    if (is_number(target))
        return by_process(target, quiet, out);
    err = by_path(target, out);
    if (err && !(quiet && err == -ENOENT))
        fprintf(stderr, "coir: %s: %s\n", target, strerror(-err));
    return err;
}

void top_find_end(struct top_place *place)
{
    if (place->folder >= 0)
        close(place->folder);
    place->folder = -1;
}
