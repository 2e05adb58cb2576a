/* SPDX-License-Identifier: MIT */
/*
 * The bugs that every system of this kind invites, one small task each, and beside it one that does the same right.
 * `bugs NAME` runs one. tests/see/bugs has the table of what is said of each, with the lines that are marked here:
 * a comment `here: NAME` stands on the line that a report has to name.
 *
 * With -DDROPS a value is dropped that must not be: that is for the compiler to say.
 */
#include <coir/coir.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- a blocking call, a long loop: one task holds up all others ---- */

static int64_t ask_a_library(void *arg)
{
    const struct timespec half_a_second = { 0, 500000000 };

    (void)arg;
    nanosleep(&half_a_second, NULL);                            /* here: library */
    return 0;
}

struct blocks {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(blocks);

coir_body(blocks, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);          /* here: blocks stands */
    ask_a_library(NULL);                                        /* here: blocks calls */
} coir_end

struct offloads {                                               /* right: on a thread of a pool */
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
    struct coir_offload offload;
};
static coir_declare(offloads);

coir_body(offloads, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    coir_try(f, &f->offload, coir_offload, .fn = ask_a_library);
} coir_end

static volatile unsigned long sum;

static void add_up(int64_t ns)
{
    struct timespec ts;
    int64_t begun = 0, now = 0;

    while (now - begun < ns) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);            /* what this thread ran, not how late it is */
        now = ts.tv_sec * COIR_S + ts.tv_nsec;
        begun = begun ? begun : now;
        sum++;
    }
}

struct computes {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(computes);

coir_body(computes, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);          /* here: computes stands */
    add_up(400 * COIR_MS);                                      /* here: computes calls */
} coir_end

struct passes {                                                 /* right: in pieces, and others have their turn */
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_pass pass;
};
static coir_declare(passes);

coir_body(passes, f) {
    for (f->i = 0; f->i < 40; f->i++) {
        add_up(10 * COIR_MS);
        coir_try(f, &f->pass, coir_pass);
    }
} coir_end

/* ---- the forgotten await: making a task runs nothing ---- */

struct note {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(note);

coir_body(note, f) {
} coir_end

struct forgets {
    coir_frame_void;
    coir_no_args;
    struct coir_task *note;
};
static coir_declare(forgets);

coir_body(forgets, f) {
#ifdef DROPS
    coir_new(note);                                             /* here: dropped */
#endif
    f->note = coir_new(note);                                   /* here: forgotten */
} coir_end

struct forgets_child {
    coir_frame_void;
    coir_no_args;
    struct note note;
};
static coir_declare(forgets_child);

coir_body(forgets_child, f) {
    coir_make(&f->note, note);                                  /* here: forgotten child */
} coir_end

struct remembers {                                              /* right */
    coir_frame_void;
    coir_no_args;
    struct note note, child;
    struct coir_task *kids[2];
    struct coir_combine all;
};
static coir_declare(remembers);

coir_body(remembers, f) {
    coir_try(f, &f->note, note);
    f->kids[0] = coir_new(note);
    f->kids[1] = coir_make(&f->child, note);
    coir_all(f, &f->all, f->kids, 2);
    coir_check(f, &f->all);
} coir_end

/* ---- tasks that vanish: nobody waits for them ---- */

struct naps {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(naps);

coir_body(naps, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 10 * COIR_MS);
} coir_end

struct leaves {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_pass pass;
};
static coir_declare(leaves);

coir_body(leaves, f) {
    coir_group_open(f, &f->group);                              /* here: left open */
    coir_spawn(&f->group, coir_new(naps));
    coir_try(f, &f->pass, coir_pass);                           /* here: leaves stands */
} coir_end

struct waits {                                                  /* right */
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(waits);

coir_body(waits, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(naps));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- swallowed cancellation: who goes on cannot be stopped ---- */

struct retries {
    coir_frame_void;
    coir_args(bool minds;);
    int tries;
    struct coir_sleep sleep;
};
static coir_declare(retries);

coir_body(retries, f) {
    for (f->tries = 0; f->tries < 2000; f->tries++) {
        coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);    /* here: retries stands */
        if (f->minds)                                           /* right */
            coir_check(f, &f->sleep);
    }
} coir_end

struct gives_time {
    coir_frame_void;
    coir_args(bool minds;);
    struct coir_scope scope;
    struct retries retries;
};
static coir_declare(gives_time);

coir_body(gives_time, f) {
    coir_within(f, &f->scope, coir_now() + 5 * COIR_MS, &f->retries, retries, .minds = f->minds);   /* here: deadline */
} coir_end

/* ---- unbounded fan-out: tasks are cheap, what they ask for is not ---- */

struct fetches {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(fetches);

coir_body(fetches, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 10 * COIR_S);      /* here: fetches */
} coir_end

struct fans_out {
    coir_frame_void;
    coir_args(uint32_t limit; uint32_t n;);
    uint32_t i;
    struct coir_group group;
    struct coir_group_spawn spawn;
    struct coir_scope scope;
    struct coir_pass pass;
    struct coir_group_wait wait;
};
static coir_declare(fans_out);

coir_body(fans_out, f) {
    coir_group_open(f, &f->group, .limit = f->limit);           /* right: with a limit; spawning waits for a place */
    for (f->i = 0; f->i < f->n; f->i++) {
        coir_within(f, &f->scope, coir_now() + 50 * COIR_MS, &f->spawn, coir_group_spawn, .group = &f->group,
                    .spawn = coir_new(fetches));                /* here: fans out */
        if (coir_status(&f->spawn))                             /* for 50 ms there was none */
            break;
    }
    coir_try(f, &f->pass, coir_pass);                           /* all have begun */
    coir_dump(stderr);
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- context that does not follow ---- */

static _Thread_local int request_of_thread;

static void print_request(FILE *to, const void *value)
{
    fprintf(to, "%d", *(const int *)value);
}

static const struct coir_context_key request = { "request", print_request };

struct answers {
    coir_frame_void;
    coir_args(int expected;);
    struct coir_sleep sleep;
};
static coir_declare(answers);

coir_body(answers, f) {
    request_of_thread = f->expected;
    coir_try(f, &f->sleep, coir_sleep, .ns = 10 * COIR_MS);     /* here: answers */
    printf("request %d: the thread says %d, the context %d\n", f->expected, request_of_thread,
           *(const int *)coir_context_get(f, &request));
} coir_end

struct serves {
    coir_frame_void;
    coir_args(int number;);
    struct coir_context context;
    struct answers answers;
};
static coir_declare(serves);

coir_body(serves, f) {
    coir_with(f, &f->context, &request, &f->number, &f->answers, answers, .expected = f->number);   /* here: serves */
} coir_end

struct follows {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_sleep sleep;
    struct coir_group_wait wait;
};
static coir_declare(follows);

coir_body(follows, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(serves, .number = 7));
    coir_spawn(&f->group, coir_new(serves, .number = 8));
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    coir_dump(stderr);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- everything asleep: what is waited for never comes ---- */

struct listens {
    coir_frame_void;
    coir_args(struct coir_channel *channel;);
    int item;
    struct coir_channel_recv recv;
};
static coir_declare(listens);

coir_body(listens, f) {
    coir_try(f, &f->recv, coir_channel_recv, .channel = f->channel, .item = &f->item);  /* here: listens */
} coir_end

struct talks {
    coir_frame_void;
    coir_args(bool sends;);
    int item;
    struct coir_channel channel;
    struct coir_group group;
    struct coir_channel_send send;
    struct coir_group_wait wait;
};
static coir_declare(talks);

coir_body(talks, f) {
    coir_channel_init(&f->channel, sizeof f->item, 0);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(listens, .channel = &f->channel));   /* here: listener */
    if (f->sends)                                               /* right */
        coir_try(f, &f->send, coir_channel_send, .channel = &f->channel, .item = &f->item);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group); /* here: talks stands */
} coir_end

