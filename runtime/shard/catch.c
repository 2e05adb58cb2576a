/* SPDX-License-Identifier: MIT */
/*
 * The signal handler, and what it may touch. It runs on any thread of the process, at any moment, also while or after
 * the last one who wanted the signal has left; so it reads and writes nothing but the atomics of this file, which
 * are never freed, pushes a letter into an inbox (lock-free, the letter lies here too) and writes an eventfd. No
 * thread-local variable of coir's, no lock, no allocation; errno is kept.
 *
 * A handler and not signalfd, since that needs the signal blocked in every thread of the process, those included
 * that coir did not make; and a handler of coir's own and no pipe, since a forked child would write into its
 * parent's.
 *
 * Invariants:
 *   1. The handler counts a signal before it posts, and a shard takes `posted` back before it looks at the counts:
 *      of the two one sees the other, so nothing is missed, and a letter is in one inbox once.
 *   2. A shard is touched by the handler only while `visits` of its slot is counted and its bit stands in `wants`;
 *      the shard clears the bits, and waits for the visits before it goes.
 *   3. Dispositions change under the lock, with the first and the last shard that catches a number. What was there
 *      before comes back, unless somebody else has put something of its own there meanwhile.
 *   4. A process that is not the one which caught (a forked child before it could forget, a vfork's child in its
 *      parent's memory) touches nothing: there the signal does what it would have done without us.
 */
#include "runtime/shard/catch.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "runtime/plane/plane.h"

enum { NUMBERS = 65 };                   /* 1 to 64 */

struct known {
    uint32_t turn;                       /* odd while the rest, less the count, is being written */
    uint32_t count;
    uint64_t order;
    int code;
    pid_t pid;
    uid_t uid;
    void *value;
};

struct slot {
    _Alignas(64) struct coir_letter letter;
    int posted;                          /* atomic: the letter is in the shard's inbox */
    int visits;                          /* atomic: handlers that look at the shard */
    struct coir_shard *shard;            /* written before a bit of `wants`; the rest is its thread's own */
    struct coir_link catchers;
    uint16_t subscribed[NUMBERS];        /* coir_catch less coir_catch_end */
    uint64_t was_blocked;                /* of those: the thread's mask had it */
};

static struct known known[NUMBERS];      /* atomic, all of it */
static uint64_t last_order;              /* atomic */
static uint64_t wants[COIR_MAX_SHARDS];  /* atomic: bit n - 1: the shard catches n */
static struct slot slots[COIR_MAX_SHARDS];
static pid_t owner;                      /* atomic: the process that catches */
static int tell_of;                      /* atomic: the number whose coming is told ... */
static sem_t *tell;                      /* atomic: ... here; it is never freed */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;     /* over the next two */
static unsigned shards_on[NUMBERS];      /* how many shards catch it */
static struct sigaction before[NUMBERS];

static uint64_t bit(int number)
{
    return UINT64_C(1) << (number - 1);
}

/* ---- the handler ---- */

/* Inv 4. It is blocked until the handler returns. */
static void as_before(int number)
{
    sigaction(number, &before[number], NULL);
    kill(getpid(), number);
}

static bool has_sender(int number, const siginfo_t *info)
{
    return number == SIGCHLD || info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL
        || info->si_code == SI_MESGQ;
}

static void *value_of(int number, const siginfo_t *info)
{
    union sigval value = { .sival_ptr = NULL };

    if (number == SIGCHLD && info->si_code > 0)
        value.sival_int = info->si_status;
    else if (info->si_code == SI_QUEUE || info->si_code == SI_TIMER || info->si_code == SI_MESGQ)
        value = info->si_value;
    return value.sival_ptr;
}

