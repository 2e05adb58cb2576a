/* SPDX-License-Identifier: MIT */
/*
 * coir-runtime - what a built program begins with. It finds the program's image at the end of its own file, has the
 * machine load it, which trusts nothing of it, and runs it with the flags that stand there too. It takes no argument:
 * all are the program's. What is wrong with the file is said, and ends with 1.
 *
 * The file is the one that the kernel has started, /proc/self/exe, also when it has been replaced or deleted since.
 * Where there is no /proc, or that file is the loader (`ld.so app`), it is the one whose name was started. A program
 * with more rights than who has started it takes neither a name, which may lead elsewhere by now, nor coir's variables
 * from him.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/trailer.h"

enum { COULD_NOT_BEGIN = 1 };

/* `coir build` looks for it. */
extern const char cli_runtime_stamp[];
const char cli_runtime_stamp[] __attribute__((used)) = "\x7f" CLI_RUNTIME_STAMP "\n";

static int cannot(const char *name, const char *why)
{
    fprintf(stderr, "coir: %s: %s\n", name, why);
    return COULD_NOT_BEGIN;
}

/* ---- the file ---- */

/* 0 or -errno; -EIO when there is less. */
static int read_at(int fd, void *to, size_t n, uint64_t at)
{
    for (size_t done = 0; done < n;) {
        const ssize_t got = pread(fd, (char *)to + done, n - done, (off_t)(at + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        done += (size_t)got;
    }
    return 0;
}

/* Opens a file that may be this program's. A descriptor, and what its end says; or -errno. */
static int look_at(const char *path, enum cli_trailer_found *found, struct cli_trailer *t)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    uint8_t end[CLI_TRAILER];
    struct stat st;
    int status = 0;

    if (fd < 0)
        return -errno;
    *found = CLI_TRAILER_NONE;
    if (fstat(fd, &st) < 0) {
        status = -errno;
    } else if (S_ISREG(st.st_mode) && st.st_size >= CLI_TRAILER) {
        status = read_at(fd, end, sizeof end, (uint64_t)st.st_size - sizeof end);
        if (status == 0)
            *found = cli_trailer_read(end, (uint64_t)st.st_size, t);
    }
    if (status == 0)
        return fd;
    close(fd);
    return status;
}

/* The name by which the program was started, for what is said, and to find it by. */
static const char *started_as(const char *first)
{
    const char *const name = (const char *)(uintptr_t)getauxval(AT_EXECFN);

    return name && *name ? name : first && *first ? first : "a built program";
}

static int find(const char *name, enum cli_trailer_found *found, struct cli_trailer *t)
{
    int fd = look_at("/proc/self/exe", found, t);

    if (getauxval(AT_SECURE) || (fd >= 0 && *found != CLI_TRAILER_NONE))
        return fd;
    if (fd >= 0)
        close(fd);
    return look_at(name, found, t);
}

static const char *what_is_wrong(enum cli_trailer_found found)
{
    switch (found) {
    case CLI_TRAILER_NONE:
        return "there is no program at its end: the file was cut short or stripped, or is the bare runtime";
    case CLI_TRAILER_OTHER:
        return "its end was written by another version of coir";
    case CLI_TRAILER_BROKEN:
        return "its end is damaged";
    case CLI_TRAILER_CUT:
        return "the file is not as long as it was built";
    case CLI_TRAILER_GOOD:
        break;
    }
    return NULL;
}

/* The image, malloc's; NULL, and why. */
static void *read_image(int fd, const struct cli_trailer *t, const char **why)
{
    void *const image = malloc((size_t)t->image + 1);
    const int status = image ? read_at(fd, image, (size_t)t->image, t->runtime) : -ENOMEM;

    if (status < 0)
        *why = strerror(-status);
    else if (cli_checksum(image, (size_t)t->image) != t->checksum)
        *why = "the program in it is damaged";
    else
        return image;
    free(image);
    return NULL;
}

/* ---- the start ---- */

static void forget_variables(void)
{
    char **to = environ;

    for (char **from = environ; from && *from; from++) {
        if (strncmp(*from, "COIR_", 5) != 0)
            *to++ = *from;
    }
    if (to)
        *to = NULL;
}

static int run(const char *name, int argc, char **argv)
{
    enum cli_trailer_found found;
    struct cli_trailer t;
    const char *why;
    void *image;
    int status;
    const int fd = find(name, &found, &t);

    if (fd < 0) {
        fprintf(stderr, "coir: %s: a built program reads its own file: %s\n", name, strerror(-fd));
        return COULD_NOT_BEGIN;
    }
    why = what_is_wrong(found);
    image = why ? NULL : read_image(fd, &t, &why);
    close(fd);
    if (!image)
        return cannot(name, why);
    status = cli_ask_environment(&t.flags) ? cli_launch(image, (size_t)t.image, argc, argv, &t.flags) : COULD_NOT_BEGIN;
    free(image);
    return status;
}

int main(int argc, char **argv)
{
    cli_hold_places();
    if (getauxval(AT_SECURE))
        forget_variables();
    return run(started_as(argc > 0 ? argv[0] : NULL), argc > 0 ? argc - 1 : 0, argv + (argc > 0));
}
