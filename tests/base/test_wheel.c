/* SPDX-License-Identifier: MIT */
/*
 * The timing wheel: cases worked out by hand, then random operations beside a model that is nothing but a
 * table with a deadline and a sequence number a timer. COIR_SEED=n repeats one random run; the seed stands
 * in the log.
 */
#include "runtime/base/wheel.h"

#include "tap.h"

static struct coir_wheel wheel;

/* Pops one timer and gives its index in `timers`, or -1. */
static int pop_index(const struct coir_timer *timers, int64_t now)
{
    struct coir_timer *timer = coir_wheel_pop(&wheel, now);

    return timer == NULL ? -1 : (int)(timer - timers);
}

static void test_empty(void)
{
    coir_wheel_init(&wheel, 0);
    EQ(wheel.count, 0, "a new wheel has no timer");
    EQ(coir_wheel_next(&wheel), INT64_MAX, "nothing is next in an empty wheel");
    EQ(coir_wheel_next_exact(&wheel), INT64_MAX, "nor exactly so");
    OK(coir_wheel_pop(&wheel, INT64_MAX - 1) == NULL, "an empty wheel pops nothing, ever");
}

static void test_one(void)
{
    struct coir_timer timer = { .next = NULL };

    coir_wheel_init(&wheel, 1000);
    OK(!coir_timer_armed(&timer), "a zeroed timer is not armed");
    coir_wheel_add(&wheel, &timer, 70000);
    OK(coir_timer_armed(&timer), "an added timer is armed");
    EQ(wheel.count, 1, "and counted");
    EQ(coir_wheel_next(&wheel), 70000, "its deadline is next");
    OK(coir_wheel_pop(&wheel, 69999) == NULL, "it does not fire 1 ns early");
    OK(coir_wheel_pop(&wheel, 70000) == &timer, "it fires on time");
    OK(!coir_timer_armed(&timer), "a fired timer is not armed");
    EQ(timer.at, 70000, "and keeps its deadline");
    EQ(wheel.count, 0, "nor counted");
    OK(coir_wheel_pop(&wheel, 80000) == NULL, "it fires once");
}

/* One deadline a level and around their borders, armed backwards. */
static void test_levels(void)
{
    static const int64_t at[] = {
        0, 1, 255, 256, 257, 65535, 65536, (1 << 24) - 1, 1 << 24, (INT64_C(1) << 32) - 1, INT64_C(1) << 32,
        INT64_C(1) << 40, INT64_C(1) << 48, INT64_C(1) << 56, INT64_C(1) << 62, INT64_MAX - 1, INT64_MAX,
    };
    enum { N = sizeof at / sizeof *at };
    struct coir_timer timers[N];
    bool early = false;

    coir_wheel_init(&wheel, 0);
    for (int i = N - 1; i >= 0; i--)
        coir_wheel_add(&wheel, &timers[i], at[i]);
    for (int i = 0; i < N; i++) {
        EQ(coir_wheel_next(&wheel), at[i], "deadline %d is next", i);
        early |= at[i] > 0 && coir_wheel_pop(&wheel, at[i] - 1) != NULL;
        EQ(pop_index(timers, at[i]), i, "and fires when it has come");
    }
    OK(!early, "none of them fired 1 ns early");
    EQ(wheel.count, 0, "all have fired");
}

static void test_fifo(void)
{
    struct coir_timer timers[6];

    coir_wheel_init(&wheel, 0);
    for (int i = 0; i < 3; i++)
        coir_wheel_add(&wheel, &timers[i], 1000000);
    coir_wheel_add(&wheel, &timers[3], 999900);
    EQ(pop_index(timers, 999950), 3, "the wheel moves close to the deadline");
    OK(coir_wheel_pop(&wheel, 999999) == NULL, "which has not come");
    coir_wheel_add(&wheel, &timers[4], 1000000);
    EQ(pop_index(timers, 1000000), 0, "equal deadlines: first armed, first fired");
    coir_wheel_add(&wheel, &timers[5], 1000000);
    for (int i = 1; i < 3; i++)
        EQ(pop_index(timers, 1000000), i, "equal deadlines: number %d", i);
    EQ(pop_index(timers, 1000000), 4, "equal deadlines: armed when close, after those armed from afar");
    EQ(pop_index(timers, 1000000), 5, "equal deadlines: armed while they fire, last");
    EQ(pop_index(timers, 1000000), -1, "equal deadlines: and no more");
}

