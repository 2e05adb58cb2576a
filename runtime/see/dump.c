/* SPDX-License-Identifier: MIT */
/*
 * coir_dump: every task of a shard, who awaits whom, and what the leaves wait for. It reads frames and
 * changes nothing; it may be called from a body, so the running task's chain ends where it runs.
 *
 * Once the stream has failed nothing more is looked at: a window's has only so much room.
 *
 * Groups nest: the list of those still to be printed is walked with an indent, by recursion that is bounded,
 * since output deeper than that would not be read.
 */
#include <coir/cell.h>
#include <coir/combine.h>
#include <coir/context.h>
#include <coir/see.h>
#include <coir/time.h>

#include "runtime/base/clock.h"
#include "runtime/ops/process.h"
#include "runtime/ops/signal.h"
#include "runtime/plane/plane.h"
#include "runtime/see/crowd.h"
#include "runtime/shard/run.h"
#include "runtime/sync/dump.h"

enum { DEEPEST = 32 };

static void print_group(FILE *to, const struct coir_group *g, int indent);
static void print_chain(FILE *to, const struct coir_task *t, const struct coir_scope *s, int indent);

static void print_leaf(FILE *to, const struct coir_task *t)
{
    if (t->abort == coir_io_abort) {
        const struct coir_io *io = t->waits_for;
        fprintf(to, "waits in %s on fd %d", io->kind->name, io->fd);
    } else if (t->body == coir_sleep_resume || t->body == coir_sleep_until_resume) {
        const struct coir_sleep_until *op = (const struct coir_sleep_until *)t;
        fprintf(to, "sleeps for another %.3f s", (double)(op->alarm.timer.at - coir_now()) / 1e9);
    } else if (t->body == coir_cell_wait_resume) {
        fprintf(to, "waits for a cell at %p", t->waits_for);
    } else if (t->body == coir_group_wait_resume) {
        fprintf(to, "waits for a group of %u", ((const struct coir_group_wait *)t)->group->live);
    } else if (t->body == coir_group_spawn_resume) {
        fprintf(to, "waits for a place in a group of %u", ((const struct coir_group_spawn *)t)->group->limit);
    } else if (!coir_dump_away(to, t) && !coir_dump_signals(to, t) && !coir_dump_wait(to, t)) {
        fprintf(to, t->state == 0 ? "is ready to begin" : t->site && !t->abort ? "runs, or is ready to" : "waits");
    }
}

/* What a combinator waits for. */
static void print_kids(FILE *to, const struct coir_combine *op, int indent)
{
    struct coir_crowd crowd = { .n = 0 };

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < op->n; i++) {
            const struct coir_task *kid = op->kids[i];
            if (!kid || (kid->flags & COIR_TASK_LAZY_) || kid->state == COIR_LEFT_)
                continue;
            if (pass == 0)
                coir_crowd_add(&crowd, NULL, kid);
            else if (coir_crowd_shows(&crowd, NULL, kid)) {
                print_chain(to, kid, &op->scope, indent);
                coir_crowd_more(to, &crowd, NULL, kid, indent);
            }
        }
    }
    coir_crowd_rest(to, &crowd, indent);
}

static void print_groups_of(FILE *to, const struct coir_scope *s, int indent)
{
    for (const struct coir_group *g = s->groups; g && !ferror(to); g = g->next)
        print_group(to, g, indent);
}

static void print_deadline(FILE *to, const struct coir_scope *s)
{
    if (s->cancelled)
        fprintf(to, ", cancelled");
    else if (s->kind == COIR_SCOPE_AWAIT_ && s->alarm.timer.next)
        fprintf(to, ", deadline in %.3f s", (double)(s->alarm.timer.at - coir_now()) / 1e9);
}

/* What is bound from scope `outer` inwards to `inner`, innermost first. */
static void print_context(FILE *to, const struct coir_scope *inner, const struct coir_scope *outer)
{
    const struct coir_context *const end = outer ? outer->context : NULL;

    for (const struct coir_context *c = inner->context; c && c != end; c = c->outer) {
        if (!c->key->name)
            continue;
        fprintf(to, ", %s", c->key->name);
        if (c->key->print) {
            fputc(' ', to);
            c->key->print(to, c->value);
        }
    }
}

