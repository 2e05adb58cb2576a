/* SPDX-License-Identifier: MIT */
/*
 * Carrying out an order. Every verb of `coir volume` that asks a store for something is one function or one body here,
 * and nowhere else: whether the store is served by another process or was opened by the command makes no difference.
 */
#include "serve/order.h"

#include <coir/coir.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/text.h"

enum { PAGE = 16, LINE = 2048 };        /* volumes of one listing step; bytes of one line of an answer */

/* ---- the line ---- */

struct request {
    const char *verb, *name, *to;
    uint64_t size, block;
    bool has_size, broken;
};

static void take_field(struct request *r, char *field)
{
    char *value = strchr(field, '='), *end = NULL;
    uint64_t number;

    if (!value) {
        r->broken = true;
        return;
    }
    *value++ = '\0';
    number = strtoull(value, &end, 10);
    if (!strcmp(field, "name"))
        r->name = value;
    else if (!strcmp(field, "to"))
        r->to = value;
    else if (!strcmp(field, "size") && *value && !*end)
        r->size = number, r->has_size = true;
    else if (!strcmp(field, "block") && *value && !*end)
        r->block = number;
    else
        r->broken = true;
}

static struct request parse(char *line)
{
    struct request r = { .verb = line };
    char *field = strchr(line, '\t');

    while (field) {
        char *next;
        *field++ = '\0';
        next = strchr(field, '\t');
        if (next) {
            *next = '\0';
            take_field(&r, field);
            *next = '\t';
            field = next;
        } else {
            take_field(&r, field);
            field = NULL;
        }
    }
    return r;
}

/* ---- answers ---- */

static void say_volume(struct coir_writer *to, const struct coir_volume_facts *v)
{
    char name[COIR_JSON_NAME];

    coir_json_text(name, sizeof name, v->name);
    coir_writer_printf(to, "{\"volume\":\"%s\",\"id\":%llu,\"size\":%llu,\"mapped\":%llu,\"block\":%u,"
                       "\"read_only\":%s}\n", name, (unsigned long long)v->id, (unsigned long long)v->size,
                       (unsigned long long)v->mapped, v->block, v->read_only ? "true" : "false");
}

static void say_store(struct coir_writer *to, const struct coir_store *s, const struct coir_store_facts *facts)
{
    const struct coir_store_facts f = *facts;
    char id[33], why[COIR_JSON_NAME];

    for (int i = 0; i < 16; i++)
        snprintf(id + 2 * i, 3, "%02x", f.id[i]);
    coir_json_text(why, sizeof why, coir_store_why(s) ? coir_store_why(s) : "");
    coir_writer_printf(to, "{\"store\":\"%s\",\"files\":%u,\"read_only\":%s,\"why\":\"%s\",\"size\":%llu,\"live\":%llu,"
                       "\"free\":%llu,\"waiting\":%llu,\"reserve\":%llu,", id, f.files, f.read_only ? "true" : "false",
                       why, (unsigned long long)f.size, (unsigned long long)f.live, (unsigned long long)f.free,
                       (unsigned long long)f.waiting, (unsigned long long)f.reserve);
    coir_writer_printf(to, "\"journal\":%llu,\"journal_used\":%llu,\"generation\":%llu,\"epoch\":%llu,\"lsn\":%llu,"
                       "\"durable\":%llu,\"checkpoints\":%llu,\"records\":%llu,\"groups\":%llu,\"flushes\":%llu,",
                       (unsigned long long)f.journal, (unsigned long long)f.journal_used,
                       (unsigned long long)f.generation, (unsigned long long)f.epoch, (unsigned long long)f.lsn,
                       (unsigned long long)f.durable, (unsigned long long)f.checkpoints,
                       (unsigned long long)f.records, (unsigned long long)f.groups, (unsigned long long)f.flushes);
    coir_writer_printf(to, "\"written\":%llu,\"waits\":%llu,\"busy\":%llu,\"nodes\":%llu,\"dirty\":%llu,"
                       "\"node_reads\":%llu,\"node_hits\":%llu}\n", (unsigned long long)f.written,
                       (unsigned long long)f.waits, (unsigned long long)f.busy, (unsigned long long)f.nodes,
                       (unsigned long long)f.dirty, (unsigned long long)f.reads, (unsigned long long)f.hits);
}

