/* SPDX-License-Identifier: MIT */
/*
 * Making and opening a store on simulated devices: what stands where, byte by byte, worked out from
 * docs/volume-format.md; a power cut at every event of making it and of committing a superblock; files that are too
 * small, cut, exchanged, or another store's.
 */
#include "store.h"

enum { BLOCKS = 16384, DATA = 1536, JOURNAL = 512 };    /* 64 MiB */

static const uint64_t one[] = { BLOCKS }, three[] = { BLOCKS, 8192, 12345 };

static struct store *store_new(unsigned devices, int64_t delay)
{
    struct store *const s = calloc(1, sizeof *s);

    s->w = sim_new(sim_seed(1), delay);
    for (unsigned i = 0; i < devices; i++)
        sim_add(s->w, 0, 4096);
    return s;
}

static void store_free(struct store *s)
{
    sim_free(s->w);
    free(s);
}

static uint64_t number(const struct store *s, unsigned device, uint64_t offset, unsigned bytes)
{
    uint64_t n = 0;

    sim_peek(s->w, device, offset, &n, bytes);
    return n;
}

static bool zeros(const struct store *s, unsigned device, uint64_t from, uint64_t to)
{
    static char buffer[65536];

    for (uint64_t at = from, n; at < to; at += n) {
        n = to - at < sizeof buffer ? to - at : sizeof buffer;
        sim_peek(s->w, device, at, buffer, n);
        if (!coir_is_zero(buffer, n))
            return false;
    }
    return true;
}

/* ---- what init writes ---- */

static void check_layout(struct store *s)
{
    EQ(sim_size(s->w, 0), (uint64_t)(DATA + 512) * 4096, "the file has grown by the reserve: 464 blocks and a page");
    EQ(number(s, 0, 0, 4), 0x44485243, "the first header's magic: CRHD");
    EQ(number(s, 0, 8, 8), 0, "its address: block 0 of file 0");
    EQ(number(s, 0, 24, 4), 1, "version");
    EQ(number(s, 0, 28, 4), 1, "files");
    EQ(number(s, 0, 48, 4), 0, "index");
    EQ(number(s, 0, 52, 4), 4096, "grain");
    EQ(number(s, 0, 56, 8), BLOCKS, "blocks");
    EQ(number(s, 0, 64, 8), 256, "map");
    EQ(number(s, 0, 72, 8), JOURNAL, "journal");
    EQ(number(s, 0, 80, 8), 1024, "journal_blocks");
    EQ(number(s, 0, 88, 8), DATA, "data");
    OK(zeros(s, 0, 96, 4096), "and nothing else");
    EQ(number(s, 0, 128 * 4096, 4), 0x44485243, "the second header");
    EQ(number(s, 0, 128 * 4096 + 8, 8), 128, "its address");
    EQ(number(s, 0, 4096, 4), 0x42535243, "superblock A: CRSB");
    EQ(number(s, 0, 4096 + 8, 8), 1, "its address");
    EQ(number(s, 0, 4096 + 16, 8), 1, "generation");
    EQ(number(s, 0, 4096 + 72, 8), 0, "epoch");
    EQ(number(s, 0, 4096 + 80, 8), 0, "lsn");
    EQ(number(s, 0, 4096 + 88, 8), 0, "journal_start");
    EQ(number(s, 0, 4096 + 96, 8), 1, "journal_number");
    EQ(number(s, 0, 4096 + 112, 8), 16, "next_volume");
    OK(zeros(s, 0, 4096 + 120, 4096 + 152), "no trees");
    EQ(number(s, 0, 4096 + 168, 8), 0, "live");
    EQ(number(s, 0, 4096 + 256, 8), BLOCKS, "blocks of file 0");
    EQ(number(s, 0, 4096 + 264, 8), DATA + 512, "grown");
    EQ(number(s, 0, 4096 + 272, 4), 0, "map_crc");
    EQ(number(s, 0, 4096 + 276, 4), 2, "map_slot: none");
    OK(zeros(s, 0, 4096 + 280, 8192), "and nothing else");
    EQ(number(s, 0, 129 * 4096 + 16, 8), 1, "superblock B: the same generation");
    OK(zeros(s, 0, 2 * 4096, 128 * 4096), "no paths, for files that have none");
    OK(zeros(s, 0, 130 * 4096, (uint64_t)DATA * 4096), "no map, a journal of zeros");
}

