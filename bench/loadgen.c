/* SPDX-License-Identifier: MIT */
/*
 * The closed-loop echo load generator: one thread, epoll, C connections with one outstanding message of S
 * bytes each. Warms up for 300 ms, then measures. It reports the request rate, the latencies, the CPU
 * time that the server's process took a request, and when asked the system calls it made a request. The
 * generator is usually the one that is saturated, so the server's CPU a request is the figure to compare,
 * not the rate. An answer that is not what was sent, a closed connection or two seconds of silence end
 * the run with an error: a wrong server has no figures.
 *
 * Usage: loadgen PORT CONNECTIONS BYTES SECONDS SERVER_PID [count-syscalls]
 */
#include "measure.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum {
    WARM_UP_NS = 300000000,
    MAX_BYTES = 65536,
    MAX_THREADS = 64,
    BUCKET_NS = 100,      /* resolution of the latencies */
    BUCKETS = 200000,     /* 20 ms; what is slower counts as 20 ms */
    EXIT_NO_COUNTING = 3, /* this machine does not let us count system calls */
};

struct connection {
    int fd;
    size_t received;
    uint64_t sent_at;
};

static struct {
    uint16_t port;
    size_t connections, bytes;
    double seconds;
    pid_t server;
    int count_syscalls;
} options;

static char message[MAX_BYTES];
static struct connection *connections;
static uint32_t histogram[BUCKETS + 1];
static uint64_t requests; /* since the measuring began */
static uint64_t warm_up_requests;

static void die(const char *what)
{
    fprintf(stderr, "loadgen: %s\n", what);
    exit(1);
}

static void die_errno(const char *what)
{
    fprintf(stderr, "loadgen: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- the server's system calls: a perf counter on every thread it has, inherited by those to come ---- */

static int counters[MAX_THREADS];
static int counter_count;

static long long read_tracepoint_id(void)
{
    static const char *const paths[] = {
        "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id",
        "/sys/kernel/debug/tracing/events/raw_syscalls/sys_enter/id",
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        FILE *file = fopen(paths[i], "r");
        long long id = -1;
        if (!file)
            continue;
        if (fscanf(file, "%lld", &id) != 1)
            id = -1;
        fclose(file);
        return id;
    }
    return -1;
}

static int open_counter(long long tracepoint, pid_t thread)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_TRACEPOINT,
        .size = sizeof attr,
        .config = (uint64_t)tracepoint,
        .inherit = 1,
        .disabled = 1,
    };
    return (int)syscall(SYS_perf_event_open, &attr, thread, -1, -1, 0);
}

static void start_counting(void)
{
    const long long tracepoint = read_tracepoint_id();
    char path[64];
    struct dirent *entry;

    snprintf(path, sizeof path, "/proc/%d/task", options.server);
    DIR *tasks = tracepoint < 0 ? NULL : opendir(path);
    if (!tasks)
        exit(EXIT_NO_COUNTING);
    while ((entry = readdir(tasks))) {
        if (entry->d_name[0] == '.')
            continue;
        int fd = open_counter(tracepoint, (pid_t)bench_number(entry->d_name));
        if (fd < 0 || counter_count == MAX_THREADS)
            exit(EXIT_NO_COUNTING);
        counters[counter_count++] = fd;
        ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    }
    closedir(tasks);
}

static uint64_t count_syscalls(void)
{
    uint64_t sum = 0, one;
    for (int i = 0; i < counter_count; i++)
        if (read(counters[i], &one, sizeof one) == sizeof one)
            sum += one;
    return sum;
}

/* ---- the connections ---- */

static int connect_patiently(void)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(options.port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    for (int attempt = 0; attempt < 1000; attempt++) { /* the server may still be starting: 10 s */
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0)
            die_errno("socket");
        if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
            return fd;
        close(fd);
        bench_sleep_ns(10000000);
    }
    die("the server does not accept");
    return -1;
}

static void open_connections(int ep)
{
    const int one = 1;
    for (size_t i = 0; i < options.connections; i++) {
        struct connection *c = &connections[i];
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
        c->fd = connect_patiently();
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        fcntl(c->fd, F_SETFL, O_NONBLOCK);
        epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &event);
    }
}

