/* SPDX-License-Identifier: MIT */
/*
 * coir/group.h - no task without an owner.
 *
 * A group owns what is spawned into it. It lives in the frame of the task that opens it; leaving it is an
 * await (coir_group_wait) that returns when every member has ended. The first member to fail cancels the
 * others, and is what the wait returns. A body that ends while it owns an open group stops the program.
 *
 * Everything here is called on the shard of the task that opened the group.
 */
#ifndef COIR_GROUP_H
#define COIR_GROUP_H

#include <coir/scope.h>

#ifdef __cplusplus
extern "C" {
#endif
# 20 "coir/group.h"

/* A place in a line of waiters. Private. */
#ifndef COIR_LINK_DECLARED
#define COIR_LINK_DECLARED
struct coir_link {
    struct coir_link *prev, *next;
};
#endif

struct coir_birth;

/* A group, in the frame of the task that opens it. The members are private. */
struct coir_group {
    struct coir_scope scope;            /* cancelling it cancels the members */
    struct coir_task *opener;
    struct coir_group *next, **link;    /* among the groups of the outer scope */
    struct coir_birth *first, *last;    /* members */
    struct coir_task *waiter;           /* the coir_group_wait */
    struct coir_link spawners;          /* coir_group_spawn at the limit, oldest first */
    const struct coir_site *site;       /* where it was opened */
    uint32_t live;                      /* members that have not ended */
    uint32_t limit;                     /* at most so many live */
    int status;                         /* the first failure */
    struct coir_shard *home;            /* while it is open */
    struct coir_link all;               /* among the open groups of that */
    uint8_t closing, keep_going;
    uint8_t late;                       /* opened in coir_finally: for the cleaning up itself */
};

/* What coir_group_open may be told. */
struct coir_group_options {
    uint32_t limit;                     /* 0: no limit */
    /* a member that fails cancels nobody, and the wait does not return it: connections of a server */
    bool keep_going;
};

/* coir_group_open(f, group, .limit = n) - opens `group`, memory in the frame of `f`. Never suspends,
 * never fails. It has to be left by coir_group_wait, on every path: in coir_finally, where there is one. */
#ifndef __cplusplus
#define coir_group_open(f, group, ...) __extension__({ \
    static const struct coir_site coir_site_ = { __func__, __FILE__, __LINE__ }; \
    coir_group_open_(&(f)->task, group, (struct coir_group_options){ __VA_ARGS__ }, &coir_site_); })
#endif
COIR_API void coir_group_open_(struct coir_task *opener, struct coir_group *g, struct coir_group_options o,
                               const struct coir_site *site);

/*
 * Spawns a task of coir_new; it begins at the tail of the run queue, and is freed when it has ended. Never
 * suspends. Takes the frame in every case.
 *   0         it is a member. Also of a cancelled group: it runs, its awaits say -ECANCELED, its finally runs.
 *   -ENOMEM   `t` was NULL
 *   -EAGAIN   the group is at its limit; the frame is gone. coir_group_spawn waits instead.
 * Spawning into a group that is not open, or another shard's, stops the program.
 */
COIR_API int coir_spawn(struct coir_group *g, struct coir_task *t);

/* Cancels the members and whatever they spawn from now on. A member's -ECANCELED is then no failure of
 * the group. */
COIR_API void coir_group_cancel(struct coir_group *g);

/* Gives a task of coir_new to the shard's root group: the only way to outlive the spawner. As coir_spawn;
 * -EINVAL on a thread that is no shard. */
COIR_API int coir_detach(struct coir_task *t);

/* Spawns, waiting for a place first when the group is at its limit. Takes the frame in every case, also
 * when it fails: -ENOMEM for a NULL task, -ECANCELED when cancelled while it waited for a place. */
struct coir_group_spawn {
    coir_frame_void;
    coir_args(struct coir_group *group; struct coir_task *spawn;);
    struct coir_link link;
};
coir_export(coir_group_spawn);

/* Closes the group: returns when every member has ended. Waiting again for a group that was left says the
 * same again, so that a task may wait in its body and, for the paths that did not come there, in its
 * coir_finally. In the coir_finally of a task that failed it cancels them first, unless the group was opened
 * there too. The status is the first failure of a member; without one, -ECANCELED if the wait itself was
 * cancelled, which cancels the members and still waits for their end; or 0. */
struct coir_group_wait {
    coir_frame_void;
    coir_args(struct coir_group *group;);
};
coir_export(coir_group_wait);

#ifdef __cplusplus
}
#endif
#endif
