/* SPDX-License-Identifier: MIT */
/*
 * Both planes agree: every operation in every situation of the table, each in a run of its own, on the ring, on
 * epoll, and on rings without what newer kernels brought. Compared are status, result and effects (what is in the
 * buffer, what is left for either side, descriptors that were not given back), with what the table says and with
 * each other.
 *
 * COIR_IO=epoll runs the epoll column alone, for where there is no ring.
 */
#include <ftw.h>
#include <signal.h>

#include "drive.h"

static const struct column { const char *name, *io, *without; bool is_oldest; } columns[] = {
    { "uring", "uring", NULL, false },
    { "epoll", "epoll", NULL, false },
    { "an old ring", "uring", "-multishot,-msg_ring,-defer,-bufring,-poll_first", false },
    { "the oldest ring", "uring", "-multishot,-msg_ring,-defer,-coop,-submit_all,-bufring,-poll_first", true },
};
enum { COLUMNS = sizeof columns / sizeof *columns, PATIENCE = 20 };

static char running[256];            /* the case that is */

static void hangs(int signal)
{
    static const char text[] = "not ok - it hangs: ";

    (void)signal;
    if (write(1, text, sizeof text - 1) < 0 || write(1, running, strlen(running)) < 0)
        _exit(3);
    _exit(2);
}

/* ---- one case ---- */

static void write_outcome(char *to, size_t size, int status, long long result, const char *buf, long long in,
                          long long out, int left)
{
    snprintf(to, size, "%.16s; result %lld; buffer \"%s\"; left %lld and %lld; descriptors %+d",
             status ? coir_strerror(status) : "success", result, buf, in, out, left);
}

static void run_case(const struct case_ *c, const struct column *column, char *outcome, size_t size)
{
    static struct world w;
    const struct coir_options options = { .io = column->io };
    long long in = 0, out = 0;
    char seen[64];
    const int before = count_fds();

    make_world(&w, c);
    if (column->without)
        setenv("COIR_URING", column->without, 1);
    alarm(PATIENCE);
    is_oldest = column->is_oldest;
    const int err = coir_run(&options, coir_new(whole, .w = &w, .c = c));
    unsetenv("COIR_URING");
    /* A closed number is nobody's any more, and so is what coir_close has closed. */
    if (c->row->wrong == CLOSED || (!strcmp(c->op->name, "coir_close") && w.status == 0))
        w.fd = -1;
    if (c->row->wrong == USUAL)
        seen_of_descriptors(&w, c->row->fixture, &in, &out);
    seen_of_buffer(&w, seen, sizeof seen);
    close_world(&w);
    if (err || !w.ended)
        snprintf(outcome, size, "%s", err ? coir_strerror(err) : "it did not end");
    else
        write_outcome(outcome, size, w.status, w.result, seen, in, out, count_fds() - before);
}

static void expect(const struct row *row, bool cancelled, char *to, size_t size)
{
    if (cancelled)
        write_outcome(to, size, -ECANCELED, 0, "", row->in, 0, 0);
    else
        write_outcome(to, size, row->status, row->result, row->buf ? row->buf : "", row->in, row->out, 0);
}

enum { TEXT = 256 };

static void check_case(const struct case_ *c, size_t first, size_t last)
{
    char outcome[COLUMNS][TEXT], wanted[TEXT], cancelled[TEXT];

    expect(c->row, false, wanted, sizeof wanted);
    expect(c->row, true, cancelled, sizeof cancelled);
    for (size_t i = first; i < last; i++) {
        snprintf(running, sizeof running, "%s: %s: %s\n", c->op->name, c->row->what, columns[i].name);
        run_case(c, &columns[i], outcome[i], TEXT);
        if (c->row->either && !strcmp(outcome[i], cancelled))
            snprintf(outcome[i], TEXT, "%s", wanted);
        if (c->row->unsaid)
            snprintf(wanted, sizeof wanted, "%.255s", outcome[first]);
        STR_EQ(outcome[i], wanted, "%s, fixture %d%s: %s: %s", c->op->name, (int)c->row->fixture,
               c->nonblocking ? ", O_NONBLOCK" : "", c->row->what, columns[i].name);
    }
}

static void check_operation(const struct operation *op, size_t first, size_t last)
{
    for (size_t i = 0; i < op->n; i++) {
        const struct row *row = &op->rows[i];
        struct case_ c = { op, row, false };

        check_case(&c, first, last);
        c.nonblocking = row->fixture >= UNIX && row->wrong == USUAL;
        if (c.nonblocking)
            check_case(&c, first, last);
    }
}

/* ---- the table is complete ---- */

static bool is_tabled(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strlen(operations[i].name) == n && !strncmp(operations[i].name, name, n))
            return true;
    }
    for (size_t i = 0; i < sizeof exempt / sizeof *exempt; i++) {
        if (strlen(exempt[i]) == n && !strncmp(exempt[i], name, n))
            return true;
    }
    return false;
}

static void check_line(const char *line, const char *header)
{
    static const char *const marks[] = { "coir_export(", "coir_declare(" };

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *const at = strncmp(line, marks[i], strlen(marks[i])) ? NULL : line + strlen(marks[i]);
        const size_t n = at ? strcspn(at, ")") : 0;

        if (at)
            OK(is_tabled(at, n), "%s: %.*s is in the table", header, (int)n, at);
    }
}

static void check_headers(void)
{
    static const char *const headers[] = { "io", "net", "listen", "lend", "fs", "offload", "process" };
    const char *const source = getenv("COIR_SOURCE");
    char path[512], line[512];

    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        snprintf(path, sizeof path, "%s/include/coir/%s.h", source ? source : ".", headers[i]);
        FILE *const f = fopen(path, "r");
        if (!OK(f, "%s.h is there", headers[i]))
            continue;
        while (fgets(line, sizeof line, f))
            check_line(line, headers[i]);
        fclose(f);
    }
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

int main(int argc, char **argv)
{
    const char *const io = getenv("COIR_IO"), *const where = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    const bool epoll_only = io && !strcmp(io, "epoll");
    char folder[64];

    WITHOUT_CHANCE("whole");           /* it says how many bytes there are at once */
    check_headers();
    unsetenv("COIR_URING");
    snprintf(folder, sizeof folder, "%s/coir-agree-XXXXXX", where);
    if (!mkdtemp(folder) || chdir(folder) < 0)
        SKIP_ALL("no folder under %s", where);
    sigaction(SIGALRM, &(struct sigaction){ .sa_handler = hangs }, NULL);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (argc < 2 || !strcmp(argv[1], operations[i].name))
            check_operation(&operations[i], epoll_only ? 1 : 0, epoll_only ? 2 : COLUMNS);
    }
    if (chdir("/") == 0)
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return DONE();
}
