/* SPDX-License-Identifier: MIT */
/*
 * The tracks of a trace, the thread that writes it, and its file.
 *
 * A track is a ring: `head` is its shard's, `tail` the writer's, and each publishes what it did with release order. The
 * writer looks fifty times a second, or sooner when a shard finds that another quarter of its ring is used: then
 * the shard wakes it, if it sleeps, by one system call.
 *
 * The file is JSON's array; its end is written when the run ends, and taken back when another one of the process
 * begins. It is locked, so that another process that was given the same name does not write into it. Whatever fails is
 * said once, and from then on what shards put is thrown away.
 */
#include "runtime/see/trace.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/see/tell.h"
#include "runtime/see/template.h"

struct coir_track {
    _Alignas(64) uint64_t head;          /* atomic: put so far */
    uint64_t tail_seen;                  /* the shard's */
    uint64_t missing;                    /* atomic, the shard's: since the last one that found room */
    _Alignas(64) uint64_t tail;          /* atomic: taken so far */
    size_t size;
    struct coir_record records[];
};

static struct {
    int fd;                              /* -1: there is no trace now */
    char path[PATH_MAX];
    dev_t dev;                           /* what it was when the last run ended, and how long */
    ino_t ino;
    off_t length;
    bool failed;                         /* said: nothing more is written */
    bool epoch;                          /* atomic: the two below are set */
    int64_t began;
    bool virtual_time;
    struct coir_track *track[COIR_MAX_SHARDS];      /* atomic */
    pthread_t thread;
    sem_t wake;
    int asleep;                          /* atomic: the writer waits for `wake` */
    int ending;                          /* atomic: it is to write what there is, and end */
    unsigned rounds;                     /* atomic: how often it has taken all there was */
    struct coir_teller *teller;          /* the writer's, kept from run to run; its memory is the process's */
    pid_t owner;                         /* whose all of it is */
} trace = { .fd = -1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;    /* over opening and closing */

size_t coir_trace_events = COIR_TRACE_EVENTS;

static const char tail_text[] = "\n]\n";

enum { TAIL = sizeof tail_text - 1 };

/* ---- the shard's side ---- */

static void wake_writer(void)
{
    if (__atomic_load_n(&trace.asleep, __ATOMIC_RELAXED) && __atomic_exchange_n(&trace.asleep, 0, __ATOMIC_SEQ_CST))
        sem_post(&trace.wake);
}

static bool has_room(struct coir_track *k)
{
    if (k->head - k->tail_seen < k->size)
        return true;
    k->tail_seen = __atomic_load_n(&k->tail, __ATOMIC_ACQUIRE);
    if (k->head - k->tail_seen < k->size)
        return true;
    wake_writer();
    return false;
}

void coir_track_put(struct coir_track *k, const struct coir_record *record)
{
    struct coir_record *to = &k->records[k->head & (k->size - 1)];

    if (!has_room(k)) {
        __atomic_store_n(&k->missing, k->missing + 1, __ATOMIC_RELAXED);
        return;
    }
    *to = *record;
    to->missing = k->missing > UINT32_MAX ? UINT32_MAX : (uint32_t)k->missing;
    if (k->missing)
        __atomic_store_n(&k->missing, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&k->head, k->head + 1, __ATOMIC_RELEASE);
    if ((k->head & (k->size / 4 - 1)) == 0)
        wake_writer();
}

struct coir_track *coir_trace_track(unsigned id)
{
    const size_t bytes = sizeof(struct coir_track) + coir_trace_events * sizeof(struct coir_record);
    struct coir_track *k = coir_alloc_fails() ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);

    if (!k)
        return NULL;
    memset(k, 0, sizeof *k);
    k->size = coir_trace_events;
    __atomic_store_n(&trace.track[id], k, __ATOMIC_RELEASE);
    return k;
}

void coir_trace_epoch(int64_t began, bool virtual_time)
{
    trace.began = began;
    trace.virtual_time = virtual_time;
    __atomic_store_n(&trace.epoch, true, __ATOMIC_RELEASE);
}

/* ---- the file ---- */

static void fail(const char *why)
{
    if (!trace.failed)
        fprintf(stderr, "coir: the trace \"%s\" ends here: %s\n", trace.path, why);
    trace.failed = true;
}

static void write_all(const char *buf, size_t len)
{
    while (len > 0 && !trace.failed) {
        const ssize_t n = write(trace.fd, buf, len);
        if (n < 0 && errno != EINTR)
            fail(coir_strerror(-errno));
        buf += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
        trace.length += n > 0 ? n : 0;
    }
}

static void flush(struct coir_teller *t)
{
    write_all(t->room, (size_t)(t->text.at - t->room));
    t->text.at = t->room;
}

/* ---- the writer's side ---- */

struct view {                            /* of the tracks, at a moment */
    struct coir_track *track[COIR_MAX_SHARDS];
    uint64_t at[COIR_MAX_SHARDS], end[COIR_MAX_SHARDS];
    unsigned n;
};