/* ---- a waiter on the loop's own thread: it would wait for itself ---- */

static void *sync_on_a_thread(void *cell)
{
    coir_cell_complete((struct coir_cell *)cell, coir_sync(0, coir_new(note)), 0);
    return NULL;
}

struct syncs {
    coir_frame_void;
    coir_args(bool on_a_thread;);
    pthread_t thread;
    struct coir_cell cell;
    struct coir_pass pass;
    struct coir_cell_wait wait;
};
static coir_declare(syncs);

coir_body(syncs, f) {
    coir_try(f, &f->pass, coir_pass);                           /* here: syncs stands */
    if (!f->on_a_thread)
        coir_fail(f, coir_sync(0, coir_new(note)));             /* here: synced */
    coir_cell_init(&f->cell);                                   /* right */
    pthread_create(&f->thread, NULL, sync_on_a_thread, &f->cell);
    coir_await(f, &f->wait, coir_cell_wait, .cell = &f->cell);
    pthread_join(f->thread, NULL);
    coir_check(f, &f->wait);
} coir_end

/* ---- by name ---- */

#define BUG(name, made) if (!strcmp(argv[1], name)) return coir_main(made)

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    BUG("blocks", coir_new(blocks));                            /* here: blocks */
    BUG("offloads", coir_new(offloads));
    BUG("computes", coir_new(computes));                        /* here: computes */
    BUG("passes", coir_new(passes));
    BUG("forgets", coir_new(forgets));
    BUG("forgets_child", coir_new(forgets_child));
    BUG("remembers", coir_new(remembers));
    BUG("leaves", coir_new(leaves));
    BUG("waits", coir_new(waits));
    BUG("swallows", coir_new(gives_time));
    BUG("minds", coir_new(gives_time, .minds = true));
    BUG("fans_out", coir_new(fans_out, .n = 10000));            /* here: fans_out */
    BUG("is_limited", coir_new(fans_out, .n = 10000, .limit = 3));
    BUG("follows", coir_new(follows));
    BUG("deadlocks", coir_new(talks));                          /* here: talks */
    BUG("is_woken", coir_new(talks, .sends = true));
    BUG("syncs", coir_new(syncs));
    BUG("syncs_aside", coir_new(syncs, .on_a_thread = true));
    return 2;
}
