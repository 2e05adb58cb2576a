/* SPDX-License-Identifier: MIT */
/*
 * An engine of a page: sixteen numbered blocks that are written again and again at new places, a node that says where
 * they are, checkpoints, and reads, all at once, in a store with hardly any room. After a power cut at any event, and
 * another one in the checkpoint of the next opening, the node and all that it names are there, and the space map has
 * exactly these in use; a read never sees another block's content. With each rule of the space map, the superblocks and
 * growing broken in turn that is not so.
 */
#include "store.h"

#include "device/checksum.h"
#include "device/rules.h"


enum { IDS = 16, ROOM = 40, CHECKPOINTS = 10, WRITERS = 3, FILES = 12, GROWS = FILES - 1 };

/* Twelve files: what a superblock says of the last one, which grows, is in its second sector: so it can be torn. */
static const uint64_t blocks[FILES] = { 8192, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 8192 };

struct node {
    uint64_t ballast;                   /* blocks in use of which nobody knows more */
    uint64_t address[IDS];
    uint32_t crc[IDS];
};

static struct world {
    struct store s;
    struct node node;                   /* what the next checkpoint says */
    uint64_t lsn, root, random;
    bool dirty[FILES];                    /* files with data or nodes that the next checkpoint has to flush */
    bool over;
    unsigned wrong;                     /* reads that saw what they should not */
    size_t durable[CHECKPOINTS + 1];    /* events */
} m;

static uint64_t file_of(uint64_t address)
{
    return COIR_ADDRESS_FILE(address);
}

static void content(char *block, uint64_t id, uint64_t version)
{
    memset(block, (int)(id * 16 + version), COIR_BLOCK);
    memcpy(block, &id, sizeof id);
    memcpy(block + 8, &version, sizeof version);
}

/* ---- writing ---- */

struct writer {
    coir_frame_void;
    coir_args(unsigned n;);
    uint64_t version, id;
    struct coir_run run;
    char *block;
    struct iovec iov;
    struct coir_sleep sleep;
    struct coir_device_write write;
};
static coir_declare(writer);
coir_body(writer, f) {
    f->block = aligned_alloc(COIR_BLOCK, COIR_BLOCK);
    for (f->version = 1; !m.over; f->version++) {
        coir_await(f, &f->sleep, coir_sleep, .ns = (int64_t)sim_below(&m.random, 400000));
        f->id = sim_below(&m.random, IDS) / WRITERS * WRITERS + f->n;
        if (f->id >= IDS)
            continue;
        if (coir_space_check(m.s.space, COIR_SPACE_CHECKPOINT, 8) < 0
            || coir_space_reserve(m.s.space, COIR_SPACE_CHECKPOINT, 0, 1, &f->run, 1) != 1)
            continue;
        content(f->block, f->id, f->version);
        f->iov = (struct iovec){ f->block, COIR_BLOCK };
        coir_try(f, &f->write, coir_device_write, .device = m.s.files->file[file_of(f->run.address)].device,
                 .iov = &f->iov, .n = 1, .offset = COIR_ADDRESS_BLOCK(f->run.address) * COIR_BLOCK);
        m.lsn++;
        if (m.node.address[f->id])
            coir_space_supersede(m.s.space, m.node.address[f->id], 1, m.lsn);
        coir_space_use(m.s.space, f->run.address, 1);
        m.node.address[f->id] = f->run.address;
        m.node.crc[f->id] = coir_crc(f->run.address, f->block, COIR_BLOCK);
        m.dirty[file_of(f->run.address)] = true;
    }
    coir_finally(f) {
        free(f->block);
    }
} coir_end

/* ---- reading ---- */

