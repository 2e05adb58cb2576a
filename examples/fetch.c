/* SPDX-License-Identifier: MIT */
/*
 * fetch - downloads files over HTTP, several at a time, into the working directory.
 *
 * Each is written to NAME.part and renamed when it is whole; one that fails leaves nothing behind and stops no
 * other. A group bounds how many go on at once, a scope how long each may take.
 */
#include <coir/coir.h>

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_client.h"

/* Downloads one file, once connected. Result: its bytes. */
struct get {
    coir_frame(uint64_t);
    coir_args(struct url *url;);
    uint64_t length;
    int fd;
    char part[264];
    struct coir_fd_stream socket, file;
    struct coir_reader in;
    char buffer[65536];
    union {
        struct coir_dial dial;
        struct http_ask ask;
        struct http_save save;
        struct coir_open open;
        struct coir_rename rename;
        struct coir_unlink unlink;
        struct coir_stream_close close;
    };
};
static coir_declare(get);
coir_body(get, f) {
    f->socket.stream.kind = f->file.stream.kind = NULL;
    snprintf(f->part, sizeof f->part, "%s.part", f->url->name);
    coir_get(f, f->fd, &f->dial, coir_dial, .where = f->url->where);
    coir_fd_stream_init(&f->socket, f->fd, f->fd);
    coir_reader_init_in(&f->in, &f->socket.stream, f->buffer, sizeof f->buffer);
    coir_get(f, f->length, &f->ask, http_ask, .in = &f->in, .url = f->url);
    coir_get(f, f->fd, &f->open, coir_open, .path = f->part, .flags = O_WRONLY | O_CREAT | O_TRUNC, .mode = 0666);
    coir_fd_stream_init(&f->file, -1, f->fd);
    coir_get(f, f->result, &f->save, http_save, .in = &f->in, .length = f->length, .file = &f->file.stream);
    coir_try(f, &f->rename, coir_rename, .oldpath = f->part, .newpath = f->url->name);
    coir_finally(f) {
        coir_await(f, &f->close, coir_stream_close, .stream = &f->socket.stream);
        coir_await(f, &f->close, coir_stream_close, .stream = &f->file.stream);
        if (coir_status(f) < 0 && coir_status(&f->close) != -EBADF)         /* else it was not made */
            coir_await(f, &f->unlink, coir_unlink, .path = f->part);
    }
} coir_end

static int total, done, failed;

static void report(const struct url *url, int status, uint64_t bytes)
{
    fprintf(stderr, "fetch: [%d/%d] %s: ", ++done, total, url->text);
    if (status == 0)
        fprintf(stderr, "%llu bytes\n", (unsigned long long)bytes);
    else if (url->code != 0 && url->code != 200)
        fprintf(stderr, "the server says %d\n", url->code);
    else
        fprintf(stderr, "%s\n", coir_strerror(status));
    failed += status < 0;
}

/* The same in the time it is given. It never fails itself, since that would cancel the others. */
struct get_in_time {
    coir_frame_void;
    coir_args(struct url *url; int64_t time;);
    struct coir_scope scope;
    struct get get;
};
static coir_declare(get_in_time);
coir_body(get_in_time, f) {
    coir_within(f, &f->scope, coir_now() + f->time, &f->get, get, .url = f->url);
    report(f->url, coir_status(&f->get), f->get.result);
} coir_end

struct fetch {
    coir_frame_void;
    coir_args(struct url *urls; int n; uint32_t limit; int64_t time;);
    int i;
    struct coir_group group;
    struct coir_group_spawn spawn;
    struct coir_group_wait wait;
};
static coir_declare(fetch);
coir_body(fetch, f) {
    coir_group_open(f, &f->group, .limit = f->limit);
    for (f->i = 0; f->i < f->n; f->i++)
        coir_try(f, &f->spawn, coir_group_spawn, .group = &f->group,
                 .spawn = coir_new(get_in_time, .url = &f->urls[f->i], .time = f->time));
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

static int usage(FILE *to, int code)
{
    fprintf(to, "usage: fetch [-n LIMIT] [-t SECONDS] URL...\n\n"
            "Saves what each http:// URL names in the working directory, LIMIT (4 unless said) at a time, each in\n"
            "SECONDS (60) or not at all. Exits with 1 if one failed.\n");
    return code;
}

/* Reads the URLs. False, and a line on stderr, for a bad one and for two files of one name. */
static bool read_urls(char **text, struct url *urls)
{
    for (int i = 0; i < total; i++) {
        if (!url_parse(text[i], &urls[i]))
            return fprintf(stderr, "fetch: not a URL of a file: %s\n", text[i]), false;
        for (int j = 0; j < i; j++)
            if (strcmp(urls[i].name, urls[j].name) == 0)
                return fprintf(stderr, "fetch: two URLs to be saved as %s\n", urls[i].name), false;
    }
    return true;
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
    long limit = 4;
    double seconds = 60;

    for (int c; (c = getopt_long(argc, argv, "n:t:h", options, NULL)) != -1;) {
        if (c == 'n')
            limit = strtol(optarg, NULL, 10);
        else if (c == 't')
            seconds = strtod(optarg, NULL);
        else
            return usage(c == 'h' ? stdout : stderr, c == 'h' ? 0 : 2);
    }
    if (optind == argc || limit < 1 || limit > 10000 || !(seconds > 0 && seconds < 1e9))
        return usage(stderr, 2);
    total = argc - optind;
    struct url *urls = calloc((size_t)total, sizeof *urls);
    int code = 2;
    if (urls && read_urls(argv + optind, urls))
        code = coir_main(coir_new(fetch, .urls = urls, .n = total, .limit = (uint32_t)limit,
                                  .time = (int64_t)(seconds * COIR_S)));
    free(urls);
    return code ? code : failed > 0;
}