static const struct coir_record *next_of(const struct view *v, unsigned i)
{
    const struct coir_track *k = v->track[i];

    return v->at[i] < v->end[i] ? &k->records[v->at[i] & (k->size - 1)] : NULL;
}

/* The track whose next record is the oldest. `until`: what the others go on with. False: there is none. */
static bool oldest(const struct view *v, unsigned *which, int64_t *until)
{
    const struct coir_record *best = NULL;

    *until = INT64_MAX;
    for (unsigned i = 0; i < v->n; i++) {
        const struct coir_record *r = next_of(v, i);
        if (!r)
            continue;
        if (!best || r->at < best->at) {
            *until = best ? best->at : INT64_MAX;
            best = r;
            *which = i;
        } else if (r->at < *until) {
            *until = r->at;
        }
    }
    return best;
}

static void look(struct view *v)
{
    v->n = 0;
    for (unsigned i = 0; i < COIR_MAX_SHARDS; i++) {
        struct coir_track *k = __atomic_load_n(&trace.track[i], __ATOMIC_ACQUIRE);
        v->track[i] = k;
        if (!k)
            continue;
        v->at[i] = k->tail;
        v->end[i] = __atomic_load_n(&k->head, __ATOMIC_ACQUIRE);
        v->n = i + 1;
    }
    for (unsigned i = 0; i < v->n; i++) {
        if (!v->track[i])
            v->at[i] = v->end[i] = 0;
    }
}

/* Tells what has been put so far, by time. */
static void take_all(struct coir_teller *t)
{
    const struct coir_record *r;
    struct view v;
    int64_t until;
    unsigned i = 0;

    look(&v);
    while (oldest(&v, &i, &until)) {
        while ((r = next_of(&v, i)) && r->at <= until) {
            if (r->missing)
                coir_tell_missing(t, i, r->missing, r->at);
            coir_tell(t, i, r);
            v.at[i]++;
            if (!coir_teller_is_full(t))
                continue;
            __atomic_store_n(&v.track[i]->tail, v.at[i], __ATOMIC_RELEASE);
            flush(t);
        }
        __atomic_store_n(&v.track[i]->tail, v.at[i], __ATOMIC_RELEASE);
    }
    flush(t);
}

static bool is_behind(void)
{
    for (unsigned i = 0; i < COIR_MAX_SHARDS; i++) {
        const struct coir_track *k = __atomic_load_n(&trace.track[i], __ATOMIC_ACQUIRE);
        if (k && __atomic_load_n(&k->head, __ATOMIC_ACQUIRE) - k->tail > k->size / 2)
            return true;
    }
    return false;
}

/* A fiftieth of a second, or until a shard has put much. */
static void wait_a_while(void)
{
    const int64_t at = coir_clock_monotonic() + COIR_S / 50;
    const struct timespec until = { at / COIR_S, at % COIR_S };

    if (is_behind())
        return;
    __atomic_store_n(&trace.asleep, 1, __ATOMIC_SEQ_CST);
    while (sem_clockwait(&trace.wake, CLOCK_MONOTONIC, &until) < 0 && errno == EINTR)
        ;
    __atomic_store_n(&trace.asleep, 0, __ATOMIC_SEQ_CST);
}

static void *writer(void *arg)
{
    struct coir_teller *t = trace.teller;
    bool told = false, ending;

    pthread_setname_np(pthread_self(), "coir-trace");
    do {
        ending = __atomic_load_n(&trace.ending, __ATOMIC_ACQUIRE);
        if (!told && (told = __atomic_load_n(&trace.epoch, __ATOMIC_ACQUIRE)))
            coir_tell_run(t, trace.began, trace.virtual_time);
        if (told)
            take_all(t);
        __atomic_add_fetch(&trace.rounds, 1, __ATOMIC_RELEASE);
        if (!ending)
            wait_a_while();
    } while (!ending);
    return arg;
}

/* ---- a run ---- */

/* Goes on behind what the last run of this process wrote, if that is still what the file ends with. */
static bool goes_on(const struct stat *st)
{
    return trace.teller && trace.owner == getpid() && st->st_dev == trace.dev && st->st_ino == trace.ino
        && st->st_size == trace.length && lseek(trace.fd, trace.length - TAIL, SEEK_SET) >= 0
        && ftruncate(trace.fd, trace.length - TAIL) == 0;
}