static void test_past(void)
{
    static const int64_t at[] = { 500, 300, 400, 300, -7, INT64_MIN, 1000, 1001 };
    static const int order[] = { 5, 4, 1, 3, 2, 0, 6 };
    struct coir_timer timers[8];

    coir_wheel_init(&wheel, 1000);
    for (int i = 0; i < 8; i++)
        coir_wheel_add(&wheel, &timers[i], at[i]);
    EQ(coir_wheel_next(&wheel), INT64_MIN, "the earliest of the past deadlines is next");
    for (int i = 0; i < 7; i++)
        EQ(pop_index(timers, 1000), order[i], "past deadlines fire in order: %d", i);
    EQ(pop_index(timers, 1000), -1, "the one still to come does not");
    EQ(coir_wheel_next(&wheel), 1001, "and is next");
    coir_wheel_add(&wheel, &timers[0], 20);
    coir_wheel_add(&wheel, &timers[1], 10);
    coir_wheel_remove(&wheel, &timers[1]);
    EQ(coir_wheel_next_exact(&wheel), 20, "a removed past deadline is forgotten");
    EQ(pop_index(timers, 1000), 0, "the other one fires");
}

/* What a callback would do: it arms a new timer for now each time one fires. */
static void test_rearm(void)
{
    struct coir_timer timers[2];

    coir_wheel_init(&wheel, 0);
    coir_wheel_add(&wheel, &timers[0], 50);
    coir_wheel_add(&wheel, &timers[1], 50);
    for (int i = 0; i < 10; i++) {
        EQ(pop_index(timers, 50), i % 2, "a timer re-armed for now takes its turn behind the others: %d", i);
        coir_wheel_add(&wheel, &timers[i % 2], 50);
    }
    EQ(wheel.count, 2, "both are armed still");
}

static void test_remove(void)
{
    struct coir_timer timers[5];

    coir_wheel_init(&wheel, 0);
    for (int i = 0; i < 5; i++)
        coir_wheel_add(&wheel, &timers[i], 5000);
    coir_wheel_remove(&wheel, &timers[0]);
    coir_wheel_remove(&wheel, &timers[2]);
    coir_wheel_remove(&wheel, &timers[4]);
    OK(!coir_timer_armed(&timers[0]) && !coir_timer_armed(&timers[2]) && !coir_timer_armed(&timers[4]),
       "removed timers are not armed");
    EQ(wheel.count, 2, "two are left");
    EQ(pop_index(timers, 5000), 1, "without head, middle and tail: the second");
    EQ(pop_index(timers, 5000), 3, "then the fourth");
    EQ(pop_index(timers, 5000), -1, "then none");
    coir_wheel_add(&wheel, &timers[0], 9000);
    coir_wheel_add(&wheel, &timers[1], 1 << 20);
    coir_wheel_remove(&wheel, &timers[0]);
    EQ(coir_wheel_next(&wheel), 1 << 20, "removing the earliest makes the other one next");
    coir_wheel_remove(&wheel, &timers[1]);
    EQ(coir_wheel_next(&wheel), INT64_MAX, "removing the last one leaves nothing");
}

/* 100 timers in one slot of 65,536 ns, [131072, 196608): more than coir_wheel_next looks at. */
static void test_bound(void)
{
    static struct coir_timer timers[100];
    int64_t now = 131072, next;
    int turns = 0;

    if (COIR_TORTURED) {
        SKIP("coir_wheel_next looks at fewer, and slots are smaller");
        return;
    }
    coir_wheel_init(&wheel, 5);
    for (int i = 0; i < 100; i++)
        coir_wheel_add(&wheel, &timers[i], 190000 - i);
    coir_wheel_remove(&wheel, &timers[99]);
    EQ(coir_wheel_next(&wheel), 131072, "of a crowded slot its start is the answer");
    EQ(coir_wheel_next_exact(&wheel), 189902, "the exact answer looks at all");
    EQ(coir_wheel_next(&wheel), 189902, "and is remembered");
    coir_wheel_remove(&wheel, &timers[98]);
    for (; coir_wheel_pop(&wheel, now) == NULL; now = next) {
        next = coir_wheel_next(&wheel);
        if (next <= now || ++turns > 3)
            break;
    }
    OK(turns <= 2, "waking at the bounds takes 2 turns at most");
    EQ(now, 189903, "and ends at the earliest deadline");
    EQ(timers[97].at, 189903, "which is the one of number 97");
    OK(!coir_timer_armed(&timers[97]), "which has fired");
}

/* Once the earliest has gone, 64 timers share the slot [131072, 196608): as many as coir_wheel_next looks
 * at. */
static void test_exact_up_to_64(void)
{
    static struct coir_timer timers[65];

    if (COIR_TORTURED) {
        SKIP("coir_wheel_next looks at fewer, and slots are smaller");
        return;
    }
    coir_wheel_init(&wheel, 0);
    coir_wheel_add(&wheel, &timers[0], 131072);
    for (int i = 1; i < 65; i++)
        coir_wheel_add(&wheel, &timers[i], 131072 + 500 - i);
    coir_wheel_remove(&wheel, &timers[0]);
    EQ(coir_wheel_next(&wheel), 131508, "of 64 timers in a slot the earliest is found");
}

/* ---- beside the model ---- */

enum { MANY = 1500 };

