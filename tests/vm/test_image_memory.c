/* SPDX-License-Identifier: MIT */
/*
 * Building and loading images when memory ends, at every allocation in turn: -ENOMEM, and nothing is left. The
 * allocations of this program are counted by the linker's --wrap.
 */
#include "tap.h"
#include "vm/build.h"
#include "vm/load.h"

#include <errno.h>

static long fails_at;                   /* counts down; the allocation that reaches 0 fails. 0: none does */
static long held;                       /* blocks that were not given back */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);

static bool fails(void)
{
    return fails_at > 0 && --fails_at == 0;
}

static void *got(void *p)
{
    held += p != NULL;
    return p;
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : got(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : got(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
    void *to = fails() ? NULL : __real_realloc(p, n);

    held += to && !p;
    return to;
}

void __wrap_free(void *p)
{
    held -= p != NULL;
    __real_free(p);
}

/* A program with types, constants, an import, a handler, a closure, a far branch, drop maps. 0, or what finish says. */
static int build(void **bytes, size_t *length)
{
    const struct coir_build_param x = { COIR_TYPE_INT, COIR_MODE_LEND }, t = { COIR_TYPE_TEXT, COIR_MODE_OWN };
    struct coir_build *b = coir_build_new();
    uint32_t record, sum, body, from, to, pad;
    int bad;

    if (!b)
        return -ENOMEM;
    record = coir_build_record(b, "P");
    coir_build_field(b, record, "x", coir_build_optional(b, COIR_TYPE_INT));
    sum = coir_build_sum(b, "S");
    coir_build_variant(b, sum, "A");
    coir_build_payload(b, sum, "p", coir_build_list(b, record));
    coir_build_import(b, "print", &t, 1, COIR_TYPE_UNIT);
    coir_build_global(b, "g", coir_build_map(b, COIR_TYPE_TEXT, sum));
    body = coir_build_function(b, "body", "t");
    coir_build_begin(b, body, &x, 1, COIR_TYPE_INT);
    coir_build_body(b, coir_build_func(b, &x, 1, COIR_TYPE_INT));
    coir_build_capture(b, "k", COIR_TYPE_TEXT);
    coir_build_op(b, COIR_OP_RET, 0, 0, 0, 0);
    coir_build_end(b, 2);
    coir_build_begin(b, coir_build_function(b, "main", "t"), NULL, 0, COIR_TYPE_UNIT);
    from = coir_build_label(b);
    to = coir_build_label(b);
    pad = coir_build_label(b);
    coir_build_op(b, COIR_OP_TNEW, 0, 0, 0, 0);
    coir_build_place(b, from);
    coir_build_load(b, 1, UINT64_C(1) << 40);
    coir_build_op(b, COIR_OP_YIELD, 0, 0, 0, 0);
    coir_build_jump(b, COIR_OP_JEQI, 1, 5, 0, to);
    for (int i = 0; i < 33000; i++)
        coir_build_op(b, COIR_OP_NEG, 1, 1, 0, 0);
    coir_build_place(b, to);
    coir_build_op(b, COIR_OP_DROP, 0, 0, 0, 0);
    coir_build_op(b, COIR_OP_RET, 0, 0, 0, 0);
    coir_build_place(b, pad);
    coir_build_op(b, COIR_OP_DROP, 0, 0, 0, 0);
    coir_build_op(b, COIR_OP_TRAP, 1, 0, 0, 0);
    coir_build_handler(b, COIR_CLEANUP, from, to, pad, 1);
    coir_build_end(b, 4);
    coir_build_export(b, COIR_EXPORT_MAIN, "main", body + 1);
    bad = coir_build_finish(b, bytes, length);
    coir_build_free(b);
    return bad;
}

int main(void)
{
    long before, n, wrong = 0, left = 0;
    void *bytes = NULL;
    size_t length = 0;
    int bad = -ENOMEM;

    for (n = 1, before = held; bad == -ENOMEM; n++) {
        fails_at = n;
        bad = build(&bytes, &length);
        wrong += bad != 0 && bad != -ENOMEM;
        left += bad ? held - before : 0;
    }
    fails_at = 0;
    EQ(bad, 0, "an image is built when there is memory enough");
    OK(n > 40, "which is asked for %ld times", n - 2);
    EQ(wrong, 0, "and else it is -ENOMEM");
    EQ(left, 0, "and nothing is left");

    struct coir_program *p = NULL;
    struct coir_load_error error;
    for (n = 1, before = held, bad = -ENOMEM, left = wrong = 0; bad == -ENOMEM; n++) {
        fails_at = n;
        bad = coir_program_load(bytes, length, NULL, &p, &error);
        wrong += (bad != 0 && bad != -ENOMEM) || (bad && (p || strcmp(error.text, "no memory")));
        left += bad ? held - before : 0;
    }
    fails_at = 0;
    EQ(bad, 0, "it is loaded when there is memory enough");
    OK(n > 20, "which is asked for %ld times", n - 2);
    EQ(wrong, 0, "and else it is -ENOMEM");
    EQ(left, 0, "and nothing is left");
    coir_program_free(p);
    EQ(held, before, "nor of the program, when it is freed");
    free(bytes);
    return DONE();
}