/* 0, or a negative errno. */
static int open_file(const char *template)
{
    char path[PATH_MAX];
    struct stat st;
    int err = coir_template_expand(template, path, sizeof path);

    if (err)
        return err;
    trace.fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    if (trace.fd < 0)
        return -errno;
    if (fstat(trace.fd, &st) < 0)
        err = -errno;
    else if (S_ISREG(st.st_mode) && flock(trace.fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        err = -EWOULDBLOCK;
    if (err) {
        close(trace.fd);
        trace.fd = -1;
        return err;
    }
    if (!strcmp(path, trace.path) && goes_on(&st)) {
        trace.length -= TAIL;
        return 0;
    }
    memcpy(trace.path, path, sizeof path);
    trace.length = 0;
    trace.dev = st.st_dev;
    trace.ino = st.st_ino;
    return S_ISREG(st.st_mode) && ftruncate(trace.fd, 0) < 0 ? -errno : 0;
}

static void close_file(void)
{
    if (trace.fd >= 0)
        close(trace.fd);
    trace.fd = -1;
}

/* 0, or a negative errno. With every signal blocked, so that the program's handlers run on its own threads. */
static int start_writer(void)
{
    sigset_t before;
    int err;

    if (trace.length == 0) {                 /* a new file */
        if (!trace.teller)
            trace.teller = coir_alloc_fails() ? NULL : calloc(1, sizeof *trace.teller);
        if (!trace.teller || !coir_teller_init(trace.teller))
            return -ENOMEM;
    }
    trace.owner = getpid();
    trace.failed = trace.epoch = false;
    trace.asleep = trace.ending = 0;
    memset(trace.track, 0, sizeof trace.track);
    sem_init(&trace.wake, 0, 0);
    coir_block_signals(&before);
    err = coir_alloc_fails() ? EAGAIN : pthread_create(&trace.thread, NULL, writer, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -err;
}

bool coir_trace_open(void)
{
    const char *template = secure_getenv("COIR_TRACE");
    int err;

    if (!template || !*template)
        return false;
    pthread_mutex_lock(&lock);
    err = open_file(template);
    if (!err)
        err = start_writer();
    if (err) {
        fprintf(stderr, "coir: there is no trace in \"%s\": %s\n", template,
                err == -EWOULDBLOCK ? "another process writes there; %p in the name stands for the process"
                                : coir_template_why(err));
        close_file();
    }
    pthread_mutex_unlock(&lock);
    return !err;
}

/* The writer has ended. What shards did not get rid of is missing at their end. */
static void finish(void)
{
    struct coir_teller *t = trace.teller;

    if (!__atomic_load_n(&trace.epoch, __ATOMIC_ACQUIRE))    /* no shard has begun */
        coir_tell_run(t, coir_clock_monotonic(), false);
    for (unsigned i = 0; i < COIR_MAX_SHARDS; i++) {
        const struct coir_track *k = __atomic_load_n(&trace.track[i], __ATOMIC_ACQUIRE);
        const uint64_t missing = k ? __atomic_load_n(&k->missing, __ATOMIC_RELAXED) : 0;
        if (missing)
            coir_tell_missing(t, i, missing, t->origin + t->last);
    }
    coir_tell_run_end(t);
    flush(t);
    write_all(tail_text, TAIL);
}

/* A run that lacks something says so. */
static void report_missing(void)
{
    const uint64_t missing = coir_teller_missing(trace.teller);

    if (missing && !trace.failed)
        fprintf(stderr, "coir: the trace \"%s\" lacks %llu events, which came faster than they could be written\n",
                trace.path, (unsigned long long)missing);
}

static void end_writer(void)
{
    __atomic_store_n(&trace.ending, 1, __ATOMIC_RELEASE);
    sem_post(&trace.wake);
    pthread_join(trace.thread, NULL);
    finish();
    report_missing();
    close_file();
}

void coir_trace_close(void)
{
    pthread_mutex_lock(&lock);
    if (trace.fd >= 0)
        end_writer();
    for (unsigned i = 0; i < COIR_MAX_SHARDS; i++) {
        free(trace.track[i]);
        trace.track[i] = NULL;
    }
    sem_destroy(&trace.wake);
    pthread_mutex_unlock(&lock);
}

/* The process ends in the middle of a run, by exit(3): shards may still put, and nobody takes. */
static __attribute__((destructor)) void leave(void)
{
    pthread_mutex_lock(&lock);
    if (trace.fd >= 0)
        end_writer();
    coir_teller_free(trace.teller);
    free(trace.teller);
    trace.teller = NULL;
    pthread_mutex_unlock(&lock);
}

void coir_trace_hurry(void)
{
    const struct timespec moment = { 0, COIR_MS };
    const unsigned rounds = __atomic_load_n(&trace.rounds, __ATOMIC_ACQUIRE);

    if (trace.fd < 0)
        return;
    for (int i = 0; i < 100 && __atomic_load_n(&trace.rounds, __ATOMIC_ACQUIRE) - rounds < 2; i++) {
        wake_writer();
        nanosleep(&moment, NULL);
    }
}

/* ---- over a fork ---- */

void coir_trace_hold(void)
{
    pthread_mutex_lock(&lock);
}

void coir_trace_let_go(void)
{
    pthread_mutex_unlock(&lock);
}

void coir_trace_forget(void)
{
    close_file();
}
