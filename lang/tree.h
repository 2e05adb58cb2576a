/* SPDX-License-Identifier: MIT */
/*
 * The tree of one source file: lossless, since every token is kept (lang/token.h), and every node knows its first and
 * its last. Nodes are numbers from 1; 0 is "none". They lie in one array that only grows while the parser runs, and
 * never changes afterwards: who knows more of a node keeps a table of his own, of `count` entries, indexed by it.
 *
 * Two promises for who walks it. A child has a smaller number than its parent: a loop over all numbers upwards meets
 * children before parents, without a stack. And no node is higher than COIR_TREE_HEIGHT: walking by recursion is safe.
 * Chains of operators, however long, are one node with many children (COIR_N_BINARY), as are `else if`.
 *
 * What could not be parsed is COIR_N_ERROR, or a missing child (0) where the table below does not allow one; both have
 * been reported, and nothing more should be said of what contains them. `errors` tells whether there are any.
 *
 * The kinds, their accessors and what they mean stand in lang/nodes.h.
 */
#ifndef COIR_LANG_TREE_H
#define COIR_LANG_TREE_H

#include "lang/token.h"

#define COIR_TREE_NESTING 200   /* of blocks, brackets, unary operators: E901 beyond */
#define COIR_TREE_HEIGHT 1600   /* of any node: E901 beyond; a leaf is 1 high */

/* A node of a tree, or 0. */
typedef uint32_t coir_ast;

enum coir_ast_kind {
    COIR_N_NONE,
#define COIR_NODE(name, text) COIR_N_##name,
#include "lang/nodes.h"
    COIR_NODE_KINDS
};

/* Flags of nodes; lang/nodes.h says which kind has which. */
enum {
    COIR_F_PUB = 1,
    COIR_F_VAR = 2,             /* LET: `var` */
    COIR_F_MUT = 4,
    COIR_F_OWN = 8,
    COIR_F_SHARED = 16,         /* RECORD_TYPE: `shared type` */
    COIR_F_NATIVE = 32,         /* FN: no body, in a prelude */
    COIR_F_INCLUSIVE = 64,      /* RANGE: `..=` */
    COIR_F_ANY = 128,           /* SPAWN: `on any` */
};

struct coir_ast_node {
    uint8_t kind;               /* enum coir_ast_kind */
    uint8_t flags;
    uint16_t height;            /* 1 more than the highest child's */
    uint32_t first, last;       /* tokens, the last included, no space; of an empty node, the one behind it */
    uint32_t main;              /* the token of its name, operator or literal; 0, which is never one, if it has none */
    uint32_t children, count;   /* tree->children[children .. children + count) */
};

struct coir_tree {
    const struct coir_source *source;
    struct coir_tokens tokens;
    struct coir_ast_node *nodes;        /* [0] is no node */
    uint32_t count, room;               /* of nodes, [0] counted */
    coir_ast *children;
    uint32_t child_count, child_room;
    coir_ast root;                      /* COIR_N_MODULE; 0 only if there was no memory */
    uint32_t errors;                    /* reported of this source by lexer and parser */
    struct coir_budget *budget;
};

/* Some children of a node, in the order of the source. Entries are never 0. */
struct coir_ast_list {
    const coir_ast *at;
    uint32_t count;
};

/* Also of one that is all zeros. */
void coir_tree_free(struct coir_tree *t);

static inline enum coir_ast_kind coir_ast_kind(const struct coir_tree *t, coir_ast n)
{
    return (enum coir_ast_kind)t->nodes[n].kind;
}

static inline bool coir_ast_is(const struct coir_tree *t, coir_ast n, enum coir_ast_kind kind)
{
    return t->nodes[n].kind == kind;
}

static inline unsigned coir_ast_flags(const struct coir_tree *t, coir_ast n)
{
    return t->nodes[n].flags;
}

/* How many children there are, missing ones counted; one of them, 0 if it is missing. In the order of the source. */
static inline uint32_t coir_ast_count(const struct coir_tree *t, coir_ast n)
{
    return t->nodes[n].count;
}

static inline coir_ast coir_ast_child(const struct coir_tree *t, coir_ast n, uint32_t i)
{
    return i < t->nodes[n].count ? t->children[t->nodes[n].children + i] : 0;
}

/* The children from `from` on, less the last `less`. */
static inline struct coir_ast_list coir_ast_rest(const struct coir_tree *t, coir_ast n, uint32_t from, uint32_t less)
{
    const struct coir_ast_node *node = &t->nodes[n];
    const bool some = node->count > from + less;

    return (struct coir_ast_list){ t->children + node->children + (some ? from : 0),
                                   some ? node->count - from - less : 0 };
}

/* What the main token says: a name, an operator, a literal as written. Empty if there is none. */
struct coir_word coir_ast_word(const struct coir_tree *t, coir_ast n);

/* The kind of the main token: COIR_T_PLUS. COIR_T_END if there is none. */
enum coir_token_kind coir_ast_operator(const struct coir_tree *t, coir_ast n);

/* Its bytes in the source, and those of its main token; of the whole node if it has none. */
struct coir_place coir_ast_place(const struct coir_tree *t, coir_ast n);
struct coir_place coir_ast_main_place(const struct coir_tree *t, coir_ast n);

/* Where its first token, its main token stands. */
struct coir_position coir_ast_position(const struct coir_tree *t, coir_ast n);
struct coir_position coir_ast_main_position(const struct coir_tree *t, coir_ast n);

/* Where a token begins and ends. */
struct coir_place coir_token_place(const struct coir_tree *t, uint32_t token);
struct coir_word coir_token_word(const struct coir_tree *t, uint32_t token);

/* The first token of the `///` comments that stand right before a declaration, without an empty line between; 0 if
 * there are none. They are the COIR_T_DOC from there to its first token. */
uint32_t coir_ast_docs(const struct coir_tree *t, coir_ast n);

/* ---- what literals are worth ---- */

/* INT: its bits; 9223372036854775808, which only stands behind a unary minus, is INT64_MIN. DURATION: nanoseconds. */
int64_t coir_ast_int(const struct coir_tree *t, coir_ast n);
double coir_ast_float(const struct coir_tree *t, coir_ast n);
bool coir_ast_bool(const struct coir_tree *t, coir_ast n);

/* TEXT_PART: its bytes, escapes resolved, into `to`, which has room for as many as coir_ast_word gives. Value: how many
 * they are. */
uint32_t coir_ast_text(const struct coir_tree *t, coir_ast n, char *to);

/* "call", "binary": for dumps and tests. */
const char *coir_ast_kind_text(enum coir_ast_kind kind);

/* ---- the children of each kind, by name: lang/nodes.h ---- */

#define COIR_SLOT(kind, slot, i) \
    static inline coir_ast coir_##kind##_##slot(const struct coir_tree *t, coir_ast n) \
    { return coir_ast_child(t, n, i); }
#define COIR_LIST(kind, list, from, less) \
    static inline struct coir_ast_list coir_##kind##_##list(const struct coir_tree *t, coir_ast n) \
    { return coir_ast_rest(t, n, from, less); }
#define COIR_LAST(kind, slot) \
    static inline coir_ast coir_##kind##_##slot(const struct coir_tree *t, coir_ast n) \
    { return coir_ast_child(t, n, coir_ast_count(t, n) - 1); }
#include "lang/nodes.h"

#endif
