/* SPDX-License-Identifier: MIT */
/*
 * The thread of a window and its clients: one line in, one answer out, and the connection is closed.
 *
 * Clients may be slow, silent, or gone in the middle. Each has a place out of a fixed number and some time; when all
 * places are taken, who has been quiet for the longest goes first. Whoever may open the socket may see the run: the
 * same user, and root.
 */
#include "runtime/see/window.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/see/counters.h"

/* Held by the thread while it does not wait, and by who makes or ends a window. */
static pthread_mutex_t window_lock = PTHREAD_MUTEX_INITIALIZER;
static struct coir_window *window_here;              /* of this process, under the lock: for the child of a fork */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- answers ---- */

static void drop(struct coir_window_client *c)
{
    close(c->fd);
    free(c->answer);
    *c = (struct coir_window_client){ .fd = -1 };
}

static void go_on_sending(struct coir_window_client *c, int64_t now)
{
    const ssize_t n = send(c->fd, c->answer + c->sent, c->len - c->sent, MSG_NOSIGNAL);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        c->sent += (size_t)n;
        c->since = now;
    }
    if (n < 0 || c->sent == c->len)
        drop(c);
}

static void answer_with(struct coir_window *w, struct coir_window_client *c, const char *request, int64_t now)
{
    FILE *to = open_memstream(&c->answer, &c->len);

    if (!to) {
        drop(c);
        return;
    }
    if (!strcmp(request, "stats"))
        coir_window_write_stats(to, w);
    else if (!strcmp(request, "metrics"))
        coir_metrics_of(w->run, to);
    else if (!strcmp(request, "tasks"))
        coir_window_write_tasks(to, w, now);
    else if (!strcmp(request, "dump"))
        coir_window_write_dump(to, w, now);
    else
        fprintf(to, "error: %s; there are stats, metrics, tasks and dump\n", request);
    if (fclose(to) == EOF || !c->answer) {
        drop(c);
        return;
    }
    c->state = COIR_CLIENT_READS;
    c->since = now;
    go_on_sending(c, now);
}

/* A whole line has come. */
static void obey(struct coir_window *w, struct coir_window_client *c, int64_t now)
{
    if (!strcmp(c->request, "tasks") || !strcmp(c->request, "dump")) {
        c->question = c->request[0] == 't' ? COIR_ASK_TASKS : COIR_ASK_DUMP;
        c->state = COIR_CLIENT_WAITS;
    } else if (!strcmp(c->request, "stats") || !strcmp(c->request, "metrics")) {
        answer_with(w, c, c->request, now);
    } else {
        answer_with(w, c, "no such request", now);
    }
}

static void hear(struct coir_window *w, struct coir_window_client *c, int64_t now)
{
    const size_t room = sizeof c->request - 1 - c->have;
    const ssize_t n = recv(c->fd, c->request + c->have, room, 0);
    char *end;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0 || (n == 0 && c->have == 0)) {
        drop(c);
        return;
    }
    c->have += (size_t)n;
    c->since = now;
    c->request[c->have] = '\0';
    end = strpbrk(c->request, "\r\n");
    if (!end && n > 0 && c->have < sizeof c->request - 1)
        return;
    if (!end && n > 0) {
        answer_with(w, c, "the request is too long", now);
        return;
    }
    if (end)
        *end = '\0';
    obey(w, c, now);
}

/* ---- shards that are asked ---- */

static void answer_all(struct coir_window *w, int64_t now)
{
    const enum coir_question q = w->question;

    for (size_t i = 0; i < COIR_WINDOW_CLIENTS; i++) {
        struct coir_window_client *c = &w->client[i];
        if (c->state == COIR_CLIENT_WAITS && c->in_time)
            answer_with(w, c, q == COIR_ASK_TASKS ? "tasks" : "dump", now);
    }
    w->question = COIR_ASK_NOTHING;
}

/* Asks for those who wait, all that want the same with one question. */
static void ask_for_clients(struct coir_window *w, int64_t now)
{
    enum coir_question q = COIR_ASK_NOTHING;
    int err = 0;

    for (size_t i = 0; i < COIR_WINDOW_CLIENTS; i++) {
        struct coir_window_client *c = &w->client[i];
        if (c->state != COIR_CLIENT_WAITS || (q && c->question != q))
            continue;
        if (!q)
            err = coir_window_ask(w, q = c->question, now);
        c->in_time = !err;
        if (err)
            answer_with(w, c, "no memory", now);
    }
}

