/* SPDX-License-Identifier: MIT */
/*
 * motd - serves the message of the day: the text of a file, to whoever connects, and again for each line he sends.
 *
 * SIGHUP reads the file again; an answer under way keeps the old text. SIGTERM and SIGINT end it: nobody new is
 * accepted, and who is there may go on for a while.
 */
#include "listening.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 64 * 1024 };

static struct text {
    unsigned users;                     /* answers under way, and `current` */
    size_t len;
    char bytes[];
} *current;

static void let_go(struct text *text)
{
    if (text && --text->users == 0)
        free(text);
}

struct load {                           /* reads the file; on failure the text stays as it is */
    coir_frame_void;
    coir_args(const char *path;);
    int fd;
    struct text *text;
    struct coir_open open;
    struct coir_pread_exact read;
    struct coir_close close;
};
static coir_declare(load);

coir_body(load, f) {
    f->fd = -1;
    f->text = calloc(1, sizeof *f->text + LARGEST);
    if (!f->text)
        coir_fail(f, ENOMEM);
    f->text->users = 1;
    coir_get(f, f->fd, &f->open, coir_open, .path = f->path, .flags = O_RDONLY);
    coir_await(f, &f->read, coir_pread_exact, .fd = f->fd, .buf = f->text->bytes, .len = LARGEST);
    if (coir_status(&f->read) != -ENODATA)       /* the file ends before, as it should */
        coir_check(f, &f->read);
    f->text->len = f->read.result;
    let_go(current);
    current = f->text;
    coir_finally(f) {
        if (f->fd >= 0)
            coir_await(f, &f->close, coir_close, .fd = f->fd);
        if (f->text != current)
            free(f->text);
    }
} coir_end

struct visit {                          /* a connection */
    coir_frame_void;
    coir_args(int fd;);
    struct text *text;
    char line[256];
    struct coir_send_all send;
    struct coir_recv recv;
    struct coir_close close;
};
static coir_declare(visit);

coir_body(visit, f) {
    do {
        f->text = current;
        f->text->users++;
        coir_try(f, &f->send, coir_send_all, .fd = f->fd, .buf = f->text->bytes, .len = f->text->len);
        let_go(f->text);
        f->text = NULL;                         /* for coir_finally */
        coir_try(f, &f->recv, coir_recv, .fd = f->fd, .buf = f->line, .len = sizeof f->line);
    } while (f->recv.result > 0);
    coir_finally(f) {
        let_go(f->text);
        coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

static struct coir_task *greet(int fd, void *arg)
{
    (void)arg;
    return coir_new(visit, .fd = fd);
}

struct obey {                           /* ends with the signal that ends the program */
    coir_frame_void;
    coir_args(const char *path;);
    struct coir_signals *signals;
    struct coir_signal_next next;
    struct load load;
};
static coir_declare(obey);

coir_body(obey, f) {
    f->signals = coir_signals_open(SIGHUP, SIGINT, SIGTERM);
    if (!f->signals)
        coir_fail(f, errno);
    for (;;) {
        coir_try(f, &f->next, coir_signal_next, .signals = f->signals);
        if (f->next.result.number != SIGHUP)
            break;
        coir_await(f, &f->load, load, .path = f->path);
        fprintf(stderr, "motd: reading %s again: %s\n", f->path, coir_strerror(coir_status(&f->load)));
    }
    coir_finally(f) {
        coir_signals_close(f->signals);
    }
} coir_end

struct motd {
    coir_frame_void;
    coir_args(const char *path; int listener;);
    struct load load;
    struct obey obey;
    struct coir_serve serve;
    struct coir_task *kids[2];
    struct coir_combine race;
};
static coir_declare(motd);

coir_body(motd, f) {
    coir_try(f, &f->load, load, .path = f->path);
    f->kids[0] = coir_make(&f->obey, obey, .path = f->path);
    f->kids[1] = coir_make(&f->serve, coir_serve, .handler = greet, .fd = f->listener, .grace = 10 * COIR_S);
    coir_race(f, &f->race, f->kids, 2);          /* the loser is cancelled, and waited for: that is the grace */
    coir_check(f, &f->race);
    coir_finally(f) {
        let_go(current);
    }
} coir_end

int main(int argc, char **argv)
{
    const bool help = argc == 2 && strcmp(argv[1], "--help") == 0;

    if (argc < 2 || argc > 3 || argv[1][0] == '-') {
        fprintf(help ? stdout : stderr, "usage: motd FILE [ADDRESS]    127.0.0.1:7779 unless said\n");
        return help ? 0 : 2;
    }
    const int listener = listening("motd", "", argc > 2 ? argv[2] : "127.0.0.1:7779");
    return listener < 0 ? 1 : coir_main(coir_new(motd, .path = argv[1], .listener = listener));
}
