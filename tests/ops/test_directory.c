/* SPDX-License-Identifier: MIT */
/*
 * Directories: every entry once, whatever the size of the buffer; the walk over records that no kernel wrote.
 */
#include "scratch.h"

enum { FILES = 300 };

static int seen[FILES];                  /* how often each was listed */
static int folders, others, batches;

static void count(const struct coir_dirent *e)
{
    int n, end;

    if (sscanf(e->name, "entry-%d%n", &n, &end) == 1 && !e->name[end] && n >= 0 && n < FILES) {
        seen[n]++;
        others += e->type != DT_REG && e->type != DT_UNKNOWN;
        others += e->ino == 0;
    } else if (!strcmp(e->name, ".") || !strcmp(e->name, "..") || !strcmp(e->name, "folder")) {
        folders++;
        others += e->type != DT_DIR && e->type != DT_UNKNOWN;
    } else {
        others++;
    }
}

static void check_seen(const char *how)
{
    int once = 0;

    for (int i = 0; i < FILES; i++)
        once += seen[i] == 1;
    EQ(once, FILES, "each file once, %s", how);
    EQ(folders, 3, "\".\", \"..\" and the folder, %s", how);
    EQ(others, 0, "and nothing else, %s", how);
    memset(seen, 0, sizeof seen);
    folders = others = 0;
}

struct lists {
    coir_frame_void;
    coir_args(size_t room; size_t skew;);
    int fd;
    size_t at;
    struct coir_dirent entry;
    union {
        struct coir_open open;
        struct coir_readdir readdir;
        struct coir_close close;
    } u;
    char buf[32768 + 8];
};
static coir_declare(lists);
coir_body(lists, f) {
    coir_get(f, f->fd, &f->u.open, coir_open, .path = ".", .flags = O_RDONLY | O_DIRECTORY);
    for (batches = 0;; batches++) {
        coir_try(f, &f->u.readdir, coir_readdir, .fd = f->fd, .buf = f->buf + f->skew, .len = f->room);
        if (f->u.readdir.result == 0)
            break;
        f->at = 0;
        while (coir_dirent_next(&f->entry, f->buf + f->skew, f->u.readdir.result, &f->at))
            count(&f->entry);
        EQ(f->at, f->u.readdir.result, "the walk ends where the bytes end");
    }
    coir_finally(f) {
        coir_await(f, &f->u.close, coir_close, .fd = f->fd);
    }
} coir_end

struct wrong {
    coir_frame_void;
    coir_no_args;
    int fd, dir, gone;
    char buf[300];
    union {
        struct coir_open open;
        struct coir_readdir readdir;
        struct coir_close close;
        struct coir_unlink unlink;
        struct coir_mkdir mkdir;
    } u;
};
static coir_declare(wrong);

static __attribute__((noinline)) void *on_the_stack(void)
{
    return __builtin_frame_address(0);
}

coir_body(wrong, f) {
    coir_get(f, f->fd, &f->u.open, coir_open, .path = "entry-0", .flags = O_RDONLY);
    coir_get(f, f->dir, &f->u.open, coir_open, .path = ".", .flags = O_RDONLY);
    coir_try(f, &f->u.mkdir, coir_mkdir, .path = "gone", .mode = 0700);
    coir_get(f, f->gone, &f->u.open, coir_open, .path = "gone", .flags = O_RDONLY);
    coir_try(f, &f->u.unlink, coir_unlink, .path = "gone", .flags = AT_REMOVEDIR);
    SAYS(-ENOENT, &f->u.readdir, coir_readdir, .fd = f->gone, .buf = f->buf, .len = sizeof f->buf);
    SAYS(-ENOTDIR, &f->u.readdir, coir_readdir, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
    SAYS(-EINVAL, &f->u.readdir, coir_readdir, .fd = f->dir, .buf = f->buf, .len = 8);
    SAYS(-EINVAL, &f->u.readdir, coir_readdir, .fd = f->dir, .buf = f->buf, .len = 0);
    SAYS(-EBADF, &f->u.readdir, coir_readdir, .fd = -1, .buf = f->buf, .len = sizeof f->buf);
    SAYS(-EBADF, &f->u.readdir, coir_readdir, .fd = 9999, .buf = f->buf, .len = sizeof f->buf);
    SAYS(-EFAULT, &f->u.readdir, coir_readdir, .fd = f->dir, .buf = NULL, .len = 300);
    SAYS(-EFAULT, &f->u.readdir, coir_readdir, .fd = f->dir, .buf = on_the_stack(), .len = 300);
    SAYS(0, &f->u.readdir, coir_readdir, .fd = f->dir, .buf = f->buf, .len = 280);
    OK(f->u.readdir.result > 0, "280 bytes are enough for some entry");
    coir_await(f, &f->u.close, coir_close, .fd = f->fd);
    coir_await(f, &f->u.close, coir_close, .fd = f->dir);
    coir_await(f, &f->u.close, coir_close, .fd = f->gone);
} coir_end

/* One record of 24 bytes with a name of three, then whatever a damaged one may hold. */
static void walks(void)
{
    unsigned char b[48] = { 7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 24, 0, DT_DIR, 'a', 'b', 'c', 0, 0 };
    struct coir_dirent e;
    size_t at = 0;

    OK(coir_dirent_next(&e, b, 24, &at), "a whole record");
    EQ(e.ino, 7, "its inode");
    EQ(e.off, 9, "its offset");
    EQ(e.type, DT_DIR, "its type");
    STR_EQ(e.name, "abc", "its name");
    EQ(at, 24, "the next begins behind it");
    OK(!coir_dirent_next(&e, b, 24, &at), "there is no next");
    OK(!coir_dirent_next(&e, b, 48, &at), "a record of length 0 ends the walk");
    for (size_t n = 0; n < 24; n++) {
        at = 0;
        OK(!coir_dirent_next(&e, b, n, &at), "%zu of its bytes are no record", n);
    }
    b[22] = b[23] = 'x';
    at = 0;
    OK(!coir_dirent_next(&e, b, 48, &at), "a name without an end is no record");
    at = SIZE_MAX;
    OK(!coir_dirent_next(&e, b, 48, &at), "nor is what lies outside");
}

int main(void)
{
    char name[32];

    scratch_begin();
    const int before = open_descriptors();
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "entry-%d", i);
        make_file(name, 'x', 0);
    }
    mkdir("folder", 0700);
    EQ(coir_run(NULL, coir_new(lists, .room = 32768)), 0, "at once");
    check_seen("at once");
    EQ(coir_run(NULL, coir_new(lists, .room = 280)), 0, "in small pieces");
    OK(batches >= 24, "at most 12 entries of 24 bytes fit into 280: there are %d pieces", batches);
    check_seen("in small pieces");
    EQ(coir_run(NULL, coir_new(lists, .room = 1000, .skew = 3)), 0, "into a buffer that is not aligned");
    check_seen("not aligned");
    EQ(coir_run(NULL, coir_new(wrong)), 0, "wrong");
    walks();
    EQ(open_descriptors(), before, "nothing is left open");
    scratch_end();
    return DONE();
}
