/* SPDX-License-Identifier: MIT */
/*
 * Finding the file, saying what it is, sending it. A small file goes out with its head in one piece; a large one
 * by sendfile, part by part, so that a deadline bounds each part and not the whole.
 */
#include "httpd_reply.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PART = 262144 };

/* "" and "a/" are a folder's index; if it has none, its listing. */
static void name_file(struct reply *f)
{
    const char *path = f->request->path;
    const size_t len = strlen(path);

    snprintf(f->path, sizeof f->path, "%s%s", path, len == 0 || path[len - 1] == '/' ? "index.html" : "");
}

/* The status for the file that is open, and which of its bytes are sent. */
static int look_at_file(struct reply *f)
{
    if (fstat(f->file, &f->stat) < 0)
        return 500;
    if (S_ISDIR(f->stat.st_mode) && strcmp(f->path, f->request->path) == 0)
        return 301;
    if (!S_ISREG(f->stat.st_mode))
        return 404;
    if (http_is_known(f->request, &f->stat))
        return 304;
    return http_range(f->request, f->stat.st_size, &f->offset, &f->left);
}

static void write_head(struct reply *f)
{
    const bool of_file = f->status == 200 || f->status == 206 || f->status == 304 || f->status == 416;

    if (of_file)
        f->len = http_file_head(f->out, sizeof f->out, f->status, f->request, &f->stat, f->path, f->offset, f->left);
    else
        f->len = http_plain(f->out, sizeof f->out, f->status, f->request, f->status == 301 ? f->path : NULL);
    if (f->request->head)
        f->left = 0;
}

coir_body(reply, f) {
    f->file = -1;
    f->offset = f->left = 0;
    f->status = f->request->refuse;
    if (f->status == 0) {
        name_file(f);
        coir_await(f, &f->find, find, .folder = f->folder, .path = f->path);
        f->status = coir_status(&f->find);
        f->file = f->status < 0 ? -1 : f->find.result;
        if (f->status == -ENOENT && strcmp(f->path, f->request->path) != 0) {
            coir_await(f, &f->listing, listing, .folder = f->folder, .path = f->request->path);
            f->status = coir_status(&f->listing);
            f->file = f->status < 0 ? -1 : f->listing.result;
        }
        f->status = f->status < 0 ? http_status_of(f->status) : look_at_file(f);
    }
    write_head(f);
    if (f->left > 0 && (size_t)f->left <= sizeof f->out - f->len) {
        coir_try(f, &f->read, coir_pread_exact, .fd = f->file, .buf = f->out + f->len, .len = (size_t)f->left,
                 .offset = f->offset);
        f->len += (size_t)f->left;
        f->left = 0;
    }
    coir_within(f, &f->scope, coir_now() + f->patience, &f->send, coir_send_all, .fd = f->fd, .buf = f->out,
                .len = f->len);
    coir_check(f, &f->send);
    while (f->left > 0) {
        coir_within(f, &f->scope, coir_now() + f->patience, &f->sendfile, coir_sendfile, .out_fd = f->fd,
                    .in_fd = f->file, .offset = f->offset, .count = f->left < PART ? (size_t)f->left : PART);
        coir_check(f, &f->sendfile);
        if (f->sendfile.result == 0)
            coir_fail(f, EIO);                      /* the file has become shorter than we said */
        f->offset += (int64_t)f->sendfile.result;
        f->left -= (int64_t)f->sendfile.result;
    }
    coir_finally(f) {
        if (f->file >= 0)
            coir_await(f, &f->close, coir_close, .fd = f->file);
    }
} coir_end
