/* SPDX-License-Identifier: MIT */
/*
 * embed_relay - fibers in Coir and tasks in C on one shard, which talk over channels: what is read from standard input
 * goes, line by line, through two fibers, and comes back to be printed.
 *
 * The task `feeder` reads, and sends; it waits when the channel is full. Fibers of the program take lines from there,
 * each as it gets one, and send what they make of it into another channel. The main task prints. Closing the first
 * channel ends the fibers, which close the second, which ends the main task.
 */
#include <coir/coir.h>
#include <coir/vm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "pub fn lines() -> Chan[Text] { return chan[Text](2) }\n"
    "\n"
    "fn worker(from: Chan[Text], to: Chan[Text]) {\n"
    "    for line in from { to.send(\"${line.len()} ${line.upper()}\") }\n"
    "}\n"
    "\n"
    "pub fn relay(from: Chan[Text], to: Chan[Text]) {\n"
    "    group g {\n"
    "        g.spawn worker(from, to)\n"
    "        g.spawn worker(from, to)\n"
    "    }\n"
    "    to.close()\n"
    "}\n";

/* Standard input, line by line, into a channel of the machine. */
struct feeder {
    coir_frame_void;
    coir_args(struct coir_vm *vm; struct coir_vm_value to;);
    struct coir_fd_stream in;
    struct coir_reader reader;
    char buffer[4096];
    struct coir_vm_value line;
    struct coir_read_line read;
    struct coir_vm_send send;
};
static coir_declare(feeder);

coir_body(feeder, f) {
    coir_fd_stream_init(&f->in, 0, -1);
    coir_reader_init_in(&f->reader, &f->in.stream, f->buffer, sizeof f->buffer);
    for (;;) {
        coir_try(f, &f->read, coir_read_line, .reader = &f->reader, .rest = true);
        if (!f->read.result.data)
            break;
        f->line = coir_vm_text(f->vm, f->read.result.data, f->read.result.len);
        coir_await(f, &f->send, coir_vm_send, .chan = f->to, .value = f->line);
        coir_vm_release(f->line);
        coir_check(f, &f->send);
    }
    coir_finally(f) {
        coir_vm_chan_close(f->to);
    }
} coir_end

/* Opens the machine, has the fibers and the feeder begin, and prints what comes back. */
struct relay {
    coir_frame_void;
    coir_args(const struct coir_vm_program *program;);
    struct coir_vm *vm;
    struct coir_vm_value ends[2];       /* from, to */
    struct coir_group group;
    struct coir_vm_open open;
    struct coir_vm_call call;
    struct coir_vm_recv recv;
    struct coir_vm_close close;
    struct coir_group_wait wait;
};
static coir_declare(relay);

static void print_line(struct coir_vm_value line)
{
    size_t n;
    const char *bytes = coir_vm_as_text(line, &n);

    printf("%.*s\n", (int)n, bytes);
    coir_vm_release(line);
}

coir_body(relay, f) {
    f->vm = NULL;
    coir_group_open(f, &f->group);
    coir_get(f, f->vm, &f->open, coir_vm_open, .program = f->program);
    coir_get(f, f->ends[0], &f->call, coir_vm_call, .vm = f->vm, .name = "lines");
    coir_get(f, f->ends[1], &f->call, coir_vm_call, .vm = f->vm, .name = "lines");
    if (coir_vm_start(f->vm, "relay", COIR_VM_NO_VALUE, f->ends, 2) < 0)
        coir_fail(f, ENOMEM);
    coir_spawn(&f->group, coir_new(feeder, .vm = f->vm, .to = f->ends[0]));
    for (;;) {
        coir_try(f, &f->recv, coir_vm_recv, .chan = f->ends[1]);
        if (coir_vm_kind_of(f->recv.result) == COIR_VM_NONE)
            break;
        print_line(f->recv.result);
    }
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        coir_await(f, &f->close, coir_vm_close, .vm = f->vm);
    }
} coir_end

int main(int argc, char **argv)
{
    static const char usage[] = "usage: embed_relay <LINES\n";
    struct coir_vm_program *program;
    char *why;
    int status;

    if (argc > 1)
        return fputs(usage, strcmp(argv[1], "--help") ? stderr : stdout), strcmp(argv[1], "--help") ? 2 : 0;
    if (coir_vm_compile_text("relay.coir", text, sizeof text - 1, NULL, &program, &why) < 0) {
        fputs(why ? why : "embed_relay: no memory\n", stderr);
        free(why);
        return 1;
    }
    free(why);
    status = coir_main(coir_new(relay, .program = program));
    coir_vm_program_free(program);
    return status;
}
