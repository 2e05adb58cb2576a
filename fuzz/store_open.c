/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the opening of a store: headers, superblocks, paths, the space map, the index and the journal's records, as
 * they stand, and with sums, pointers and chain put right, so that it is not the checksum that finds the fault. What
 * opens is used: each volume read, written, unmapped and so on, the store checked and scrubbed, closed, and opened
 * again. All of that may fail, and must end.
 *
 * An input is a byte that says what is put right (patches.h; 32: it is opened for reading only), one that cuts the file
 * if it is not 0, and patches.
 */
#include "patches.h"

enum { READ_ONLY = 32, NAMES = 4, SOME = 65536 };

/* ---- using what has opened ---- */

struct volume_use {
    coir_frame_void;
    coir_args(struct coir_store *store; const char *name;);
    struct coir_volume *v;
    struct coir_volume_facts facts;
    struct coir_volume_piece pieces[16];
    struct iovec iov;
    unsigned char *bytes;
    union {
        struct coir_volume_open open;
        struct coir_volume_read read;
        struct coir_volume_write write;
        struct coir_volume_unmap unmap;
        struct coir_volume_write_zeroes zeroes;
        struct coir_volume_flush flush;
        struct coir_volume_status status;
        struct coir_volume_close close;
    };
};
static coir_declare(volume_use);

coir_body(volume_use, f) {
    f->bytes = NULL;
    coir_get(f, f->v, &f->open, coir_volume_open, .store = f->store, .name = f->name);
    coir_volume_describe(f->v, &f->facts);
    f->bytes = calloc(1, SOME);
    must(f->bytes != NULL);
    f->iov = (struct iovec){ f->bytes, f->facts.size < SOME ? (size_t)f->facts.size : SOME };
    coir_await(f, &f->read, coir_volume_read, .volume = f->v, .iov = &f->iov, .n = 1, .offset = 0);
    if (f->facts.size > 2 * SOME)
        coir_await(f, &f->read, coir_volume_read, .volume = f->v, .iov = &f->iov, .n = 1,
                   .offset = f->facts.size - SOME);
    coir_await(f, &f->status, coir_volume_status, .volume = f->v, .offset = 0, .length = f->facts.size,
               .pieces = f->pieces, .n = 16);
    f->iov.iov_len = f->iov.iov_len < 20000 ? f->iov.iov_len : 20000;
    coir_await(f, &f->write, coir_volume_write, .volume = f->v, .iov = &f->iov, .n = 1, .offset = 0);
    if (f->facts.size > SOME)
        coir_await(f, &f->write, coir_volume_write, .volume = f->v, .iov = &f->iov, .n = 1, .offset = 12345,
                   .flags = COIR_VOLUME_DURABLE);
    coir_await(f, &f->unmap, coir_volume_unmap, .volume = f->v, .offset = f->facts.size / 2,
               .length = f->facts.size / 4);
    coir_await(f, &f->zeroes, coir_volume_write_zeroes, .volume = f->v, .offset = f->facts.size / 3, .length = 9000);
    coir_await(f, &f->flush, coir_volume_flush, .volume = f->v);
    coir_await(f, &f->close, coir_volume_close, .volume = f->v);
    coir_finally(f) {
        free(f->bytes);
    }
} coir_end

struct store_use {
    coir_frame_void;
    coir_args(struct coir_store *store;);
    struct coir_volume_facts facts[NAMES];
    struct coir_store_facts store_facts;
    unsigned i, n;
    union {
        struct volume_use use;
        struct coir_volume_list list;
        struct coir_volume_create create;
        struct coir_volume_rename rename;
        struct coir_volume_resize resize;
        struct coir_volume_remove remove;
        struct coir_store_check check;
        struct coir_store_scrub scrub;
    };
};
static coir_declare(store_use);

coir_body(store_use, f) {
    coir_await(f, &f->list, coir_volume_list, .store = f->store, .facts = f->facts, .n = NAMES);
    f->n = coir_status(&f->list) ? 0 : f->list.result;
    coir_store_describe(f->store, &f->store_facts);
    coir_await(f, &f->check, coir_store_check, .store = f->store);
    for (f->i = 0; f->i < f->n; f->i++)
        coir_await(f, &f->use, volume_use, .store = f->store, .name = f->facts[f->i].name);
    coir_await(f, &f->scrub, coir_store_scrub, .store = f->store);
    coir_await(f, &f->create, coir_volume_create, .store = f->store, .name = "another", .size = 1 << 20);
    coir_await(f, &f->rename, coir_volume_rename, .store = f->store, .name = "v", .to = "vv");
    coir_await(f, &f->resize, coir_volume_resize, .store = f->store, .name = "wide", .size = 300000);
    coir_await(f, &f->remove, coir_volume_remove, .store = f->store, .name = "vv");
    coir_await(f, &f->check, coir_store_check, .store = f->store);
} coir_end

/* ---- one input ---- */

struct attempt {
    coir_frame_void;
    coir_args(bool read_only; bool whole;);
    struct coir_files *files;
    struct coir_store *store;
    unsigned lap;
    union {
        struct medium_open open;
        struct store_use use;
        struct coir_store_unload unload;
    };
};
static coir_declare(attempt);

coir_body(attempt, f) {
    f->files = malloc(sizeof *f->files);
    must(f->files != NULL);
    for (f->lap = 0; f->lap < 2; f->lap++) {
        coir_await(f, &f->open, medium_open, .files = f->files, .read_only = f->read_only);
        must(!f->whole || coir_status(&f->open) == 0);
        if (coir_status(&f->open))
            break;
        f->store = f->open.result;
        must(!f->whole || f->read_only || !coir_store_why(f->store));
        if (f->lap == 0)
            coir_await(f, &f->use, store_use, .store = f->store);
        coir_await(f, &f->unload, coir_store_unload, .store = f->store);
    }
    free(f->files);
} coir_end

static struct coir_event go;
static bool is_whole, is_read_only, attempted;

struct forever {
    coir_frame_void;
    coir_no_args;
    union {
        struct coir_event_wait wait;
        struct medium_make make;
        struct attempt attempt;
    };
};
static coir_declare(forever);

coir_body(forever, f) {
    coir_await(f, &f->make, medium_make);
    must(coir_status(&f->make) == 0);
    attempted = true;
    for (;;) {
        coir_try(f, &f->wait, coir_event_wait, .event = &go);
        coir_event_reset(&go);
        coir_await(f, &f->attempt, attempt, .read_only = is_read_only, .whole = is_whole);
        attempted = true;
    }
} coir_end

static struct coir_shard *shard;

static void run(void)
{
    while (!attempted)
        must(coir_turn(shard) == 1);
    attempted = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct coir_options epoll = { .io = "epoll" };

    if (!shard) {
        setenv("COIR_TIME", "virtual", 1);
        coir_event_init(&go);
        shard = coir_shard_open(&epoll, coir_new(forever));
        must(shard != NULL);
        run();
        patch_survey();
        memcpy(medium.now, medium.base, sizeof medium.now);
    }
    if (n < 2)
        return 0;
    medium_reset();
    patch_blocks(patches.target, patches.targets, data + 2, n - 2);
    patch_put_right(data[0]);
    if (data[1])
        medium.size = data[1] * medium.base_size / 256 + data[1] % 3;
    is_read_only = data[0] & READ_ONLY;
    is_whole = n < 6 && data[1] == 0;
    coir_event_set(&go);
    run();
    return 0;
}
