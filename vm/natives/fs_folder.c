/* SPDX-License-Identifier: MIT */
/* Natives of fs on folders: what is in one, making one, removing what is there. Each is one task of libcoir's. */
#include <coir/coir.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "vm/machine.h"
#include "vm/natives/fs.h"

/* ---- what is in one ---- */

enum { ENTRIES = 16384 };

/* The result is a List[Text], not sorted, owned by who asked. */
struct fs_entries {
    coir_frame(uint64_t);
    coir_args(struct coir_heap *heap; const char *path;);
    int fd;
    char *buffer;
    union {
        struct coir_open open;
        struct coir_readdir read;
        struct coir_close close;
    };
};
static coir_declare(fs_entries);

static bool add(struct coir_heap *h, uint64_t *list, const char *name)
{
    struct coir_text *const t = coir_text_of(h, name, strlen(name));

    if (!t)
        return false;
    if (!coir_list_own(h, list, 1)) {
        coir_drop(h, &t->head);
        return false;
    }
    coir_list_at(*list)->data[coir_list_at(*list)->len++] = coir_slot_of(t);
    return true;
}

/* What was read into the buffer. False: no memory. */
static bool add_entries(struct fs_entries *f)
{
    struct coir_dirent entry;
    size_t at = 0;

    while (coir_dirent_next(&entry, f->buffer, f->read.result, &at)) {
        if (!strcmp(entry.name, ".") || !strcmp(entry.name, ".."))
            continue;
        if (!add(f->heap, &f->result, entry.name))
            return false;
    }
    return true;
}

coir_body(fs_entries, f) {
    f->fd = -1;
    f->buffer = coir_heap_alloc(f->heap, ENTRIES);
    f->result = coir_slot_of(coir_list_new(f->heap, &f->heap->types[COIR_INDEX_TEXTS], 0));
    if (!f->buffer || !f->result)
        coir_fail(f, ENOMEM);
    coir_get(f, f->fd, &f->open, coir_open, .path = f->path, .flags = O_RDONLY | O_DIRECTORY);
    do {
        coir_try(f, &f->read, coir_readdir, .fd = f->fd, .buf = f->buffer, .len = ENTRIES);
        if (!add_entries(f))
            coir_fail(f, ENOMEM);
    } while (f->read.result);
    coir_finally(f) {
        if (f->fd >= 0)
            coir_await(f, &f->close, coir_close, .fd = f->fd);
        if (f->buffer)
            coir_heap_free(f->heap, f->buffer, ENTRIES);
        if (f->task.status < 0 && f->result) {
            coir_drop(f->heap, coir_ref(f->result));
            f->result = 0;
        }
    }
} coir_end

struct listing {
    struct fs_entries op;
    char path[];
};

static int by_bytes(const void *a, const void *b)
{
    return coir_text_compare(coir_text_at(*(const uint64_t *)a), coir_text_at(*(const uint64_t *)b));
}

static enum coir_native_result fs_list(struct coir_fiber *f, uint64_t *r)
{
    enum coir_native_result trap;
    struct listing *const s = coir_path_scratch(f, r[0], offsetof(struct listing, path), &trap);
    struct coir_list *l;
    int status;

    if (!s)
        return trap;
    status = f->step ? coir_status(&s->op) : 0;
    if (f->step == 0 || coir_again(f, status))
        return coir_wait_for(f, &s->op, fs_entries, .heap = f->heap, .path = s->path);
    if (status == -ENOENT)
        return coir_give_nil(r);
    if (status < 0)
        return coir_trap_status(f, status, s->path);
    l = coir_list_at(s->op.result);
    if (l->len)
        qsort(l->data, l->len, sizeof *l->data, by_bytes);
    coir_charge(f, l->len * 16);
    r[0] = s->op.result;
    return COIR_NATIVE_DONE;
}

/* ---- making one ---- */