struct progress { uint64_t calls, last, all; };

static void tell(void *arg, uint64_t done, uint64_t all)
{
    struct progress *const p = arg;

    p->calls++;
    OK(done > p->last && done <= all, "progress goes on: %d of %d", (int)done, (int)all);
    p->last = done;
    p->all = all;
}

struct layout {
    coir_frame_void;
    coir_no_args;
    struct store *s;
    struct progress progress;
    struct coir_init_options options;
    char junk[4096];
    struct iovec iov;
    struct coir_device_write write;
    struct store_make make;
    struct store_open open;
    struct store_close close;
};
static coir_declare(layout);
coir_body(layout, f) {
    f->s = store_new(1, 0);
    memset(f->junk, 0xEE, sizeof f->junk);
    f->iov = (struct iovec){ f->junk, sizeof f->junk };
    coir_try(f, &f->write, coir_device_write, .device = sim_open(f->s->w, 0), .iov = &f->iov, .n = 1,
             .offset = 777 * 4096);
    coir_try(f, &f->write, coir_device_write, .device = sim_open(f->s->w, 0), .iov = &f->iov, .n = 1,
             .offset = 3 * 4096);
    f->progress = (struct progress){ 0 };
    f->options = (struct coir_init_options){ .progress = tell, .arg = &f->progress };
    coir_await(f, &f->make, store_make, .s = f->s, .n = 1, .blocks = one, .options = &f->options);
    EQ(coir_status(&f->make), 0, "a store of 64 MiB: %s", f->s->complaint.status ? f->s->complaint.text : "made");
    EQ(f->progress.last, 4 << 20, "all of the journal's 4 MiB");
    EQ(f->progress.all, 4 << 20, "as was said from the beginning");
    EQ(f->progress.calls, 4, "a MiB at a time");
    check_layout(f->s);
    EQ(f->s->files->generation[0] * 10 + f->s->files->generation[1], 11, "both superblocks are of generation 1");
    coir_await(f, &f->close, store_close, .s = f->s, .n = 1);
    coir_await(f, &f->open, store_open, .s = f->s, .n = 1);
    EQ(coir_status(&f->open), 0, "it opens");
    EQ(f->s->files->super.next_volume, 16, "and is what was made");
    EQ(f->s->files->file[0].grown, DATA + 512, "it has grown so far");
    EQ(f->s->files->file[0].layout.data, DATA, "the data begins there");
    coir_await(f, &f->close, store_close, .s = f->s, .n = 1);
    store_free(f->s);
} coir_end

/* ---- several files; sizes that are refused ---- */

struct several {
    coir_frame_void;
    coir_no_args;
    struct store *s;
    struct coir_init_options options;
    uint64_t blocks[3];
    struct store_make make;
    struct store_open open;
    struct store_close close;
};
static coir_declare(several);

#define SAYS(status, words, slot) do { \
    EQ(coir_status(slot), status, "%s", f->s->complaint.text); \
    OK(strstr(f->s->complaint.text, words), "the complaint has \"%s\": %s", words, f->s->complaint.text); \
    } while (0)

