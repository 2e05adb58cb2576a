/* SPDX-License-Identifier: MIT */
/*
 * The kernel moves less than it was asked to. A store in real files, made, written to, left without being closed,
 * recovered, checked and scrubbed, while the n-th read or write moves one byte, one sector, or half, for every n; and
 * while none ever moves more than 512 bytes. All is as if each had been whole. The program is linked so that the calls
 * come by here, on the plane that makes them by themselves.
 */
#include <coir/coir.h>
#include <coir/volume.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "../device/sim.h"
#include "../ops/scratch.h"

enum { KIB = 1024, MIB = 1024 * KIB, SIZE = 32 * MIB, VOLUME = 4 * MIB, SECTOR = 512, WHOLE = 1 << 30 };

/* ---- calls ---- */

enum how { ALL_WHOLE, ONE_BYTE, ONE_SECTOR, HALF, WAYS };
static const char *const ways[WAYS] = { "whole", "one byte", "512 bytes", "half" };

static atomic_long calls, cut_at;       /* so far; the one that is short, -1: all are */
static enum how how;

/* What the call may move of `n` bytes. Who reads past the cache gets sectors, as from a disk. */
static size_t part(int fd, size_t n)
{
    const long call = atomic_fetch_add(&calls, 1) + 1, at = atomic_load(&cut_at);
    const size_t least = fcntl(fd, F_GETFL) & O_DIRECT ? SECTOR : 1, half = n / 2 / least * least;
    const size_t some = how == ONE_BYTE ? least : how == ONE_SECTOR ? SECTOR : half > least ? half : least;

    return how != ALL_WHOLE && (at == call || at < 0) && some < n ? some : n;
}

ssize_t __real_pread64(int fd, void *buf, size_t n, off_t at);
ssize_t __real_pwrite64(int fd, const void *buf, size_t n, off_t at);
ssize_t __real_preadv64(int fd, const struct iovec *iov, int n, off_t at);
ssize_t __real_pwritev64(int fd, const struct iovec *iov, int n, off_t at);
ssize_t __wrap_pread64(int fd, void *buf, size_t n, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *buf, size_t n, off_t at);
ssize_t __wrap_preadv64(int fd, const struct iovec *iov, int n, off_t at);
ssize_t __wrap_pwritev64(int fd, const struct iovec *iov, int n, off_t at);

/* A disk of 4 KiB sectors, which stopped in the middle of one, does not go on there. */
static bool refuses(int fd, size_t n, off_t at)
{
    const bool is = (fcntl(fd, F_GETFL) & O_DIRECT) && (at % 4096 || n % 4096);

    if (is)
        errno = EINVAL;
    return is;
}

ssize_t __wrap_pread64(int fd, void *buf, size_t n, off_t at)
{
    if (refuses(fd, n, at))
        return -1;
    return __real_pread64(fd, buf, part(fd, n), at);
}

ssize_t __wrap_pwrite64(int fd, const void *buf, size_t n, off_t at)
{
    return __real_pwrite64(fd, buf, part(fd, n), at);
}

/* The pieces that hold the first bytes of them. */
static int pieces(int fd, const struct iovec *iov, int n, struct iovec *cut)
{
    size_t all = 0, left;
    int k = 0;

    for (int i = 0; i < n; i++)
        all += iov[i].iov_len;
    left = part(fd, all);
    for (; k < n && left > 0; left -= cut[k++].iov_len) {
        cut[k] = iov[k];
        if (cut[k].iov_len > left)
            cut[k].iov_len = left;
    }
    return k;
}

ssize_t __wrap_preadv64(int fd, const struct iovec *iov, int n, off_t at)
{
    struct iovec cut[1024];
    size_t all = 0;

    for (int i = 0; i < n; i++)
        all += iov[i].iov_len;
    if (refuses(fd, all, at))
        return -1;
    return __real_preadv64(fd, cut, pieces(fd, iov, n, cut), at);
}

ssize_t __wrap_pwritev64(int fd, const struct iovec *iov, int n, off_t at)
{
    struct iovec cut[1024];

    return __real_pwritev64(fd, cut, pieces(fd, iov, n, cut), at);
}

/* ---- what a volume must hold ---- */

static unsigned char expected[VOLUME], found[VOLUME];

static void fill(unsigned char *p, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)sim_random(&seed);
}

/* ---- the life of a store ---- */

struct wrote {
    uint32_t at, length, cut;           /* `cut`: the first of three pieces of memory */
    bool durable;
};
static const struct wrote writes[] = {
    { 0, 64 * KIB, 4096, false }, { 100 * KIB, 4096, 4096, true }, { 300 * KIB + 77, 9000, 1, false },
    { 512 * KIB, 300 * KIB, 70001, false }, { 520 * KIB, 8192, 3, true }, { 3 * MIB + 5, 100 * KIB, 60000, false },
};
enum { WRITES = sizeof writes / sizeof writes[0] };

