/* SPDX-License-Identifier: MIT */
/*
 * Natives of rand: xoshiro256++ by Blackman and Vigna, one generator a thread, so one a shard, seeded from the system
 * at its first use. Not for secrets: these are rand.bytes', of getrandom.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/random.h>

#include "vm/natives/standard.h"

static __thread uint64_t state[4];
static __thread bool seeded;

static uint64_t rotate(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

/* splitmix64: no seed gives the state of zeros. */
static void seed_with(uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        state[i] = z ^ z >> 31;
    }
    seeded = true;
}

static uint64_t next(void)
{
    uint64_t result, t, seed = 0;

    if (!seeded) {
        if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
            seed = (uint64_t)(uintptr_t)&seed;
        seed_with(seed);
    }
    result = rotate(state[0] + state[3], 23) + state[0];
    t = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= t;
    state[3] = rotate(state[3], 45);
    return result;
}

/* One of 0..n, each as likely: what would favour the first ones is drawn again. */
static uint64_t below(uint64_t n)
{
    uint64_t x = next();
    unsigned __int128 m = (unsigned __int128)x * n;

    while ((uint64_t)m < -n % n) {
        x = next();
        m = (unsigned __int128)x * n;
    }
    return (uint64_t)(m >> 64);
}

static enum coir_native_result rand_int(struct coir_fiber *f, uint64_t *r)
{
    if ((int64_t)r[0] < 1)
        return coir_trap(f, COIR_TRAP_BOUNDS, "there is no number in 0..%" PRId64, (int64_t)r[0]);
    r[0] = below(r[0]);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result rand_float(struct coir_fiber *f, uint64_t *r)
{
    const double d = (double)(next() >> 11) * 0x1p-53;

    (void)f;
    memcpy(r, &d, sizeof d);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result rand_seed(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    seed_with(r[0]);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result rand_shuffle(struct coir_fiber *f, uint64_t *r)
{
    const uint32_t n = coir_param_type(f, 0)->element->slots;
    struct coir_list *l;

    if (!coir_list_own(f->heap, &r[0], 0))
        return coir_trap_memory(f);
    l = coir_list_at(r[0]);
    coir_charge(f, l->len);
    for (size_t i = l->len; i > 1; i--) {
        const size_t k = below(i);

        for (uint32_t s = 0; s < n; s++) {
            const uint64_t slot = l->data[(i - 1) * n + s];

            l->data[(i - 1) * n + s] = l->data[k * n + s];
            l->data[k * n + s] = slot;
        }
    }
    return COIR_NATIVE_DONE;
}

/* getrandom does not wait once the system has booted; up to 256 bytes come whole. */
static enum coir_native_result rand_bytes(struct coir_fiber *f, uint64_t *r)
{
    struct coir_text *t;
    ssize_t n;

    if ((int64_t)r[0] < 0)
        return coir_trap(f, COIR_TRAP_BOUNDS, "%" PRId64 " bytes", (int64_t)r[0]);
    t = r[0] < SIZE_MAX / 4 ? coir_text_new(f->heap, r[0]) : NULL;
    if (!t)
        return coir_trap_memory(f);
    for (size_t at = 0; at < t->len; at += (size_t)n) {
        n = getrandom(t->bytes + at, t->len - at < 256 ? t->len - at : 256, 0);
        if (n < 0 && errno != EINTR) {
            coir_drop(f->heap, &t->head);
            return coir_trap_status(f, -errno, "random bytes");
        }
        n = n < 0 ? 0 : n;
    }
    coir_charge(f, t->len / 8);
    r[0] = coir_slot_of(t);
    return COIR_NATIVE_DONE;
}

static const struct coir_native natives[] = {
    { "rand.int", "fn int(n: Int) -> Int", rand_int },
    { "rand.float", "fn float() -> Float", rand_float },
    { "rand.seed", "fn seed(n: Int)", rand_seed },
    { "rand.shuffle", "fn shuffle[T](mut xs: List[T])", rand_shuffle },
    { "rand.bytes", "fn bytes(n: Int) -> Text", rand_bytes },
};
const struct coir_natives coir_rand_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
