/* SPDX-License-Identifier: MIT */
/*
 * The inbox: its order with one thread, then four producers against one consumer, which counts what it gets
 * and checks that the messages of each producer come in order, then a consumer that sleeps whenever the
 * inbox is empty: a lost wake-up would hang it. Runs under ThreadSanitizer too.
 */
#include "runtime/base/inbox.h"

#include "runtime/base/assert.h"

#include <sched.h>
#include <semaphore.h>

#include "tap.h"

enum { PRODUCERS = 4, EACH = 20000 };

struct letter {
    struct coir_msg msg;
    int producer;
    int number; /* written by the producer, read by the consumer: the inbox hands it over */
};

static struct coir_inbox inbox;
static struct letter letters[PRODUCERS][EACH];
static _Atomic int pushes_into_empty;
static atomic_bool asleep;
static sem_t alarm_clock;

static struct letter *letter_of(struct coir_msg *msg)
{
    return coir_container_of(msg, struct letter, msg);
}

static void test_order(void)
{
    struct letter a = { .number = 1 }, b = { .number = 2 }, c = { .number = 3 };
    struct coir_msg *msg;

    coir_inbox_init(&inbox);
    OK(coir_inbox_empty(&inbox), "a new inbox is empty");
    OK(coir_inbox_take_all(&inbox) == NULL, "and gives nothing");
    OK(coir_inbox_push(&inbox, &a.msg), "the first push finds it empty");
    OK(!coir_inbox_push(&inbox, &b.msg), "the second does not");
    OK(!coir_inbox_push(&inbox, &c.msg), "nor does the third");
    OK(!coir_inbox_empty(&inbox), "it is not empty");
    msg = coir_inbox_take_all(&inbox);
    OK(coir_inbox_empty(&inbox), "a take empties it");
    for (int i = 1; i <= 3; i++, msg = msg->next)
        EQ(letter_of(msg)->number, i, "oldest first: %d", i);
    OK(msg == NULL, "and nothing behind");
    OK(coir_inbox_push(&inbox, &a.msg), "the first push after a take finds it empty");
    OK(coir_inbox_take_all(&inbox) == &a.msg && a.msg.next == NULL, "a batch of one");
}

static void *produce(void *arg)
{
    struct letter *mine = arg;
    int producer = (int)((mine - letters[0]) / EACH);

    for (int i = 0; i < EACH; i++) {
        mine[i].producer = producer;
        mine[i].number = i;
        if (coir_inbox_push(&inbox, &mine[i].msg)) {
            atomic_fetch_add(&pushes_into_empty, 1);
            if (atomic_load(&asleep) && atomic_exchange(&asleep, false))
                sem_post(&alarm_clock);
        }
        if (i % 64 == 0)
            sched_yield(); /* on two cores, let the others in */
    }
    return NULL;
}

/* Falls asleep as the head of inbox.h says, unless something has come. */
static void sleep_while_empty(void)
{
    atomic_store(&asleep, true);
    if (coir_inbox_empty(&inbox))
        sem_wait(&alarm_clock);
    else if (!atomic_exchange(&asleep, false))
        sem_wait(&alarm_clock); /* a producer was faster: its post is ours to take */
}

struct tally {
    int got, batches, disorder;
    int next[PRODUCERS];
};

static void count_batch(struct tally *tally, struct coir_msg *msg)
{
    tally->batches += msg != NULL;
    for (; msg != NULL; msg = msg->next, tally->got++) {
        const struct letter *letter = letter_of(msg);

        tally->disorder += letter->number != tally->next[letter->producer]++;
    }
}

static void test_producers(bool sleeps)
{
    pthread_t threads[PRODUCERS];
    struct tally tally = { 0 };

    atomic_store(&pushes_into_empty, 0);
    coir_inbox_init(&inbox);
    for (int i = 0; i < PRODUCERS; i++)
        pthread_create(&threads[i], NULL, produce, letters[i]);
    while (tally.got < PRODUCERS * EACH) {
        struct coir_msg *batch = coir_inbox_take_all(&inbox);

        count_batch(&tally, batch);
        if (batch == NULL && sleeps)
            sleep_while_empty();
        else if (batch == NULL)
            sched_yield();
    }
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(threads[i], NULL);
    EQ(tally.got, PRODUCERS * EACH, "nothing is lost and nothing comes twice");
    EQ(tally.disorder, 0, "the messages of each producer come in order");
    EQ(atomic_load(&pushes_into_empty), tally.batches, "one push a batch found the inbox empty");
    OK(coir_inbox_empty(&inbox), "the inbox is empty");
}

int main(void)
{
    test_order();
    sem_init(&alarm_clock, 0, 0);
    test_producers(false);
    test_producers(true);
    return DONE();
}