struct life {
    coir_frame_void;
    coir_args(const char *where; unsigned files; const char **copies;);
    const char *paths[2];
    char why[512];
    struct coir_store *store;
    struct coir_volume *volume;
    struct coir_store_options options;
    unsigned i, lap;
    struct iovec iov[3];
    union {
        struct coir_store_init init;
        struct coir_store_open open;
        struct coir_store_close close;
        struct coir_store_check check;
        struct coir_store_scrub scrub;
        struct coir_volume_create create;
        struct coir_volume_open find;
        struct coir_volume_close leave;
        struct coir_volume_write write;
        struct coir_volume_read read;
        struct coir_volume_unmap unmap;
        struct coir_volume_write_zeroes zeroes;
        struct coir_volume_flush flush;
    };
};
static coir_declare(life);

static void prepare(struct life *f, const struct wrote *w, unsigned char *from)
{
    const size_t rest = w->length > w->cut ? w->length - w->cut : 0;

    f->iov[0] = (struct iovec){ from, w->length - rest };
    f->iov[1] = (struct iovec){ from + w->length - rest, rest / 3 };
    f->iov[2] = (struct iovec){ from + w->length - rest + rest / 3, rest - rest / 3 };
}

/* As a power cut with everything on the medium would leave them. Past the calls that are cut. */
static bool copy_file(const char *from, const char *to)
{
    static unsigned char piece[MIB];
    const int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t n = in < 0 || out < 0 ? -1 : 0;

    while (n >= 0 && (n = read(in, piece, sizeof piece)) > 0) {
        if (piece[0] || memcmp(piece, piece + 1, (size_t)n - 1) != 0)
            n = write(out, piece, (size_t)n) == n ? n : -1;
        else if (lseek(out, n, SEEK_CUR) < 0)
            n = -1;
    }
    if (n == 0 && ftruncate(out, lseek(out, 0, SEEK_CUR)) < 0)
        n = -1;
    close(in);
    close(out);
    return n == 0;
}

/* Nothing is to be said of a whole store. */
static void say(void *ctx, const char *line)
{
    (void)ctx;
    if (strstr(line, "damage") || strstr(line, "read-only"))
        OK(false, "the log: %s", line);
}

coir_body(life, f) {
    f->store = NULL;
    f->volume = NULL;
    f->options = (struct coir_store_options){ .log = say };
    f->paths[0] = "one";
    f->paths[1] = "two";
    memset(expected, 0, sizeof expected);
    coir_try(f, &f->init, coir_store_init, .paths = f->paths, .n = f->files, .size = SIZE, .journal = MIB,
             .force = true, .why = f->why, .why_size = sizeof f->why);
    coir_get(f, f->store, &f->open, coir_store_open, .path = "one", .options = &f->options, .why = f->why,
             .why_size = sizeof f->why);
    coir_try(f, &f->create, coir_volume_create, .store = f->store, .name = "v", .size = VOLUME);
    coir_get(f, f->volume, &f->find, coir_volume_open, .store = f->store, .name = "v");
    for (f->i = 0; f->i < WRITES; f->i++) {
        fill(expected + writes[f->i].at, writes[f->i].length, f->i + 1);
        prepare(f, &writes[f->i], expected + writes[f->i].at);
        coir_try(f, &f->write, coir_volume_write, .volume = f->volume, .iov = f->iov, .n = 3,
                 .offset = writes[f->i].at, .flags = writes[f->i].durable ? COIR_VOLUME_DURABLE : 0);
    }
    memset(expected + 16 * KIB, 0, 16 * KIB);
    coir_try(f, &f->unmap, coir_volume_unmap, .volume = f->volume, .offset = 16 * KIB, .length = 16 * KIB);
    memset(expected + 600 * KIB + 1, 0, 9999);
    coir_try(f, &f->zeroes, coir_volume_write_zeroes, .volume = f->volume, .offset = 600 * KIB + 1, .length = 9999);
    coir_try(f, &f->flush, coir_volume_flush, .volume = f->volume);
    for (f->i = 0; f->i < f->files; f->i++) {
        if (!copy_file(f->paths[f->i], f->copies[f->i]))
            coir_fail(f, EIO);
    }
    coir_finally(f) {
        if (f->volume)
            coir_await(f, &f->leave, coir_volume_close, .volume = f->volume);
        if (f->store)
            coir_await(f, &f->close, coir_store_close, .store = f->store);
        if (coir_status(f))
            NOTE("%s: %s", f->where, f->why);
    }
} coir_end