/* ---- volumes, one by one or all ---- */

struct list {
    coir_frame(unsigned);               /* how many were found */
    coir_args(struct coir_store *store; const char *name; struct coir_writer *to;);
    uint64_t after;
    unsigned i;
    struct coir_volume_facts facts[PAGE];
    union {
        struct coir_volume_list list;
        struct coir_make_room room;
    };
};
static coir_declare(list);

coir_body(list, f) {
    unsigned n;

    f->after = 0;
    do {
        coir_try(f, &f->list, coir_volume_list, .store = f->store, .after = f->after, .facts = f->facts, .n = PAGE);
        n = f->list.result;
        f->after = n > 0 ? f->facts[n - 1].id : f->after;
        memset(&f->facts[n], 0, (PAGE - n) * sizeof f->facts[0]);
        for (f->i = 0; f->i < PAGE && f->facts[f->i].id; f->i++) {
            if (f->name && strcmp(f->name, f->facts[f->i].name))
                continue;
            coir_try(f, &f->room, coir_make_room, .writer = f->to, .n = LINE);
            say_volume(f->to, &f->facts[f->i]);
            f->result++;
        }
    } while (f->facts[PAGE - 1].id);
    if (f->name && f->result == 0)
        coir_fail(f, -ENOENT);
} coir_end

/* ---- the store ---- */

/* At its home. */
struct describe {
    coir_frame_void;
    coir_args(struct coir_store *store; struct coir_store_facts *facts;);
};
static coir_declare(describe);

coir_body(describe, f) {
    coir_store_describe(f->store, f->facts);
} coir_end

/* ---- check and scrub ---- */

enum { DAMAGE_MAX = 1000 };             /* lines that an answer has; more are counted */

/* At home: what was found, as lines of JSON in memory. */
struct examine_home {
    coir_frame(uint64_t);               /* nodes, or bytes */
    coir_args(struct coir_store *store; bool scrub; FILE *lines;);
    uint64_t damaged;
    union {
        struct coir_store_check check;
        struct coir_store_scrub scrub_all;
    };
};
static coir_declare(examine_home);

static void add_damage(void *ctx, const char *line)
{
    struct examine_home *f = ctx;
    char text[COIR_JSON_NAME];

    if (f->damaged++ >= DAMAGE_MAX)
        return;
    coir_json_text(text, sizeof text, line);
    fprintf(f->lines, "{\"damage\":\"%s\"}\n", text);
}

coir_body(examine_home, f) {
    f->damaged = 0;
    if (f->scrub) {
        coir_await(f, &f->scrub_all, coir_store_scrub, .store = f->store);
        f->result = f->scrub_all.result;
        f->damaged = f->scrub_all.damaged;
        coir_check(f, &f->scrub_all);
    } else {
        coir_await(f, &f->check, coir_store_check, .store = f->store, .tell = add_damage, .ctx = f);
        f->result = f->check.result;
        coir_check(f, &f->check);
    }
} coir_end

struct examine {
    coir_frame_void;
    coir_args(struct coir_store *store; bool scrub; struct coir_writer *to;);
    char *text;
    size_t length;
    FILE *lines;
    int status;
    union {
        struct examine_home home;
        struct coir_put put;
    };
};
static coir_declare(examine);

coir_body(examine, f) {
    f->text = NULL;
    f->lines = open_memstream(&f->text, &f->length);
    if (!f->lines)
        coir_fail(f, -ENOMEM);
    coir_await_on(f, coir_store_home(f->store), &f->home, examine_home, .store = f->store, .scrub = f->scrub,
                  .lines = f->lines);
    fprintf(f->lines, "{\"%s\":%llu,\"damaged\":%llu}\n", f->scrub ? "scrubbed" : "checked",
            (unsigned long long)f->home.result, (unsigned long long)f->home.damaged);
    fclose(f->lines);
    f->lines = NULL;
    f->status = coir_status(&f->home);
    coir_try(f, &f->put, coir_put, .writer = f->to, .buf = f->text, .len = f->length);
    if (f->status)
        coir_fail(f, f->status);
    coir_finally(f) {
        if (f->lines)
            fclose(f->lines);
        free(f->text);
    }
} coir_end

