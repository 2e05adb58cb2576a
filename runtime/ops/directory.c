/* SPDX-License-Identifier: MIT */
/*
 * Reading directories: getdents64 on the pool "file", since the ring has no such operation, and a walk over
 * the records it leaves. The records are read byte by byte: the caller's buffer may lie anywhere, and may hold
 * anything.
 */
#include <coir/fs.h>
#include <dirent.h>
#include <string.h>

#include "runtime/ops/op.h"

/* ino (8 bytes), off (8), the record's length (2), type (1), name */
enum { OFF_AT = 8, LENGTH_AT = 16, TYPE_AT = 18, NAME_AT = 19 };

static int readdir_attempt(struct coir_task *t)
{
    const struct coir_readdir *op = (const struct coir_readdir *)t;

    return coir_errno(getdents64(op->fd, op->buf, coir_io_length(op->len)));
}

static const struct coir_io_kind readdir_kind = {
    .name = "coir_readdir",
    .attempt = readdir_attempt,
};

/* Nothing read means the end, so a buffer without room is no success here. */
static int check_readdir(struct coir_readdir *op)
{
    const int check = coir_check_buffer(&op->task, op->fd, op->buf, op->len, "coir_readdir");

    return check == 0 ? -EINVAL : check;
}

coir_step coir_readdir_resume(struct coir_task *t)
{
    struct coir_readdir *op = (struct coir_readdir *)t;

    if (t->state == 0 && !coir_op_begins(t, &op->io, &readdir_kind, op->fd, check_readdir(op)))
        return COIR_PARK_;
    return coir_op_ends(t, &op->io, &op->result);
}

bool coir_dirent_next(struct coir_dirent *entry, const void *buf, size_t n, size_t *at)
{
    const char *record;
    uint16_t length;

    if (*at >= n || n - *at <= NAME_AT)
        return false;
    record = (const char *)buf + *at;
    memcpy(&length, record + LENGTH_AT, sizeof length);
    if (length <= NAME_AT || length > n - *at || !memchr(record + NAME_AT, '\0', length - NAME_AT))
        return false;
    memcpy(&entry->ino, record, sizeof entry->ino);
    memcpy(&entry->off, record + OFF_AT, sizeof entry->off);
    entry->type = (unsigned char)record[TYPE_AT];
    entry->name = record + NAME_AT;
    *at += length;
    return true;
}