struct model {
    struct coir_timer timers[MANY];
    bool armed[MANY];
    int64_t at[MANY];
    uint64_t sequence[MANY];
    uint64_t next_sequence;
    size_t count;
};

static struct model model;
static uint64_t random_state;

static uint64_t random64(void)
{
    uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* The index of the earliest timer, by deadline, then by age; -1 for none. */
static int model_first(void)
{
    int first = -1;

    for (int i = 0; i < MANY; i++)
        if (model.armed[i] &&
            (first < 0 || model.at[i] < model.at[first] ||
             (model.at[i] == model.at[first] && model.sequence[i] < model.sequence[first])))
            first = i;
    return first;
}

/* A deadline: of any magnitude ahead, on a border of slots, equal to another one, or in the past. */
static int64_t random_deadline(int64_t now)
{
    uint64_t kind = random64() % 10;
    unsigned bits = (unsigned)(random64() % 63);
    int64_t ahead = (int64_t)(random64() >> (63 - bits) >> 1);

    if (kind == 0)
        return model.at[random64() % MANY];
    if (kind == 1)
        return now - (int64_t)(random64() % 3000);
    if (kind == 2) {
        int64_t border = (int64_t)((((uint64_t)now >> bits) + 1) << bits) - (int64_t)(random64() % 2);

        return border > now ? border : now;
    }
    if (kind < 7)
        ahead &= 0xfffff;
    return ahead > INT64_MAX - now ? INT64_MAX : now + ahead;
}

static void random_add(int64_t now)
{
    int i = (int)(random64() % MANY);

    if (model.armed[i])
        return;
    model.at[i] = random_deadline(now);
    model.armed[i] = true;
    model.sequence[i] = model.next_sequence++;
    model.count++;
    memset(&model.timers[i], 0xA5, sizeof model.timers[i]);
    coir_wheel_add(&wheel, &model.timers[i], model.at[i]);
}

static void random_remove(void)
{
    int i = (int)(random64() % MANY);

    if (!model.armed[i])
        return;
    model.armed[i] = false;
    model.count--;
    coir_wheel_remove(&wheel, &model.timers[i]);
}

/* Pops what is due, at most `limit`; false when wheel and model disagree. */
static bool pop_due(int64_t now, int limit)
{
    for (; limit > 0; limit--) {
        int expected = model_first();

        if (expected >= 0 && model.at[expected] > now)
            expected = -1;
        if (pop_index(model.timers, now) != expected)
            return false;
        if (expected < 0)
            return coir_wheel_next(&wheel) > now || now == INT64_MAX;
        if (coir_timer_armed(&model.timers[expected]))
            return false;
        model.armed[expected] = false;
        model.count--;
    }
    return true;
}

static bool next_agrees(void)
{
    int first = model_first();
    int64_t expected = first < 0 ? INT64_MAX : model.at[first];
    int64_t bound = coir_wheel_next(&wheel);

    if (bound > expected)
        return false;
    return random64() % 2 == 0 || coir_wheel_next_exact(&wheel) == expected;
}

/* How far time goes: mostly little, sometimes to the next deadline, sometimes far. */
static int64_t random_step(int64_t now)
{
    uint64_t kind = random64() % 8;
    int64_t step = (int64_t)(random64() >> (34 + random64() % 30));
    int first = model_first();

    if (kind == 0)
        return now;
    if (kind < 4 && first >= 0)
        return model.at[first] > now ? model.at[first] : now;
    return step > INT64_MAX - now ? INT64_MAX : now + step;
}

static void test_random(uint64_t seed)
{
    int64_t now = (int64_t)(seed * 12345 % 100000);
    int steps = 0;
    bool good = true;

    NOTE("COIR_SEED=%" PRIu64, seed);
    random_state = seed;
    memset(&model, 0, sizeof model);
    coir_wheel_init(&wheel, now);
    for (; good && steps < 3000; steps++) {
        uint64_t adds = random64() % (steps % 500 < 50 ? 200 : 4), removes = random64() % 4;

        for (; adds > 0; adds--)
            random_add(now);
        for (; removes > 0; removes--)
            random_remove();
        good = next_agrees();
        now = random_step(now);
        good = good && pop_due(now, random64() % 4 == 0 ? 3 : MANY) && wheel.count == model.count;
    }
    EQ(steps, 3000, "random operations agree with the model, seed %" PRIu64, seed);
    OK(good && pop_due(INT64_MAX, MANY + 1), "all that is left fires in order");
    EQ(wheel.count, 0, "and nothing stays");
}

int main(void)
{
    const char *seed = getenv("COIR_SEED");

    test_empty();
    test_one();
    test_levels();
    test_fifo();
    test_past();
    test_rearm();
    test_remove();
    test_bound();
    test_exact_up_to_64();
    if (seed != NULL)
        test_random(strtoull(seed, NULL, 0));
    else
        for (uint64_t i = 1; i <= 5; i++)
            test_random(i);
    return DONE();
}