/* When to look again. */
static int64_t see_to_questions(struct coir_window *w, int64_t now)
{
    int64_t next = COIR_NEVER;

    if (w->question && coir_window_answered(w, now, &next))
        answer_all(w, now);
    if (!w->question) {
        ask_for_clients(w, now);
        if (w->question && coir_window_answered(w, now, &next))
            next = now;
    }
    return next;
}

/* ---- clients ---- */

static bool may_see(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && (peer.uid == 0 || peer.uid == geteuid());
}

static bool somebody_waits(const struct coir_window *w)
{
    struct pollfd listener = { .fd = w->listener, .events = POLLIN };

    return poll(&listener, 1, 0) == 1;
}

/* A place for one more: a free one, or that of who has been quiet for the longest, if that is long enough. NULL, and
 * *next says when there may be one. */
static struct coir_window_client *find_place(struct coir_window *w, int64_t now, int64_t *next)
{
    struct coir_window_client *quiet = NULL;

    for (size_t i = 0; i < COIR_WINDOW_CLIENTS; i++) {
        struct coir_window_client *c = &w->client[i];
        if (c->state == COIR_CLIENT_NONE)
            return c;
        if (c->state != COIR_CLIENT_WAITS && (!quiet || c->since < quiet->since))
            quiet = c;
    }
    if (!quiet || now - quiet->since < COIR_WINDOW_HASTE) {
        *next = quiet ? quiet->since + COIR_WINDOW_HASTE : now + COIR_WINDOW_HASTE;
        return NULL;
    }
    if (!somebody_waits(w))
        return NULL;
    drop(quiet);
    return quiet;
}

static void let_in(struct coir_window *w, int64_t now)
{
    struct coir_window_client *c;
    int64_t later = COIR_NEVER;

    while ((c = find_place(w, now, &later))) {
        const int fd = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                w->paused = now + COIR_S;            /* no descriptor, no memory */
            return;
        }
        if (!may_see(fd)) {
            close(fd);
            continue;
        }
        *c = (struct coir_window_client){ .state = COIR_CLIENT_ASKS, .fd = fd, .since = now };
        hear(w, c, now);
    }
    w->paused = later == COIR_NEVER ? 0 : later;
}

/* Who has used up his time goes. When the next one will have. */
static int64_t see_to_time(struct coir_window *w, int64_t now)
{
    int64_t next = COIR_NEVER;

    for (size_t i = 0; i < COIR_WINDOW_CLIENTS; i++) {
        struct coir_window_client *c = &w->client[i];
        if (c->state != COIR_CLIENT_ASKS && c->state != COIR_CLIENT_READS)
            continue;
        if (now - c->since >= COIR_WINDOW_PATIENCE)
            drop(c);
        else
            next = earlier(next, c->since + COIR_WINDOW_PATIENCE);
    }
    return next;
}

/* ---- the thread ---- */

enum { WAKE, LISTENER, FIRST_CLIENT, DESCRIPTORS = FIRST_CLIENT + COIR_WINDOW_CLIENTS };

/* Waits, without the lock: whatever comes, or `until`. */
static void wait(struct coir_window *w, struct pollfd *fds, int64_t now, int64_t until)
{
    struct timespec timeout = { 0 };

    fds[WAKE] = (struct pollfd){ .fd = w->wake, .events = POLLIN };
    fds[LISTENER] = (struct pollfd){ .fd = w->paused ? -1 : w->listener, .events = POLLIN };
    for (size_t i = 0; i < COIR_WINDOW_CLIENTS; i++) {
        const struct coir_window_client *c = &w->client[i];
        /* Of who waits for shards only that he is gone. */
        const short events = c->state == COIR_CLIENT_ASKS ? POLLIN : c->state == COIR_CLIENT_READS ? POLLOUT : 0;
        fds[FIRST_CLIENT + i] = (struct pollfd){ .fd = c->fd, .events = events };
    }
    if (until > now)
        timeout = (struct timespec){ (until - now) / COIR_S, (until - now) % COIR_S };
    pthread_mutex_unlock(&window_lock);
    ppoll(fds, DESCRIPTORS, until == COIR_NEVER ? NULL : &timeout, NULL);
    pthread_mutex_lock(&window_lock);
}

static void serve(struct coir_window *w, const struct pollfd *fds, int64_t now)
{
    uint64_t count;

    if (fds[WAKE].revents && read(w->wake, &count, sizeof count) < 0)
        return;
    for (size_t i = 0; i < COIR_WINDOW_CLIENTS; i++) {
        struct coir_window_client *c = &w->client[i];
        const short came = fds[FIRST_CLIENT + i].revents;
        if (!came)
            continue;
        if (c->state == COIR_CLIENT_ASKS)
            hear(w, c, now);
        else if (c->state == COIR_CLIENT_READS)
            go_on_sending(c, now);
        else
            drop(c);
    }
    if (fds[LISTENER].revents || (w->paused && now >= w->paused)) {
        w->paused = 0;
        let_in(w, now);
    }
}