/* From a task down to its leaf: one line a task with a site, the leaf's wait behind the last. */
static void print_chain(FILE *to, const struct coir_task *t, const struct coir_scope *s, int indent)
{
    if (indent > 4 * DEEPEST) {
        fprintf(to, "%*s...\n", indent, "");
        return;
    }
    for (;; t = t->awaiting) {
        const struct coir_task *next = t->awaiting;
        const bool leaf = !next || (!next->awaiting && !next->site && next->body != coir_combine_resume);

        if (t->site)
            fprintf(to, "%*s%s at %s:%u%s", indent, "", t->site->task, t->site->file, t->site->line,
                    t->flags & COIR_TASK_FINALLY_ ? " in coir_finally" : "");
        else
            fprintf(to, "%*s-", indent, "");
        if (t->scope && t->scope != s) {
            print_deadline(to, t->scope);
            print_context(to, t->scope, s);
        }
        if (leaf) {
            fprintf(to, ": ");
            print_leaf(to, next ? next : t);
        }
        fprintf(to, "\n");
        if (t->scope && t->scope != s)
            print_groups_of(to, t->scope, indent + 4);
        s = t->scope;
        if (leaf)
            return;
        indent += 2;
        if (next->body == coir_combine_resume) {
            print_kids(to, (const struct coir_combine *)next, indent);
            return;
        }
    }
}

static const struct coir_task *member(const struct coir_birth *b)
{
    return (const struct coir_task *)(b + 1);
}

/* Of many that say the same one is printed, and their number: who looks for what fans out finds the line. */
static void print_members(FILE *to, const struct coir_group *g, int indent)
{
    struct coir_crowd crowd = { .n = 0 };

    for (const struct coir_birth *b = g->first; b; b = b->next)
        coir_crowd_add(&crowd, b->site, member(b));
    for (const struct coir_birth *b = g->first; b && !ferror(to); b = b->next) {
        if (!coir_crowd_shows(&crowd, b->site, member(b)))
            continue;
        fprintf(to, "%*s%s, spawned at %s:%u\n", indent, "", b->site->task, b->site->file, b->site->line);
        print_chain(to, member(b), &g->scope, indent + 2);
        coir_crowd_more(to, &crowd, b->site, member(b), indent);
    }
    coir_crowd_rest(to, &crowd, indent);
}

static void print_group(FILE *to, const struct coir_group *g, int indent)
{
    if (g->opener) {
        fprintf(to, "%*sgroup of %u, opened by %s%s:\n", indent, "", g->live,
                g->opener->site ? g->opener->site->task : "a task", g->scope.cancelled ? ", cancelled" : "");
        indent += 2;
    }
    print_members(to, g, indent);
    print_groups_of(to, &g->scope, indent + 2);
}

/* What runs here for other shards. */
static void print_guests(FILE *to, const struct coir_shard *s)
{
    struct coir_crowd crowd = { .n = 0 };

    for (const struct coir_guest *g = s->guests; g; g = g->next)
        coir_crowd_add(&crowd, NULL, g->task);
    for (const struct coir_guest *g = s->guests; g; g = g->next) {
        if (!coir_crowd_shows(&crowd, NULL, g->task))
            continue;
        fprintf(to, "  awaited by shard %u\n", g->home);
        print_chain(to, g->task, NULL, 4);
        coir_crowd_more(to, &crowd, NULL, g->task, 2);
    }
    coir_crowd_rest(to, &crowd, 2);
}

void coir_dump(FILE *to)
{
    struct coir_shard *s = coir_shard_here();

    if (!s) {
        fprintf(to, "coir: no shard runs on this thread\n");
        return;
    }
    fprintf(to, "shard %u (%s): %u tasks in the root group, %zu timers, %u operations in flight\n", s->id,
            s->plane->kind->name, s->root.live, s->wheel.count, s->plane->in_flight);
    print_group(to, &s->root, 2);
    print_guests(to, s);
    coir_children_dump(to, s);
}