static void send_request(struct connection *c)
{
    c->received = 0;
    c->sent_at = bench_now_ns();
    if (write(c->fd, message, options.bytes) != (ssize_t)options.bytes)
        die_errno("write");
}

static void count_request(uint64_t ns)
{
    const uint64_t bucket = ns / BUCKET_NS;
    histogram[bucket > BUCKETS ? BUCKETS : bucket]++;
    requests++;
}

static void receive_answer(struct connection *c)
{
    static char answer[MAX_BYTES];
    ssize_t n = read(c->fd, answer, options.bytes - c->received);

    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0)
        die("the server closed a connection");
    if (memcmp(answer, message + c->received, (size_t)n) != 0)
        die("the server answered something else");
    c->received += (size_t)n;
    if (c->received == options.bytes) {
        count_request(bench_now_ns() - c->sent_at);
        send_request(c);
    }
}

static void drive(int ep, uint64_t ns)
{
    const uint64_t end = bench_now_ns() + ns;
    struct epoll_event events[256];

    while (bench_now_ns() < end) {
        int n = epoll_wait(ep, events, 256, 2000);
        if (n <= 0)
            die("the server stalled");
        for (int i = 0; i < n; i++)
            receive_answer(events[i].data.ptr);
    }
}

/* ---- the report ---- */

static double percentile_us(double fraction)
{
    uint64_t seen = 0;
    for (int i = 0; i <= BUCKETS; i++) {
        seen += histogram[i];
        if ((double)seen >= (double)requests * fraction)
            return (double)(i + 1) * BUCKET_NS / 1e3;
    }
    return 0;
}

static void measure(int ep)
{
    clockid_t server_clock;

    if (clock_getcpuclockid(options.server, &server_clock))
        die("no such server process");
    memset(histogram, 0, sizeof histogram);
    warm_up_requests = requests;
    requests = 0;
    const uint64_t syscalls = count_syscalls(), own_cpu = bench_cpu_ns();
    const uint64_t start = bench_now_ns(), server_cpu = bench_clock_ns(server_clock);
    drive(ep, (uint64_t)(options.seconds * 1e9));
    const double elapsed = (double)(bench_now_ns() - start), count = (double)requests;

    if (options.count_syscalls) { /* counting slows the server down, so nothing else is reported */
        bench_report("echo-syscalls", (double)(count_syscalls() - syscalls) / count, "calls");
        return;
    }
    bench_report("echo-cpu", (double)(bench_clock_ns(server_clock) - server_cpu) / 1e3 / count, "us");
    bench_report("echo-p50", percentile_us(0.50), "us");
    bench_report("echo-p99", percentile_us(0.99), "us");
    bench_report("echo-rate", count / (elapsed / 1e9) / 1e3, "k/s");
    bench_report("echo-requests", (double)warm_up_requests + count, "requests"); /* with the warm-up */
    bench_report("echo-generator", (double)(bench_cpu_ns() - own_cpu) / elapsed * 100, "%");
}

static void parse(int argc, char **argv)
{
    if (argc < 6 || argc > 7) {
        fprintf(stderr, "usage: %s PORT CONNECTIONS BYTES SECONDS SERVER_PID [count-syscalls]\n", argv[0]);
        exit(2);
    }
    options.port = (uint16_t)bench_number(argv[1]);
    options.connections = (size_t)bench_number(argv[2]);
    options.bytes = (size_t)bench_number(argv[3]);
    options.seconds = strtod(argv[4], NULL);
    options.server = (pid_t)bench_number(argv[5]);
    options.count_syscalls = argc == 7;
    if (options.bytes < 1 || options.bytes > MAX_BYTES || options.connections < 1)
        die("connections must be positive, bytes 1 to 65536");
}

int main(int argc, char **argv)
{
    int ep = epoll_create1(0);

    parse(argc, argv);
    connections = calloc(options.connections, sizeof *connections);
    if (!connections)
        die("out of memory");
    for (size_t i = 0; i < options.bytes; i++)
        message[i] = (char)('a' + i % 26);
    open_connections(ep);
    for (size_t i = 0; i < options.connections; i++)
        send_request(&connections[i]);
    drive(ep, WARM_UP_NS);
    if (options.count_syscalls)
        start_counting();
    measure(ep);
    return 0;
}