coir_body(several, f) {
    f->s = store_new(3, 0);
    coir_await(f, &f->make, store_make, .s = f->s, .n = 3, .blocks = three);
    EQ(coir_status(&f->make), 0, "a store of three files: %s", f->s->complaint.status ? f->s->complaint.text : "made");
    EQ(f->s->files->file[2].layout.blocks, 12288, "12,345 blocks are 48 MiB");
    EQ(f->s->files->file[1].layout.data, 512, "the second file has no journal");
    EQ(f->s->files->file[1].grown, 512, "and did not have to grow");
    EQ(number(f->s, 2, 8, 8), (uint64_t)2 << 56, "the address of the third one's header");
    coir_await(f, &f->close, store_close, .s = f->s, .n = 3);
    coir_await(f, &f->open, store_open, .s = f->s, .n = 2);
    SAYS(-EBADMSG, "has 3 files, and 2 are named", &f->open);
    coir_await(f, &f->open, store_open, .s = f->s, .n = 3);
    EQ(coir_status(&f->open), 0, "it opens");
    coir_await(f, &f->close, store_close, .s = f->s, .n = 3);
    store_free(f->s);

    f->s = store_new(3, 0);
    f->blocks[0] = 8191;
    coir_await(f, &f->make, store_make, .s = f->s, .n = 1, .blocks = f->blocks);
    SAYS(-ENOSPC, "at least 32 MiB", &f->make);
    f->blocks[0] = 8192;
    f->blocks[1] = 1023;
    coir_await(f, &f->make, store_make, .s = f->s, .n = 2, .blocks = f->blocks);
    SAYS(-ENOSPC, "less than half", &f->make);
    f->blocks[1] = COIR_FILE_BLOCKS_MAX + 256;
    f->options = (struct coir_init_options){ .journal = 4 << 20 };
    coir_await(f, &f->make, store_make, .s = f->s, .n = 2, .blocks = f->blocks, .options = &f->options);
    SAYS(-EFBIG, "at most 1048576 GiB", &f->make);
    f->options.journal = 20 << 20;
    coir_await(f, &f->make, store_make, .s = f->s, .n = 1, .blocks = f->blocks, .options = &f->options);
    SAYS(-ENOSPC, "journal smaller", &f->make);
    EQ(sim_events(f->s->w), 0, "and nothing was written");
    f->options.journal = (5 << 20) + 1;
    coir_await(f, &f->make, store_make, .s = f->s, .n = 1, .blocks = f->blocks, .options = &f->options);
    EQ(f->s->files->file[0].layout.journal_blocks, 6 * 256, "a journal of 5 MiB and a byte has 6");
    coir_await(f, &f->close, store_close, .s = f->s, .n = 1);
    store_free(f->s);
} coir_end

/* ---- power cuts ---- */

struct opens {
    coir_frame_void;
    coir_args(struct sim *w; unsigned n; uint64_t *lsn; int *status;);
    struct store s;
    struct store_open open;
    struct store_close close;
};
static coir_declare(opens);
coir_body(opens, f) {
    memset(&f->s, 0, sizeof f->s);
    f->s.w = f->w;
    coir_await(f, &f->open, store_open, .s = &f->s, .n = f->n);
    *f->status = coir_status(&f->open);
    *f->lsn = *f->status == 0 ? f->s.files->super.lsn : 0;
    coir_await(f, &f->close, store_close, .s = &f->s, .n = f->n);
} coir_end

/* After each event of making a store, over an old one, there is none or a whole one. */
struct make_twice {
    coir_frame_void;
    coir_args(struct store *s; size_t *first;);
    struct store_make make;
    struct store_checkpoint checkpoint;
    struct store_close close;
};
static coir_declare(make_twice);
coir_body(make_twice, f) {
    coir_try(f, &f->make, store_make, .s = f->s, .n = 2, .blocks = three);
    coir_try(f, &f->checkpoint, store_checkpoint, .s = f->s, .lsn = 7);
    coir_await(f, &f->close, store_close, .s = f->s, .n = 2);
    *f->first = sim_events(f->s->w);
    coir_try(f, &f->make, store_make, .s = f->s, .n = 2, .blocks = three);
    coir_await(f, &f->close, store_close, .s = f->s, .n = 2);
} coir_end

static void cut_make(void)
{
    struct store *const s = store_new(2, 1000000);
    size_t first = 0;
    unsigned none = 0, old = 0, whole = 0;

    EQ(coir_run(NULL, coir_new(make_twice, .s = s, .first = &first)), 0, "a store over another one");
    for (size_t event = 0; event <= sim_events(s->w); event += sim_stride())
        for (unsigned how = 0; how < SIM_KEEPS * 3; how++) {
            struct sim *const w = sim_cut(s->w, event, (enum sim_keep)(how / 3), how % 3 + event);
            int status = 1;
            uint64_t lsn = 0;

            coir_run(NULL, coir_new(opens, .w = w, .n = 2, .lsn = &lsn, .status = &status));
            sim_free(w);
            if (status == 0 && lsn == 7)
                old++;
            else if (status == 0)
                whole++;
            else
                none += status == -EBADMSG || status == -ENODATA;
            if (status != 0 && status != -EBADMSG && status != -ENODATA)
                OK(false, "event %zu, %s: %s", event, sim_keep_name((enum sim_keep)(how / 3)), coir_strerror(status));
            if (event >= sim_events(s->w) && status != 0)
                OK(false, "when init was over there was no store");
        }
    OK(none > 50 / sim_stride() && old > 10 / sim_stride() && whole > 10 / sim_stride(),
       "%u cuts left none, %u the old one, %u a whole one", none, old, whole);
    store_free(s);
}