/* ---- the order ---- */

struct order {
    coir_frame_void;
    coir_args(struct coir_store *store; char *line; struct coir_writer *to;);
    struct request request;
    int status;
    char error[COIR_JSON_NAME];
    struct coir_store_facts facts;
    union {
        struct list list;
        struct examine examine;
        struct describe describe;
        struct coir_volume_create create;
        struct coir_volume_remove remove;
        struct coir_volume_rename rename;
        struct coir_volume_resize resize;
        struct coir_make_room room;
    };
};
static coir_declare(order);
_Static_assert(sizeof(struct order) <= sizeof(struct coir_order), "it lies in the public frame");

coir_step coir_order_resume(struct coir_task *t)
{
    return order_resume(t);
}

static bool is(const struct order *f, const char *verb)
{
    return !strcmp(f->request.verb, verb);
}

/* What was wrong, where the errno alone would leave somebody guessing. */
static const char *explain(const struct order *f)
{
    if (f->status == -EINVAL && (is(f, "create") || is(f, "rename")))
        return "a name is 1 to 255 bytes without '/' and control characters, a size at least 1 byte and below 8E, "
               "a block 4K, 8K, 16K, 32K or 64K";
    if (f->status == -EINVAL && is(f, "resize"))
        return "a size is at least 1 byte, and below 8E";
    if (f->status == -ENOENT)
        return "there is no such volume";
    if (f->status == -EEXIST)
        return is(f, "rename") ? "the new name exists already" : "a volume of that name exists already";
    if (f->status == -EBUSY)
        return "it is open: a client is connected to it";
    if (f->status == -ENOTUNIQ)
        return "this one name cannot be had in this store; take another";
    return coir_strerror(f->status);
}

coir_body(order, f) {
    f->request = parse(f->line);
    f->status = f->request.broken ? -EINVAL : 0;
    if (f->status) {
        /* nothing is done */
    } else if (is(f, "ls") || is(f, "info")) {
        coir_await(f, &f->list, list, .store = f->store, .name = f->request.name, .to = f->to);
        f->status = coir_status(&f->list);
    } else if (is(f, "stats")) {
        f->status = 0;
    } else if (is(f, "check") || is(f, "scrub")) {
        coir_await(f, &f->examine, examine, .store = f->store, .scrub = is(f, "scrub"), .to = f->to);
        f->status = coir_status(&f->examine);
    } else if (is(f, "create") && f->request.name && f->request.has_size) {
        coir_await(f, &f->create, coir_volume_create, .store = f->store, .name = f->request.name,
                   .size = f->request.size, .block = (uint32_t)f->request.block);
        f->status = coir_status(&f->create);
    } else if (is(f, "rm") && f->request.name) {
        coir_await(f, &f->remove, coir_volume_remove, .store = f->store, .name = f->request.name);
        f->status = coir_status(&f->remove);
    } else if (is(f, "rename") && f->request.name && f->request.to) {
        coir_await(f, &f->rename, coir_volume_rename, .store = f->store, .name = f->request.name, .to = f->request.to);
        f->status = coir_status(&f->rename);
    } else if (is(f, "resize") && f->request.name && f->request.has_size) {
        coir_await(f, &f->resize, coir_volume_resize, .store = f->store, .name = f->request.name,
                   .size = f->request.size);
        f->status = coir_status(&f->resize);
    } else {
        f->status = -EINVAL;
    }
    if (f->status == 0 && (is(f, "stats") || (is(f, "info") && !f->request.name))) {
        coir_await_on(f, coir_store_home(f->store), &f->describe, describe, .store = f->store, .facts = &f->facts);
        coir_check(f, &f->describe);
        coir_try(f, &f->room, coir_make_room, .writer = f->to, .n = LINE);
        say_store(f->to, f->store, &f->facts);
    }
    coir_try(f, &f->room, coir_make_room, .writer = f->to, .n = LINE);
    if (f->status == 0) {
        coir_writer_printf(f->to, "{\"status\":0}\n");
    } else {
        coir_json_text(f->error, sizeof f->error, explain(f));
        coir_writer_printf(f->to, "{\"status\":%d,\"error\":\"%s\"}\n", f->status, f->error);
    }
} coir_end
