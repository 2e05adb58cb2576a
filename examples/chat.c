/* SPDX-License-Identifier: MIT */
/*
 * chat - a chat server. The first line that a client sends is its name, the others are for everybody else.
 *
 * A client is two tasks in a race: `hear` puts its lines into everybody else's channel, `speak` sends what is in
 * its own. Nobody waits for a client that does not read: BACKLOG lines wait for it in its channel, then it is
 * disconnected, and the others are told.
 */
#include <coir/coir.h>

#include <stdio.h>
#include <string.h>

#include "chat_room.h"
#include "listening.h"

/* Receives a line into c->line. Result: false when the client will send no more. */
struct hear_line {
    coir_frame(bool);
    coir_args(struct client *client;);
    size_t n;
    struct coir_recv recv;
};
static coir_declare(hear_line);

coir_body(hear_line, f) {
    while (!take_line(f->client)) {
        coir_get(f, f->n, &f->recv, coir_recv, .fd = f->client->fd, .buf = f->client->in + f->client->have,
                 .len = sizeof f->client->in - f->client->have);
        if (f->n == 0)
            coir_return(f, false);
        f->client->have += f->n;
    }
    f->result = true;
} coir_end

struct hear {
    coir_frame_void;
    coir_args(struct client *client;);
    bool more;
    struct hear_line line;
};
static coir_declare(hear);

coir_body(hear, f) {
    for (;;) {
        coir_get(f, f->more, &f->line, hear_line, .client = f->client);
        if (!f->more)
            break;
        tell_all(f->client, "%s: %s\n", f->client->name, f->client->line);
    }
} coir_end

struct speak {
    coir_frame_void;
    coir_args(struct client *client;);
    struct line line;
    union {
        struct coir_channel_recv recv;
        struct coir_send_all send;
    };
};
static coir_declare(speak);

coir_body(speak, f) {
    for (;;) {
        coir_try(f, &f->recv, coir_channel_recv, .channel = &f->client->out, .item = &f->line);
        coir_try(f, &f->send, coir_send_all, .fd = f->client->fd, .buf = f->line.text, .len = f->line.len);
    }
} coir_end

/* Both, until one of them ends. */
struct talk {
    coir_frame_void;
    coir_args(struct client *client;);
    struct coir_task *kids[2];
    struct hear hear;
    struct speak speak;
    struct coir_combine race;
};
static coir_declare(talk);

coir_body(talk, f) {
    f->kids[0] = coir_make(&f->hear, hear, .client = f->client);
    f->kids[1] = coir_make(&f->speak, speak, .client = f->client);
    coir_race(f, &f->race, f->kids, 2);
} coir_end

/* A connection, from its beginning to its end. */
struct visit {
    coir_frame_void;
    coir_args(int fd;);
    struct client client;
    union {
        struct hear_line name;
        struct talk talk;
        struct coir_close close;
    };
};
static coir_declare(visit);

coir_body(visit, f) {
    f->client = (struct client){ .fd = f->fd };
    if (coir_channel_init(&f->client.out, sizeof(struct line), BACKLOG) < 0)
        coir_fail(f, ENOMEM);
    coir_try(f, &f->name, hear_line, .client = &f->client);
    if (f->name.result && f->client.line[0] != '\0') {
        join(&f->client);
        coir_within(f, &f->client.scope, COIR_NEVER, &f->talk, talk, .client = &f->client);
    }
    coir_finally(f) {
        if (f->client.link)
            leave(&f->client);
        coir_channel_destroy(&f->client.out);
        coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

/* Makes the task of a connection. */
static struct coir_task *greet(int fd, void *arg)
{
    (void)arg;
    return coir_new(visit, .fd = fd);
}

int main(int argc, char **argv)
{
    const char *where = argc > 1 ? argv[1] : "127.0.0.1:7778";
    if (argc > 2 || where[0] == '-') {
        const bool help = argc == 2 && strcmp(where, "--help") == 0;
        fprintf(help ? stdout : stderr, "usage: chat [ADDRESS]    127.0.0.1:7778 unless said; others are :80, [::1]:0, "
                "unix:/path\n");
        return help ? 0 : 2;
    }
    const int listener = listening("chat", "", where);
    return listener < 0 ? 1 : coir_main(coir_new(coir_serve, .handler = greet, .fd = listener));
}
