/* SPDX-License-Identifier: MIT */
/*
 * A window of a run: what it answers, where it may be, what becomes of its file, and what forks and other runs see of
 * it. Who behaves badly at it is in test_window_rude.
 */
#include "see/window.h"

#include <dirent.h>
#include <poll.h>

#include "runtime/see/counters.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZED 1
#endif
#endif
#ifndef THREAD_SANITIZED
#define THREAD_SANITIZED 0
#endif

/* Threads of this process that serve a window, by their name. */
static unsigned servers(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/task");
    char name[300], comm[32];

    for (const struct dirent *e; (e = readdir(dir));) {
        snprintf(name, sizeof name, "/proc/self/task/%s/comm", e->d_name);
        FILE *file = e->d_name[0] == '.' ? NULL : fopen(name, "r");
        if (file) {
            n += fgets(comm, sizeof comm, file) && !strcmp(comm, "coir-see\n");
            fclose(file);
        }
    }
    closedir(dir);
    return n;
}

/* ---- answers ---- */

static void client_asks(void)
{
    struct coir_stats s, after;
    char part[64], *text = NULL;
    struct stat st;

    EQ(stat(path, &st), 0, "the socket is there");
    EQ(st.st_mode & 07777, 0600, "nobody else may open it");
    do {                                            /* until shard 1 sleeps */
        free(text);
        coir_stats(1, &s);
        text = ask("stats\n");
        coir_stats(1, &after);
    } while (memcmp(&s, &after, sizeof s) != 0);
#define ROW(name, kind, help) \
    snprintf(part, sizeof part, "\"%s\":", #name); \
    EQ(times(text, part), 2, "stats: %s, of two shards", #name); \
    EQ(number(text, "\"shard\":1", part), s.name, "stats: %s is what coir_stats says", #name);
    COIR_COUNTERS(ROW)
#undef ROW
    EQ(number(text, "", "\"pid\":"), getpid(), "stats: the process");
    OK(strstr(text, "\"program\":\"test_see_test_window\""), "stats: the program");
    OK(number(text, "", "\"up_ns\":") > 0, "stats: how long it has been there");
    OK(number(text, "\"shard\":0", "\"cpu_ns\":") > 0, "stats: the time it has used");
    EQ(text[strlen(text) - 1], '\n', "it is a line");
    free(text);

    text = ask("metrics\n");
    OK(strlen(text) > 6 && !strcmp(text + strlen(text) - 6, "# EOF\n"), "metrics: to their end");
    OK(strstr(text, "coir_tasks_total{shard=\"1\""), "metrics: of all shards");
    free(text);

    text = ask("tasks\n");
    OK(strstr(text, "{\"shard\":0,\"answered\":true,\"tasks\":1,"), "tasks: shard 0 has one");
    OK(strstr(text, "{\"shard\":1,\"answered\":true,\"tasks\":0,"), "tasks: shard 1 has none");
    OK(strstr(text, "\"tasks\":1,\"other\":0,\"rows\":[{\"count\":1,\"task\":\"host\","), "tasks: it is the host");
    OK(strstr(text, "\"at\":{\"task\":\"host\","), "tasks: it stands in itself");
    OK(strstr(text, "\"waits\":\"coir_cell_wait\"}]}\n"), "tasks: and waits for its cell");
    free(text);

    text = ask("dump\n");
    EQ(times(text, "shard "), 2, "dump: of both shards");
    OK(strstr(text, ": waits for a cell at 0x"), "dump: what coir_dump prints");
    free(text);

    ANSWERS("nonsense\n", "error: no such request; there are stats, metrics, tasks and dump\n", "another word");
    ANSWERS("\n", "error: no such request", "an empty line");
    ANSWERS("stats\r\n", "{\"coir\":\"", "a line that ends as in other systems");
    ANSWERS("stats\nmetrics\n", "{\"coir\":\"", "one request a connection");
    const int fd = knock();
    say(fd, "sta");
    say(fd, "ts");
    shutdown(fd, SHUT_WR);
    text = hear_out(fd);
    OK(strstr(text, "{\"coir\":\""), "in pieces, and without an end");
    free(text);
}

static void client_asks_one(void)
{
    ANSWERS("stats\n", "\"shard\":0", "it answers");
}

/* ---- names ---- */

# 1000 "dir/odd \"name\" \\ \1.c"
static struct coir_task *make_odd(void (*client)(void))
{
    return coir_new(host, .client = client);
}
# 107 "test_window.c"

static void client_of_odd(void)
{
    ANSWERS("tasks\n", "\"file\":\"dir/odd \\\"name\\\" \\\\ \\u0001.c\",\"line\":1002", "an odd name");
}

/* ---- many shards ---- */

static void client_of_many(void)
{
    char *text = ask("stats\n");
    EQ(times(text, "\"shard\":"), 64, "64 shards: stats of all");
    free(text);
    text = ask("tasks\n");
    EQ(times(text, "\"answered\":true"), 64, "64 shards, 63 of them asleep: all answer");
    free(text);
}

/* ---- none ---- */

static unsigned threads;

static void client_counts(void)
{
    threads = servers();
}

static int without(void)
{
    unsetenv("COIR_SEE");
    coir_run(NULL, coir_new(host, .client = client_counts));
    return (int)threads;
}

static int refused_by_option(void)
{
    setenv("COIR_SEE", path, 1);
    coir_run(&(struct coir_options){ .see = "" }, coir_new(host, .client = client_counts));
    return (int)threads;
}

static int by_environment(void)
{
    setenv("COIR_SEE", path, 1);
    coir_run(NULL, coir_new(host, .client = client_counts));
    return (int)threads;
}

/* ---- places ---- */

static const char *place;

/* 0: it had no window and ran; 1: it had one. */
static int runs_at(void)
{
    const struct coir_options o = { .see = place };

    return coir_run(&o, coir_new(host, .client = client_counts)) == 0 ? (int)threads : 99;
}

static void is_refused(const char *where, const char *why, const char *name)
{
    const struct ending *e;

    place = where;
    e = in_child(runs_at);
    EQ(WEXITSTATUS(e->status), 0, "%s: the program runs without a window", name);
    OK(strstr(e->said, "coir: nobody will see this run: no window at ") && strstr(e->said, why), "%s: it says why",
       name);
    EQ(times(e->said, "\n"), 1, "%s: in one line", name);
}

static void places(void)
{
    char longer[120];
    int fd;

    memset(longer, 'x', sizeof longer);
    longer[0] = '/';
    longer[119] = '\0';
    is_refused(longer, "a socket's path has at most 107 bytes", "a path of 119 bytes");
    is_refused("/nonexistent/folder/s", "No such file or directory", "no such folder");
    is_refused("/proc/window", "", "a folder that takes no files");
    is_refused("/tmp/%d", "%p stands for the process", "another %");
    is_refused("/tmp/%", "%p stands for the process", "a % at the end");

    fd = open(path, O_CREAT | O_WRONLY, 0600);
    close(fd);
    is_refused(path, "another process listens there, or it is no socket", "a file that is no socket");
    EQ(access(path, F_OK), 0, "which stays");
    unlink(path);

    fd = coir_listen("unix:@coir-test-live", NULL);
    is_refused("@coir-test-live", "another process listens there", "one that is alive");
    close(fd);

    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un un;
    const socklen_t len = address_of(path, &un);
    bind(fd, (const struct sockaddr *)&un, len);
    close(fd);
    EQ(access(path, F_OK), 0, "a socket whose process is gone");
    with_client(1, client_asks_one);
    EQ(access(path, F_OK), -1, "is replaced, and goes with the run");
}

static void client_takes_it_away(void)
{
    unlink(path);
    close(open(path, O_CREAT | O_WRONLY, 0600));
}

/* ---- too few descriptors ---- */

static int descriptors;                 /* that are allowed */

static void client_goes(void)
{
}

static int runs_with_few(void)
{
    const struct rlimit few = { (rlim_t)descriptors, (rlim_t)descriptors };
    const struct coir_options o = { .see = path };

    setrlimit(RLIMIT_NOFILE, &few);
    return coir_run(&o, coir_new(host, .client = client_goes)) < 0 ? 10 : 20;
}

/* With one more each time: first there is no run, then one without a window, which says so in a line, then both. */
static void few(void)
{
    int runs = 0, windows = 0, last = 0;

    for (descriptors = 4; descriptors < 24; descriptors++) {
        const struct ending *e = in_child(runs_with_few);
        const bool ran = WEXITSTATUS(e->status) == 20, window = ran && !strstr(e->said, "nobody will see this run: ");
        const int now = ran + window;

        OK(WIFEXITED(e->status) && now >= last, "%d descriptors: with more there is no less", descriptors);
        EQ(access(path, F_OK), -1, "%d descriptors: no file stays", descriptors);
        runs += now == 1;
        windows += now == 2;
        last = now;
    }
    OK(runs > 0, "with few descriptors there is a run, and no window");
    OK(windows > 0, "with some more there is a window");
}

/* ---- its sign ---- */

/* Where the process says that its window is. */
static void find_sign(char *text, size_t size)
{
    DIR *dir = opendir("/proc/self/fd");
    char name[300], target[300];

    *text = '\0';
    for (const struct dirent *e; (e = readdir(dir));) {
        snprintf(name, sizeof name, "/proc/self/fd/%s", e->d_name);
        const ssize_t n = readlink(name, target, sizeof target - 1);
        if (n > 16 && !memcmp(target, "/memfd:coir-see:", 16)) {
            target[n] = '\0';
            snprintf(text, size, "%s", target + 16);
        }
    }
    closedir(dir);
}

static char sign[300];

static void client_reads_sign(void)
{
    find_sign(sign, sizeof sign);
}

static void signs(void)
{
    char expected[300], here[200];

    with_client(1, client_reads_sign);
    snprintf(expected, sizeof expected, "%s (deleted)", path);
    STR_EQ(sign, expected, "a memory file says where the window is");
    find_sign(sign, sizeof sign);
    STR_EQ(sign, "", "and is gone with it");

    if (chdir("/tmp") < 0)
        return;
    coir_run(&(struct coir_options){ .see = "window-%p-%%" }, coir_new(host, .client = client_reads_sign));
    snprintf(expected, sizeof expected, "%s/window-%d-%% (deleted)", getcwd(here, sizeof here), (int)getpid());
    STR_EQ(sign, expected, "%%p is the process, and a path from here is made one from the root");
}

/* ---- strangers ---- */

static int stranger(void)
{
    char *text;
    int n;

    if (setgid(65534) < 0 || setuid(65534) < 0)
        return 99;
    text = ask_at("@coir-test-own", "stats\n");
    n = (int)strlen(text);
    free(text);
    return n;
}

static void client_is_another(void)
{
    char *text = ask_at("@coir-test-own", "stats\n");
    OK(strstr(text, "\"shard\":0"), "in the abstract name space, which has no modes: the same user sees");
    free(text);
    EQ(WEXITSTATUS(in_child(stranger)->status), 0, "another one gets no answer");
}

/* ---- forks ---- */

static int over[2];                     /* closed here: the child goes */
static int born[2];                     /* the child says that it is there */

static void client_forks(void)
{
    const pid_t child = fork();

    char byte = 'x';

    if (child == 0) {
        close(over[1]);
        _exit(write(born[1], &byte, 1) == 1 && read(over[0], &byte, 1) == 0 ? 0 : 1);
    }
    EQ(read(born[0], &byte, 1), 1, "a child is born");
}

static void client_of_grandchild(void)
{
    char where[64], *text;

    snprintf(where, sizeof where, "@coir-test-%d", (int)getpid());
    text = ask_at(where, "stats\n");
    threads = number(text, "", "\"pid\":") == getpid();
    free(text);
}

static int runs_again(void)
{
    return coir_run(&(struct coir_options){ .see = "@coir-test-%p" }, coir_new(host, .client = client_of_grandchild))
        == 0 ? (int)threads : 99;
}

static void client_forks_a_run(void)
{
    EQ(WEXITSTATUS(in_child(runs_again)->status), 1, "a run of the child's has a window of its own");
}

static void forks(void)
{
    int status = -1;

    if (pipe(over) < 0 || pipe(born) < 0)
        return;
    snprintf(path, sizeof path, "@coir-test-fork-%d", (int)getpid());
    with_client(1, client_forks);
    EQ(knock(), -ECONNREFUSED, "after the run nobody listens, though a child of it is alive");
    close(over[1]);
    wait(&status);
    EQ(status, 0, "the child was");
    if (THREAD_SANITIZED)
        SKIP("a run of the child's: ThreadSanitizer allows a child no threads");
    else
        with_client(2, client_forks_a_run);
}

/* ---- in another loop ---- */

static void client_of_foreign(void)
{
    ANSWERS("tasks\n", "\"waits\":\"coir_cell_wait\"", "in another loop: tasks");
    ANSWERS("stats\n", "\"shard\":0", "in another loop: stats");
}

static void foreign(void)
{
    struct coir_shard *s = coir_shard_open(&(struct coir_options){ .see = path },
                                           coir_new(host, .client = client_of_foreign));
    struct pollfd fd = { .fd = coir_shard_fd(s), .events = POLLIN };

    do
        poll(&fd, 1, -1);
    while (coir_turn(s));
    EQ(coir_shard_close(s), 0, "in another loop: it ends well");
    EQ(access(path, F_OK), -1, "in another loop: the file goes with it");
}

int main(void)
{
    unsetenv("COIR_SEE");
    snprintf(path, sizeof path, "/tmp/coir-window-%d", (int)getpid());
    with_client(2, client_asks);
    EQ(access(path, F_OK), -1, "the file goes with the run");
    with_client(1, client_asks_one);
    EQ(coir_run(&(struct coir_options){ .see = path }, make_odd(client_of_odd)), 0, "odd names");
    with_client(64, client_of_many);

    EQ(WEXITSTATUS(in_child(without)->status), 0, "without a window there is no thread for it");
    EQ(WEXITSTATUS(in_child(refused_by_option)->status), 0, "options.see \"\": nor with COIR_SEE");
    EQ(WEXITSTATUS(in_child(by_environment)->status), 1, "COIR_SEE: there is");
    places();
    with_client(1, client_takes_it_away);
    EQ(access(path, F_OK), 0, "a file of the same name that is another's stays");
    unlink(path);
    few();
    signs();
    foreign();
    if (geteuid() == 0)
        EQ(coir_run(&(struct coir_options){ .see = "@coir-test-own" }, coir_new(host, .client = client_is_another)), 0,
           "strangers");
    else
        SKIP("another user gets no answer: only root can be another");
    forks();
    return DONE();
}
