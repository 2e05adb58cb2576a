/* SPDX-License-Identifier: MIT */
/* Natives of fs: what is one operation on a path, and what is done with paths alone. */
#include "vm/natives/fs.h"

#include <coir/coir.h>
#include <fcntl.h>
#include <sys/stat.h>

/* ---- looking ---- */

struct look {
    struct coir_statx op;
    struct statx st;
    char path[];
};

/* 0: s->st tells; 1: return *result; or what statx says. */
static int look_at(struct coir_fiber *f, const uint64_t *r, struct look **look, enum coir_native_result *result)
{
    struct look *const s = coir_path_scratch(f, r[0], offsetof(struct look, path), result);
    int status;

    *look = s;
    if (!s)
        return 1;
    status = f->step ? coir_status(&s->op) : 0;
    if (f->step && !coir_again(f, status))
        return status;
    *result = coir_wait_for(f, &s->op, coir_statx, .dirfd = AT_FDCWD, .path = s->path, .mask = STATX_BASIC_STATS,
                            .statxbuf = &s->st);
    return 1;
}

static enum coir_native_result fs_exists(struct coir_fiber *f, uint64_t *r)
{
    enum coir_native_result result = COIR_NATIVE_AWAIT;
    struct look *s;
    const int status = look_at(f, r, &s, &result);

    if (status > 0)
        return result;
    if (status < 0 && !coir_nothing_there(status))
        return coir_trap_status(f, status, s->path);
    r[0] = status == 0;
    return COIR_NATIVE_DONE;
}

/* (is_file, is_dir, size, modified, mode)?: what fs.Info is made of. */
static enum coir_native_result fs_stat(struct coir_fiber *f, uint64_t *r)
{
    enum coir_native_result result = COIR_NATIVE_AWAIT;
    struct look *s;
    const int status = look_at(f, r, &s, &result);

    if (status > 0)
        return result;
    if (status < 0 && !coir_nothing_there(status))
        return coir_trap_status(f, status, s->path);
    memset(r, 0, 6 * sizeof *r);
    if (status < 0)
        return COIR_NATIVE_DONE;
    r[0] = 1;
    r[1] = S_ISREG(s->st.stx_mode);
    r[2] = S_ISDIR(s->st.stx_mode);
    r[3] = s->st.stx_size;
    r[4] = (uint64_t)(s->st.stx_mtime.tv_sec * COIR_S + s->st.stx_mtime.tv_nsec);
    r[5] = s->st.stx_mode & 07777;
    return COIR_NATIVE_DONE;
}

/* ---- renaming ---- */

struct renaming {
    struct coir_rename op;
    char paths[];
};

static enum coir_native_result fs_rename(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const from = coir_text_at(r[0]), *const to = coir_text_at(r[1]);
    struct renaming *const s = coir_scratch(f, sizeof *s + from->len + to->len + 2, NULL);
    int status;

    if (!s)
        return coir_trap_memory(f);
    if (f->step == 0 && (!coir_copy_path(s->paths, from) || !coir_copy_path(s->paths + from->len + 1, to)))
        return coir_trap_status(f, -EINVAL, s->paths);
    status = f->step ? coir_status(&s->op) : 0;
    if (f->step == 0 || coir_again(f, status))
        return coir_wait_for(f, &s->op, coir_rename, .oldpath = s->paths, .newpath = s->paths + from->len + 1);
    return status < 0 ? coir_trap_status(f, status, s->paths) : COIR_NATIVE_DONE;
}

/* ---- paths ---- */

static enum coir_native_result give(struct coir_fiber *f, uint64_t *r, struct coir_text *t)
{
    if (!t)
        return coir_trap_memory(f);
    r[0] = coir_slot_of(t);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result fs_join(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const a = coir_text_at(r[0]), *const b = coir_text_at(r[1]);
    const bool alone = a->len == 0 || (b->len && b->bytes[0] == '/');
    const size_t slash = !alone && a->bytes[a->len - 1] != '/', before = alone ? 0 : a->len + slash;
    struct coir_text *const t = coir_text_new(f->heap, before + b->len);

    if (t && !alone) {
        memcpy(t->bytes, a->bytes, a->len);
        if (slash)
            t->bytes[a->len] = '/';
    }
    if (t)
        memcpy(t->bytes + before, b->bytes, b->len);
    return give(f, r, t);
}

/* Where the last slash is; SIZE_MAX: there is none. */
static size_t last_slash(const struct coir_text *t)
{
    const char *const slash = memrchr(t->bytes, '/', t->len);

    return slash ? (size_t)(slash - t->bytes) : SIZE_MAX;
}

static enum coir_native_result fs_name(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const t = coir_text_at(r[0]);
    const size_t at = last_slash(t) + 1;

    return give(f, r, coir_text_of(f->heap, t->bytes + at, t->len - at));
}

static enum coir_native_result fs_parent(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const t = coir_text_at(r[0]);
    const size_t at = last_slash(t);

    if (at == SIZE_MAX)
        return give(f, r, coir_text_of(f->heap, ".", 1));
    return give(f, r, coir_text_of(f->heap, t->bytes, at ? at : 1));
}

static const struct coir_native natives[] = {
    { "fs.exists", "fn exists(path: Text) -> Bool", fs_exists },
    { "fs.stat_raw", "fn stat_raw(path: Text) -> (Bool, Bool, Int, Duration, Int)?", fs_stat },
    { "fs.rename", "fn rename(from: Text, to: Text)", fs_rename },
    { "fs.join", "fn join(a: Text, b: Text) -> Text", fs_join },
    { "fs.name", "fn name(path: Text) -> Text", fs_name },
    { "fs.parent", "fn parent(path: Text) -> Text", fs_parent },
};
const struct coir_natives coir_fs_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
