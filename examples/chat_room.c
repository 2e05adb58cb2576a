/* SPDX-License-Identifier: MIT */
/*
 * The room: a list of clients. Text comes from strangers: what a terminal might act on is left out, and a line
 * that does not end is cut.
 */
#include "chat_room.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct client *clients;

void tell_all(const struct client *from, const char *format, ...)
{
    struct line line;
    va_list args;

    va_start(args, format);
    line.len = (size_t)vsnprintf(line.text, sizeof line.text, format, args);
    va_end(args);
    for (struct client *c = clients; c; c = c->next) {
        if (c != from && coir_channel_try_send(&c->out, &line) == -EAGAIN) {
            c->slow = true;
            coir_scope_cancel(&c->scope);
        }
    }
}

void join(struct client *c)
{
    snprintf(c->name, sizeof c->name, "%.*s", NAME - 1, c->line);
    c->next = clients;
    c->link = &clients;
    if (c->next)
        c->next->link = &c->next;
    clients = c;
    tell_all(c, "* %s has joined\n", c->name);
}

void leave(struct client *c)
{
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    tell_all(c, c->slow ? "* %s was too slow\n" : "* %s has left\n", c->name);
}

bool take_line(struct client *c)
{
    const char *end = memchr(c->in, '\n', c->have);
    const size_t len = end ? (size_t)(end - c->in) : c->have, used = end ? len + 1 : len;
    size_t n = 0;

    if (!end && c->have < sizeof c->in)
        return false;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)c->in[i] >= ' ' && c->in[i] != 0x7f)
            c->line[n++] = c->in[i];
    c->line[n] = '\0';
    c->have -= used;
    memmove(c->in, c->in + used, c->have);
    return true;
}
