/* SPDX-License-Identifier: MIT */
/*
 * What the tests of windows share: a program that has one and goes on until its client, a thread of the same process,
 * is done; and what clients do. Included once, by the file that has main.
 */
#ifndef COIR_TESTS_SEE_WINDOW_H
#define COIR_TESTS_SEE_WINDOW_H

#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "task/help.h"

static char path[64];                   /* of the window */

/* ---- clients ---- */

static socklen_t address_of(const char *where, struct sockaddr_un *un)
{
    memset(un, 0, sizeof *un);
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, where, strlen(where));
    if (where[0] == '@')
        un->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(where) + (where[0] != '@'));
}

/* Connects; a negative errno if nobody is there. */
static int knock_at(const char *where)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un un;
    const socklen_t len = address_of(where, &un);

    if (connect(fd, (const struct sockaddr *)&un, len) == 0)
        return fd;
    const int err = -errno;
    close(fd);
    return err;
}

static int knock(void)
{
    return knock_at(path);
}

static void say(int fd, const char *text)
{
    send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* All that comes, to the end; closes. To be freed. */
static char *hear_out(int fd)
{
    char *text = NULL;
    size_t len;
    ssize_t got;
    char part[65536];
    FILE *to = open_memstream(&text, &len);

    while ((got = recv(fd, part, sizeof part, 0)) > 0)
        fwrite(part, 1, (size_t)got, to);
    fclose(to);
    close(fd);
    return text;
}

static char *ask_at(const char *where, const char *request)
{
    const int fd = knock_at(where);

    if (fd < 0)
        return strdup("");
    say(fd, request);
    return hear_out(fd);
}

static char *ask(const char *request)
{
    return ask_at(path, request);
}

/* How often `part` is in `text`. */
HELP_UNUSED static int times(const char *text, const char *part)
{
    int n = 0;

    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

/* The number behind the first `name` behind `from`. */
HELP_UNUSED static long long number(const char *text, const char *from, const char *name)
{
    const char *at = strstr(text, from);

    at = at ? strstr(at, name) : NULL;
    return at ? strtoll(at + strlen(name), NULL, 10) : -1;
}

#define ANSWERS(request, expected, ...) do { \
        char *const answer_ = ask(request); \
        if (!OK(strstr(answer_, expected), __VA_ARGS__)) \
            NOTE("it answered: %.400s", answer_); \
        free(answer_); \
    } while (0)

/* ---- the program ---- */

struct host {
    coir_frame_void;
    coir_args(void (*client)(void););
    pthread_t thread;
    struct coir_cell cell;
    struct coir_cell_wait wait;
};
static coir_declare(host);

static void *client_thread(void *arg)
{
    struct host *f = arg;

    f->client();
    coir_cell_complete(&f->cell, 0, 0);
    return NULL;
}

coir_body(host, f) {
    coir_cell_init(&f->cell);
    pthread_create(&f->thread, NULL, client_thread, f);
    coir_try(f, &f->wait, coir_cell_wait, .cell = &f->cell);
    pthread_join(f->thread, NULL);
} coir_end

/* Runs a program of so many shards until its client is done. */
static void with_client(unsigned shards, void (*client)(void))
{
    const struct coir_options o = { .shards = shards, .unpinned = true, .see = path };

    EQ(coir_run(&o, coir_new(host, .client = client)), 0, "the program ends well");
}

#endif
