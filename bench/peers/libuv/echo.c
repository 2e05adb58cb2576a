/* SPDX-License-Identifier: MIT */
/*
 * The echo row on libuv: callbacks, uv_try_write first and uv_write for what would block. Usage: echo
 * echo PORT.
 */
#include "../../measure.h"

#include <uv.h>

struct rest {
    uv_write_t request;
    char bytes[];
};

/* One buffer for all: what was read is written, or copied, before the next read. */
static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char bytes[65536];
    (void)handle, (void)suggested;
    *buffer = uv_buf_init(bytes, sizeof bytes);
}

static void closed(uv_handle_t *handle)
{
    free(handle);
}

static void written(uv_write_t *request, int status)
{
    (void)status;
    free(request);
}

static void write_rest(uv_stream_t *stream, const char *bytes, size_t n)
{
    struct rest *rest = malloc(sizeof *rest + n);
    if (!rest) {
        uv_close((uv_handle_t *)stream, closed);
        return;
    }
    memcpy(rest->bytes, bytes, n);
    uv_buf_t buffer = uv_buf_init(rest->bytes, (unsigned)n);
    uv_write(&rest->request, stream, &buffer, 1, written);
}

static void received(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    if (n < 0) {
        uv_close((uv_handle_t *)stream, closed);
    } else if (n > 0) {
        uv_buf_t out = uv_buf_init(buffer->base, (unsigned)n);
        int sent = uv_try_write(stream, &out, 1);
        if (sent < 0)
            sent = 0;
        if (sent < n)
            write_rest(stream, buffer->base + sent, (size_t)(n - sent));
    }
}

static void connected(uv_stream_t *listener, int status)
{
    uv_tcp_t *tcp = status < 0 ? NULL : malloc(sizeof *tcp);
    if (!tcp)
        return;
    uv_tcp_init(listener->loop, tcp);
    if (uv_accept(listener, (uv_stream_t *)tcp)) {
        uv_close((uv_handle_t *)tcp, closed);
        return;
    }
    uv_tcp_nodelay(tcp, 1);
    uv_read_start((uv_stream_t *)tcp, give_buffer, received);
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    struct sockaddr_in address;
    uv_tcp_t listener;

    if (argc != 3 || strcmp(argv[1], "echo") != 0) {
        fprintf(stderr, "usage: %s echo PORT\n", argv[0]);
        return 2;
    }
    uv_tcp_init(loop, &listener);
    uv_ip4_addr("127.0.0.1", (int)bench_number(argv[2]), &address);
    uv_tcp_bind(&listener, (const struct sockaddr *)&address, 0);
    if (uv_listen((uv_stream_t *)&listener, 256, connected)) {
        fprintf(stderr, "listen failed\n");
        return 1;
    }
    return uv_run(loop, UV_RUN_DEFAULT);
}
