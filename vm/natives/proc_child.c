/* SPDX-License-Identifier: MIT */
/*
 * Natives of proc.Child: a program that runs beside this one. What libcoir knows of it lies in a task that is made with
 * it and begun when it is left: it stops the program, reaps it, and ends. So leaving one needs no memory, and whoever
 * drops one neither waits for that nor can fail. A child belongs to the shard that started it.
 */
#include <coir/coir.h>
#include <errno.h>
#include <stdio.h>

#include "vm/natives/proc.h"

struct leaver {
    coir_frame_void;
    coir_no_args;
    struct coir_process process;
    struct coir_process_close close;
};
static coir_declare(leaver);

coir_body(leaver, f) {
    coir_await(f, &f->close, coir_process_close, .process = &f->process);
} coir_end

struct child {
    struct coir_counted head;
    struct leaver *leaver;
    struct coir_pipe in, out, err;
};

static struct child *child_at(uint64_t slot)
{
    return (struct child *)coir_ref(slot);
}

static void child_drop(struct coir_heap *h, struct coir_counted *head)
{
    struct child *const c = (struct child *)head;

    coir_pipe_close(h, &c->in);
    coir_pipe_close(h, &c->out);
    coir_pipe_close(h, &c->err);
    coir_detach(&c->leaver->task);
}

static const struct coir_resource child_resource = {
    .name = "proc.Child", .size = sizeof(struct child), .drop = child_drop,
    .stays = "a program belongs to the shard that started it",
};

/* ---- started ---- */

struct starting {
    struct coir_process_start op;
    struct leaver *leaver;
    struct coir_command command;
    char *memory[];
};

static void take_end(struct coir_pipe *p, int *fd, const char *program)
{
    *p = (struct coir_pipe){ .fd = *fd };
    snprintf(p->program, sizeof p->program, "%s", program);
    *fd = -1;
}

static enum coir_native_result give_child(struct coir_fiber *f, uint64_t *r, struct starting *s)
{
    struct child *const c = (struct child *)coir_resource_new(f->heap, coir_result_type(f));
    const char *const program = s->command.argv[0];

    if (!c) {
        coir_detach(&s->leaver->task);
        return coir_trap_memory(f);
    }
    c->leaver = s->leaver;
    take_end(&c->in, &c->leaver->process.in, program);
    take_end(&c->out, &c->leaver->process.out, program);
    take_end(&c->err, &c->leaver->process.err, program);
    r[0] = coir_slot_of(c);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result proc_start(struct coir_fiber *f, uint64_t *r)
{
    struct starting *const s = coir_scratch(f, sizeof *s + coir_command_size(r), NULL);
    int status = -ECANCELED;

    if (!s)
        return coir_trap_memory(f);
    if (f->step) {
        status = coir_status(&s->op);
    } else {
        if (coir_command_fill(f, &s->command, s->memory, r) < 0)
            return coir_command_trap(f, &s->command, -EINVAL, COIR_PROCESS_ARGUMENTS);
        s->leaver = (struct leaver *)coir_new(leaver);
        if (!s->leaver)
            return coir_trap_memory(f);
        s->leaver->process = COIR_NO_PROCESS;
    }
    if (f->step == 0 || (status == -ECANCELED && coir_fiber_waits_again(f)))
        return coir_wait_for(f, &s->op, coir_process_start, .process = &s->leaver->process, .argv = s->command.argv,
                             .options = s->command.options);
    if (status == 0)
        return give_child(f, r, s);
    coir_command_trap(f, &s->command, status, s->leaver->process.failed);
    coir_detach(&s->leaver->task);
    return COIR_NATIVE_TRAP;
}

/* ---- its streams ---- */

static enum coir_native_result child_write(struct coir_fiber *f, uint64_t *r)
{
    return coir_pipe_write(f, r, &child_at(r[0])->in);
}

static enum coir_native_result child_read(struct coir_fiber *f, uint64_t *r)
{
    return coir_pipe_read(f, r, &child_at(r[0])->out);
}

static enum coir_native_result child_read_line(struct coir_fiber *f, uint64_t *r)
{
    return coir_pipe_read_line(f, r, &child_at(r[0])->out);
}

static enum coir_native_result take_input(struct coir_fiber *f, uint64_t *r)
{
    return coir_pipe_take(f, r, &child_at(r[0])->in);
}

static enum coir_native_result take_output(struct coir_fiber *f, uint64_t *r)
{
    return coir_pipe_take(f, r, &child_at(r[0])->out);
}

static enum coir_native_result take_errors(struct coir_fiber *f, uint64_t *r)
{
    return coir_pipe_take(f, r, &child_at(r[0])->err);
}

static enum coir_native_result child_finish(struct coir_fiber *f, uint64_t *r)
{
    coir_pipe_close(f->heap, &child_at(r[0])->in);
    return COIR_NATIVE_DONE;
}

/* ---- its end ---- */

static enum coir_native_result child_wait(struct coir_fiber *f, uint64_t *r)
{
    struct child *const c = child_at(r[0]);
    struct coir_process_wait *const s = coir_scratch(f, sizeof *s, NULL);
    int status = -ECANCELED;

