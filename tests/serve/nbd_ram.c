/* SPDX-License-Identifier: MIT */
/*
 * nbd_ram - serves volumes in memory over NBD: for tests whose clients are other programs, and for trying things.
 *
 *     nbd_ram [OPTION...] NAME:SIZE[:BLOCK[:ro]]...
 *
 * It prints "listening ADDRESS" for each address, then does what lines on stdin tell it, and answers each by one line:
 *
 *     count                   the server's counters and the store's, as JSON
 *     stats                   the shards' counters, as JSON
 *     fail OP ERRNO N         the next N operations of that sort fail; -1: all
 *     delay SEED NS           operations take up to so long
 *     hold OP, held, release  operations of that sort wait; how many do; until then
 *     stop                    the server is cancelled, and goes on to do what a server does then
 *
 * When the server ends it prints "stopped" and with what. At the end of stdin it is cancelled, and its last counters
 * are printed.
 */
#include <coir/coir.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/nbd.h"
#include "tests/serve/ram.h"

enum { EXPORTS = 64 };

static struct coir_store *store;
static const char *where[NBD_ADDRESSES], *exports[EXPORTS];
static struct coir_nbd_options options = { .where = where, .exports = exports };

static void say_address(void *ctx, const char *address)
{
    (void)ctx;
    printf("listening %s\n", address);
    fflush(stdout);
}

/* ---- what a line on stdin may say ---- */

struct words {
    char word[4][32];
    struct coir_nbd_serve *serve;
    struct coir_group *group;
};

static void do_count(struct words *w)
{
    struct coir_nbd_counts n;
    struct ram_counts ram;

    coir_nbd_count(w->serve, &n);
    ram_count(store, &ram);
    printf("{\"connections\":%" PRIu64 ",\"live\":%" PRIu64 ",\"served\":%" PRIu64 ",\"broken\":%" PRIu64
           ",\"errors\":%" PRIu64 ",\"read\":%" PRIu64 ",\"written\":%" PRIu64 ",\"sends\":%" PRIu64, n.connections,
           n.live, n.served, n.broken, n.errors, n.read, n.written, n.sends);
    for (unsigned i = 0; i < NBD_COMMANDS; i++)
        printf(",\"%s\":%" PRIu64, coir_nbd_command_name(i), n.requests[i]);
    for (int i = 0; i < RAM_OPS; i++)
        printf(",\"ram_%s\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", ram_op_name((enum ram_op)i),
               ram.asked[i], ram.durable[i], ram.no_hole[i], ram.fast[i]);
    printf(",\"ram_invalid\":%" PRIu64 ",\"ram_failed\":%" PRIu64 ",\"ram_opened\":%" PRIu64 "}\n", ram.invalid,
           ram.failed, ram.opened);
}

static void do_stats(struct words *w)
{
    struct coir_stats all = { 0 }, one;

    (void)w;
    for (unsigned i = 0; i < coir_shard_count(); i++) {
        if (coir_stats(i, &one) < 0)
            continue;
        all.syscalls += one.syscalls;
        all.allocations += one.allocations;
        all.chunks += one.chunks;
        all.submissions += one.submissions;
    }
    printf("{\"syscalls\":%" PRIu64 ",\"allocations\":%" PRIu64 ",\"chunks\":%" PRIu64 ",\"submissions\":%" PRIu64
           "}\n", all.syscalls, all.allocations, all.chunks, all.submissions);
}

static void do_fail(struct words *w)
{
    const enum ram_op op = ram_op_of(w->word[1]);

    if (op != RAM_OPS)
        ram_fail(store, op, -(int)strtol(w->word[2], NULL, 10), (int)strtol(w->word[3], NULL, 10));
    puts(op != RAM_OPS ? "ok" : "?");
}

static void do_delay(struct words *w)
{
    ram_delay(store, strtoull(w->word[1], NULL, 10), strtoll(w->word[2], NULL, 10));
    puts("ok");
}

static void do_hold(struct words *w)
{
    const enum ram_op op = ram_op_of(w->word[1]);

    if (op != RAM_OPS)
        ram_hold(store, op);
    puts(op != RAM_OPS ? "ok" : "?");
}

static void do_held(struct words *w)
{
    (void)w;
    printf("%u\n", ram_held(store));
}

static void do_release(struct words *w)
{
    (void)w;
    ram_release(store);
    puts("ok");
}

static void do_stop(struct words *w)
{
    coir_group_cancel(w->group);
    puts("ok");
}

static const struct command {
    const char *name;
    void (*act)(struct words *w);
} commands[] = {
    { "count", do_count }, { "stats", do_stats }, { "fail", do_fail }, { "delay", do_delay }, { "hold", do_hold },
    { "held", do_held }, { "release", do_release }, { "stop", do_stop },
};