struct reader {
    coir_frame_void;
    coir_no_args;
    uint64_t address, id;
    uint32_t crc;
    struct coir_space_reads *ticket;
    char *block;
    struct iovec iov;
    struct coir_sleep sleep;
    struct coir_device_read read;
};
static coir_declare(reader);
coir_body(reader, f) {
    f->block = aligned_alloc(COIR_BLOCK, COIR_BLOCK);
    while (!m.over) {
        coir_await(f, &f->sleep, coir_sleep, .ns = (int64_t)sim_below(&m.random, 5000000));
        f->id = sim_below(&m.random, IDS);
        f->address = m.node.address[f->id];
        f->crc = m.node.crc[f->id];
        if (!f->address)
            continue;
        f->ticket = coir_space_read(m.s.space);
        coir_await(f, &f->sleep, coir_sleep, .ns = (int64_t)sim_below(&m.random, 20000000));
        f->iov = (struct iovec){ f->block, COIR_BLOCK };
        coir_await(f, &f->read, coir_device_read, .device = m.s.files->file[file_of(f->address)].device, .iov = &f->iov,
                   .n = 1, .offset = COIR_ADDRESS_BLOCK(f->address) * COIR_BLOCK);
        m.wrong += coir_status(&f->read) < 0 || coir_crc(f->address, f->block, COIR_BLOCK) != f->crc;
        coir_space_read_ends(m.s.space, f->ticket);
    }
    coir_finally(f) {
        free(f->block);
    }
} coir_end

/* ---- checkpoints ---- */

struct checkpoint {
    coir_frame_void;
    coir_no_args;
    struct coir_run run;
    struct coir_frozen *frozen;
    char *block;
    bool flush[FILES];
    unsigned i;
    int err;
    struct iovec iov;
    union {
        struct coir_device_write write;
        struct coir_map_write map;
        struct coir_device_flush flushing;
        struct coir_super_commit commit;
    };
};
static coir_declare(checkpoint);

/* The step in which everything is frozen. */
static int freeze(struct checkpoint *f)
{
    if (coir_space_reserve(m.s.space, COIR_SPACE_CHECKPOINT, 0, 1, &f->run, 1) != 1)
        return -ENOSPC;
    coir_space_use(m.s.space, f->run.address, 1);
    if (m.root)
        coir_space_supersede(m.s.space, m.root, 1, m.lsn);
    m.root = f->run.address;
    m.dirty[file_of(m.root)] = true;
    memset(f->block, 0, COIR_BLOCK);
    memcpy(f->block, &m.node, sizeof m.node);
    if (coir_space_freeze(m.s.space, m.lsn, &f->frozen) < 0)
        return -ENOMEM;
    m.s.files->next = m.s.files->super;
    m.s.files->next.lsn = m.lsn;
    m.s.files->next.live = f->frozen->live;
    m.s.files->next.catalog = (struct coir_disk_root){ m.root, coir_crc(m.root, f->block, COIR_BLOCK), 0, 0 };
    for (unsigned i = 0; i < FILES; i++)
        m.s.files->next.file[i].grown = coir_space_grown_to(m.s.space, i);
    for (uint64_t i = 0; i < f->frozen->n; i++)
        m.dirty[f->frozen->pages[i].file] = true;
    memcpy(f->flush, m.dirty, sizeof f->flush);
    memset(m.dirty, 0, sizeof m.dirty);
    return 0;
}

coir_body(checkpoint, f) {
    f->block = aligned_alloc(COIR_BLOCK, COIR_BLOCK);
    f->err = freeze(f);
    if (f->err < 0)
        coir_fail(f, f->err);
    f->iov = (struct iovec){ f->block, COIR_BLOCK };
    coir_try(f, &f->write, coir_device_write, .device = m.s.files->file[file_of(f->run.address)].device, .iov = &f->iov,
             .n = 1, .offset = COIR_ADDRESS_BLOCK(f->run.address) * COIR_BLOCK);
    coir_try(f, &f->map, coir_map_write, .map = &m.s.map, .space = m.s.space, .frozen = f->frozen,
             .generation = m.s.files->super.head.generation + 1, .complaint = &m.s.complaint);
    coir_map_roots(&m.s.map, &m.s.files->next);
    for (f->i = 0; f->i < FILES; f->i++)
        if (f->flush[f->i])
            coir_try(f, &f->flushing, coir_device_flush, .device = m.s.files->file[f->i].device);
    coir_try(f, &f->commit, coir_super_commit, .files = m.s.files, .complaint = &m.s.complaint);
    coir_map_commit(&m.s.map);
    coir_space_durable(m.s.space, f->frozen);
    coir_finally(f) {
        free(f->block);
    }
} coir_end

/* ---- all of it ---- */