/* Opens what is there, and compares all of it. */
struct after {
    coir_frame_void;
    coir_args(const char *where; const char *path; const char *second;);
    char why[512];
    struct coir_store *store;
    struct coir_volume *volume;
    struct coir_store_options options;
    unsigned index;
    struct iovec iov;
    union {
        struct coir_store_open open;
        struct coir_store_close close;
        struct coir_store_check check;
        struct coir_store_scrub scrub;
        struct coir_volume_open find;
        struct coir_volume_close leave;
        struct coir_volume_read read;
    };
};
static coir_declare(after);

coir_body(after, f) {
    f->store = NULL;
    f->volume = NULL;
    f->index = 1;
    f->options = (struct coir_store_options){ .log = say, .moved = &f->second, .moved_index = &f->index,
                                              .n_moved = f->second ? 1 : 0 };
    coir_get(f, f->store, &f->open, coir_store_open, .path = f->path, .options = &f->options, .why = f->why,
             .why_size = sizeof f->why);
    coir_get(f, f->volume, &f->find, coir_volume_open, .store = f->store, .name = "v");
    memset(found, 0xEE, sizeof found);
    f->iov = (struct iovec){ found, sizeof found };
    coir_try(f, &f->read, coir_volume_read, .volume = f->volume, .iov = &f->iov, .n = 1, .offset = 0);
    if (memcmp(found, expected, sizeof found) != 0)
        coir_fail(f, EILSEQ);
    coir_try(f, &f->check, coir_store_check, .store = f->store, .tell = say);
    coir_try(f, &f->scrub, coir_store_scrub, .store = f->store);
    coir_finally(f) {
        if (f->volume)
            coir_await(f, &f->leave, coir_volume_close, .volume = f->volume);
        if (f->store)
            coir_await(f, &f->close, coir_store_close, .store = f->store);
        if (coir_status(f))
            NOTE("%s: %s: %s, %s", f->where, f->path, coir_strerror(coir_status(f)), f->why);
    }
} coir_end

/* ---- runs ---- */

static const struct coir_options plane = { .io = "epoll", .shards = 1 };

static int live(const char *where, unsigned files)
{
    static const char *copies[] = { "copy one", "copy two" };
    int status = coir_run(&plane, coir_new(life, .where = where, .files = files, .copies = copies));

    if (status == 0)            /* it was not closed: the journal is replayed */
        status = coir_run(&plane, coir_new(after, .where = where, .path = "copy one",
                                           .second = files > 1 ? "copy two" : NULL));
    if (status == 0)
        status = coir_run(&plane, coir_new(after, .where = where, .path = "one"));
    return status;
}

static void always(unsigned files)
{
    how = ONE_SECTOR;
    atomic_store(&calls, 0);
    atomic_store(&cut_at, -1);
    EQ(live("always", files), 0, "%u files, never more than 512 bytes at once", files);
    OK(atomic_load(&calls) > 10000, "in %ld calls", atomic_load(&calls));
}

/* Each call in turn, the one in this way, the next in another; with `shift` each in each. */
static void every_call(unsigned files, long shift)
{
    unsigned wrong = 0;
    long n = 1, most = 1;
    char where[64];

    for (; n <= most; n++) {
        how = (enum how)(ONE_BYTE + (n + shift) % (WAYS - ONE_BYTE));
        snprintf(where, sizeof where, "call %ld, %s", n, ways[how]);
        atomic_store(&calls, 0);
        atomic_store(&cut_at, n);
        wrong += live(where, files) != 0;
        most = atomic_load(&calls);
    }
    EQ(wrong, 0, "%u files, one call of %ld moves a byte, 512, or half: all is as if it were whole", files, most);
    OK(most > 50, "there are some");
}

/* On a disk, where it is slow; each call in each way. */
static void on_a_disk(void)
{
    snprintf(scratch_folder, sizeof scratch_folder, "/tmp/coir-test-XXXXXX");
    if (!mkdtemp(scratch_folder) || chdir(scratch_folder) < 0)
        return;
    for (long shift = 0; shift < WAYS - ONE_BYTE; shift++) {
        every_call(1, shift);
        every_call(2, shift);
    }
    scratch_end();
}

int main(void)
{
    scratch_begin();
    how = ALL_WHOLE;
    EQ(live("whole", 1), 0, "a store in a file");
    NOTE("%ld calls that move data", atomic_load(&calls));
    always(1);
    always(2);
    every_call(1, 0);
    scratch_end();
    if (getenv("COIR_TEST_LONG"))
        on_a_disk();
    return DONE();
}