struct fs_make_dir {
    coir_frame_void;
    coir_args(char *path;);             /* slashes in it are cut, and put back */
    char *at;                           /* behind what has been tried */
    char cut;                           /* what stood there */
    int made;
    struct coir_mkdir mkdir;
    struct coir_statx statx;
    struct statx st;
};
static coir_declare(fs_make_dir);

/* Cuts the path at its next slash, or at its end. False: there is no more. */
static bool cut_next(struct fs_make_dir *f)
{
    if (f->cut == 0 && f->at != f->path)
        return false;
    if (f->at != f->path)
        *f->at = f->cut;
    f->at += strspn(f->at, "/");
    f->at += strcspn(f->at, "/");
    f->cut = *f->at;
    *f->at = 0;
    return true;
}

/* The whole at once is tried first; then each of those above it, from the root on. */
coir_body(fs_make_dir, f) {
    coir_await(f, &f->mkdir, coir_mkdir, .path = f->path, .mode = 0777);
    if (coir_status(&f->mkdir) == -ENOENT && f->path[0]) {
        f->at = f->path;
        f->cut = 0;
        while (cut_next(f)) {
            coir_await(f, &f->mkdir, coir_mkdir, .path = f->path, .mode = 0777);
            if (coir_status(&f->mkdir) < 0 && coir_status(&f->mkdir) != -EEXIST)
                break;
        }
        *f->at = f->cut;
    }
    f->made = coir_status(&f->mkdir);
    if (f->made == -EEXIST) {
        coir_try(f, &f->statx, coir_statx, .dirfd = AT_FDCWD, .path = f->path, .mask = STATX_TYPE, .statxbuf = &f->st);
        if (S_ISDIR(f->st.stx_mode))
            f->made = 0;
    }
    if (f->made < 0)
        coir_fail(f, f->made);
} coir_end

struct making {
    struct fs_make_dir op;
    char path[];
};

static enum coir_native_result fs_mkdir(struct coir_fiber *f, uint64_t *r)
{
    enum coir_native_result trap;
    struct making *const s = coir_path_scratch(f, r[0], offsetof(struct making, path), &trap);
    int status;

    if (!s)
        return trap;
    status = f->step ? coir_status(&s->op) : 0;
    if (f->step == 0 || coir_again(f, status))
        return coir_wait_for(f, &s->op, fs_make_dir, .path = s->path);
    return status < 0 ? coir_trap_status(f, status, s->path) : COIR_NATIVE_DONE;
}

/* ---- removing ---- */

struct fs_remove {
    coir_frame_void;
    coir_args(const char *path;);
    struct coir_unlink unlink;
};
static coir_declare(fs_remove);

coir_body(fs_remove, f) {
    coir_await(f, &f->unlink, coir_unlink, .path = f->path);
    if (coir_status(&f->unlink) == -EISDIR)
        coir_await(f, &f->unlink, coir_unlink, .path = f->path, .flags = AT_REMOVEDIR);
    coir_check(f, &f->unlink);
} coir_end

struct removing {
    struct fs_remove op;
    char path[];
};

static enum coir_native_result fs_remove(struct coir_fiber *f, uint64_t *r)
{
    enum coir_native_result trap;
    struct removing *const s = coir_path_scratch(f, r[0], offsetof(struct removing, path), &trap);
    int status;

    if (!s)
        return trap;
    status = f->step ? coir_status(&s->op) : 0;
    if (f->step == 0 || coir_again(f, status))
        return coir_wait_for(f, &s->op, fs_remove, .path = s->path);
    if (status < 0 && !coir_nothing_there(status))
        return coir_trap_status(f, status, s->path);
    r[0] = status == 0;
    return COIR_NATIVE_DONE;
}

static const struct coir_native natives[] = {
    { "fs.list", "fn list(path: Text) -> List[Text]?", fs_list },
    { "fs.make_dir", "fn make_dir(path: Text)", fs_mkdir },
    { "fs.remove", "fn remove(path: Text) -> Bool", fs_remove },
};
const struct coir_natives coir_fs_folder_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
