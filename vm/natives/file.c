/* SPDX-License-Identifier: MIT */
/*
 * Natives of fs.File: an open file at its position. What read_line has read too much is kept, and comes first; who
 * writes, or goes elsewhere, gives it up, and the file's position is then where the program thinks it is.
 */
#include <coir/coir.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vm/natives/fs.h"
#include "vm/natives/net.h"

enum { BYTES_A_STEP = 32, READ_AT_MOST = 262144, READ_LINES = 16384 };

struct file {
    struct coir_counted head;
    struct coir_rest rest;
    uint64_t path;                      /* a text of its own, for traps: the file may go to another shard */
    int fd;                             /* -1: closed */
};

static struct file *file_at(uint64_t slot)
{
    return (struct file *)coir_ref(slot);
}

static void file_drop(struct coir_heap *h, struct coir_counted *c)
{
    struct file *const file = (struct file *)c;

    coir_rest_drop(h, &file->rest);
    if (file->path)
        coir_drop(h, coir_ref(file->path));
    if (file->fd >= 0)
        coir_close_later(file->fd);
}

static int file_descriptor(const struct coir_counted *c)
{
    return ((const struct file *)c)->fd;
}

static const struct coir_resource file_resource = {
    .name = "fs.File", .size = sizeof(struct file), .drop = file_drop, .descriptor = file_descriptor,
};

static enum coir_native_result trap(struct coir_fiber *f, const struct file *file, int status)
{
    const struct coir_text *const path = coir_text_at(file->path);
    char name[400];
    const size_t len = path->len < sizeof name - 1 ? path->len : sizeof name - 1;

    memcpy(name, path->bytes, len);
    name[len] = 0;
    return coir_trap_status(f, status, name);
}

static enum coir_native_result give(struct coir_fiber *f, uint64_t *r, struct coir_text *t)
{
    if (!t)
        return coir_trap_memory(f);
    coir_charge(f, t->len / BYTES_A_STEP);
    r[0] = coir_slot_of(t);
    return COIR_NATIVE_DONE;
}

/* ---- opening ---- */

struct opening {
    struct coir_open op;
    char path[];
};

/* The type of a file: what fs.create gives, and what is inside of what fs.open gives. */
static const struct coir_type *type_of_file(const struct coir_fiber *f)
{
    const struct coir_type *const t = coir_result_type(f);

    return t->kind == COIR_TYPE_OPTIONAL ? t->element : t;
}

static enum coir_native_result give_file(struct coir_fiber *f, uint64_t *r, int fd)
{
    const struct coir_text *const given = coir_text_at(r[0]);
    struct coir_text *const path = coir_text_new(f->heap, given->len);
    struct file *const file = path ? (struct file *)coir_resource_new(f->heap, type_of_file(f)) : NULL;

    if (!file) {
        if (path)
            coir_drop(f->heap, &path->head);
        coir_close_later(fd);
        return coir_trap_memory(f);
    }
    memcpy(path->bytes, given->bytes, given->len);
    file->path = coir_slot_of(path);
    file->fd = fd;
    r[0] = coir_slot_of(file);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result open_file(struct coir_fiber *f, uint64_t *r, int flags, bool may_be_nil)
{
    enum coir_native_result trap;
    struct opening *const s = coir_path_scratch(f, r[0], offsetof(struct opening, path), &trap);
    int status;

    if (!s)
        return trap;
    status = f->step ? coir_status(&s->op) : 0;
    if (f->step == 0 || coir_again(f, status))
        return coir_wait_for(f, &s->op, coir_open, .path = s->path, .flags = flags, .mode = 0666);
    if (may_be_nil && coir_nothing_there(status))
        return coir_give_nil(r);
    return status < 0 ? coir_trap_status(f, status, s->path) : give_file(f, r, s->op.result);
}

static enum coir_native_result fs_open(struct coir_fiber *f, uint64_t *r)
{
    return open_file(f, r, O_RDONLY, true);
}

static enum coir_native_result fs_create(struct coir_fiber *f, uint64_t *r)
{
    return open_file(f, r, O_RDWR | O_CREAT | O_TRUNC, false);
}

/* ---- reading ---- */

struct reading {
    struct coir_read op;
    struct coir_text *t;
    size_t searched;
};

/* What was read into t, which may be much larger. */
static enum coir_native_result give_read(struct coir_fiber *f, uint64_t *r, struct coir_text *t, size_t len)
{
    struct coir_text *small;

