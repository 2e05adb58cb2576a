/* SPDX-License-Identifier: MIT */
/*
 * Handles of open volumes: one for each volume, however many have it open. Home, but for coir_volume_describe.
 */
#include <stdlib.h>
#include <string.h>

#include "volume/chunk.h"
#include "volume/manage.h"

struct coir_volume *coir_volume_get(struct coir_store *s, uint64_t id)
{
    for (struct coir_link *l = s->volumes.next; l != &s->volumes; l = l->next) {
        struct coir_volume *v = coir_container_of(l, struct coir_volume, link);
        if (v->id == id)
            return v;
    }
    return NULL;
}

void coir_volume_counted(struct coir_volume *v)
{
    __atomic_store_n(&v->mapped, v->extents->mapped, __ATOMIC_RELAXED);
}

void coir_volume_describe(const struct coir_volume *v, struct coir_volume_facts *out)
{
    *out = (struct coir_volume_facts){
        .id = v->id,
        .size = __atomic_load_n(&v->blocks, __ATOMIC_ACQUIRE) << v->shift,
        .mapped = __atomic_load_n(&v->mapped, __ATOMIC_RELAXED) << v->shift,
        .block = (uint32_t)1 << v->shift,
        .read_only = __atomic_load_n(&v->store->read_only, __ATOMIC_RELAXED),
    };
    memcpy(out->name, v->name, sizeof out->name);
}

/* ---- open ---- */

static struct coir_volume *make(struct coir_store *s, struct coir_extents *x, uint64_t id, const char *name)
{
    struct coir_volume *v = calloc(1, sizeof *v);

    if (!v)
        return NULL;
    v->store = s;
    v->extents = x;
    v->id = id;
    v->blocks = x->blocks;
    v->shift = x->tree.shift;
    v->users = 1;
    coir_event_init(&v->unlocked);
    snprintf(v->name, sizeof v->name, "%s", name);
    coir_volume_counted(v);
    v->link = (struct coir_link){ .prev = &s->volumes, .next = s->volumes.next };
    v->link.next->prev = &v->link;
    s->volumes.next = &v->link;
    return v;
}

struct handle_open {
    coir_frame(struct coir_volume *);
    coir_args(struct coir_store *store; const char *name;);
    uint64_t id;
    int err;
    bool entered;
    struct coir_volume *found;
    union {
        struct coir_catalog_find find;
        struct coir_catalog_open open;
    };
};
coir_public(handle_open, coir_handle_open);

coir_body(handle_open, f) {
    f->err = coir_store_enter(f->store, NULL, COIR_USE_READ);
    f->entered = !f->err;
    if (f->err)
        coir_fail(f, f->err);
    coir_get(f, f->id, &f->find, coir_catalog_find, .catalog = &f->store->catalog, .name = f->name,
             .n = strlen(f->name));
    coir_try(f, &f->open, coir_catalog_open, .catalog = &f->store->catalog, .id = f->id);
    f->found = coir_volume_get(f->store, f->id);            /* no await from here on */
    if (f->open.result->state != COIR_VOLUME_READY) {
        coir_catalog_close(f->open.result);
        coir_fail(f, -ENOENT);
    }
    if (f->found) {
        coir_catalog_close(f->open.result);
        f->found->users++;
        coir_return(f, f->found);
    }
    f->result = make(f->store, f->open.result, f->id, f->name);
    if (!f->result) {
        coir_catalog_close(f->open.result);
        coir_fail(f, -ENOMEM);
    }
    coir_finally(f) {
        if (f->entered)
            coir_store_leave(f->store);
    }
} coir_end

void coir_handle_close(struct coir_volume *v)
{
    COIR_ASSERT(v->users > 0);
    if (--v->users > 0)
        return;
    v->link.prev->next = v->link.next;
    v->link.next->prev = v->link.prev;
    coir_catalog_close(v->extents);
    coir_event_destroy(&v->unlocked);
    free(v);
}

struct handle_close {
    coir_frame_void;
    coir_args(struct coir_volume *volume;);
};
static coir_declare(handle_close);

coir_body(handle_close, f) {
    coir_handle_close(f->volume);
} coir_end

struct volume_open {
    coir_frame(struct coir_volume *);
    coir_args(struct coir_store *store; const char *name;);
    struct coir_handle_open home;
};
coir_public(volume_open, coir_volume_open);

coir_body(volume_open, f) {
    if (!f->store || !f->name)
        coir_fail(f, -EFAULT);
    COIR_AT_HOME(f, f->store, &f->home, coir_handle_open, .store = f->store, .name = f->name);
    coir_check(f, &f->home);
    f->result = f->home.result;
} coir_end

struct volume_close {
    coir_frame_void;
    coir_args(struct coir_volume *volume;);
    struct coir_scope scope;
    struct handle_close home;
};
coir_public(volume_close, coir_volume_close);

coir_body(volume_close, f) {
    coir_finally(f) {                   /* also in a cancelled scope */
        if (f->volume)
            COIR_AT_HOME(f, f->volume->store, &f->home, handle_close, .volume = f->volume);
    }
} coir_end

/* ---- list ---- */

struct list_home {
    coir_frame(unsigned);
    coir_args(struct coir_store *store; uint64_t after; struct coir_volume_facts *facts; unsigned n;);
    uint64_t from;
    unsigned i;
    int err;
    bool entered;
    struct coir_catalog_item item[4];
    struct coir_catalog_list list;
};
static coir_declare(list_home);

static void fill(struct coir_volume_facts *facts, const struct coir_catalog_item *item, bool read_only)
{
    *facts = (struct coir_volume_facts){ .id = item->id, .size = item->blocks << item->shift,
        .mapped = item->mapped << item->shift, .block = (uint32_t)1 << item->shift, .read_only = read_only };
    memcpy(facts->name, item->name, sizeof facts->name);
}

coir_body(list_home, f) {
    f->err = coir_store_enter(f->store, NULL, COIR_USE_READ);
    f->entered = !f->err;
    if (f->err)
        coir_fail(f, f->err);
    f->from = f->after + 1;
    do {
        coir_try(f, &f->list, coir_catalog_list, .catalog = &f->store->catalog, .from = f->from, .items = f->item,
                 .max = sizeof f->item / sizeof f->item[0]);
        for (f->i = 0; f->i < f->list.result && f->result < f->n; f->i++) {
            f->from = f->item[f->i].id + 1;
            if (f->item[f->i].state == COIR_VOLUME_READY)
                fill(&f->facts[f->result++], &f->item[f->i], f->store->read_only);
        }
    } while (f->result < f->n && f->list.result == sizeof f->item / sizeof f->item[0]);
    coir_finally(f) {
        if (f->entered)
            coir_store_leave(f->store);
    }
} coir_end

struct volume_list {
    coir_frame(unsigned);
    coir_args(struct coir_store *store; uint64_t after; struct coir_volume_facts *facts; unsigned n;);
    struct list_home home;
};
coir_public(volume_list, coir_volume_list);

coir_body(volume_list, f) {
    if (!f->store || !f->facts)
        coir_fail(f, -EFAULT);
    COIR_AT_HOME(f, f->store, &f->home, list_home, .store = f->store, .after = f->after, .facts = f->facts,
                 .n = f->n);
    coir_check(f, &f->home);
    f->result = f->home.result;
} coir_end
