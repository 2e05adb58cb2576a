/* SPDX-License-Identifier: MIT */
/*
 * A channel of one shard against a model of it: random sends, receives, cancellations and closings, several in one step
 * now and then. After each the model says what has become of every operation. The seed is printed.
 */
#include "channel_test.h"

/* The model knows a channel by three lists of numbers: of the parked senders, of the parked receivers, of the
 * items queued. It says of each operation what has to become of it. */
enum { LIVES = 64, MOVES = 3000 };

struct list {
    int n, at[LIVES + 8];
};

static int shift(struct list *l)
{
    const int first = l->at[0];

    memmove(l->at, l->at + 1, (size_t)--l->n * sizeof *l->at);
    return first;
}

static void append(struct list *l, int what)
{
    l->at[l->n++] = what;
}

static bool erase(struct list *l, int what)
{
    for (int i = 0; i < l->n; i++) {
        if (l->at[i] == what) {
            memmove(l->at + i, l->at + i + 1, (size_t)(--l->n - i) * sizeof *l->at);
            return true;
        }
    }
    return false;
}

struct model {
    struct list senders, receivers, queued;
    int capacity;
    bool closed;
    struct outcome want[LIVES];         /* by number of the operation */
    long item[LIVES];
};

static int model_put(struct model *m, int item)
{
    if (m->closed)
        return -EPIPE;
    if (m->receivers.n) {
        m->want[shift(&m->receivers)] = (struct outcome){ .status = 0, .got = true, .item = item, .ended = 1 };
        return 0;
    }
    if (m->queued.n == m->capacity)
        return -EAGAIN;
    append(&m->queued, item);
    return 0;
}

static int model_take(struct model *m, long *item)
{
    int from;

    if (m->queued.n) {
        *item = shift(&m->queued);
        if (m->senders.n) {
            from = shift(&m->senders);
            append(&m->queued, (int)m->item[from]);
            m->want[from] = (struct outcome){ .status = 0, .ended = 1 };
        }
        return 0;
    }
    if (m->senders.n) {
        from = shift(&m->senders);
        *item = m->item[from];
        m->want[from] = (struct outcome){ .status = 0, .ended = 1 };
        return 0;
    }
    return m->closed ? -EPIPE : -EAGAIN;
}

static void model_close(struct model *m)
{
    m->closed = true;
    while (m->senders.n)
        m->want[shift(&m->senders)] = (struct outcome){ .status = -EPIPE, .ended = 1 };
    while (m->receivers.n)
        m->want[shift(&m->receivers)] = (struct outcome){ .status = 0, .item = -1, .ended = 1 };
}

struct random_row {
    coir_frame_void;
    coir_args(uint64_t seed; int capacity;);
    uint64_t state;
    struct coir_channel c;
    struct coir_group group;
    struct model model;
    struct outcome out[LIVES];
    int used, move, wrong;
    struct rest rest;
    struct coir_group_wait wait;
};
static coir_declare(random_row);

/* One operation of a task's, which has had its turn when the model is asked. */
static void new_sender(struct random_row *f)
{
    const int n = f->used++;
    int r;

    f->model.item[n] = 1000 * f->move + n;
    f->out[n] = (struct outcome){ .status = 1, .item = -1 };
    coir_spawn(&f->group, coir_new(sender, .channel = &f->c, .item = f->model.item[n], .out = &f->out[n]));
    r = model_put(&f->model, (int)f->model.item[n]);
    f->model.want[n] = (struct outcome){ .status = r, .item = -1, .ended = r != -EAGAIN };
    if (r == -EAGAIN)
        append(&f->model.senders, n);
}

static void new_receiver(struct random_row *f)
{
    const int n = f->used++;
    long item = -1;
    int r;

    f->out[n] = (struct outcome){ .status = 1, .item = -1 };
    coir_spawn(&f->group, coir_new(receiver, .channel = &f->c, .out = &f->out[n]));
    r = model_take(&f->model, &item);
    f->model.want[n] = (struct outcome){ .got = r == 0, .item = item, .ended = r != -EAGAIN };
    if (r == -EAGAIN)
        append(&f->model.receivers, n);
}

/* What a driver can do to the channel at once, without a task: the model has to agree on the spot. */
static void plain_move(struct random_row *f)
{
    long item = 1000 * f->move + 999, want = -1, got = -1;

    if (draw(&f->state) % 2) {
        f->wrong += coir_channel_try_send(&f->c, &item) != model_put(&f->model, (int)item);
    } else {
        f->wrong += coir_channel_try_recv(&f->c, &got) != model_take(&f->model, &want);
        f->wrong += got != want;
    }
}

/* Whatever operation, parked or not: only a parked one minds. */
static void cancel_some(struct random_row *f)
{
    const int n = (int)(draw(&f->state) % (unsigned)(f->used ? f->used : 1));

    if (!f->used || f->out[n].ended || !f->out[n].scope)
        return;
    coir_scope_cancel(f->out[n].scope);
    if (erase(&f->model.senders, n) || erase(&f->model.receivers, n))
        f->model.want[n] = (struct outcome){ .status = -ECANCELED, .item = -1, .ended = 1 };
}

static void compare(struct random_row *f)
{
    for (int n = 0; n < f->used; n++) {
        const struct outcome *want = &f->model.want[n], *is = &f->out[n];
        if (!want->ended != !is->ended) {
            f->wrong++;
            continue;
        }
        if (is->ended)
            f->wrong += is->status != want->status || is->got != want->got || (want->got && is->item != want->item);
    }
    f->wrong += coir_channel_queued(&f->c) != (size_t)f->model.queued.n;
}

/* Several at once now and then: hand-overs, cancellations and closing then meet in one step. */
static void plain_moves(struct random_row *f)
{
    do {
        if (draw(&f->state) % 3)
            plain_move(f);
        else
            cancel_some(f);
    } while (draw(&f->state) % 3);
    if (draw(&f->state) % 500 == 0) {
        coir_channel_close(&f->c);
        model_close(&f->model);
    }
}

coir_body(random_row, f) {
    f->state = f->seed;
    f->wrong = 0;
    f->move = 0;
    while (f->move < MOVES && f->wrong == 0) {
        memset(&f->model, 0, sizeof f->model);
        f->model.capacity = f->capacity;
        f->used = 0;
        coir_channel_init(&f->c, sizeof(long), (size_t)f->capacity);
        coir_group_open(f, &f->group);
        while (f->used < LIVES && f->move < MOVES && f->wrong == 0) {
            f->move++;
            if (draw(&f->state) % 2)
                plain_moves(f);
            else if (draw(&f->state) % 2)
                new_sender(f);
            else
                new_receiver(f);
            coir_await(f, &f->rest, rest);
            compare(f);
        }
        coir_channel_close(&f->c);
        model_close(&f->model);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        compare(f);
        coir_channel_destroy(&f->c);
    }
    EQ(f->wrong, 0, "%d random moves on a channel of %d, as the model has them (the last was %d)", MOVES, f->capacity,
       f->move);
} coir_end

int main(void)
{
    const uint64_t start = seed();

    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    for (int capacity = 0; capacity < 4; capacity++)
        run_one("random", coir_new(random_row, .seed = start + (uint64_t)capacity, .capacity = capacity));
    return DONE();
}