/* After each event of commits there is the old superblock or the new one, and never one older than what had been
 * committed. */
struct commits {
    coir_frame_void;
    coir_args(struct store *s; size_t *over;);
    uint64_t lsn;
    struct store_make make;
    struct store_checkpoint checkpoint;
    struct store_close close;
};
enum { COMMITS = 5 };
static coir_declare(commits);
coir_body(commits, f) {
    coir_try(f, &f->make, store_make, .s = f->s, .n = 1, .blocks = one);
    f->over[0] = sim_events(f->s->w);
    for (f->lsn = 1; f->lsn < COMMITS; f->lsn++) {
        if (!store_put(f->s, 3))
            coir_fail(f, ENOSPC);
        coir_try(f, &f->checkpoint, store_checkpoint, .s = f->s, .lsn = f->lsn);
        f->over[f->lsn] = sim_events(f->s->w);
        EQ(f->s->files->generation[0], f->lsn + 1, "copy A");
        EQ(f->s->files->generation[1], f->lsn + 1, "copy B");
    }
    EQ(sim_counts(f->s->w, 0).syncs, 4 + 3 * (COMMITS - 1), "three flushes a checkpoint");
    coir_await(f, &f->close, store_close, .s = f->s, .n = 1);
} coir_end

static void cut_commits(void)
{
    struct store *const s = store_new(1, 1000000);
    size_t over[COMMITS];
    unsigned seen[2] = { 0 };

    EQ(coir_run(NULL, coir_new(commits, .s = s, .over = over)), 0, "%d commits", COMMITS);
    for (unsigned done = 0; done < COMMITS; done++)
        for (size_t event = over[done]; event <= (done + 1 < COMMITS ? over[done + 1] - 1 : over[done]);
             event += sim_stride())
            for (unsigned how = 0; how < SIM_KEEPS * 8; how++) {
                struct sim *const w = sim_cut(s->w, event, (enum sim_keep)(how / 8), how % 8);
                int status = 1;
                uint64_t lsn = 0;

                coir_run(NULL, coir_new(opens, .w = w, .n = 1, .lsn = &lsn, .status = &status));
                sim_free(w);
                if (status || lsn < done || lsn > done + 1)
                    OK(false, "event %zu, %s: status %d, LSN %d after %u", event,
                       sim_keep_name((enum sim_keep)(how / 8)), status, (int)lsn, done);
                seen[lsn == done ? 0 : 1]++;
            }
    OK(seen[0] > 20 / sim_stride() && seen[1] > 20 / sim_stride(), "%u cuts left the old one, %u the new one",
       seen[0], seen[1]);
    store_free(s);
}

/* ---- a commit that fails ---- */

struct fails {
    coir_frame_void;
    coir_args(unsigned calls; unsigned n;);
    struct store *s;
    struct store_make make;
    struct store_checkpoint checkpoint;
    struct coir_super_commit commit;
    struct store_close close;
};
static coir_declare(fails);
coir_body(fails, f) {
    f->s = store_new(1, 1000);
    coir_try(f, &f->make, store_make, .s = f->s, .n = 1, .blocks = one);
    sim_fail(f->s->w, f->calls, f->n, -EIO, false);
    coir_await(f, &f->checkpoint, store_checkpoint, .s = f->s, .lsn = 1);
    SAYS(-EIO, f->calls == SIM_WRITE ? "cannot write 4096 bytes at" : "cannot make the superblock", &f->checkpoint);
    EQ(f->s->files->super.lsn, 0, "the old one counts in memory");
    EQ(f->s->files->failed, -EIO, "that it failed stays");
    f->s->complaint.status = 0;
    coir_await(f, &f->commit, coir_super_commit, .files = f->s->files, .complaint = &f->s->complaint);
    SAYS(-EIO, "after one that failed", &f->commit);
    EQ(f->s->files->committing, false, "and it is over");
    coir_await(f, &f->close, store_close, .s = f->s, .n = 1);
    store_free(f->s);
} coir_end

