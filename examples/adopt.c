/* SPDX-License-Identifier: MIT */
/*
 * adopt - a coir shard inside a loop that is not coir's: reminders from standard input.
 *
 * Each line "SECONDS TEXT" is printed when its time has come; at the end of the input the program waits for
 * those that are left. The loop is plain epoll, as an existing program may have one, and owns standard input;
 * all that it knows of coir is a descriptor to watch and coir_turn, to be called when that is readable. The
 * waiting is done by one task a reminder.
 */
#include <coir/coir.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Prints `text` at the time `at`, and frees it. */
struct reminder {
    coir_frame_void;
    coir_args(int64_t at; char *text;);
    struct coir_sleep_until sleep;
};
static coir_declare(reminder);

coir_body(reminder, f) {
    coir_try(f, &f->sleep, coir_sleep_until, .at = f->at);
    puts(f->text);
    coir_finally(f) {
        free(f->text);
    }
} coir_end

/* The shard's first task: lasts as long as there may be new reminders. */
struct until_closed {
    coir_frame_void;
    coir_args(struct coir_cell *closed;);
    struct coir_cell_wait wait;
};
static coir_declare(until_closed);

coir_body(until_closed, f) {
    coir_try(f, &f->wait, coir_cell_wait, .cell = f->closed);
} coir_end

/* A callback of the loop; it is no task, so it does not wait, it begins a task that does. */
static void on_line(const char *line)
{
    char *text;
    const double seconds = strtod(line, &text);

    if (text == line || *text != ' ' || !(seconds >= 0 && seconds < 1e9)) {
        fprintf(stderr, "adopt: not a reminder: %s\n", line);
        return;
    }
    const int64_t at = coir_now() + (int64_t)(seconds * COIR_S);
    char *copy = strdup(text + 1);
    const int status = copy ? coir_spawn_on(0, coir_new(reminder, .at = at, .text = copy)) : -ENOMEM;
    if (status < 0) {
        fprintf(stderr, "adopt: %s\n", coir_strerror(status));
        free(copy);
    }
}

/* Another one: hands on whole lines. False at the end of the input. */
static bool on_input(void)
{
    static char buf[4096];
    static size_t have;
    const ssize_t n = read(STDIN_FILENO, buf + have, sizeof buf - 1 - have);
    char *line = buf, *end;

    have += n > 0 ? (size_t)n : 0;
    buf[have] = '\0';
    while ((end = strchr(line, '\n')) || (line == buf && have == sizeof buf - 1)) {
        if (end)
            *end = '\0';
        on_line(line);
        line = end ? end + 1 : buf + have;
    }
    if (n == 0 && *line != '\0')
        on_line(line);                  /* the last line needs no end */
    have -= (size_t)(line - buf);
    memmove(buf, line, have);
    return n > 0 || (n < 0 && errno == EINTR);
}

/* The loop, with two descriptors to watch, until coir has no task left. */
static int run_loop(int epoll, struct coir_shard *shard, struct coir_cell *closed)
{
    const int input = STDIN_FILENO, coir = coir_shard_fd(shard);

    if (epoll_ctl(epoll, EPOLL_CTL_ADD, coir, &(struct epoll_event){ .events = EPOLLIN, .data.fd = coir }) < 0
        || epoll_ctl(epoll, EPOLL_CTL_ADD, input, &(struct epoll_event){ .events = EPOLLIN, .data.fd = input }) < 0)
        return -errno;
    for (;;) {
        struct epoll_event event;
        const int n = epoll_wait(epoll, &event, 1, -1);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 1 && event.data.fd == input && !on_input()) {
            epoll_ctl(epoll, EPOLL_CTL_DEL, input, NULL);
            coir_cell_complete(closed, 0, 0);
        }
        if (n == 1 && event.data.fd == coir && !coir_turn(shard))
            return 0;
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        const bool help = strcmp(argv[1], "--help") == 0;
        fprintf(help ? stdout : stderr, "usage: adopt    prints each line \"SECONDS TEXT\" of standard input, a pipe "
                "or a terminal, in time\n");
        return help ? 0 : 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    struct coir_cell closed;
    coir_cell_init(&closed);
    const struct coir_options options = { .drain = true };
    struct coir_shard *shard = coir_shard_open(&options, coir_new(until_closed, .closed = &closed));
    const int epoll = epoll_create1(EPOLL_CLOEXEC);

    int status = shard && epoll >= 0 ? run_loop(epoll, shard, &closed) : -errno;
    if (shard && status < 0)
        coir_cell_revoke(&closed);
    if (shard && coir_shard_close(shard) < 0 && !status)
        status = 1;
    if (status < 0)
        fprintf(stderr, "adopt: %s\n", coir_strerror(status));
    return status ? 1 : 0;
}
