/* SPDX-License-Identifier: MIT */
/*
 * What a tree promises, whatever its source is: for the tests and the fuzzer. Tokens follow each other from the first
 * byte to the last; texts and holes are balanced; children have smaller numbers than their parents, their tokens lie in
 * those of the parent, and in their order; heights add up and are bounded; without an error no node is an error.
 */
#ifndef COIR_TESTS_LANG_WHOLE_H
#define COIR_TESTS_LANG_WHOLE_H

#include "lang/tree.h"

static const char *whole_tokens(const struct coir_tree *t)
{
    const struct coir_tokens *const tokens = &t->tokens;
    uint32_t texts = 0, holes = 0;

    if (tokens->count < 2 || tokens->list[0].start != 0 || tokens->list[0].kind != COIR_T_BLANK)
        return "the first token";
    if (tokens->list[tokens->count - 1].kind != COIR_T_END ||
            tokens->list[tokens->count - 1].start != t->source->size)
        return "the last token";
    for (uint32_t i = 0; i < tokens->count; i++) {
        if (i > 0 && tokens->list[i - 1].start > tokens->list[i].start)
            return "tokens that go back";
        texts += tokens->list[i].kind == COIR_T_TEXT_OPEN;
        holes += tokens->list[i].kind == COIR_T_HOLE_OPEN;
        if ((tokens->list[i].kind == COIR_T_TEXT_CLOSE && texts-- == 0) ||
                (tokens->list[i].kind == COIR_T_HOLE_CLOSE && holes-- == 0))
            return "texts that are not balanced";
    }
    return texts + holes > 0 ? "texts that are not closed" : NULL;
}

static const char *whole_node(const struct coir_tree *t, coir_ast n)
{
    const struct coir_ast_node *const node = &t->nodes[n];
    unsigned height = 0;
    uint32_t first = node->first;

    if (node->first > node->last || node->last >= t->tokens.count)
        return "a node's tokens";
    if (node->main != 0 && (node->main < node->first || node->main > node->last))
        return "a main token outside of its node";
    for (uint32_t i = 0; i < coir_ast_count(t, n); i++) {
        const coir_ast child = coir_ast_child(t, n, i);
        if (child == 0)
            continue;
        if (child >= n)
            return "a child with a greater number";
        if (t->nodes[child].first < first || t->nodes[child].last > node->last)
            return "a child's tokens";
        first = t->nodes[child].first;
        height = t->nodes[child].height > height ? t->nodes[child].height : height;
    }
    if (height + 1 != node->height || node->height > COIR_TREE_HEIGHT)
        return "a height";
    return t->errors == 0 && coir_ast_is(t, n, COIR_N_ERROR) ? "an error that was not reported" : NULL;
}

/* NULL, or what is wrong. */
static inline const char *whole(const struct coir_tree *t)
{
    const char *wrong = whole_tokens(t);

    if (!wrong && (t->root == 0 || t->root != t->count - 1 || !coir_ast_is(t, t->root, COIR_N_MODULE)))
        wrong = "the root";
    for (coir_ast n = 1; n < t->count && !wrong; n++)
        wrong = whole_node(t, n);
    return wrong;
}

#endif
