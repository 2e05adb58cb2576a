/* SPDX-License-Identifier: MIT */
/*
 * Accepts that wait are served in order, on the plane the environment says, and on the ring with and without its
 * multishot request: those that are cancelled are left out, one that comes later is behind, and none that stands behind
 * one that got nothing tries.
 */
#include "tests/ops/accepts.h"

enum { CROWD = 100 };

struct order {
    coir_frame_void;
    coir_no_args;
    int listener, clients[5];
    struct got got[5];
    struct coir_group group;
    union {
        struct coir_close close;
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(order);

/* Five wait, the second and the third are cancelled; three clients come. */
coir_body(order, f) {
    f->listener = coir_listen("127.0.0.1:0", NULL);
    arrivals = 0;
    coir_group_open(f, &f->group);
    for (int i = 0; i < 5; i++) {
        coir_spawn(&f->group, coir_new(one, .listener = f->listener, .got = &f->got[i], .addr = true,
                                       .deadline = i == 1 || i == 2 ? coir_now() + COIR_MS : COIR_NEVER));
    }
    SETTLE(f);
    for (int i = 0; i < 3; i++)
        f->clients[i] = client(port_of(f->listener));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    for (int i = 0, at = 0; i < 5; i++) {
        if (i == 1 || i == 2) {
            EQ(f->got[i].status, -ETIMEDOUT, "%s: waiter %d was cancelled", variant, i);
            continue;
        }
        EQ(f->got[i].status, 0, "%s: waiter %d got one", variant, i);
        EQ(ntohs(((struct sockaddr_in *)&f->got[i].addr)->sin_port), port_of(f->clients[at]), "%s: client %d, in order",
           variant, at);
        at++;
        EQ(f->got[i].order, 2 + at, "%s: in the order they waited", variant);
        close(f->got[i].fd);
    }
    for (int i = 0; i < 3; i++)
        close(f->clients[i]);
    coir_try(f, &f->close, coir_close, .fd = f->listener);
} coir_end

/* One waits, two clients come, and before the kernel is asked another one wants to accept: it is behind. */
struct behind {
    coir_frame_void;
    coir_no_args;
    int listener, clients[2];
    struct got got;
    struct sockaddr_storage addr;
    struct coir_group group;
    union {
        struct coir_accept accept;
        struct coir_close close;
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(behind);

coir_body(behind, f) {
    f->listener = coir_listen("127.0.0.1:0", NULL);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(one, .listener = f->listener, .got = &f->got, .addr = true));
    SETTLE(f);
    for (int i = 0; i < 2; i++)
        f->clients[i] = client(port_of(f->listener));
    coir_try(f, &f->accept, coir_accept, .fd = f->listener, .addr = &f->addr);
    close(f->accept.result);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->got.status, 0, "%s: who waited got one", variant);
    EQ(ntohs(((struct sockaddr_in *)&f->got.addr)->sin_port), port_of(f->clients[0]), "%s: the first", variant);
    EQ(ntohs(((struct sockaddr_in *)&f->addr)->sin_port), port_of(f->clients[1]), "%s: then the second",
       variant);
    close(f->got.fd);
    for (int i = 0; i < 2; i++)
        close(f->clients[i]);
    coir_try(f, &f->close, coir_close, .fd = f->listener);
} coir_end

/* Many wait and one client comes: who stands behind one that got nothing does not try. */
struct crowd {
    coir_frame_void;
    coir_no_args;
    int listener, client;
    uint64_t calls;
    struct got got[CROWD];
    struct coir_group first, others;
    union {
        struct coir_close close;
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(crowd);

static uint64_t calls_now(void)
{
    struct coir_stats s;

    coir_stats(0, &s);
    return s.syscalls;
}

coir_body(crowd, f) {
    f->listener = coir_listen("127.0.0.1:0", NULL);
    coir_group_open(f, &f->first);
    coir_group_open(f, &f->others);
    for (int i = 0; i < CROWD; i++)
        coir_spawn(i ? &f->others : &f->first, coir_new(one, .listener = f->listener, .got = &f->got[i]));
    SETTLE(f);
    f->client = client(port_of(f->listener));
    f->calls = calls_now();
    coir_await(f, &f->wait, coir_group_wait, .group = &f->first);
    f->calls = calls_now() - f->calls;
    EQ(f->got[0].status, 0, "%s: the first of a crowd got the client", variant);
    OK(f->calls < CROWD / 2, "%s: and not every other one has tried (%d calls)", variant, (int)f->calls);
    close(f->got[0].fd);
    close(f->client);
    coir_try(f, &f->close, coir_close, .fd = f->listener);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->others);
} coir_end

int main(void)
{
    static const char *const variants[] = { "", "-multishot", "-multishot,-msg_ring,-defer", "-defer" };
    const struct coir_options tiny = { .ring_entries = 8 };
    const char *plane = getenv("COIR_IO");
    const bool ring = !plane || strcmp(plane, "epoll") != 0;

    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    for (size_t i = 0; i < (ring ? 2 * sizeof variants / sizeof *variants : 1); i++) {
        const struct coir_options *o = i % 2 ? &tiny : NULL;
        setenv("COIR_URING", variants[i / 2], 1);
        variant = ring ? variants[i / 2] : "epoll";
        run("order", o, coir_new(order));
        run("behind", o, coir_new(behind));
        run("a crowd", o, coir_new(crowd));
    }
    return DONE();
}
