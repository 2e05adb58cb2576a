/* SPDX-License-Identifier: MIT */
/*
 * What a row of the table is, and the rows that operations of one sort share. A row says what is there before, what
 * happens when, and what POSIX, or coir's own headers where they say more, want the outcome to be; none of it was
 * copied from a run. What a row does not name is zero: success, nothing moved, nothing left over.
 */
#ifndef COIR_TESTS_AGREE_ROWS_H
#define COIR_TESTS_AGREE_ROWS_H

#include "world.h"

enum when {
    AT_ONCE,                         /* nothing happens to it */
    BEFORE,                          /* its group is cancelled before it begins */
    LATER,                           /* `act` while it waits */
    DURING,                          /* cancelled while it waits */
    AFTER,                           /* `act` while it waits, and cancelled before the kernel was asked again */
    ENDED,                           /* `act`, it ends, then it is cancelled */
    QUICKLY,                         /* cancelled as soon as it has begun */
    CLOSING,                         /* coir_close of its descriptor while it waits */
    PARTLY,                          /* `act` while it waits, then cancelled while it waits for more */
};

struct row {
    const char *what;
    enum fixture fixture;
    enum wrong wrong;
    enum act before, act;
    enum when when;
    size_t len;
    bool null;                       /* the buffer, or what stands for it */
    int flags;
    int64_t offset, deadline;        /* ns from when it begins; 0: none */
    const char *text;

    int status;
    int64_t result;
    const char *buf;                 /* NULL: untouched */
    long long in, out;               /* see seen_of_descriptors */
    bool either;                     /* or -ECANCELED, and nothing was done */
    bool unsaid;                     /* POSIX does not say: only that the planes agree */
};

#define SOON (3 * COIR_MS)
#define PAST (-1)

/* Operations that wait for "hello" and take it. */
#define TAKES .result = 5, .buf = "hello"
#define INPUT(on, n) \
    { "it is there", on, .before = SEND5, .len = n, TAKES }, \
    { "it comes", on, .len = n, .when = LATER, .act = SEND5, TAKES }, \
    { "cancelled before", on, .len = n, .when = BEFORE, .status = -ECANCELED }, \
    { "cancelled before, it is there", on, .before = SEND5, .len = n, .when = BEFORE, TAKES }, \
    { "cancelled", on, .len = n, .when = DURING, .status = -ECANCELED }, \
    { "cancelled at once", on, .len = n, .when = QUICKLY, .status = -ECANCELED }, \
    { "cancelled as it comes", on, .len = n, .when = AFTER, .act = SEND5, TAKES }, \
    { "cancelled when it has ended", on, .len = n, .when = ENDED, .act = SEND5, TAKES }, \
    { "deadline", on, .len = n, .deadline = SOON, .status = -ETIMEDOUT }, \
    { "deadline in the past", on, .len = n, .deadline = PAST, .status = -ETIMEDOUT }, \
    { "deadline in the past, it is there", on, .before = SEND5, .len = n, .deadline = PAST, TAKES }, \
    { "descriptor is closed", on, .len = n, .when = CLOSING, .status = -ECANCELED }, \
    { "NULL", on, .before = SEND5, .len = n, .null = true, .status = -EFAULT, .in = 5 }, \
    { "-1", on, .wrong = NEGATIVE, .len = n, .status = -EBADF }, \
    { "a closed descriptor", on, .wrong = CLOSED, .len = n, .status = -EBADF }

/* Operations that want room for "hello" and send it. */
#define SENDS .result = 5, .out = 5
#define OUTPUT(on, n) \
    { "there is room", on, .len = n, .text = "hello", SENDS }, \
    { "room comes", on, .before = BLOCK, .len = n, .text = "hello", .when = LATER, .act = DRAIN, SENDS }, \
    { "cancelled before, there is room", on, .len = n, .text = "hello", .when = BEFORE, SENDS }, \
    { "cancelled before", on, .before = BLOCK, .len = n, .text = "hello", .when = BEFORE, .status = -ECANCELED }, \
    { "cancelled", on, .before = BLOCK, .len = n, .text = "hello", .when = DURING, .status = -ECANCELED }, \
    { "cancelled as room comes", on, .before = BLOCK, .len = n, .text = "hello", .when = AFTER, .act = DRAIN, \
      SENDS }, \
    { "cancelled when it has ended", on, .before = BLOCK, .len = n, .text = "hello", .when = ENDED, .act = DRAIN, \
      SENDS }, \
    { "deadline", on, .before = BLOCK, .len = n, .text = "hello", .deadline = SOON, .status = -ETIMEDOUT }, \
    { "deadline in the past", on, .before = BLOCK, .len = n, .text = "hello", .deadline = PAST, \
      .status = -ETIMEDOUT }, \
    { "deadline in the past, there is room", on, .len = n, .text = "hello", .deadline = PAST, SENDS }, \
    { "descriptor is closed", on, .before = BLOCK, .len = n, .text = "hello", .when = CLOSING, .status = -ECANCELED }, \
    { "NULL", on, .len = n, .null = true, .status = -EFAULT }, \
    { "-1", on, .wrong = NEGATIVE, .len = n, .text = "hello", .status = -EBADF }, \
    { "a closed descriptor", on, .wrong = CLOSED, .len = n, .text = "hello", .status = -EBADF }

/* Operations on files, by what more a row of them needs and by what they do when they do it. */
#define ON_DISK(on, needs, does) \
    { "success", on, needs, does }, \
    { "cancelled before", on, needs, .when = BEFORE, .status = -ECANCELED }, \
    { "cancelled at once", on, needs, .when = QUICKLY, does, .either = true }, \
    { "cancelled when it has ended", on, needs, .when = ENDED, does }, \
    { "deadline in the past", on, needs, .deadline = PAST, .status = -ETIMEDOUT }

#define NO_DESCRIPTOR(needs) \
    { "-1", FILES, .wrong = NEGATIVE, needs, .status = -EBADF }, \
    { "a closed descriptor", FILES, .wrong = CLOSED, needs, .status = -EBADF }

#define ALL(...) __VA_ARGS__         /* commas within one argument */

#endif
