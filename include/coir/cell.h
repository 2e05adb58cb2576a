/* SPDX-License-Identifier: MIT */
/*
 * coir/cell.h - a one-shot result, completed from any thread.
 *
 * A cell has two parties: one that completes it and one that awaits it. One in a frame or another object of
 * the caller's has a stable address and is awaited until it is completed or revoked: that wait ignores
 * cancellation, since the other party holds a pointer to it. A counted one (coir_cell_new) either side may
 * leave at any time. Instead of an awaiter a cell may have a callback, which runs inline on the completing
 * thread and cannot suspend.
 *
 * Completing a cell twice, and destroying one that is awaited, stop the program and name both places.
 */
#ifndef COIR_CELL_H
#define COIR_CELL_H

#include <coir/task.h>

#ifdef __cplusplus
extern "C" {
#endif
# 22 "coir/cell.h"

/* A cell, in memory of the caller's or of coir_cell_new. The members are private. */
struct coir_cell {
    void *letter[2];                  /* a struct coir_letter: the way into the home shard's inbox */
    struct coir_task *waiter;
    struct coir_shard *home;
    void (*call)(struct coir_cell *, void *);
    void *arg;
    const struct coir_site *completed;   /* by whom, for the message about the second time */
    int64_t value;
    int status;
    uint16_t state;                   /* atomic: empty, awaited, called, done, revoked */
    uint16_t references;              /* atomic; 0: not of coir_cell_new */
};

/* Makes an empty cell, in memory of the caller's. Any thread; before anybody else knows the address. */
COIR_API void coir_cell_init(struct coir_cell *c);

/* A counted cell with two references, one for each party; NULL without memory. Each party leaves it with
 * coir_cell_drop. */
COIR_API struct coir_cell *coir_cell_new(void) __attribute__((warn_unused_result));

/* One party leaves a counted cell; completing it afterwards is allowed to the other. Any thread. */
COIR_API void coir_cell_drop(struct coir_cell *c);

/* Completes the cell with a status (0 or a negative errno) and a value. Wakes the awaiter on its home
 * shard, or runs the callback here. 0; or -ECANCELED when it was revoked: then nobody takes the value.
 * Any thread; on a shard costs no system call, towards a sleeping shard one. After it returns the cell
 * may be gone. */
#define coir_cell_complete(c, status, value) __extension__({ \
    static const struct coir_site coir_cell_site_ = { __func__, __FILE__, __LINE__ }; \
    coir_cell_complete_(c, status, value, &coir_cell_site_); })
COIR_API int coir_cell_complete_(struct coir_cell *c, int status, int64_t value, const struct coir_site *site);

/* Takes the cell back, atomically: true, and it will never be completed (its awaiter says -ECANCELED);
 * false, and it has been completed already. Any thread. */
COIR_API bool coir_cell_revoke(struct coir_cell *c);

/* Sets a callback instead of an awaiter; it may still be running when coir_cell_revoke has said that the
 * cell is complete: whoever owns the cell keeps it until it has run. It runs at once, here, if the cell is
 * complete already. One party, once. */
COIR_API void coir_cell_call(struct coir_cell *c, void (*call)(struct coir_cell *, void *arg), void *arg);

/* True when completed. Any thread. */
COIR_API bool coir_cell_done(const struct coir_cell *c);

/* Ends the life of a cell in memory of the caller's. Stops the program if it is awaited. Never needed
 * for one that was completed and awaited. */
#define coir_cell_destroy(c) do { \
    static const struct coir_site coir_cell_site_ = { __func__, __FILE__, __LINE__ }; \
    coir_cell_destroy_(c, &coir_cell_site_); \
    } while (0)
COIR_API void coir_cell_destroy_(struct coir_cell *c, const struct coir_site *site);

/* Waits for a cell. The status is the one it was completed with, the result its value; -ECANCELED when
 * revoked, or, for a counted cell only, when the wait was cancelled. -EINVAL if another task awaits it. An arm of
 * coir_select waits for either sort, and takes itself back when it is not taken. */
struct coir_cell_wait {
    coir_frame(int64_t);
    coir_args(struct coir_cell *cell;);
};
coir_export(coir_cell_wait);

#ifdef __cplusplus
}
#endif
#endif