    if (!s)
        return coir_trap_memory(f);
    if (f->step)
        status = coir_status(s);
    else
        coir_pipe_close(f->heap, &c->in);
    if (f->step == 0 || (status == -ECANCELED && coir_fiber_waits_again(f)))
        return coir_wait_for(f, s, coir_process_wait, .process = &c->leaver->process);
    if (status < 0)
        return coir_trap_status(f, status, c->in.program);
    return coir_give_exit(f, r, &s->result) ? COIR_NATIVE_DONE : coir_trap_memory(f);
}

static enum coir_native_result child_kill(struct coir_fiber *f, uint64_t *r)
{
    struct child *const c = child_at(r[0]);
    const int number = coir_signal_number(coir_text_at(r[1]));
    int status;

    if (!number)
        return coir_trap_no_signal(f, coir_text_at(r[1]));
    status = coir_process_kill(&c->leaver->process, number);
    if (status < 0 && status != -ESRCH)
        return coir_trap_status(f, status, c->in.program);
    r[0] = status == 0;
    return COIR_NATIVE_DONE;
}

static enum coir_native_result child_pid(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    r[0] = (uint64_t)child_at(r[0])->leaver->process.pid;
    return COIR_NATIVE_DONE;
}

/* Done to its end, also where the fiber is cancelled. What it has written can still be read. */
static enum coir_native_result child_stop(struct coir_fiber *f, uint64_t *r)
{
    struct child *const c = child_at(r[0]);
    struct coir_process *const p = &c->leaver->process;
    struct coir_process_close *const s = coir_scratch(f, sizeof *s, NULL);

    if (!s)
        return coir_trap_memory(f);
    if (f->step == 0) {
        coir_pipe_close(f->heap, &c->in);
        return coir_wait_for(f, s, coir_process_close, .process = p);
    }
    if (p->status < 0)
        return coir_trap_status(f, p->status, c->in.program);
    return coir_give_exit(f, r, &p->exit) ? COIR_NATIVE_DONE : coir_trap_memory(f);
}

/* Likewise. */
static enum coir_native_result child_close(struct coir_fiber *f, uint64_t *r)
{
    struct child *const c = child_at(r[0]);
    struct coir_process_close *const s = coir_scratch(f, sizeof *s, NULL);

    if (!s)
        return coir_trap_memory(f);
    if (f->step == 0) {
        coir_pipe_close(f->heap, &c->in);
        coir_pipe_close(f->heap, &c->out);
        coir_pipe_close(f->heap, &c->err);
        return coir_wait_for(f, s, coir_process_close, .process = &c->leaver->process);
    }
    coir_drop(f->heap, &c->head);
    return COIR_NATIVE_DONE;
}

static const struct coir_native natives[] = {
    { "proc.start_raw", "fn start_raw(argv: List[Text], env: List[Text]?, dir: Text?, how: Int) -> proc.Child",
      proc_start },
    { "proc.stop_raw", "fn stop_raw(child: proc.Child) -> (Int, Text?)", child_stop },
    { "proc.wait_raw", "fn wait_raw(child: proc.Child) -> (Int, Text?)", child_wait },
    { "proc.Child.write", "fn write(self: proc.Child, data: Text)", child_write },
    { "proc.Child.finish", "fn finish(self: proc.Child)", child_finish },
    { "proc.Child.read", "fn read(self: proc.Child, n: Int) -> Text?", child_read },
    { "proc.Child.read_line", "fn read_line(self: proc.Child) -> Text?", child_read_line },
    { "proc.Child.take_input", "fn take_input(self: proc.Child) -> proc.Writer", take_input },
    { "proc.Child.take_output", "fn take_output(self: proc.Child) -> proc.Reader", take_output },
    { "proc.Child.take_errors", "fn take_errors(self: proc.Child) -> proc.Reader", take_errors },
    { "proc.Child.kill", "fn kill(self: proc.Child, signal: Text) -> Bool", child_kill },
    { "proc.Child.pid", "fn pid(self: proc.Child) -> Int", child_pid },
    { "proc.Child.close", "fn close(own self: proc.Child)", child_close },
};
static const struct coir_resource *const resources[] = { &child_resource };
const struct coir_natives coir_proc_child_natives = { natives, sizeof natives / sizeof *natives, resources,
                                                      sizeof resources / sizeof *resources };