/* One writer at a time: who meets another one on another thread leaves it to that one. */
static void describe(int number, const siginfo_t *info)
{
    struct known *k = &known[number];
    const bool sent = has_sender(number, info);
    uint32_t turn = __atomic_load_n(&k->turn, __ATOMIC_ACQUIRE);

    if (turn % 2 || !__atomic_compare_exchange_n(&k->turn, &turn, turn + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&k->order, __atomic_add_fetch(&last_order, 1, __ATOMIC_RELAXED), __ATOMIC_RELEASE);
    __atomic_store_n(&k->code, info->si_code, __ATOMIC_RELEASE);
    __atomic_store_n(&k->pid, sent ? info->si_pid : 0, __ATOMIC_RELEASE);
    __atomic_store_n(&k->uid, sent ? info->si_uid : 0, __ATOMIC_RELEASE);
    __atomic_store_n(&k->value, value_of(number, info), __ATOMIC_RELEASE);
    __atomic_store_n(&k->turn, turn + 2, __ATOMIC_RELEASE);
}

/* As coir_post, without asking which thread this is. */
static void post(struct slot *slot)
{
    struct coir_shard *s = slot->shard;

    if (__atomic_exchange_n(&slot->posted, 1, __ATOMIC_SEQ_CST))
        return;
    coir_inbox_push(&s->inbox, &slot->letter.msg);
    if (__atomic_load_n(&s->asleep, __ATOMIC_SEQ_CST) && __atomic_exchange_n(&s->asleep, 0, __ATOMIC_SEQ_CST))
        s->plane->kind->nudge(s->plane, NULL);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    const int kept = errno;

    (void)context;
    if (getpid() != __atomic_load_n(&owner, __ATOMIC_ACQUIRE)) {
        as_before(number);
        errno = kept;
        return;
    }
    describe(number, info);
    __atomic_add_fetch(&known[number].count, 1, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < COIR_MAX_SHARDS; i++) {
        if (!(__atomic_load_n(&wants[i], __ATOMIC_RELAXED) & bit(number)))
            continue;
        __atomic_add_fetch(&slots[i].visits, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&wants[i], __ATOMIC_SEQ_CST) & bit(number))
            post(&slots[i]);
        __atomic_sub_fetch(&slots[i].visits, 1, __ATOMIC_SEQ_CST);
    }
    if (__atomic_load_n(&tell_of, __ATOMIC_ACQUIRE) == number)
        sem_post(__atomic_load_n(&tell, __ATOMIC_RELAXED));
    errno = kept;
}

void coir_catch_tell(int number, sem_t *to)
{
    if (to)
        __atomic_store_n(&tell, to, __ATOMIC_RELAXED);
    __atomic_store_n(&tell_of, number, __ATOMIC_RELEASE);
}

/* ---- what is known ---- */

uint32_t coir_caught_count(int number)
{
    return __atomic_load_n(&known[number].count, __ATOMIC_SEQ_CST);
}

/* A writer is a handler on another thread, a few instructions long: on this one it would have come to its end. */
void coir_caught(int number, struct coir_caught *out)
{
    const struct known *k = &known[number];
    uint32_t turn;

    out->count = coir_caught_count(number);
    for (;;) {
        turn = __atomic_load_n(&k->turn, __ATOMIC_ACQUIRE);
        out->order = __atomic_load_n(&k->order, __ATOMIC_ACQUIRE);
        out->code = __atomic_load_n(&k->code, __ATOMIC_ACQUIRE);
        out->pid = __atomic_load_n(&k->pid, __ATOMIC_ACQUIRE);
        out->uid = __atomic_load_n(&k->uid, __ATOMIC_ACQUIRE);
        out->value.sival_ptr = __atomic_load_n(&k->value, __ATOMIC_ACQUIRE);
        if (turn % 2 == 0 && turn == __atomic_load_n(&k->turn, __ATOMIC_RELAXED))
            return;
        sched_yield();
    }
}

/* ---- shards ---- */

static void deliver(struct coir_shard *s, struct coir_letter *letter)
{
    struct slot *slot = coir_container_of(letter, struct slot, letter);
    struct coir_link *link;

    (void)s;
    __atomic_store_n(&slot->posted, 0, __ATOMIC_SEQ_CST);
    COIR_LIST_FOR(link, &slot->catchers) {
        struct coir_catcher *c = coir_container_of(link, struct coir_catcher, link);
        c->caught(c);
    }
}

static struct slot *slot_here(void)
{
    struct coir_shard *s = coir_shard_here();
    struct slot *slot = &slots[s->id];

    if (!slot->shard) {
        slot->shard = s;
        slot->letter.deliver = deliver;
        coir_list_init(&slot->catchers);
    }
    return slot;
}

void coir_catch_add(struct coir_catcher *c)
{
    coir_list_push_back(&slot_here()->catchers, &c->link);
}

void coir_catch_remove(struct coir_catcher *c)
{
    coir_list_remove(&c->link);
}