struct all {
    coir_frame_void;
    coir_no_args;
    unsigned i;
    int err;
    struct store_make make;
    struct coir_sleep sleep;
    struct coir_grow_file grow;
    struct checkpoint checkpoint;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(all);

/* Leaves room for little: so what is superseded is soon given out again. */
static int fill(void)
{
    struct coir_space_counts counts;
    struct coir_run run;

    coir_space_count(m.s.space, -1, &counts);
    while (counts.free > ROOM) {
        if (coir_space_reserve(m.s.space, COIR_SPACE_CHECKPOINT, 0, counts.free - ROOM, &run, 1) != 1)
            return -ENOSPC;
        coir_space_use(m.s.space, run.address, run.blocks);
        m.node.ballast += run.blocks;
        coir_space_count(m.s.space, -1, &counts);
    }
    return 0;
}

coir_body(all, f) {
    coir_try(f, &f->make, store_make, .s = &m.s, .n = FILES, .blocks = blocks);
    m.s.grower.step = 256;
    f->err = fill();
    if (f->err < 0)
        coir_fail(f, f->err);
    m.durable[0] = sim_events(m.s.w);
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < WRITERS; f->i++)
        (void)coir_spawn(&f->group, coir_new(writer, .n = f->i));
    (void)coir_spawn(&f->group, coir_new(reader));
    for (f->i = 1; f->i <= CHECKPOINTS; f->i++) {
        coir_await(f, &f->sleep, coir_sleep, .ns = 8000000);
        if (f->i == 2)                          /* nothing has been written there when the checkpoint begins */
            coir_try(f, &f->grow, coir_grow_file, .grower = &m.s.grower, .file = GROWS, .complaint = &m.s.complaint);
        coir_try(f, &f->checkpoint, checkpoint);
        m.durable[f->i] = sim_events(m.s.w);
        f->err = fill();
        if (f->err < 0)
            coir_fail(f, f->err);
    }
    coir_finally(f) {
        m.over = true;
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

/* ---- after a cut ---- */

enum found { REFUSED, WRONG, GOOD };

struct look {
    coir_frame_void;
    coir_args(struct sim *w; enum found *found; bool *differ; bool again;);
    struct store s;
    struct node node;
    struct coir_space_counts counts;
    unsigned i;
    uint64_t at;
    char *block;
    struct iovec iov;
    union {
        struct store_open open;
        struct coir_device_read read;
        struct store_checkpoint checkpoint;
        struct store_close close;
    };
};
static coir_declare(look);

/* The map has everything that the root names, and the ballast, of which only the sum is known, and no more. */
static bool adds_up(struct look *f)
{
    uint64_t named = 1 + f->node.ballast;

    coir_space_count(f->s.space, -1, &f->counts);
    for (unsigned i = 0; i < IDS; i++) {
        if (!f->node.address[i])
            continue;
        named++;
        if (!coir_space_is_live(f->s.space, f->node.address[i], 1))
            return false;
    }
    return coir_space_is_live(f->s.space, f->s.files->super.catalog.address, 1) && f->counts.live == named;
}

/* Uses a block of the last file, so that both sectors of the superblock will change. */
static bool touch(struct store *s)
{
    const struct coir_store_file *const file = &s->files->file[GROWS];

    for (uint64_t block = file->layout.data; block < file->grown; block++)
        if (coir_space_claim(s->space, COIR_ADDRESS(GROWS, block), 1) == 0) {
            coir_space_use(s->space, COIR_ADDRESS(GROWS, block), 1);
            return true;
        }
    return false;
}

coir_body(look, f) {
    f->block = aligned_alloc(COIR_BLOCK, COIR_BLOCK);
    memset(&f->s, 0, sizeof f->s);
    f->s.w = f->w;
    *f->found = REFUSED;
    coir_try(f, &f->open, store_open, .s = &f->s, .n = FILES);
    *f->found = WRONG;
    *f->differ = f->s.files->generation[0] != f->s.files->generation[1];
    f->at = f->s.files->super.catalog.address;
    if (f->at) {
        f->iov = (struct iovec){ f->block, COIR_BLOCK };
        coir_try(f, &f->read, coir_device_read, .device = f->s.files->file[file_of(f->at)].device, .iov = &f->iov,
                 .n = 1, .offset = COIR_ADDRESS_BLOCK(f->at) * COIR_BLOCK);
        if (coir_crc(f->at, f->block, COIR_BLOCK) != f->s.files->super.catalog.crc)
            coir_fail(f, EBADMSG);
        memcpy(&f->node, f->block, sizeof f->node);
        if (!adds_up(f))
            coir_fail(f, EBADMSG);
        for (f->i = 0; f->i < IDS; f->i++) {
            f->at = f->node.address[f->i];
            if (!f->at)
                continue;
            coir_try(f, &f->read, coir_device_read, .device = f->s.files->file[file_of(f->at)].device, .iov = &f->iov,
                     .n = 1, .offset = COIR_ADDRESS_BLOCK(f->at) * COIR_BLOCK);
            if (coir_crc(f->at, f->block, COIR_BLOCK) != f->node.crc[f->i])
                coir_fail(f, EBADMSG);
        }
    }
    *f->found = GOOD;
    if (f->again && touch(&f->s))
        coir_try(f, &f->checkpoint, store_checkpoint, .s = &f->s, .lsn = f->s.files->super.lsn);
    coir_finally(f) {
        free(f->block);
        coir_await(f, &f->close, store_close, .s = &f->s, .n = FILES);
    }
} coir_end

/* Of two checkpoints of a history: how many cuts leave what is not good, in the checkpoint of the next opening too. */
struct cuts {
    coir_frame_void;
    coir_args(uint64_t seed; unsigned *tried; unsigned *bad;);
    size_t event, next;
    unsigned way;
    enum sim_keep keep;
    bool again, ignored;
    enum found found;
    struct sim *w, *twice;
    struct look look;
};
static coir_declare(cuts);
coir_body(cuts, f) {
    for (f->event = m.durable[1]; f->event < m.durable[3]; f->event++)
        for (f->way = 0; f->way < 2; f->way++) {
            f->keep = f->way ? SIM_TORN : (enum sim_keep)(f->event % SIM_KEEPS);
            f->w = sim_cut(m.s.w, f->event, f->keep, f->seed + f->event);
            f->again = false;
            coir_await(f, &f->look, look, .w = f->w, .found = &f->found, .differ = &f->again, .again = true);
            *f->bad += f->found != GOOD;
            ++*f->tried;
            for (f->next = 1; f->way && f->again && f->next <= sim_events(f->w); f->next++, ++*f->tried) {
                f->twice = sim_cut(f->w, f->next, SIM_TORN, f->seed + f->event * 100 + f->next);
                coir_await(f, &f->look, look, .w = f->twice, .found = &f->found, .differ = &f->ignored);
                *f->bad += f->found == REFUSED;
                sim_free(f->twice);
            }
            sim_free(f->w);
        }
} coir_end

/* Cuts after checkpoints, with each write of the map lost in turn: an error, or what is good; no third thing. */
struct lies {
    coir_frame_void;
    coir_args(unsigned *bad;);
    size_t i;
    unsigned checkpoint;
    bool differ;
    enum found found;
    struct sim *w;
    struct look look;
};
static coir_declare(lies);
static bool is_of_map(struct sim_write_info write)
{
    return write.len == COIR_BLOCK && write.offset / COIR_BLOCK >= COIR_AT_MAP && write.offset / COIR_BLOCK < 512;
}
coir_body(lies, f) {
    for (f->i = 0; f->i < sim_writes(m.s.w); f->i++) {
        if (!is_of_map(sim_write_at(m.s.w, f->i)))
            continue;
        sim_lose(m.s.w, f->i, true);
        for (f->checkpoint = 4; f->checkpoint <= CHECKPOINTS; f->checkpoint += 3) {
            f->w = sim_cut(m.s.w, m.durable[f->checkpoint], SIM_EVERYTHING, 1);
            coir_await(f, &f->look, look, .w = f->w, .found = &f->found, .differ = &f->differ);
            *f->bad += f->found == WRONG;
            sim_free(f->w);
        }
        sim_lose(m.s.w, f->i, false);
    }
} coir_end

/* What went wrong in all of it; -1: the engine itself did not get to its end. */
static int history(uint64_t seed, unsigned *tried)
{
    unsigned bad = 0;

    memset(&m, 0, sizeof m);
    m.random = seed;
    m.s.w = sim_new(seed, 600000);
    for (unsigned i = 0; i < FILES; i++)
        sim_add(m.s.w, 0, 4096);
    const int r = coir_run(NULL, coir_new(all));
    if (r < 0)
        NOTE("%s: %s", coir_strerror(r), m.s.complaint.text);
    if (r == 0) {
        bad += m.wrong;
        coir_run(NULL, coir_new(cuts, .seed = seed, .tried = tried, .bad = &bad));
        if (coir_rule_broken == COIR_RULE_NONE)
            coir_run(NULL, coir_new(lies, .bad = &bad));
    }
    store_forget(&m.s);
    sim_free(m.s.w);
    return r < 0 ? -1 : (int)bad;
}

/* ---- a page whose write was lost, where the one before it in that slot has the same sums ---- */

struct moving {
    coir_frame_void;
    coir_args(struct store *s; size_t *lost;);
    uint64_t lsn, last;
    struct store_make make;
    struct store_checkpoint checkpoint;
    struct store_close close;
};
static coir_declare(moving);
coir_body(moving, f) {
    coir_try(f, &f->make, store_make, .s = f->s, .n = 1, .blocks = blocks);
    f->last = 0;
    for (f->lsn = 1; f->lsn <= 3; f->lsn++) {
        if (f->last)
            coir_space_supersede(f->s->space, f->last, 1, f->lsn);
        f->last = store_put(f->s, 1);
        *f->lost = sim_writes(f->s->w);         /* the first write of the last checkpoint is its one page */
        coir_try(f, &f->checkpoint, store_checkpoint, .s = f->s, .lsn = f->lsn);
    }
    coir_await(f, &f->close, store_close, .s = f->s, .n = 1);
} coir_end

struct moved {
    coir_frame_void;
    coir_args(struct sim *w; int *status;);
    struct store s;
    struct store_open open;
    struct store_close close;
};
static coir_declare(moved);
coir_body(moved, f) {
    memset(&f->s, 0, sizeof f->s);
    f->s.w = f->w;
    coir_await(f, &f->open, store_open, .s = &f->s, .n = 1);
    *f->status = coir_status(&f->open);
    coir_await(f, &f->close, store_close, .s = &f->s, .n = 1);
} coir_end

static int lost_page(uint64_t seed)
{
    struct store s = { .w = sim_new(seed, 1000) };
    size_t lost = 0;
    int status = 1;

    sim_add(s.w, 0, 4096);
    EQ(coir_run(NULL, coir_new(moving, .s = &s, .lost = &lost)), 0, "three checkpoints");
    EQ(sim_write_at(s.w, lost).offset, 256 * 4096, "the third one's page is in slot 0, as the first one's");
    sim_lose(s.w, lost, true);
    struct sim *const w = sim_cut(s.w, sim_events(s.w), SIM_EVERYTHING, 1);
    coir_run(NULL, coir_new(moved, .w = w, .status = &status));
    sim_free(w);
    sim_free(s.w);
    return status;
}

int main(void)
{
    static const enum coir_rule rules[] = {
        COIR_RULE_REUSE_AFTER_DURABLE, COIR_RULE_REUSE_AFTER_READS, COIR_RULE_GROWN_IS_DURABLE,
        COIR_RULE_MAP_OTHER_SLOT, COIR_RULE_SUPER_OLDER_FIRST, COIR_RULE_SUPER_ONE_BY_ONE,
    };
    const uint64_t seed = sim_seed(11);
    unsigned tried = 0;

    setenv("COIR_TIME", "virtual", 1);
    NOTE("COIR_SIM_SEED=%llu", (unsigned long long)seed);
    EQ(history(seed, &tried), 0, "nothing is lost, and no read sees what it should not");
    OK(tried > 500, "in %u cuts", tried);
    EQ(lost_page(seed), -EBADMSG, "a page whose last write was lost");
    coir_rule_broken = COIR_RULE_MAP_AS_MEANT;
    EQ(lost_page(seed), 0, "is believed without %s", coir_rule_name(COIR_RULE_MAP_AS_MEANT));
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        coir_rule_broken = rules[i];
        int bad = 0;
        for (unsigned more = 0; bad == 0 && more < 5; more++)
            bad = history(seed + more, &tried);
        OK(bad > 0, "%d are without %s: %s", bad, coir_rule_name(rules[i]), coir_rule_text(rules[i]));
    }
    coir_rule_broken = COIR_RULE_NONE;
    return DONE();
}
