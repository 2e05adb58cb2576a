/* SPDX-License-Identifier: MIT */
/*
 * Whole programs in which the N-th allocation or system call fails, for N = 1, 2, 3, ...: an echo server with a
 * client, and a server of files with its client. Whatever fails, the run ends, with a negative errno or well; every
 * descriptor is given back by the tasks' own cleanups; memory is the leak checker's business.
 */

#ifndef COIR_FAULTS
#include "tap.h"

int main(void)
{
    SKIP_ALL("built without -Dfaults=true");
}
#else
#include <netinet/tcp.h>
#include <signal.h>

#include "../ops/net.h"
#include "runtime/base/fault.h"
#include "runtime/base/pool.h"

enum { PATIENCE = 20, LAST = 1000 };

static char running[128];

static void hangs(int signal)
{
    (void)signal;
    if (write(1, running, strlen(running)) < 0)
        _exit(3);
    _exit(2);
}

/* Of short writes each would wait for the answer to the one before. */
static void at_once(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}

/* ---- echo ---- */

struct serve_one {
    coir_frame_void;
    coir_args(int fd; bool files;);
    char buf[64];
    size_t n;
    int file;
    union {
        struct coir_recv recv;
        struct coir_recv_exact exact;
        struct coir_send_all send;
        struct coir_open open;
        struct coir_pread_exact pread;
        struct coir_sendfile sendfile;
        struct coir_close close;
    };
};
static coir_declare(serve_one);

coir_body(serve_one, f) {
    f->file = -1;
    at_once(f->fd);
    for (;;) {
        coir_get(f, f->n, &f->recv, coir_recv, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf - 1);
        if (f->n == 0)
            break;
        if (!f->files) {
            coir_try(f, &f->send, coir_send_all, .fd = f->fd, .buf = f->buf, .len = f->n);
            continue;
        }
        coir_try(f, &f->exact, coir_recv_exact, .fd = f->fd, .buf = f->buf + f->n, .len = 10 - f->n);
        f->buf[10] = '\0';
        coir_get(f, f->file, &f->open, coir_open, .path = f->buf, .flags = O_RDONLY);
        coir_get(f, f->n, &f->pread, coir_pread_exact, .fd = f->file, .buf = f->buf, .len = 4);
        coir_try(f, &f->send, coir_send_all, .fd = f->fd, .buf = f->buf, .len = f->n);
        coir_try(f, &f->sendfile, coir_sendfile, .out_fd = f->fd, .in_fd = f->file, .offset = 4, .count = 4);
    }
    coir_finally(f) {
        if (f->file >= 0)
            coir_await(f, &f->close, coir_close, .fd = f->file);
        coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

struct serve {
    coir_frame_void;
    coir_args(int listener; bool files;);
    int fd;
    struct coir_group group;
    union {
        struct coir_accept accept;
        struct coir_close close;
        struct coir_group_wait wait;
    };
};
static coir_declare(serve);

coir_body(serve, f) {
    coir_group_open(f, &f->group);
    for (;;) {
        coir_get(f, f->fd, &f->accept, coir_accept, .fd = f->listener);
        if (coir_spawn(&f->group, coir_new(serve_one, .fd = f->fd, .files = f->files)) < 0)
            coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

struct client {
    coir_frame_void;
    coir_args(const char *where; bool files;);
    int fd, i;
    char buf[64];
    union {
        struct coir_dial dial;
        struct coir_send_all send;
        struct coir_recv_exact recv;
        struct coir_close close;
    };
};
static coir_declare(client);

coir_body(client, f) {
    f->fd = -1;
    coir_get(f, f->fd, &f->dial, coir_dial, .where = f->where);
    at_once(f->fd);
    for (f->i = 0; f->i < (f->files ? 1 : 3); f->i++) {
        coir_try(f, &f->send, coir_send_all, .fd = f->fd, .buf = "served.txt", .len = f->files ? 10 : 8);
        coir_try(f, &f->recv, coir_recv_exact, .fd = f->fd, .buf = f->buf, .len = 8);
        if (memcmp(f->buf, f->files ? "01234567" : "served.t", 8))
            coir_fail(f, -EBADMSG);
    }
    coir_finally(f) {
        if (f->fd >= 0)
            coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

struct program {
    coir_frame_void;
    coir_args(bool files;);
    int listener;
    struct sockaddr_storage at;
    socklen_t len;
    char where[COIR_ADDRESS_TEXT];
    struct coir_task *kids[2];
    struct coir_combine race;
    struct serve serve;
    struct client client;
    struct coir_close close;
};
static coir_declare(program);

coir_body(program, f) {
    f->listener = coir_listen("127.0.0.1:0", NULL);
    if (f->listener < 0)
        coir_fail(f, f->listener);
    f->len = sizeof f->at;
    MUST(getsockname(f->listener, (struct sockaddr *)&f->at, &f->len));
    coir_address_text(&f->at, f->len, f->where, sizeof f->where);
    /* Whichever ends first ends the other: the client that has had its answers, or the server that failed. */
    f->kids[0] = coir_make(&f->serve, serve, .listener = f->listener, .files = f->files);
    f->kids[1] = coir_make(&f->client, client, .where = f->where, .files = f->files);
    coir_race(f, &f->race, f->kids, 2);
    coir_check(f, &f->race);
    coir_finally(f) {
        if (f->listener >= 0)
            coir_await(f, &f->close, coir_close, .fd = f->listener);
    }
} coir_end

/* ---- around it ---- */

static const char *name_of(int err)
{
    return err ? strerrorname_np(err) : "allocation";
}

static bool run_once(bool files, int err, long n)
{
    const int before = count_fds();

    snprintf(running, sizeof running, "not ok - it hangs: %s: %s %ld\n", files ? "files" : "echo", name_of(err), n);
    alarm(PATIENCE);
    coir_fail_alloc_at = err ? 0 : n;
    coir_fail_syscall_at = err ? n : 0;
    coir_fail_syscall_with = err;
    const int run = coir_run(NULL, coir_new(program, .files = files));
    const bool fired = !coir_fail_alloc_at && !coir_fail_syscall_at;
    coir_fail_alloc_at = coir_fail_syscall_at = 0;
    alarm(0);
    if (run > 0 || run < -4095 || run == -EBADMSG || (!fired && run) || ((err == EINTR || err == EAGAIN) && run))
        OK(false, "%s: %s %ld: the run ends with %d", files ? "files" : "echo", name_of(err), n, run);
    if (count_fds() != before)
        OK(false, "%s: %s %ld: descriptors %+d", files ? "files" : "echo", name_of(err), n, count_fds() - before);
    return fired;
}

int main(void)
{
    static const int errors[] = { 0, EIO, ENOMEM, EMFILE, EINTR, EAGAIN };
    const char *const where = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    char folder[64];

    snprintf(folder, sizeof folder, "%s/coir-programs-XXXXXX", where);
    if (!mkdtemp(folder) || chdir(folder) < 0)
        SKIP_ALL("no folder under %s", where);
    const int file = MUST(open("served.txt", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    MUST((int)write(file, "0123456789", 10));
    close(file);
    sigaction(SIGALRM, &(struct sigaction){ .sa_handler = hangs }, NULL);
    for (int files = 0; files < 2; files++) {
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
            long n = 1;
            while (n < LAST && run_once(files, errors[i], n))
                n++;
            OK(n < LAST, "%s: %s: each of %ld has failed", files ? "files" : "echo", name_of(errors[i]), n - 1);
        }
    }
    unlink("served.txt");
    if (chdir("/") == 0)
        rmdir(folder);
    return DONE();
}
#endif
