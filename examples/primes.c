/* SPDX-License-Identifier: MIT */
/*
 * primes - a generator in a plain for.
 *
 * `primes LIMIT` prints the primes up to LIMIT, one a line. A generator is a task that yields: its caller,
 * plain C, pulls one value after the other with coir_next and needs no shard. One generator may pull from
 * another; here `primes` draws its candidates from `wheel`, which lives in its frame.
 */
#include <coir/coir.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Yields 2, 3, and then, for ever, the numbers that neither divides. */
struct wheel {
    coir_frame(uint64_t);
    coir_no_args;
    uint64_t n;
};
static coir_declare(wheel);

coir_body(wheel, f) {
    coir_yield(f, 2);
    coir_yield(f, 3);
    for (f->n = 6;; f->n += 6) {
        coir_yield(f, f->n - 1);
        coir_yield(f, f->n + 1);
    }
} coir_end

/* True for a number of the wheel that no smaller number of the wheel divides. */
static bool is_prime(uint64_t n)
{
    struct wheel divisors;
    coir_make(&divisors, wheel);
    while (coir_next(&divisors) && divisors.result <= n / divisors.result)
        if (n % divisors.result == 0)
            return false;
    return true;
}

/* Yields the primes up to `limit`. */
struct primes {
    coir_frame(uint64_t);
    coir_args(uint64_t limit;);
    struct wheel candidates;
};
static coir_declare(primes);

coir_body(primes, f) {
    coir_make(&f->candidates, wheel);
    while (coir_next(&f->candidates) && f->candidates.result <= f->limit)
        if (is_prime(f->candidates.result))
            coir_yield(f, f->candidates.result);
} coir_end

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        printf("usage: primes LIMIT    prints the primes up to LIMIT\n");
        return 0;
    }
    char *end = "?";
    errno = 0;
    const uint64_t limit = argc == 2 ? strtoull(argv[1], &end, 10) : 0;
    if (*end != '\0' || end == argv[1] || errno != 0 || argv[1][0] == '-' || limit > UINT64_MAX - 6) {
        fprintf(stderr, "usage: primes LIMIT    LIMIT is a number\n");
        return 2;
    }

    struct primes prime;
    for (coir_make(&prime, primes, .limit = limit); coir_next(&prime);)
        printf("%llu\n", (unsigned long long)prime.result);
    return 0;
}
