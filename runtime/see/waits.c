/* SPDX-License-Identifier: MIT */
/*
 * What a leaf waits for, by the name that its operation has in the manual. It reads the frame and changes nothing.
 */
#include <coir/cell.h>
#include <coir/channel.h>
#include <coir/combine.h>
#include <coir/lock.h>
#include <coir/net.h>
#include <coir/offload.h>
#include <coir/select.h>
#include <coir/signal.h>
#include <coir/sync.h>
#include <coir/time.h>

#include "runtime/plane/plane.h"
#include "runtime/see/census.h"

/* Those that wait for something else than the kernel. */
#define OPERATIONS(X) \
    X(coir_acquire) X(coir_barrier_wait) X(coir_cell_wait) X(coir_channel_recv) X(coir_channel_send) \
    X(coir_condition_wait) X(coir_event_wait) X(coir_group_spawn) X(coir_group_wait) X(coir_lock) X(coir_offload) \
    X(coir_once_begin) X(coir_resolve) X(coir_select) X(coir_signal_next) X(coir_sleep) X(coir_sleep_until) \
    X(coir_xchan_recv) X(coir_xchan_send)

static const struct operation {
    coir_step (*body)(struct coir_task *);
    const char *name;
} operations[] = {
#define ROW(name) { name##_resume, #name },
    OPERATIONS(ROW)
};

static const char *combinator(const struct coir_combine *op)
{
    return op->how == COIR_ALL ? "coir_all" : op->how == COIR_ANY ? "coir_any" : "coir_race";
}

const char *coir_wait_name(const struct coir_task *leaf)
{
    if (leaf->abort == coir_io_abort)
        return ((const struct coir_io *)leaf->waits_for)->kind->name;
    if (coir_is_away(leaf))
        return "coir_await_on";
    if (leaf->state == 0 || leaf->state == COIR_LEFT_)
        return NULL;
    if (leaf->body == coir_combine_resume)
        return combinator((const struct coir_combine *)leaf);
    if (leaf->body == coir_cell_wait_resume)         /* that of a cell in a frame has no abort */
        return "coir_cell_wait";
    if (leaf->body == coir_condition_wait_resume && coir_link_in_list(&((const struct coir_lock *)leaf)->link))
        return "coir_condition_wait";                /* for the mutex it has none either */
    for (size_t i = 0; leaf->abort && i < sizeof operations / sizeof *operations; i++) {
        if (leaf->body == operations[i].body)
            return operations[i].name;
    }
    return leaf->abort ? "coir" : NULL;              /* the library's own, without a name */
}
