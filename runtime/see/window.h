/* SPDX-License-Identifier: MIT */
/*
 * The window of a run: a Unix socket through which another process sees it, served by a thread of its own, so that it
 * answers when every shard is stuck. There is none unless options.see or COIR_SEE asks for one.
 *
 *   client ----request----> window's thread ----letter----> shard        only for what a shard alone can tell
 *          <---answer------                 <---eventfd----
 *
 * window.c        the thread and its clients
 * window_place.c  the socket and its name
 * window_ask.c    asking the shards, and what to do when one says nothing
 * window_text.c   the answers
 *
 * Rules: 1. Everything here is the thread's, but for what a struct coir_asked says. 2. The thread waits in poll(2) and
 * nowhere else; while it does not, it holds the lock that a fork takes. 3. What it keeps for its clients is bounded:
 * so many of them, a short request each, one answer each. 4. A shard is only asked by letter, and only looked at as
 * coir_stats does.
 */
#ifndef COIR_RUNTIME_SEE_WINDOW_H
#define COIR_RUNTIME_SEE_WINDOW_H

#include <pthread.h>
#include <sys/un.h>

#include "runtime/see/census.h"

enum {
    COIR_WINDOW_CLIENTS = 16,           /* more wait to be accepted */
    COIR_WINDOW_REQUEST = 64,           /* bytes of one, its end included */
    COIR_WINDOW_DUMP = 1 << 20,         /* bytes of a dump, of all shards */
};

#define COIR_WINDOW_PATIENCE (10 * COIR_S)      /* for a request to come, and for an answer to go on being read */
#define COIR_WINDOW_HASTE (COIR_S / 4)          /* the same while others want its place */
#define COIR_WINDOW_SILENCE COIR_S              /* a shard that does not get on for so long is answered without */

/* What only shards can tell. */
enum coir_question { COIR_ASK_NOTHING, COIR_ASK_TASKS, COIR_ASK_DUMP };

enum { COIR_ASKED_IDLE, COIR_ASKED_ASKED, COIR_ASKED_ANSWERED };

/* One shard that is asked. Lives as long as the run, whether it answers or not. */
struct coir_asked {
    struct coir_letter letter;
    struct coir_window *window;
    int state;                          /* atomic: COIR_ASKED_...; while it is ASKED what follows is the shard's */
    unsigned progress;                  /* atomic: grows while it works at the answer */
    enum coir_question question;
    bool begun;
    int64_t took;                       /* ns that the answer has cost the shard */
    struct coir_census census;
    char *text;                         /* of a dump */
    size_t len, room;

    int64_t since;                      /* the thread's: when it was last seen to get on */
    unsigned seen;                      /* of `progress`, then */
};

struct coir_window_client {
    enum { COIR_CLIENT_NONE, COIR_CLIENT_ASKS, COIR_CLIENT_WAITS, COIR_CLIENT_READS } state;
    int fd;
    enum coir_question question;        /* what it waits for */
    bool in_time;                       /* it was there when the shards were asked */
    int64_t since;                      /* when it last did something */
    char request[COIR_WINDOW_REQUEST];
    size_t have;
    char *answer;
    size_t len, sent;
};

struct coir_window {
    struct coir_runtime *run;
    pthread_t thread;
    int stop;                           /* atomic */
    int listener, wake;                 /* wake: an eventfd, by which it is told of answers and of its end */
    int sign;                           /* a memory file whose name says where the window is: `coir top PID` */
    char path[sizeof ((struct sockaddr_un *)0)->sun_path];   /* as it was bound; @name: abstract */
    dev_t dev;                          /* of the socket's file, by which it is known again */
    ino_t ino;
    int64_t paused;                     /* no descriptor for one more client: not before then */
    enum coir_question question;        /* under way */
    struct coir_asked *asked[COIR_MAX_SHARDS];
    struct coir_census *sum;
    struct coir_window_client client[COIR_WINDOW_CLIENTS];
};

/* window_place.c: makes the socket and says so to the world, or says on stderr why not. */
bool coir_window_place(struct coir_window *w, const char *template);
/* Takes it down. */
void coir_window_unplace(struct coir_window *w);

/* window_ask.c */
/* Asks every shard. -ENOMEM. */
int coir_window_ask(struct coir_window *w, enum coir_question q, int64_t now);
/* True when all have answered, or will not in time. Otherwise *next is when to look again. */
bool coir_window_answered(struct coir_window *w, int64_t now, int64_t *next);
/* The answer of a shard to the question under way, or NULL. */
const struct coir_asked *coir_window_answer_of(const struct coir_window *w, unsigned shard);

/* window_text.c: each writes one answer. */
void coir_window_write_stats(FILE *to, const struct coir_window *w);
void coir_window_write_tasks(FILE *to, struct coir_window *w, int64_t now);
void coir_window_write_dump(FILE *to, const struct coir_window *w, int64_t now);

#endif
