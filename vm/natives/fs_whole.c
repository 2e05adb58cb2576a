/* SPDX-License-Identifier: MIT */
/*
 * Natives of fs that read or write a whole file: each is one task of libcoir's, which closes what it has opened
 * whatever happens.
 */
#include <coir/coir.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "vm/natives/fs.h"
#include "vm/rest.h"

enum { BYTES_A_STEP = 32, READ_AT_LEAST = 4096 };

/* ---- reading ---- */

/* The result is all of the file, in `rest`. A file tells its size; what is in /proc, and a pipe, does not. */
struct fs_read_all {
    coir_frame(struct coir_rest);
    coir_args(struct coir_heap *heap; const char *path;);
    int fd;
    size_t size;                        /* 0: it does not say */
    char *to;
    size_t room;
    union {
        struct coir_open open;
        struct coir_read read;
        struct coir_close close;
    };
};
static coir_declare(fs_read_all);

static size_t size_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (size_t)st.st_size : 0;
}

/* One byte more than the file has shows that it has no more. */
static bool make_room(struct fs_read_all *f)
{
    const size_t have = coir_rest_len(&f->result);

    f->to = coir_rest_room(f->heap, &f->result, f->size > have ? f->size - have + 1 : READ_AT_LEAST, &f->room);
    return f->to != NULL;
}

coir_body(fs_read_all, f) {
    f->fd = -1;
    coir_get(f, f->fd, &f->open, coir_open, .path = f->path, .flags = O_RDONLY);
    f->size = size_of(f->fd);
    do {
        if (!make_room(f))
            coir_fail(f, ENOMEM);
        coir_try(f, &f->read, coir_read, .fd = f->fd, .buf = f->to, .len = f->room);
        coir_rest_came(&f->result, f->read.result);
    } while (f->read.result && (f->size == 0 || f->read.result == f->room || coir_rest_len(&f->result) < f->size));
    coir_finally(f) {
        if (f->fd >= 0)
            coir_await(f, &f->close, coir_close, .fd = f->fd);
        if (f->task.status < 0)
            coir_rest_drop(f->heap, &f->result);
    }
} coir_end

struct reading {
    struct fs_read_all op;
    char path[];
};

static enum coir_native_result fs_read(struct coir_fiber *f, uint64_t *r)
{
    enum coir_native_result trap;
    struct reading *const s = coir_path_scratch(f, r[0], offsetof(struct reading, path), &trap);
    struct coir_text *t;
    int status;

    if (!s)
        return trap;
    status = f->step ? coir_status(&s->op) : 0;
    if (f->step == 0 || coir_again(f, status))
        return coir_wait_for(f, &s->op, fs_read_all, .heap = f->heap, .path = s->path);
    if (coir_nothing_there(status))
        return coir_give_nil(r);
    if (status < 0)
        return coir_trap_status(f, status, s->path);
    t = coir_rest_take(f->heap, &s->op.result, coir_rest_len(&s->op.result), 0);
    coir_rest_drop(f->heap, &s->op.result);
    if (!t)
        return coir_trap_memory(f);
    coir_charge(f, t->len / BYTES_A_STEP);
    r[0] = coir_slot_of(t);
    return COIR_NATIVE_DONE;
}

/* ---- writing ---- */

/* The result is how much was written, also when it failed. */
struct fs_write_all {
    coir_frame(size_t);
    coir_args(const char *path; int flags; const char *bytes; size_t len;);
    int fd;
    union {
        struct coir_open open;
        struct coir_write_all write;
        struct coir_close close;
    };
};
static coir_declare(fs_write_all);

coir_body(fs_write_all, f) {
    f->fd = -1;
    coir_get(f, f->fd, &f->open, coir_open, .path = f->path, .flags = O_WRONLY | O_CREAT | f->flags, .mode = 0666);
    if (f->len) {
        coir_await(f, &f->write, coir_write_all, .fd = f->fd, .buf = f->bytes, .len = f->len);
        f->result = f->write.result;
        coir_check(f, &f->write);
    }
    coir_await(f, &f->close, coir_close, .fd = f->fd);
    f->fd = -1;
    coir_check(f, &f->close);
    coir_finally(f) {
        if (f->fd >= 0)
            coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

struct writing {
    struct fs_write_all op;
    size_t done;
    char path[];
};

/* Cut short by nobody's will it goes on where it was at the end of the file, and otherwise begins anew. */
static enum coir_native_result write_whole(struct coir_fiber *f, uint64_t *r, int flags)
{
    const struct coir_text *const data = coir_text_at(r[1]);
    enum coir_native_result trap;
    struct writing *const s = coir_path_scratch(f, r[0], offsetof(struct writing, path), &trap);
    int status;

    if (!s)
        return trap;
    if (f->step == 0)
        coir_charge(f, data->len / BYTES_A_STEP);
    status = f->step ? coir_status(&s->op) : 0;
    if (f->step && flags == O_APPEND)
        s->done += s->op.result;
    if (f->step == 0 || coir_again(f, status))
        return coir_wait_for(f, &s->op, fs_write_all, .path = s->path, .flags = flags, .bytes = data->bytes + s->done,
                             .len = data->len - s->done);
    return status < 0 ? coir_trap_status(f, status, s->path) : COIR_NATIVE_DONE;
}

static enum coir_native_result fs_write(struct coir_fiber *f, uint64_t *r)
{
    return write_whole(f, r, O_TRUNC);
}

static enum coir_native_result fs_append(struct coir_fiber *f, uint64_t *r)
{
    return write_whole(f, r, O_APPEND);
}

static const struct coir_native natives[] = {
    { "fs.read", "fn read(path: Text) -> Text?", fs_read },
    { "fs.write", "fn write(path: Text, data: Text)", fs_write },
    { "fs.append", "fn append(path: Text, data: Text)", fs_append },
};
const struct coir_natives coir_fs_whole_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