static void *window_thread(void *arg)
{
    struct coir_window *w = arg;
    struct pollfd fds[DESCRIPTORS];

    pthread_mutex_lock(&window_lock);
    while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
        const int64_t now = coir_clock_monotonic();
        int64_t until = earlier(see_to_questions(w, now), see_to_time(w, now));
        if (w->paused)
            until = earlier(until, w->paused);
        wait(w, fds, now, until);
        serve(w, fds, coir_clock_monotonic());
    }
    pthread_mutex_unlock(&window_lock);
    return NULL;
}

/* ---- its beginning and end ---- */

/* With every signal blocked, and where the program may run, not where the first shard does. */
static int start(struct coir_window *w)
{
    const struct coir_runtime *run = w->run;
    pthread_attr_t attr;
    sigset_t before;
    int err = pthread_attr_init(&attr);

    if (err)
        return -err;
    if (run->pinned)
        pthread_attr_setaffinity_np(&attr, sizeof run->cpus, &run->cpus);
    coir_block_signals(&before);
    err = -pthread_create(&w->thread, &attr, window_thread, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (!err)
        pthread_setname_np(w->thread, "coir-see");
    return err;
}

static void free_window(struct coir_window *w)
{
    for (unsigned i = 0; i < COIR_MAX_SHARDS; i++) {
        if (w->asked[i])
            free(w->asked[i]->text);
        free(w->asked[i]);
    }
    free(w->sum);
    free(w);
}

static struct coir_window *make(struct coir_runtime *run)
{
    struct coir_window *w = calloc(1, sizeof *w);

    if (!w)
        return NULL;
    w->run = run;
    for (size_t i = 0; i < COIR_WINDOW_CLIENTS; i++)
        w->client[i].fd = -1;
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->wake >= 0)
        return w;
    free(w);
    return NULL;
}

void coir_window_open(struct coir_runtime *run)
{
    const char *template = run->options.see ? run->options.see : secure_getenv("COIR_SEE");
    struct coir_window *w;
    int err = 0;

    if (!template || !*template)
        return;
    pthread_mutex_lock(&window_lock);
    w = make(run);
    if (!w) {
        fprintf(stderr, "coir: nobody will see this run: %s\n", coir_strerror(errno));
    } else if (!coir_window_place(w, template) || (err = start(w))) {
        if (err) {
            coir_window_unplace(w);
            fprintf(stderr, "coir: nobody will see this run: the window's thread: %s\n", coir_strerror(err));
        }
        close(w->wake);
        free_window(w);
    } else {
        run->window = window_here = w;
    }
    pthread_mutex_unlock(&window_lock);
}

void coir_window_shut(struct coir_runtime *run)
{
    struct coir_window *w = run->window;
    const uint64_t one = 1;

    if (!w)
        return;
    __atomic_store_n(&w->stop, 1, __ATOMIC_RELEASE);
    while (write(w->wake, &one, sizeof one) < 0 && errno == EINTR)
        ;
    pthread_join(w->thread, NULL);
    pthread_mutex_lock(&window_lock);
    window_here = NULL;
    for (size_t i = 0; i < COIR_WINDOW_CLIENTS; i++) {
        if (w->client[i].state != COIR_CLIENT_NONE)
            drop(&w->client[i]);
    }
    coir_window_unplace(w);
    pthread_mutex_unlock(&window_lock);
}

void coir_window_end(struct coir_runtime *run)
{
    if (!run->window)
        return;
    close(run->window->wake);
    free_window(run->window);
    run->window = NULL;
}

/* ---- over a fork ---- */

void coir_window_hold(void)
{
    pthread_mutex_lock(&window_lock);
}

void coir_window_let_go(void)
{
    pthread_mutex_unlock(&window_lock);
}

/* Nobody would answer in the child; the file is the parent's. */
void coir_window_forget(void)
{
    const struct coir_window *w = window_here;

    window_here = NULL;
    if (!w)
        return;
    close(w->listener);
    close(w->wake);
    if (w->sign >= 0)
        close(w->sign);
    for (size_t i = 0; i < COIR_WINDOW_CLIENTS; i++) {
        if (w->client[i].fd >= 0)
            close(w->client[i].fd);
    }
}
