/* SPDX-License-Identifier: MIT */
/*
 * embed - what an order costs, by rules in Coir inside a program in C:
 *
 *     embed RULES.coir ITEM...
 *
 * The rules are the file's function total(items: List[Text]) -> Int. They use a module of this program:
 * shop.price(item) is C and waits, as for a database, while other fibers run; shop.count(items, good) is C and asks
 * the function that it is given about each item.
 */
#include <coir/coir.h>
#include <coir/vm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The price of an item, which takes a while; nil: nobody sells it. */
static coir_vm_said shop_price(struct coir_vm *vm)
{
    static const struct { const char *item; int price; } prices[] = { { "apple", 120 }, { "pear", 90 }, { "fig", 30 } };
    struct coir_sleep *wait = coir_vm_scratch(vm, sizeof *wait, NULL);
    size_t n;
    const char *item = coir_vm_as_text(coir_vm_arg(vm, 0), &n);

    if (!wait)
        return coir_vm_trap_status(vm, -ENOMEM, NULL);
    if (coir_vm_step(vm) == 0)
        return coir_vm_await(vm, wait, coir_sleep, .ns = COIR_MS);
    if (coir_status(wait) < 0)                      /* cancelled: the trap says that */
        return coir_vm_trap_status(vm, coir_status(wait), NULL);
    for (size_t i = 0; i < sizeof prices / sizeof *prices; i++) {
        if (strlen(prices[i].item) == n && !memcmp(prices[i].item, item, n))
            return coir_vm_return(vm, coir_vm_int(vm, prices[i].price));
    }
    return coir_vm_return(vm, coir_vm_nil(vm));
}

/* How many of the items are good. What lives from one answer to the next is in the scratch. */
struct count {
    size_t at;
    int64_t good;
    struct coir_vm_value item;
};

static coir_vm_said shop_count(struct coir_vm *vm)
{
    struct count *s = coir_vm_scratch(vm, sizeof *s, NULL);

    if (!s)
        return coir_vm_trap_status(vm, -ENOMEM, NULL);
    if (coir_vm_step(vm) > 0)
        s->good += coir_vm_as_bool(coir_vm_answer(vm));
    if (coir_vm_next(coir_vm_arg(vm, 0), &s->at, NULL, &s->item))
        return coir_vm_ask(vm, coir_vm_arg(vm, 1), &s->item, 1);
    return coir_vm_return(vm, coir_vm_int(vm, s->good));
}

static const struct coir_vm_builtin builtins[] = { { "price", shop_price }, { "count", shop_count } };
static const struct coir_vm_module shop = {
    .name = "shop",
    .text = "pub fn price(item: Text) -> Int?\n"
            "pub fn count(items: List[Text], good: fn(Text) -> Bool) -> Int\n",
    .builtins = builtins, .nbuiltins = sizeof builtins / sizeof *builtins,
};
static const struct coir_vm_module *const modules[] = { &shop, NULL };

/* Asks the rules, and prints what they say. */
struct order {
    coir_frame_void;
    coir_args(const struct coir_vm_program *rules; char **items;);
    struct coir_vm *vm;
    struct coir_vm_value list;
    struct coir_vm_open open;
    struct coir_vm_call call;
    struct coir_vm_close close;
};
static coir_declare(order);

static struct coir_vm_value list_of(struct coir_vm *vm, char **items)
{
    struct coir_vm_value list = coir_vm_list(vm, coir_vm_type(vm, "List[Text]"));

    for (; *items; items++)
        coir_vm_push(list, coir_vm_text(vm, *items, strlen(*items)));
    return list;
}

static void complain(int status, struct coir_vm_value trap)
{
    const bool trapped = status == -EREMOTEIO;      /* then the result is the Trap */
    size_t n = 0;
    const char *said = trapped ? coir_vm_as_text(coir_vm_field(trap, "message"), &n) : "";

    fprintf(stderr, "embed: %.*s%s\n", (int)n, said, trapped ? "" : status == -ENOENT ? "no `pub fn total`"
                                                                                       : coir_strerror(status));
}

coir_body(order, f) {
    f->vm = NULL;
    coir_get(f, f->vm, &f->open, coir_vm_open, .program = f->rules);
    f->list = list_of(f->vm, f->items);
    coir_await(f, &f->call, coir_vm_call, .vm = f->vm, .name = "total", .args = &f->list, .n = 1);
    if (coir_status(&f->call) == 0)
        printf("total %lld\n", (long long)coir_vm_as_int(f->call.result));
    else
        complain(coir_status(&f->call), f->call.result);
    coir_check(f, &f->call);
    coir_finally(f) {
        coir_await(f, &f->close, coir_vm_close, .vm = f->vm);
    }
} coir_end

int main(int argc, char **argv)
{
    static const char usage[] = "usage: embed RULES.coir ITEM...\n";
    struct coir_vm_program *rules;
    char *why;
    int status;

    if (argc > 1 && !strcmp(argv[1], "--help"))
        return fputs(usage, stdout), 0;
    if (argc < 3)
        return fputs(usage, stderr), 2;
    status = coir_vm_compile(argv[1], modules, &rules, &why);
    if (why)
        fputs(why, stderr);
    free(why);
    if (status < 0)
        return 1;
    status = coir_run(NULL, coir_new(order, .rules = rules, .items = argv + 2));
    coir_vm_program_free(rules);
    return status < 0;
}