    if (len == 0) {
        coir_drop(f->heap, &t->head);
        return coir_give_nil(r);
    }
    if (len > t->cap / 2) {
        t->len = len;
        return give(f, r, t);
    }
    small = coir_text_of(f->heap, t->bytes, len);
    coir_drop(f->heap, &t->head);
    return give(f, r, small);
}

static enum coir_native_result file_read(struct coir_fiber *f, uint64_t *r)
{
    struct file *const file = file_at(r[0]);
    const size_t have = coir_rest_len(&file->rest), n = r[1];
    struct reading *s;
    int status;

    if ((int64_t)r[1] < 1)
        return coir_trap(f, COIR_TRAP_BOUNDS, "%lld bytes", (long long)r[1]);
    if (f->step == 0 && have)
        return give(f, r, coir_rest_take(f->heap, &file->rest, n < have ? n : have, 0));
    s = coir_scratch(f, sizeof *s, NULL);
    if (!s)
        return coir_trap_memory(f);
    if (f->step == 0)
        s->t = coir_text_new(f->heap, n < READ_AT_MOST ? n : READ_AT_MOST);
    if (!s->t)
        return coir_trap_memory(f);
    status = f->step ? coir_status(&s->op) : 0;
    if (f->step == 0 || coir_again(f, status))
        return coir_wait_for(f, &s->op, coir_read, .fd = file->fd, .buf = s->t->bytes,
                             .len = n < READ_AT_MOST ? n : READ_AT_MOST);
    if (status == 0)
        return give_read(f, r, s->t, s->op.result);
    coir_drop(f->heap, &s->t->head);
    return trap(f, file, status);
}

static enum coir_native_result file_read_line(struct coir_fiber *f, uint64_t *r)
{
    struct file *const file = file_at(r[0]);
    struct reading *const s = coir_scratch(f, sizeof *s, NULL);
    int status = -EAGAIN;
    size_t len, skip, room;
    char *to;

    if (!s)
        return coir_trap_memory(f);
    if (f->step && !coir_again(f, coir_status(&s->op))) {
        status = coir_status(&s->op);
        coir_rest_came(&file->rest, s->op.result);
    }
    if (status < 0 && status != -EAGAIN)
        return trap(f, file, status);
    if (coir_rest_line(&file->rest, &s->searched, &len, &skip))
        return give(f, r, coir_rest_take(f->heap, &file->rest, len, skip));
    len = coir_rest_len(&file->rest);
    if (status == 0 && s->op.result == 0) {
        if (len)
            return give(f, r, coir_rest_take(f->heap, &file->rest, len, 0));
        coir_rest_drop(f->heap, &file->rest);
        return coir_give_nil(r);
    }
    to = coir_rest_room(f->heap, &file->rest, READ_LINES, &room);
    if (!to)
        return coir_trap_memory(f);
    return coir_wait_for(f, &s->op, coir_read, .fd = file->fd, .buf = to, .len = room);
}

/* ---- the position ---- */

/* What was read too much was not: what has no position has none to go back to. */
static void give_up_rest(struct coir_fiber *f, struct file *file)
{
    const size_t len = coir_rest_len(&file->rest);

    if (len)
        lseek(file->fd, -(off_t)len, SEEK_CUR);
    coir_rest_drop(f->heap, &file->rest);
}

static enum coir_native_result file_seek(struct coir_fiber *f, uint64_t *r)
{
    struct file *const file = file_at(r[0]);