static void obey(const char *line, struct coir_nbd_serve *serve, struct coir_group *group)
{
    struct words w = { .serve = serve, .group = group };
    size_t i = 0;

    if (sscanf(line, "%31s %31s %31s %31s", w.word[0], w.word[1], w.word[2], w.word[3]) < 1)
        return;
    while (i < sizeof commands / sizeof *commands && strcmp(commands[i].name, w.word[0]) != 0)
        i++;
    if (i < sizeof commands / sizeof *commands)
        commands[i].act(&w);
    else
        puts("?");
    fflush(stdout);
}

/* ---- the program ---- */

struct serving {
    coir_frame_void;
    coir_args(struct coir_nbd_serve *serve;);
};
static coir_declare(serving);

coir_body(serving, f) {
    coir_await(f, f->serve, coir_nbd_serve, .options = &options);
    printf("stopped %d\n", coir_status(f->serve));
    fflush(stdout);
} coir_end

struct program {
    coir_frame_void;
    coir_no_args;
    struct coir_nbd_serve serve;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_fd_stream in;
    struct coir_reader reader;
    struct coir_read_line line;
};
static coir_declare(program);

coir_body(program, f) {
    f->reader = (struct coir_reader){ 0 };
    f->serve.server = NULL;
    coir_group_open(f, &f->group, .keep_going = true);
    coir_spawn(&f->group, coir_new(serving, .serve = &f->serve));
    coir_fd_stream_init(&f->in, 0, -1);
    coir_reader_init(&f->reader, &f->in.stream, 4096);
    for (;;) {
        coir_await(f, &f->line, coir_read_line, .reader = &f->reader);
        if (coir_status(&f->line) < 0 || !f->line.result.data)
            break;
        obey(f->line.result.data, &f->serve, &f->group);
    }
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    obey("count", &f->serve, &f->group);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        coir_reader_destroy(&f->reader);
    }
} coir_end

static uint64_t size_of(const char *text, char **end)
{
    uint64_t n = strtoull(text, end, 10);

    for (const char *unit = "KMGTPE"; **end && *unit; unit++) {
        if (**end != *unit)
            continue;
        ++*end;
        return n << 10 * (unit - "KMGTPE" + 1);
    }
    return n;
}

/* NAME:SIZE[:BLOCK[:ro]] */
static bool add(char *text)
{
    char *at = strchr(text, ':');
    uint64_t size, block = 4096;

    if (!at)
        return false;
    *at++ = 0;
    size = size_of(at, &at);
    if (*at == ':')
        block = size_of(at + 1, &at);
    ram_add(store, text, size, (uint32_t)block, strcmp(at, ":ro") == 0);
    return true;
}

static int usage(int code)
{
    fprintf(code ? stderr : stdout,
            "usage: nbd_ram [OPTION...] NAME:SIZE[:BLOCK[:ro]]...\n\n"
            "  -w ADDRESS    127.0.0.1:0 unless said; may be given several times\n"
            "  -e NAME       serve this volume; several times; without it all\n"
            "  -s SHARDS  -r read-only  -d DEPTH  -f BYTES in flight  -m BYTES of memory  -c CONNECTIONS\n"
            "  -H, -P, -D MS for the handshake, for a client to do something, to drain\n");
    return code;
}

int main(int argc, char **argv)
{
    struct coir_options run = { .shards = 1 };
    int status;

    options.listening = say_address;
    for (int c; (c = getopt(argc, argv, "w:e:s:rd:f:m:c:H:P:D:h")) != -1;) {
        const uint64_t n = optarg ? strtoull(optarg, NULL, 10) : 0;
        if (c == 'w' && options.n_where < NBD_ADDRESSES)
            where[options.n_where++] = optarg;
        else if (c == 'e' && options.n_exports < EXPORTS)
            exports[options.n_exports++] = optarg;
        else if (c == 's')
            run.shards = (unsigned)n;
        else if (c == 'r')
            options.read_only = true;
        else if (c == 'd')
            options.depth = (unsigned)n;
        else if (c == 'f')
            options.in_flight = n;
        else if (c == 'm')
            options.memory = n;
        else if (c == 'c')
            options.connections = (unsigned)n;
        else if (c == 'H' || c == 'P' || c == 'D')
            *(c == 'H' ? &options.handshake : c == 'P' ? &options.patience : &options.drain) = (int64_t)n * COIR_MS;
        else
            return usage(c == 'h' ? 0 : 2);
    }
    if (options.n_where == 0)
        where[options.n_where++] = "127.0.0.1:0";
    store = ram_new();
    options.store = store;
    for (int i = optind; i < argc; i++) {
        if (!add(argv[i]))
            return usage(2);
    }
    status = coir_run(&run, coir_new(program));
    ram_free(store);
    return status < 0;
}