void coir_catch_shard_ends(struct coir_shard *s)
{
    struct slot *slot = &slots[s->id];
    struct coir_link *link;

    if (!slot->shard)
        return;
    while ((link = coir_list_first(&slot->catchers))) {
        struct coir_catcher *c = coir_container_of(link, struct coir_catcher, link);
        c->left(c);
    }
    COIR_ASSERT(__atomic_load_n(&wants[s->id], __ATOMIC_SEQ_CST) == 0);
    while (__atomic_load_n(&slot->visits, __ATOMIC_SEQ_CST))     /* inv 2 */
        sched_yield();
    slot->shard = NULL;                  /* its inbox goes with it, and the letter that may be in there is ours again */
    __atomic_store_n(&slot->posted, 0, __ATOMIC_SEQ_CST);
}

/* ---- catching ---- */

bool coir_catch_allowed(int number)
{
    static const int no[] = { SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPIPE,
                              SIGXFSZ };

    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        if (number == no[i])
            return false;
    }
    return number > 0 && number < NUMBERS && (number < 32 || (number >= SIGRTMIN && number <= SIGRTMAX));
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_signal;
}

static int install(int number)
{
    struct sigaction ours = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
    const int fault = coir_syscall_fault_lasting();

    if (fault)
        return fault;
    sigfillset(&ours.sa_mask);
    __atomic_store_n(&owner, getpid(), __ATOMIC_RELEASE);
    if (sigaction(number, NULL, &before[number]) < 0)
        return -errno;
    if (is_ours(&before[number]))        /* somebody has put it back after we were gone */
        before[number] = (struct sigaction){ .sa_handler = SIG_DFL };
    return sigaction(number, &ours, NULL) < 0 ? -errno : 0;
}

static void uninstall(int number)
{
    struct sigaction now;

    if (sigaction(number, NULL, &now) == 0 && is_ours(&now))
        sigaction(number, &before[number], NULL);
}

/* The thread's mask: `how` is SIG_BLOCK or SIG_UNBLOCK. Whether it was blocked before. */
static bool mask(int how, int number)
{
    sigset_t one, was;

    sigemptyset(&one);
    sigaddset(&one, number);
    pthread_sigmask(how, &one, &was);
    return sigismember(&was, number) == 1;
}

int coir_catch(int number)
{
    struct slot *slot = slot_here();
    int err;

    if (slot->subscribed[number]++)
        return 0;
    pthread_mutex_lock(&lock);
    err = shards_on[number] ? 0 : install(number);
    if (!err)
        shards_on[number]++;
    pthread_mutex_unlock(&lock);
    if (err) {
        slot->subscribed[number]--;
        return err;
    }
    __atomic_or_fetch(&wants[slot->shard->id], bit(number), __ATOMIC_SEQ_CST);
    if (mask(SIG_UNBLOCK, number))
        slot->was_blocked |= bit(number);
    return 0;
}

void coir_catch_end(int number)
{
    struct slot *slot = slot_here();

    COIR_ASSERT(slot->subscribed[number] > 0);
    if (--slot->subscribed[number])
        return;
    if (slot->was_blocked & bit(number))
        mask(SIG_BLOCK, number);
    slot->was_blocked &= ~bit(number);
    __atomic_and_fetch(&wants[slot->shard->id], ~bit(number), __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&lock);
    if (--shards_on[number] == 0)
        uninstall(number);
    pthread_mutex_unlock(&lock);
}

/* ---- fork ---- */

void coir_catch_hold(void)
{
    pthread_mutex_lock(&lock);
}

void coir_catch_let_go(void)
{
    pthread_mutex_unlock(&lock);
}

/* In the child, with the lock held. Its one thread, which may have been a shard until now, has its mask from before,
 * the process its dispositions. */
void coir_catch_forget(void)
{
    const struct coir_shard *s = coir_shard_here();

    for (int number = 1; s && number < NUMBERS; number++) {
        if (slots[s->id].was_blocked & bit(number))
            mask(SIG_BLOCK, number);
    }
    for (int number = 1; number < NUMBERS; number++) {
        if (shards_on[number])
            uninstall(number);
        shards_on[number] = 0;
    }
    for (unsigned i = 0; i < COIR_MAX_SHARDS; i++) {
        __atomic_store_n(&wants[i], 0, __ATOMIC_SEQ_CST);
        slots[i] = (struct slot){ .shard = NULL };
    }
    __atomic_store_n(&owner, 0, __ATOMIC_RELEASE);
}
