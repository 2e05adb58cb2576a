/* SPDX-License-Identifier: MIT */
/*
 * coir_all, coir_any, coir_race: one leaf that is resumed once for each child that ends.
 *
 * The children run in a scope of the combinator's own, so that losers can be cancelled and outer cancellation
 * passes through. Frames of coir_new are kept until the last child has ended, since their statuses decide the
 * result.
 */
#include "runtime/task/home.h"

static bool has_begun(const struct coir_task *kid)
{
    return kid && !(kid->flags & COIR_TASK_LAZY_) && kid->state != COIR_LEFT_;
}

void coir_combine_each(struct coir_scope *s, struct coir_shard *h, bool final)
{
    const struct coir_combine *op = coir_container_of(s, struct coir_combine, scope);

    for (size_t i = 0; i < op->n; i++) {
        if (has_begun(op->kids[i]))
            coir_stop_kid(h, op->kids[i], s, final);
    }
}

static void combine_abort(struct coir_task *t)
{
    coir_scope_cancel(&((struct coir_combine *)t)->scope);
}

static int kid_status(const struct coir_task *kid)
{
    return kid ? kid->status : -ENOMEM;
}

static size_t index_of(const struct coir_combine *op, const struct coir_task *kid)
{
    size_t i = 0;

    while (op->kids[i] != kid)
        i++;
    return i;
}

/* A child has ended: does that decide? op->result is n until something has. */
static void kid_ended(struct coir_combine *op, struct coir_task *kid, size_t index_hint)
{
    const bool success = kid_status(kid) >= 0;

    if (op->result != op->n)
        return;
    if ((op->how == COIR_ALL && success) || (op->how == COIR_ANY && !success))
        return;
    op->result = index_hint < op->n ? index_hint : index_of(op, kid);
    op->decided = kid_status(kid);
    coir_scope_cancel(&op->scope);
}

/* The lowest index that failed by itself: one that was cancelled with the rest does not count, unless
 * all were. */
static void first_failure(struct coir_combine *op)
{
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < op->n; i++) {
            const int status = kid_status(op->kids[i]);
            if (status < 0 && (pass == 1 || status != -ECANCELED)) {
                op->result = i;
                op->task.status = status;
                return;
            }
        }
    }
}

static coir_step combine_end(struct coir_combine *op)
{
    if (op->how == COIR_ALL)
        first_failure(op);
    else if (op->result != op->n)
        op->task.status = op->decided;
    else
        op->task.status = kid_status(op->kids[0]);
    for (size_t i = 0; i < op->n; i++) {
        if (op->kids[i] && (op->kids[i]->flags & COIR_TASK_HEAP_))
            coir_frame_free(op->kids[i]);
    }
    coir_scope_end(&op->scope);
    op->task.state = COIR_LEFT_;
    return COIR_DONE_;
}

/* Begins a child in place; one that comes after the decision is not begun. True when it goes on. */
static bool begin(struct coir_combine *op, size_t i)
{
    struct coir_task *kid = op->kids[i];

    if (kid) {
        if (kid->flags & COIR_TASK_HEAP_)
            coir_frame_begins(kid);
        else
            coir_begun_(kid);
        kid->flags = (uint8_t)((kid->flags & COIR_TASK_HEAP_) | (op->task.flags & COIR_TASK_BACKGROUND_));
        kid->awaiter = &op->task;
        kid->scope = &op->scope;
        kid->depth = (uint8_t)(op->task.depth + 1);
        if (op->result != op->n) {
            kid->status = -ECANCELED;
            kid->state = COIR_LEFT_;
            return false;
        }
        if (coir_start_(kid, kid->body).parked)
            return true;
    }
    kid_ended(op, kid, i);
    return false;
}

/* The combinator or its list lies on the C stack: nobody begins, and what is given is still taken. */
static coir_step refuse(struct coir_combine *op)
{
    for (size_t i = 0; i < op->n; i++) {
        if (op->kids[i] && (op->kids[i]->flags & COIR_TASK_HEAP_))
            coir_discard(op->kids[i]);
        else if (op->kids[i])
            coir_begun_(op->kids[i]);
    }
    op->task.state = COIR_LEFT_;
    return COIR_DONE_;
}

static coir_step combine_begin(struct coir_combine *op)
{
    if (coir_arguments_live(&op->task, op->kids, "coir_all, coir_any or coir_race"))
        return refuse(op);
    coir_scope_begin(&op->scope, op->task.scope, COIR_SCOPE_COMBINE_);
    op->scope.owner = &op->task;
    if (op->task.flags & COIR_TASK_SHIELD_)
        op->scope.shield = COIR_SHIELDED_BY_FINALLY_;
    op->result = op->n;
    op->live = 0;
    op->task.state = 1;
    op->task.flags |= COIR_TASK_COUNTS_;
    if (op->n == 0) {
        op->task.status = op->how == COIR_ALL ? 0 : -EINVAL;
        op->task.state = COIR_LEFT_;
        return COIR_DONE_;
    }
    for (size_t i = 0; i < op->n; i++)
        op->live += begin(op, i);
    if (op->live == 0)
        return combine_end(op);
    op->task.abort = combine_abort;
    if (coir_is_cancelled(&op->task))        /* also by a child that has just run: nobody else will say so */
        combine_abort(&op->task);
    return COIR_PARK_;
}

coir_step coir_combine_resume(struct coir_task *t)
{
    struct coir_combine *op = (struct coir_combine *)t;

    if (t->state == 0)
        return combine_begin(op);
    kid_ended(op, coir_shard_here()->ended, op->n);
    if (--op->live)
        return COIR_PARK_;
    t->abort = NULL;
    return combine_end(op);
}
