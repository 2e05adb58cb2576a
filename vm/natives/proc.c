/* SPDX-License-Identifier: MIT */
/*
 * Natives of proc: how a program is to be started, laid out for libcoir; and running one to its end. What it writes is
 * collected in texts that grow, each up to the limit.
 */
#include "vm/natives/proc.h"

#include <coir/coir.h>
#include <errno.h>
#include <stdio.h>

#include "vm/machine.h"

enum { BYTES_A_STEP = 32, COLLECT_AT_LEAST = 4096 };
enum { ARGV, ENV, DIR, HOW, INPUT, LIMIT };         /* the window */
enum { BITS_A_STREAM = 2, GROUP = 64 };             /* of HOW */

/* ---- what is to be run ---- */

static size_t list_size(const struct coir_list *list)
{
    size_t size = (list->len + 1) * sizeof(char *);

    for (size_t i = 0; i < list->len; i++)
        size += coir_text_at(list->data[i])->len + 1;
    return size;
}

size_t coir_command_size(const uint64_t *r)
{
    size_t size = list_size(coir_list_at(r[ARGV]));

    if (r[ENV])
        size += list_size(coir_list_at(r[ENV]));
    if (r[DIR])
        size += coir_text_at(r[DIR])->len + 1;
    return size;
}

/* What is being laid out: pointers, then bytes. */
struct layout {
    char **next;
    char *bytes;
    bool good;
};

static char *put_text(struct layout *l, const struct coir_text *t)
{
    char *const to = l->bytes;

    memcpy(to, t->bytes, t->len);
    to[t->len] = 0;
    l->good &= !memchr(t->bytes, 0, t->len);
    l->bytes += t->len + 1;
    return to;
}

static char *const *put_list(struct layout *l, const struct coir_list *list)
{
    char **const first = l->next;

    for (size_t i = 0; i < list->len; i++)
        *l->next++ = put_text(l, coir_text_at(list->data[i]));
    *l->next++ = NULL;
    return first;
}

static int stdio_of(uint64_t how, int stream)
{
    static const int kinds[] = { COIR_STDIO_PIPE, COIR_STDIO_INHERIT, COIR_STDIO_STDOUT, COIR_STDIO_NULL };

    return kinds[how >> stream * BITS_A_STREAM & 3];
}

int coir_command_fill(struct coir_fiber *f, struct coir_command *c, char **memory, const uint64_t *r)
{
    const struct coir_list *const argv = coir_list_at(r[ARGV]), *const env = coir_list_at(r[ENV]);
    struct layout l = { .next = memory, .good = true };

    l.bytes = (char *)(memory + argv->len + 1 + (env ? env->len + 1 : 0));
    c->argv = put_list(&l, argv);
    c->options = (struct coir_process_options){
        .env = env ? put_list(&l, env) : NULL,
        .cwd = r[DIR] ? put_text(&l, coir_text_at(r[DIR])) : NULL,
        .in = stdio_of(r[HOW], 0),
        .out = stdio_of(r[HOW], 1),
        .err = stdio_of(r[HOW], 2),
        .group = r[HOW] & GROUP,
    };
    coir_output_flush(f->vm->streams);
    return l.good && argv->len ? 0 : -EINVAL;
}

enum coir_native_result coir_command_trap(struct coir_fiber *f, const struct coir_command *c, int status,
                                          enum coir_process_part failed)
{
    if (!c->argv[0])
        return coir_trap(f, COIR_TRAP_EXPLICIT, "no program: argv is empty");
    return coir_trap_status(f, status, failed == COIR_PROCESS_CWD ? c->options.cwd : c->argv[0]);
}

bool coir_give_exit(struct coir_fiber *f, uint64_t *r, const struct coir_exit *exit)
{
    struct coir_text *const signal = exit->signal ? coir_signal_name(f->heap, exit->signal) : NULL;

    r[0] = (uint64_t)(int64_t)exit->code;
    r[1] = coir_slot_of(signal);
    return signal || !exit->signal;
}

/* ---- running ---- */

struct running {
    struct coir_process_run op;
    struct coir_heap *heap;
    struct coir_rest out, err;
    size_t limit;
    struct coir_command command;
    char *memory[];
};