    if (lseek(file->fd, (off_t)r[1], SEEK_SET) < 0)
        return trap(f, file, -errno);
    coir_rest_drop(f->heap, &file->rest);
    return COIR_NATIVE_DONE;
}

struct measuring {
    struct coir_statx op;
    struct statx st;
};

static enum coir_native_result file_size(struct coir_fiber *f, uint64_t *r)
{
    struct file *const file = file_at(r[0]);
    struct measuring *const s = coir_scratch(f, sizeof *s, NULL);
    int status;

    if (!s)
        return coir_trap_memory(f);
    status = f->step ? coir_status(&s->op) : 0;
    if (f->step == 0 || coir_again(f, status))
        return coir_wait_for(f, &s->op, coir_statx, .dirfd = file->fd, .path = "", .flags = AT_EMPTY_PATH,
                             .mask = STATX_SIZE, .statxbuf = &s->st);
    if (status < 0)
        return trap(f, file, status);
    r[0] = s->st.stx_size;
    return COIR_NATIVE_DONE;
}

/* ---- writing ---- */

struct writing {
    struct coir_write_all op;
    size_t done;
};

static enum coir_native_result file_write(struct coir_fiber *f, uint64_t *r)
{
    struct file *const file = file_at(r[0]);
    const struct coir_text *const t = coir_text_at(r[1]);
    struct writing *const s = coir_scratch(f, sizeof *s, NULL);

    if (!s)
        return coir_trap_memory(f);
    if (f->step == 0) {
        coir_charge(f, t->len / BYTES_A_STEP);
        give_up_rest(f, file);
    } else {
        s->done += s->op.result;
        if (coir_status(&s->op) < 0 && !coir_again(f, coir_status(&s->op)))
            return trap(f, file, coir_status(&s->op));
    }
    if (s->done == t->len)
        return COIR_NATIVE_DONE;
    return coir_wait_for(f, &s->op, coir_write_all, .fd = file->fd, .buf = t->bytes + s->done, .len = t->len - s->done);
}

static enum coir_native_result file_sync(struct coir_fiber *f, uint64_t *r)
{
    struct coir_fsync *const s = coir_scratch(f, sizeof *s, NULL);
    const struct file *const file = file_at(r[0]);
    int status;

    if (!s)
        return coir_trap_memory(f);
    status = f->step ? coir_status(s) : 0;
    if (f->step == 0 || coir_again(f, status))
        return coir_wait_for(f, s, coir_fsync, .fd = file->fd);
    return status < 0 ? trap(f, file, status) : COIR_NATIVE_DONE;
}

static enum coir_native_result file_close(struct coir_fiber *f, uint64_t *r)
{
    struct coir_close *const s = coir_scratch(f, sizeof *s, NULL);
    struct file *const file = file_at(r[0]);
    const int fd = file->fd;

    if (!s)
        return coir_trap_memory(f);
    if (f->step == 0) {
        file->fd = -1;
        return coir_wait_for(f, s, coir_close, .fd = fd);
    }
    if (coir_status(s) < 0)
        return trap(f, file, coir_status(s));
    coir_drop(f->heap, &file->head);
    return COIR_NATIVE_DONE;
}

static const struct coir_native natives[] = {
    { "fs.open", "fn open(path: Text) -> fs.File?", fs_open },
    { "fs.create", "fn create(path: Text) -> fs.File", fs_create },
    { "fs.File.read", "fn read(self: fs.File, n: Int) -> Text?", file_read },
    { "fs.File.read_line", "fn read_line(self: fs.File) -> Text?", file_read_line },
    { "fs.File.write", "fn write(self: fs.File, data: Text)", file_write },
    { "fs.File.seek", "fn seek(self: fs.File, at: Int)", file_seek },
    { "fs.File.size", "fn size(self: fs.File) -> Int", file_size },
    { "fs.File.sync", "fn sync(self: fs.File)", file_sync },
    { "fs.File.close", "fn close(own self: fs.File)", file_close },
};
static const struct coir_resource *const resources[] = { &file_resource };
const struct coir_natives coir_file_natives = { natives, sizeof natives / sizeof *natives, resources, 1 };
