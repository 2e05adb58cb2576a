/* SPDX-License-Identifier: MIT */
/*
 * fork in a body: the child has no runtime, may make one of its own, and leaves the parent's alone.
 */
#include "task/help.h"

struct echo {
    coir_frame_void;
    coir_no_args;
    int fds[2];
    char byte;
    union {
        struct coir_sleep sleep;
        struct coir_write write;
        struct coir_read read;
        struct coir_close close;
    };
};
static coir_declare(echo);

coir_body(echo, f) {
    if (coir_pipe(f->fds))
        coir_fail(f, EMFILE);
    coir_try(f, &f->write, coir_write, .fd = f->fds[1], .buf = "x", .len = 1);
    coir_try(f, &f->read, coir_read, .fd = f->fds[0], .buf = &f->byte, .len = 1);
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    coir_finally(f) {
        coir_await(f, &f->close, coir_close, .fd = f->fds[0]);
        coir_await(f, &f->close, coir_close, .fd = f->fds[1]);
    }
} coir_end

/* In the child: 0 when all is as it should be. */
static int in_forked(bool runs)
{
    const struct coir_options two = { .shards = 2 };

    if (coir_shard_id() != -1 || coir_shard_count() != 0)
        return 1;
    if (coir_spawn_on(0, coir_new(echo)) != -EINVAL)
        return 2;
    coir_stop();
    if (!runs)
        return 0;
    if (coir_run(NULL, coir_new(echo)))
        return 3;
    return coir_run(&two, coir_new(echo)) ? 4 : 0;
}

struct forks {
    coir_frame_void;
    coir_no_args;
    int i, status;
    pid_t pid;
    struct coir_group group;
    union {
        struct coir_sleep sleep;
        struct echo echo;
        struct coir_group_wait wait;
    };
};
static coir_declare(forks);

coir_body(forks, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(echo));
    coir_try(f, &f->sleep, coir_sleep, .ns = 100);       /* the other task is in the middle of something */
    for (f->i = 0; f->i < 4; f->i++) {
        fflush(NULL);
        f->pid = fork();
        if (f->pid == 0) {
            alarm(30);
            _exit(in_forked(f->i % 2));
        }
        coir_try(f, &f->echo, echo);
        waitpid(f->pid, &f->status, 0);
        EQ(WIFEXITED(f->status) ? WEXITSTATUS(f->status) : -WTERMSIG(f->status), 0, "child %d", f->i);
        coir_try(f, &f->echo, echo);
    }
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

int main(void)
{
    const struct coir_options two = { .shards = 2 };

    unsetenv("COIR_TIME");
    EQ(run(coir_new(forks)), 0, "a body that forks, and goes on");
    EQ(coir_run(&two, coir_new(forks)), 0, "the same with two shards");
    return DONE();
}
