/* SPDX-License-Identifier: MIT */
/*
 * What the natives of fs share. A path is a text, and the system wants a NUL behind it: each has a copy in its scratch.
 */
#ifndef COIR_VM_NATIVES_FS_H
#define COIR_VM_NATIVES_FS_H

#include <errno.h>
#include <stddef.h>

#include "vm/natives/standard.h"

/* Copies a path to `to`, which has room for it and its NUL. False: it has a NUL of its own, which no name has. */
static inline bool coir_copy_path(char *to, const struct coir_text *path)
{
    memcpy(to, path->bytes, path->len);
    to[path->len] = 0;
    return !memchr(path->bytes, 0, path->len);
}

/* The scratch of a native on the path in `slot`, whose copy, made at the first call, lies `at` bytes in it, at its end.
 * NULL: return *trap. */
static inline void *coir_path_scratch(struct coir_fiber *f, uint64_t slot, size_t at, enum coir_native_result *trap)
{
    const struct coir_text *const path = coir_text_at(slot);
    char *const s = coir_scratch(f, at + path->len + 1, NULL);

    if (!s)
        *trap = coir_trap_memory(f);
    else if (f->step == 0 && !coir_copy_path(s + at, path))
        *trap = coir_trap_status(f, -EINVAL, s + at);
    else
        return s;
    return NULL;
}

/* There is nothing of that name. */
static inline bool coir_nothing_there(int status)
{
    return status == -ENOENT || status == -ENOTDIR;
}

/* Whether a wait is to be begun again, by nobody's will. */
static inline bool coir_again(const struct coir_fiber *f, int status)
{
    return status == -ECANCELED && coir_fiber_waits_again(f);
}

static inline enum coir_native_result coir_give_nil(uint64_t *r)
{
    r[0] = 0;
    return COIR_NATIVE_DONE;
}

#endif
