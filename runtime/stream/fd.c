/* SPDX-License-Identifier: MIT */
/*
 * Streams over descriptors: sockets by recv and send, since these never raise SIGPIPE and need no look at the
 * descriptor's mode; everything else by read and write. A descriptor that is -1 gets its -EBADF from the operation.
 *
 * Whoever closes a descriptor takes it out of the stream first: nobody begins anything on a number that is being
 * closed, or closes it a second time.
 */
#include <coir/stream.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "runtime/task/home.h"

static struct coir_fd_stream *over(struct coir_stream *s)
{
    return coir_container_of(s, struct coir_fd_stream, stream);
}

/* ---- read, write_all ---- */

struct fd_read {
    coir_frame(size_t);
    coir_args(struct coir_stream *stream; void *buf; size_t len;);
    union {
        struct coir_recv recv;
        struct coir_read read;
    };
};
coir_stream_fits(fd_read, coir_stream_read);
static coir_declare(fd_read);

coir_body(fd_read, f) {
    if (over(f->stream)->in_socket)
        coir_get(f, f->result, &f->recv, coir_recv, .fd = over(f->stream)->in, .buf = f->buf, .len = f->len);
    else
        coir_get(f, f->result, &f->read, coir_read, .fd = over(f->stream)->in, .buf = f->buf, .len = f->len);
} coir_end

struct fd_write_all {
    coir_frame(size_t);
    coir_args(struct coir_stream *stream; const void *buf; size_t len;);
    union {
        struct coir_send_all send;
        struct coir_write_all write;
    };
};
coir_stream_fits(fd_write_all, coir_stream_write_all);
static coir_declare(fd_write_all);

coir_body(fd_write_all, f) {
    if (over(f->stream)->ended)
        coir_fail(f, EPIPE);
    if (over(f->stream)->out_socket) {
        coir_await(f, &f->send, coir_send_all, .fd = over(f->stream)->out, .buf = f->buf, .len = f->len);
        f->result = f->send.result;
        coir_check(f, &f->send);
    } else {
        coir_await(f, &f->write, coir_write_all, .fd = over(f->stream)->out, .buf = f->buf, .len = f->len);
        f->result = f->write.result;
        coir_check(f, &f->write);
    }
} coir_end

/* ---- shutdown, close ---- */

struct fd_shutdown {
    coir_frame_void;
    coir_args(struct coir_stream *stream;);
    int fd;
    union {
        struct coir_shutdown shutdown;
        struct coir_close close;
    };
};
coir_stream_fits(fd_shutdown, coir_stream_shutdown);
static coir_declare(fd_shutdown);

/* Takes the descriptor that is only written, to be closed. */
static int take_out(struct coir_fd_stream *s)
{
    const int fd = s->out;

    s->out = -1;
    s->ended = true;
    return fd;
}

coir_body(fd_shutdown, f) {
    if (over(f->stream)->ended)
        coir_return(f);
    if (over(f->stream)->out < 0)
        coir_fail(f, EBADF);
    if (over(f->stream)->out_socket) {
        coir_try(f, &f->shutdown, coir_shutdown, .fd = over(f->stream)->out, .how = SHUT_WR);
    } else {
        if (over(f->stream)->out == over(f->stream)->in)
            coir_fail(f, ENOTSOCK);
        f->fd = take_out(over(f->stream));
        coir_try(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

struct fd_close {
    coir_frame_void;
    coir_args(struct coir_stream *stream;);
    int in, out;
    int status;                          /* of the first of the two */
    struct coir_close close;
};
coir_stream_fits(fd_close, coir_stream_close);
static coir_declare(fd_close);

/* Takes both; -EBADF when there is nothing to close. */
static int take_both(struct coir_fd_stream *s, int *in, int *out)
{
    const int status = s->in < 0 && s->out < 0 && !s->ended ? -EBADF : 0;

    *in = s->in;
    *out = s->out == s->in ? -1 : s->out;
    s->in = s->out = -1;
    s->ended = false;
    return status;
}

coir_body(fd_close, f) {
    f->status = take_both(over(f->stream), &f->in, &f->out);
    if (f->in >= 0) {
        coir_await(f, &f->close, coir_close, .fd = f->in);
        f->status = coir_status(&f->close);
    }
    if (f->out >= 0) {
        coir_await(f, &f->close, coir_close, .fd = f->out);
        if (f->status == 0)
            f->status = coir_status(&f->close);
    }
    coir_fail(f, f->status);
} coir_end

/* ---- making one ---- */

static const struct coir_stream_kind fd_kind = {
    .name = "fd",
    .read = fd_read_resume,
    .write_all = fd_write_all_resume,
    .shutdown = fd_shutdown_resume,
    .close = fd_close_resume,
};

/* 0, or why it is no descriptor for a stream. */
static int look(int fd, bool *is_socket)
{
    int type = SOCK_STREAM;
    socklen_t len = sizeof type;
    struct stat st;

    if (fd < 0)
        return 0;
    if (fstat(fd, &st) < 0)
        return -errno;
    *is_socket = S_ISSOCK(st.st_mode);
    if (*is_socket && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0)
        return -errno;
    return type == SOCK_STREAM ? 0 : -ESOCKTNOSUPPORT;
}

int coir_fd_stream_init(struct coir_fd_stream *s, int in, int out)
{
    bool in_socket = false, out_socket = false;
    int err;

    if (!s)
        return -EFAULT;
    *s = (struct coir_fd_stream){ .stream = { &fd_kind }, .in = -1, .out = -1 };
    err = in < 0 && out < 0 ? -EBADF : look(in, &in_socket);
    if (err == 0)
        err = look(out, &out_socket);
    if (err)
        return err;
    s->in = in < 0 ? -1 : in;
    s->out = out < 0 ? -1 : out;
    s->in_socket = in_socket;
    s->out_socket = out_socket;
    return 0;
}
