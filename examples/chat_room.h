/* SPDX-License-Identifier: MIT */
/*
 * Who is in the chat, and what is said: plain C that never waits. It is called from the tasks of one shard, and
 * nothing else runs on that between two of their awaits, so none of it needs a lock.
 */
#ifndef CHAT_ROOM_H
#define CHAT_ROOM_H

#include <coir/coir.h>

enum { BACKLOG = 64, LINE = 400, NAME = 32 };

struct line {
    size_t len;
    char text[LINE + NAME + 8];
};

struct client {
    struct client *next, **link;        /* in the room; link == NULL: not yet */
    int fd;
    bool slow;                          /* was thrown out */
    struct coir_scope scope;            /* while it is in the room, of its two tasks */
    struct coir_channel out;            /* of struct line: what it is still to be told */
    char name[NAME];
    char line[LINE + 1];                /* what it said last */
    char in[LINE];                      /* `have` bytes that it has sent since */
    size_t have;
};

/* Puts a line into every channel but that of `from`. A client whose channel is full is thrown out: its scope is
 * cancelled. */
void tell_all(const struct client *from, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Enters the room, with c->line for a name, and leaves it; tells the others. */
void join(struct client *c);
void leave(struct client *c);

/* Moves a line from c->in, or as much of it as that holds, to c->line, without control characters. False: there
 * is none yet. */
bool take_line(struct client *c);

#endif