/* ---- files that are cut, exchanged, foreign ---- */

static struct sim *copy(struct sim *w)
{
    return sim_cut(w, sim_events(w), SIM_EVERYTHING, 1);
}

struct wrong {
    coir_frame_void;
    coir_no_args;
    struct store *s;
    struct sim *whole, *other, *foreign;
    uint64_t size;
    struct store_make make;
    struct store_open open;
    struct store_close close;
};
static coir_declare(wrong);

static void exchange(struct sim *w, unsigned a, struct sim *v, unsigned b)
{
    static char first[COIR_HEAD_BYTES], second[COIR_HEAD_BYTES];

    sim_peek(w, a, 0, first, sizeof first);
    sim_peek(v, b, 0, second, sizeof second);
    sim_poke(w, a, 0, second, sizeof second);
    sim_poke(v, b, 0, first, sizeof first);
}

static void cut_to(struct store *s, struct sim *whole, unsigned device, uint64_t size)
{
    sim_free(s->w);
    s->w = copy(whole);
    sim_shorten(s->w, device, size);
}

coir_body(wrong, f) {
    f->s = store_new(2, 0);
    coir_try(f, &f->make, store_make, .s = f->s, .n = 2, .blocks = three);
    coir_await(f, &f->close, store_close, .s = f->s, .n = 2);
    f->whole = f->s->w;
    f->s->w = sim_new(0, 0);
    sim_add(f->s->w, 0, 4096);
    sim_add(f->s->w, 0, 4096);
    coir_try(f, &f->make, store_make, .s = f->s, .n = 2, .blocks = three);
    coir_await(f, &f->close, store_close, .s = f->s, .n = 2);
    f->other = f->s->w;
    f->s->w = sim_new(0, 0);

    cut_to(f->s, f->whole, 0, sim_size(f->whole, 0));
    exchange(f->s->w, 0, f->s->w, 1);
    coir_await(f, &f->open, store_open, .s = f->s, .n = 2);
    SAYS(-EBADMSG, "it is file 1 of its store, and is named as file 0", &f->open);
    cut_to(f->s, f->whole, 0, sim_size(f->whole, 0));
    f->foreign = copy(f->other);
    exchange(f->s->w, 1, f->foreign, 1);
    sim_free(f->foreign);
    coir_await(f, &f->open, store_open, .s = f->s, .n = 2);
    SAYS(-EBADMSG, "belongs to another store", &f->open);

    for (f->size = 0; f->size <= sim_size(f->whole, 0); f->size += f->size < (1 << 20) ? 4096 * 64 : 1 << 20) {
        cut_to(f->s, f->whole, 0, f->size ? f->size - 1 : 0);
        coir_await(f, &f->open, store_open, .s = f->s, .n = 2);
        SAYS(-ENODATA, f->size <= 1 << 20 ? "shorter than the first MiB" : "it was cut", &f->open);
    }
    EQ(f->size, sim_size(f->whole, 0) + (1 << 20), "at every boundary");
    cut_to(f->s, f->whole, 1, 511 * 4096);
    coir_await(f, &f->open, store_open, .s = f->s, .n = 2);
    SAYS(-ENODATA, "it was cut", &f->open);
    coir_await(f, &f->close, store_close, .s = f->s, .n = 2);
    sim_free(f->whole);
    sim_free(f->other);
    store_free(f->s);
} coir_end

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    EQ(coir_run(NULL, coir_new(layout)), 0, "all of it");
    EQ(coir_run(NULL, coir_new(several)), 0, "all of it");
    cut_make();
    cut_commits();
    for (unsigned n = 2; n <= 3; n++) {
        EQ(coir_run(NULL, coir_new(fails, .calls = SIM_WRITE, .n = n - 1)), 0, "a write that fails");
        EQ(coir_run(NULL, coir_new(fails, .calls = SIM_SYNC, .n = n)), 0, "a flush that fails");
    }
    EQ(coir_run(NULL, coir_new(wrong)), 0, "all of it");
    return DONE();
}
