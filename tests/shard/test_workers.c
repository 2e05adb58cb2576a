/* SPDX-License-Identifier: MIT */
/*
 * Operations that block in the kernel's workers, or on the pool: however many, the threads they take are
 * bounded. And a program that becomes a daemon, or gives up root, before it runs: its planes are made
 * afterwards, by whoever it is then.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "runtime/base/torture.h"
#include "task/help.h"

enum { OPENS = 200, MOST_THREADS = 64 + 16 + 8 + 4 };   /* the ring's workers of both kinds, the pool's, our own */

/* ---- bounded threads ---- */

static unsigned threads(void)
{
    DIR *d = opendir("/proc/self/task");
    unsigned n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static char fifo[64];

/* Waits for a writer that never comes. */
struct waiter {
    coir_frame_void;
    coir_no_args;
    struct coir_open open;
};
static coir_declare(waiter);

coir_body(waiter, f) {
    coir_await(f, &f->open, coir_open, .path = fifo, .flags = O_RDONLY);
    if (coir_status(&f->open) == 0)
        close(f->open.result);
} coir_end

struct crowd {
    coir_frame_void;
    coir_no_args;
    int i, writer;
    unsigned most;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_sleep sleep;
};
static coir_declare(crowd);

coir_body(crowd, f) {
    f->most = 0;
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < OPENS; f->i++)
        coir_spawn(&f->group, coir_new(waiter));
    for (f->i = 0; f->i < 20 || (f->most <= COIR_FILE_THREADS / 2 && f->i < 3000); f->i++) {
        coir_try(f, &f->sleep, coir_sleep, .ns = 10 * COIR_MS);
        f->most = threads() > f->most ? threads() : f->most;
    }
    OK(f->most > COIR_FILE_THREADS / 2, "opens of a FIFO wait on other threads (%u)", f->most);
    OK(f->most <= MOST_THREADS, "two hundred of them take no more than %d threads (%u)", MOST_THREADS, f->most);
    coir_group_cancel(&f->group);
    /* On the pool an open that runs is waited for: a writer lets the eight there go on, one after the other. */
    f->writer = open(fifo, O_RDWR | O_NONBLOCK);
    OK(f->writer >= 0, "a writer comes");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    close(f->writer);
    EQ(f->group.live, 0, "all have ended");
} coir_end

/* ---- daemons and users ---- */

struct little {
    coir_frame(int);
    coir_no_args;
    int fds[2];
    char byte;
    struct coir_write write;
    struct coir_read read;
};
static coir_declare(little);

coir_body(little, f) {
    if (coir_pipe(f->fds))
        coir_fail(f, EMFILE);
    coir_try(f, &f->write, coir_write, .fd = f->fds[1], .buf = "x", .len = 1);
    coir_try(f, &f->read, coir_read, .fd = f->fds[0], .buf = &f->byte, .len = 1);
    coir_finally(f) {
        close(f->fds[0]);
        close(f->fds[1]);
    }
} coir_end

static int as_child(int (*change)(void))
{
    int status = -1;
    const pid_t pid = fork();

    if (pid == 0)
        _exit(change() ? 1 : coir_run(NULL, coir_new(little)) ? 2 : 0);
    waitpid(pid, &status, 0);
    return status;
}

static int give_up_root(void)
{
    return setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534);
}

static int no_descriptors_to_spare(void)
{
    const struct rlimit limit = { 32, 32 };

    return setrlimit(RLIMIT_NOFILE, &limit);
}

/* A daemon's parent is not us: it answers through a pipe. */
static int as_daemon(void)
{
    int fds[2], answer = -1;

    if (pipe(fds))
        return -1;
    const pid_t pid = fork();
    if (pid == 0) {
        if (daemon(1, 1))
            _exit(1);
        answer = coir_run(NULL, coir_new(little));
        _exit(write(fds[1], &answer, sizeof answer) != sizeof answer);
    }
    close(fds[1]);
    if (read(fds[0], &answer, sizeof answer) != sizeof answer)
        answer = -1;
    close(fds[0]);
    waitpid(pid, NULL, 0);
    return answer;
}

int main(void)
{
    char folder[] = "/tmp/coir-workers-XXXXXX";

    if (!mkdtemp(folder))
        SKIP_ALL("no temporary folder");
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    OK(mkfifo(fifo, 0600) == 0, "a FIFO");
    EQ(coir_run(NULL, coir_new(crowd)), 0, "many opens that block");
    unlink(fifo);
    rmdir(folder);
    EQ(as_daemon(), 0, "a daemon runs tasks");
    EQ(as_child(no_descriptors_to_spare), 0, "with thirty-two descriptors");
    if (geteuid() == 0)
        EQ(as_child(give_up_root), 0, "after giving up root");
    else
        SKIP("giving up root: we are not root");
    return DONE();
}
