/* SPDX-License-Identifier: MIT */
/*
 * From a source to its tree. Any bytes give a tree: what is wrong is reported, once, and the rest is parsed all the
 * same. The parser recurses as deep as the source is nested, which is bounded, and takes memory from the given budget
 * alone.
 */
#ifndef COIR_LANG_PARSER_H
#define COIR_LANG_PARSER_H

#include "lang/tree.h"

struct coir_parse_options {
    bool natives;       /* a prelude: `fn name(…) -> T` may have no body, and `self` a type */
};

/* Makes the tree of `source`, which must outlive it. 0; -ENOMEM, which is also reported (E902), and then the tree is
 * for coir_tree_free only. Errors in the source are no failure: `tree->errors` counts them. */
int coir_parse(struct coir_tree *tree, const struct coir_source *source, struct coir_diagnostics *d,
               struct coir_budget *m, struct coir_parse_options options);

#endif
