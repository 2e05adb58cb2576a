/* SPDX-License-Identifier: MIT */
/*
 * Context: what is bound, each binding a scope of one await. A scope begins with the bindings of the one it lies
 * in, so that a lookup need not pass the scopes between; here one is put in front of them.
 *
 * Nothing here may write to a binding once its await has begun: tasks on other shards read it.
 */
#include <coir/context.h>

#include "runtime/task/home.h"

void coir_context_open_(struct coir_context *c, struct coir_task *child, const struct coir_context_key *key,
                        const void *value)
{
    coir_must_live(child->awaiter, c, "coir_with");
    coir_scope_open_(&c->scope, child, COIR_NEVER, false);
    c->outer = c->scope.context;
    c->key = key;
    c->value = (void *)value;
    c->scope.context = c;
}
