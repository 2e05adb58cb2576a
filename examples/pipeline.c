/* SPDX-License-Identifier: MIT */
/*
 * pipeline - checksums of files, as cksum(1) prints them, by a pipeline over three shards.
 *
 *     shard 1: reader ---blocks---> shard 2: summer ---sums---> shard 0: printer
 *
 * Each stage is a straight loop on a thread of its own; the channels are all that they share. They are bounded,
 * so a stage that is slow holds up the ones before it and memory does not grow. A stage that is done closes the
 * channel behind it: so the end travels down the line.
 */
#include <coir/coir.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cksum.h"

struct block {
    const char *name;               /* of the file */
    int status;                     /* not 0: it could not be read */
    size_t n;                       /* 0: it has ended */
    unsigned char bytes[16384];
};

struct sum {
    const char *name;
    int status;
    struct cksum cksum;
};

static struct coir_xchan *blocks, *sums;

/* Sends the blocks of each file; the last is empty. */
struct reader {
    coir_frame_void;
    coir_args(char **names;);
    int fd;
    int64_t offset;
    struct block block;
    union {
        struct coir_open open;
        struct coir_pread read;
        struct coir_xchan_send send;
        struct coir_close close;
    };
};
static coir_declare(reader);

coir_body(reader, f) {
    for (; *f->names; f->names++) {
        coir_await(f, &f->open, coir_open, .path = *f->names, .flags = O_RDONLY);
        f->fd = f->open.result;
        f->block.name = *f->names;
        f->block.status = coir_status(&f->open);
        f->offset = 0;
        do {
            f->block.n = 0;
            if (f->block.status == 0) {
                coir_await(f, &f->read, coir_pread, .fd = f->fd, .buf = f->block.bytes, .len = sizeof f->block.bytes,
                           .offset = f->offset);
                f->block.status = coir_status(&f->read);
                f->block.n = f->block.status == 0 ? f->read.result : 0;
            }
            f->offset += (int64_t)f->block.n;
            coir_await(f, &f->send, coir_xchan_send, .channel = blocks, .item = &f->block);
        } while (f->block.n > 0 && coir_status(&f->send) == 0);
        if (f->fd >= 0)
            coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
    coir_finally(f) {
        coir_xchan_close(blocks);
    }
} coir_end

struct summer {
    coir_frame_void;
    coir_no_args;
    bool more;
    struct block block;
    struct sum sum;
    struct coir_xchan_recv recv;
    struct coir_xchan_send send;
};
static coir_declare(summer);

coir_body(summer, f) {
    f->sum = (struct sum){ 0 };
    for (;;) {
        coir_get(f, f->more, &f->recv, coir_xchan_recv, .channel = blocks, .item = &f->block);
        if (!f->more)
            break;
        cksum_add(&f->sum.cksum, f->block.bytes, f->block.n);
        if (f->block.n > 0)
            continue;
        cksum_finish(&f->sum.cksum);
        f->sum.name = f->block.name;
        f->sum.status = f->block.status;
        coir_try(f, &f->send, coir_xchan_send, .channel = sums, .item = &f->sum);
        f->sum = (struct sum){ 0 };
    }
    coir_finally(f) {
        coir_xchan_close(sums);
    }
} coir_end

static int failures;

/* The main task: starts the other two and prints. */
struct printer {
    coir_frame_void;
    coir_args(char **names;);
    bool more;
    struct sum sum;
    struct coir_xchan_recv recv;
};
static coir_declare(printer);

coir_body(printer, f) {
    if (coir_spawn_on(1, coir_new(reader, .names = f->names)) < 0 || coir_spawn_on(2, coir_new(summer)) < 0)
        coir_fail(f, ENOMEM);
    for (;;) {
        coir_get(f, f->more, &f->recv, coir_xchan_recv, .channel = sums, .item = &f->sum);
        if (!f->more)
            break;
        if (f->sum.status == 0)
            printf("%u %llu %s\n", f->sum.cksum.crc, (unsigned long long)f->sum.cksum.size, f->sum.name);
        else
            fprintf(stderr, "pipeline: %s: %s\n", f->sum.name, coir_strerror(f->sum.status));
        failures += f->sum.status < 0;
    }
} coir_end

int main(int argc, char **argv)
{
    if (argc < 2 || argv[1][0] == '-') {
        const bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
        fprintf(help ? stdout : stderr, "usage: pipeline FILE...    prints the checksums, as cksum does\n");
        return help ? 0 : 2;
    }
    blocks = coir_xchan_new(sizeof(struct block), 8);
    sums = coir_xchan_new(sizeof(struct sum), 8);
    const struct coir_options options = { .shards = 3 };
    const int status = blocks && sums ? coir_run(&options, coir_new(printer, .names = argv + 1)) : -ENOMEM;
    if (status < 0)
        fprintf(stderr, "pipeline: %s\n", coir_strerror(status));
    coir_xchan_free(blocks);
    coir_xchan_free(sums);
    return status < 0 || failures > 0;
}
