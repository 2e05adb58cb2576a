/* SPDX-License-Identifier: MIT */
/*
 * A window and who behaves badly: clients that say nothing, never stop talking, do not read, or go in the middle, a
 * hundred at a time; and shards that are stuck, or have more tasks than an answer has room for.
 */
#include "see/window.h"

#include <dirent.h>

#include "runtime/base/torture.h"

enum { CROWD = 100, PLACES = 16, REST = 50 };

static unsigned descriptors(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");

    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* ---- clients ---- */

static void client_is_silent(void)
{
    const unsigned before = descriptors();
    int crowd[CROWD];
    char byte;

    for (int i = 0; i < CROWD; i++)
        crowd[i] = knock();
    ANSWERS("stats\n", "\"shard\":0", "a hundred that say nothing: who asks is answered");
    OK(descriptors() <= before + CROWD + PLACES, "and no more than its places are taken");
    EQ(recv(crowd[0], &byte, 1, 0), 0, "the first of them has been shown out");
    for (int i = 0; i < CROWD; i++)
        close(crowd[i]);
    ANSWERS("tasks\n", "\"answered\":true", "when they have left, too");
}

static void client_talks(void)
{
    static char endless[1 << 20];
    const int fd = knock(), second = knock();
    char *text;

    memset(endless, 'x', sizeof endless);
    while (send(fd, endless, sizeof endless, MSG_NOSIGNAL) > 0)
        ;
    OK(errno == EPIPE || errno == ECONNRESET, "who never comes to an end is shown out");
    close(fd);
    say(second, "0123456789012345678901234567890123456789012345678901234567890123456789\n");
    text = hear_out(second);
    OK(strstr(text, "error: the request is too long"), "a long line is refused");
    free(text);
}

static void client_vanishes(void)
{
    static const char *const words[] = { "stats\n", "metrics\n", "tasks\n", "dump\n", "du" };

    for (int i = 0; i < 500; i++) {
        const int fd = knock();
        say(fd, words[i % 5]);
        close(fd);
    }
    ANSWERS("dump\n", "waits for a cell", "five hundred that asked and left: who stays is answered");
    ANSWERS("metrics\n", "# EOF\n", "with any answer");
}

/* Of 16 places 16 are taken by those who do not read. */
static void client_does_not_read(void)
{
    int crowd[PLACES];
    char part[1000];

    for (int i = 0; i < PLACES; i++) {
        crowd[i] = knock();
        say(crowd[i], "dump\n");
    }
    ANSWERS("stats\n", "\"shard\":0", "16 that do not read what they asked for: who asks is answered");
    EQ(recv(crowd[PLACES - 1], part, sizeof part, MSG_WAITALL), sizeof part, "one begins to read, and goes");
    for (int i = 0; i < PLACES; i++)
        close(crowd[i]);
    ANSWERS("tasks\n", "\"answered\":true", "when they have gone, too");
}

static int guest = -1;

static void client_stays(void)
{
    guest = knock();
    ANSWERS("stats\n", "\"shard\":0", "beside one that is silent");
}

/* ---- many tasks ---- */

struct leaf {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(leaf);

coir_body(leaf, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 1000 * COIR_S);
} coir_end

static int grown;                       /* branches, of one shard at a time */

struct branch {
    coir_frame_void;
    coir_args(int n;);
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(branch);

coir_body(branch, f) {
    coir_group_open(f, &f->group);
    for (int i = 0; i < f->n; i++)
        coir_spawn(&f->group, coir_new(leaf));
    grown++;
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* A dump into what takes no more ends there. */
static ssize_t refuse(void *cookie, const char *text, size_t len)
{
    (void)text;
    (void)len;
    ++*(unsigned *)cookie;
    return 0;
}

static void dump_for_nobody(void)
{
    unsigned writes = 0;
    FILE *to = fopencookie(&writes, "w", (cookie_io_functions_t){ .write = refuse });

    coir_dump(to);
    fclose(to);
    OK(writes > 0 && writes < 50, "a dump whose stream fails comes to an end at once (%u writes)", writes);
}

struct forest {                         /* a host with 40,000 tasks beside it */
    coir_frame_void;
    coir_args(void (*client)(void););
    struct coir_group group;
    struct coir_group_wait wait;
    struct host host;
};
static coir_declare(forest);

coir_body(forest, f) {
    coir_group_open(f, &f->group);
    for (int i = 0; i < 2000; i++)          /* crowds that a dump prints whole */
        coir_spawn(&f->group, coir_new(branch, .n = 20));
    coir_try(f, &f->host, host, .client = f->client);
    dump_for_nobody();
    coir_finally(f) {
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

static void client_of_many(void)
{
    char *text;

    do
        text = ask("tasks\n");
    while (number(text, "\"rows\":", "\"count\":") < 40000 && (free(text), true));     /* until all have begun */
    EQ(number(text, "],", "\"tasks\":"), 42001, "all tasks are counted");
    EQ(number(text, "\"rows\":", "\"count\":"), 40000, "40,000 tasks: they are one row");
    OK(strstr(text, "\"waits\":\"coir_sleep\""), "which sleeps");
    free(text);

    text = ask("dump\n");
    OK(strstr(text, "\n... and more: shard 0 is cut here\n"), "the dump of so many is cut");
    OK(strlen(text) > (1 << 20) && strlen(text) < (1 << 20) + 100, "at a million bytes");
    free(text);
    client_does_not_read();
}

/* ---- a shard that is slow ---- */

enum { SLICES = 130 };                 /* at least half as many turns, of 20 ms and more */

/* Blocks its shard for a while, once a turn. */
struct slow {
    coir_frame_void;
    coir_args(int *over;);
    struct coir_pass pass;
};
static coir_declare(slow);

coir_body(slow, f) {
    coir_background(f, true);           /* of that queue a turn takes one step */
    while (!__atomic_load_n(f->over, __ATOMIC_ACQUIRE)) {
        usleep(20000);
        coir_try(f, &f->pass, coir_pass);
    }
} coir_end

static int enough;                      /* atomic */

/* Counting takes more than a second in all, but never stands still. */
static void client_of_slow(void)
{
    char *text = ask("tasks\n");

    OK(strstr(text, "{\"shard\":0,\"answered\":true"), "a shard that is slow and gets on is waited for");
    EQ(number(text, "],", "\"tasks\":"), SLICES * COIR_CENSUS_SLICE / 2 + 3, "all its tasks are counted");
    free(text);
    __atomic_store_n(&enough, 1, __ATOMIC_RELEASE);
}

struct slow_forest {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_pass pass;
    struct host host;
};
static coir_declare(slow_forest);

coir_body(slow_forest, f) {
    coir_group_open(f, &f->group);
    grown = 0;
    coir_spawn(&f->group, coir_new(branch, .n = SLICES * COIR_CENSUS_SLICE / 2));
    while (!grown)                      /* else a client may come before it has begun */
        coir_try(f, &f->pass, coir_pass);
    coir_spawn(&f->group, coir_new(slow, .over = &enough));
    coir_try(f, &f->host, host, .client = client_of_slow);
    coir_finally(f) {
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

/* ---- a shard that is stuck ---- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int stuck;                       /* atomic */

struct sticks {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(sticks);

coir_body(sticks, f) {
    __atomic_store_n(&stuck, 1, __ATOMIC_RELEASE);
    pthread_mutex_lock(&gate);          /* what nobody should do in a body */
    pthread_mutex_unlock(&gate);
} coir_end

static void client_of_stuck(void)
{
    long long first, second;
    char *text;

    pthread_mutex_lock(&gate);
    coir_spawn_on(1, coir_new(sticks));
    while (!__atomic_load_n(&stuck, __ATOMIC_ACQUIRE))
        sched_yield();
    ANSWERS("stats\n", "\"shard\":1", "a shard is stuck: the counters of all");
    text = ask("tasks\n");
    OK(strstr(text, "{\"shard\":0,\"answered\":true,"), "the other one tells of its tasks");
    first = number(text, "{\"shard\":1,\"answered\":false,", "\"silent_ns\":");
    OK(first >= COIR_S, "how long this one has been silent");
    OK(strstr(text, ",\"stuck\":\"task sticks, before its first await, spawned at ") && strstr(text, "_rude.c:"),
       "and where it is");
    free(text);
    text = ask("tasks\n");
    second = number(text, "{\"shard\":1,\"answered\":false,", "\"silent_ns\":");
    OK(second > first, "and it goes on being so");
    free(text);
    text = ask("dump\n");
    OK(strstr(text, "shard 1 has not answered for ") && strstr(text, " s: stuck in task sticks, "),
       "the dump says so too");
    OK(strstr(text, "waits for a cell"), "beside what the other one prints");
    free(text);
    pthread_mutex_unlock(&gate);
    do                                              /* what it was asked before comes first */
        text = ask("dump\n");
    while (!strstr(text, "shard 1 (") && (free(text), true));
    OK(strstr(text, "shard 0 ("), "let go, it answers");
    free(text);
    ANSWERS("tasks\n", "{\"shard\":1,\"answered\":true,\"tasks\":0,", "whatever it was asked before");
}

/* The run ends while somebody waits for an answer that does not come. */
static void client_leaves_one_waiting(void)
{
    pthread_mutex_lock(&gate);
    __atomic_store_n(&stuck, 0, __ATOMIC_RELEASE);
    coir_spawn_on(1, coir_new(sticks));
    while (!__atomic_load_n(&stuck, __ATOMIC_ACQUIRE))
        sched_yield();
    guest = knock();
    say(guest, "tasks\n");
    ANSWERS("stats\n", "\"shard\":0", "one that waits is behind");
    pthread_mutex_unlock(&gate);
}

/* ---- all at once ---- */

struct churn {                          /* spawns tasks that end at once */
    coir_frame_void;
    coir_args(int *over;);
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_pass pass;
};
static coir_declare(churn);

coir_body(churn, f) {
    while (!__atomic_load_n(f->over, __ATOMIC_ACQUIRE)) {
        coir_group_open(f, &f->group);
        for (int i = 0; i < 300; i++)
            coir_spawn(&f->group, coir_new(leaf));
        coir_await(f, &f->pass, coir_pass);
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

static int over;                        /* atomic */

static void *asks(void *arg)
{
    static const char *const words[] = { "tasks\n", "stats\n", "dump\n", "tasks\n", "metrics\n" };
    const size_t me = (size_t)(intptr_t)arg;

    for (size_t i = 0; i < REST; i++)
        free(ask(words[(i + me) % 5]));
    return NULL;
}

static void client_is_many(void)
{
    pthread_t thread[4];

    coir_spawn_on(0, coir_new(churn, .over = &over));
    coir_spawn_on(1, coir_new(churn, .over = &over));
    for (size_t i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, asks, (void *)(intptr_t)i);
    for (size_t i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    ANSWERS("tasks\n", "{\"shard\":1,\"answered\":true", "four that ask, while tasks come and go on two shards");
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
}

int main(void)
{
    char byte;

    setenv("COIR_SLOW_MS", "0", 1);                  /* what is slow here is to be */
    snprintf(path, sizeof path, "/tmp/coir-rude-%d", (int)getpid());
    with_client(1, client_is_silent);
    with_client(1, client_talks);
    with_client(2, client_vanishes);
    with_client(1, client_stays);
    EQ(recv(guest, &byte, 1, 0), 0, "the run has ended: so has the connection");
    close(guest);
    EQ(coir_run(&(struct coir_options){ .see = path }, coir_new(forest, .client = client_of_many)), 0, "many tasks");
    EQ(coir_run(&(struct coir_options){ .see = path }, coir_new(slow_forest)), 0, "a slow shard");
    with_client(2, client_of_stuck);
    with_client(2, client_leaves_one_waiting);
    while (recv(guest, &byte, 1, 0) == 1)
        ;
    close(guest);
    with_client(2, client_is_many);
    return DONE();
}