/* What is in a text so far lies in front of the room behind it. */
static int more(struct coir_process_run *run, bool is_err)
{
    struct running *const s = (struct running *)run;
    struct coir_rest *const rest = is_err ? &s->err : &s->out;
    const size_t have = is_err ? run->result.err_len : run->result.out_len;
    size_t least = have < COLLECT_AT_LEAST ? COLLECT_AT_LEAST : have, room;
    char *to;

    if (have >= s->limit)
        return 0;
    if (least > s->limit - have)
        least = s->limit - have;
    if (have)
        coir_rest_came(rest, have - coir_rest_len(rest));
    to = coir_rest_room(s->heap, rest, least, &room);
    if (!to)
        return -ENOMEM;
    if (room > s->limit - have)
        room = s->limit - have;
    *(is_err ? &run->err : &run->out) = to - have;
    *(is_err ? &run->err_len : &run->out_len) = have + room;
    return 0;
}

static enum coir_native_result begin(struct coir_fiber *f, const uint64_t *r, struct running *s)
{
    const struct coir_text *const input = coir_text_at(r[INPUT]);
    struct coir_process_options o = s->command.options;
    const bool reads = o.in == COIR_STDIO_PIPE, out = o.out == COIR_STDIO_PIPE, err = o.err == COIR_STDIO_PIPE;

    o.in = reads ? COIR_STDIO_DEFAULT : o.in;
    o.out = out ? COIR_STDIO_DEFAULT : o.out;
    o.err = err ? COIR_STDIO_DEFAULT : o.err;
    return coir_wait_for(f, &s->op, coir_process_run, .argv = s->command.argv, .options = o,
                         .input = reads && input->len ? input->bytes : NULL, .input_len = reads ? input->len : 0,
                         .out = out ? (void *)s : NULL, .err = err ? (void *)s : NULL, .more = more);
}

static void forget(struct running *s)
{
    coir_rest_drop(s->heap, &s->out);
    coir_rest_drop(s->heap, &s->err);
}

static enum coir_native_result trap(struct coir_fiber *f, struct running *s, int status)
{
    const enum coir_process_part failed = s->op.result.failed;
    char words[64];

    forget(s);
    if (status != -EMSGSIZE)
        return coir_command_trap(f, &s->command, status, failed);
    snprintf(words, sizeof words, "More than %zu bytes of output", s->limit);
    return coir_trap_outside(f, status, words, s->command.argv[0]);
}

/* Of one stream; NULL: no memory. */
static struct coir_text *collected(struct running *s, struct coir_rest *rest, size_t len)
{
    struct coir_text *t;

    if (len)
        coir_rest_came(rest, len - coir_rest_len(rest));
    t = coir_rest_take(s->heap, rest, len, 0);
    coir_rest_drop(s->heap, rest);
    return t;
}

static enum coir_native_result give(struct coir_fiber *f, uint64_t *r, struct running *s)
{
    const struct coir_ran *const ran = &s->op.result;
    struct coir_text *const out = collected(s, &s->out, ran->out_len), *const err = collected(s, &s->err, ran->err_len);

    coir_charge(f, (ran->out_len + ran->err_len) / BYTES_A_STEP);
    if (out && err && coir_give_exit(f, r, &ran->exit)) {
        r[2] = coir_slot_of(out);
        r[3] = coir_slot_of(err);
        return COIR_NATIVE_DONE;
    }
    if (out)
        coir_drop(f->heap, &out->head);
    if (err)
        coir_drop(f->heap, &err->head);
    return coir_trap_memory(f);
}

/* A run that was cut is not begun again: the program has been stopped. */
static enum coir_native_result proc_run(struct coir_fiber *f, uint64_t *r)
{
    struct running *const s = coir_scratch(f, sizeof *s + coir_command_size(r), NULL);

    if (!s)
        return coir_trap_memory(f);
    if (f->step)
        return coir_status(&s->op) < 0 ? trap(f, s, coir_status(&s->op)) : give(f, r, s);
    if ((int64_t)r[LIMIT] < 0)
        return coir_trap(f, COIR_TRAP_BOUNDS, "a limit of %lld bytes", (long long)r[LIMIT]);
    s->heap = f->heap;
    s->limit = r[LIMIT];
    if (coir_command_fill(f, &s->command, s->memory, r) < 0)
        return coir_command_trap(f, &s->command, -EINVAL, COIR_PROCESS_ARGUMENTS);
    return begin(f, r, s);
}

static const struct coir_native natives[] = {
    { "proc.run_raw",
      "fn run_raw(argv: List[Text], env: List[Text]?, dir: Text?, how: Int, input: Text, most: Int) -> "
      "(Int, Text?, Text, Text)", proc_run },
};
const struct coir_natives coir_proc_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
