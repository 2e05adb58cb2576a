/* SPDX-License-Identifier: MIT */
/*
 * Where the parser stands and what it builds: see lang/parse.h. The two bounds that the tree promises, nesting and
 * height, are kept here and nowhere else; and who may fail for want of memory is here too.
 */
#include "lang/parse.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/assert.h"

/* ---- where it stands ---- */

/* The first token from `i` on that is no space; *newline: whether a newline was passed. */
static uint32_t pass_space(const struct coir_token *tokens, uint32_t i, bool *newline)
{
    for (; coir_token_is_space((enum coir_token_kind)tokens[i].kind); i++)
        if (tokens[i].kind == COIR_T_NEWLINE)
            *newline = true;
    return i;
}

static void stand(struct coir_parser *p, uint32_t from)
{
    p->newline = false;
    p->at = pass_space(p->tokens, from, &p->newline);
    p->kind = (enum coir_token_kind)p->tokens[p->at].kind;
    if (p->kind == COIR_T_END)
        p->newline = true;
}

void coir_parse_next(struct coir_parser *p)
{
    if (p->kind == COIR_T_END)
        return;
    p->previous = p->at;
    stand(p, p->at + 1);
}

/* To the end at once, and silent. */
static void give_up(struct coir_parser *p)
{
    p->over = true;
    p->panic = true;
    stand(p, p->tree->tokens.count - 1);
}

static void starve(struct coir_parser *p)
{
    p->starved = true;
    give_up(p);
}

bool coir_parse_accept(struct coir_parser *p, enum coir_token_kind kind)
{
    if (p->kind != kind)
        return false;
    coir_parse_next(p);
    return true;
}

enum coir_token_kind coir_parse_peek(const struct coir_parser *p, uint32_t i, bool *newline)
{
    uint32_t at = p->at;
    bool passed = p->newline;

    for (; i > 0 && p->tokens[at].kind != COIR_T_END; i--) {
        passed = false;
        at = pass_space(p->tokens, at + 1, &passed);
    }
    if (newline)
        *newline = passed;
    return (enum coir_token_kind)p->tokens[at].kind;
}

uint32_t coir_parse_following(const struct coir_parser *p, uint32_t token)
{
    bool newline;

    return p->tokens[token].kind == COIR_T_END ? token : pass_space(p->tokens, token + 1, &newline);
}

bool coir_parse_here(const struct coir_parser *p, enum coir_token_kind kind)
{
    return p->kind == kind && !p->newline;
}

bool coir_parse_token_is(const struct coir_parser *p, uint32_t token, const char *text)
{
    const struct coir_word w = coir_token_word(p->tree, token);

    return strlen(text) == w.size && memcmp(text, w.text, w.size) == 0;
}

bool coir_parse_is_name(const struct coir_parser *p, const char *text)
{
    return p->kind == COIR_T_NAME && coir_parse_token_is(p, p->at, text);
}

static void too_deep(struct coir_parser *p, uint32_t token)
{
    p->panic = false;
    coir_parse_error(p, COIR_E_NESTING, token, "this is nested too deep");
    coir_parse_note(p, "at most %d brackets and operators may stand in each other: give what is inside a name or a "
                    "function", COIR_TREE_NESTING);
    give_up(p);
}

bool coir_parse_enter(struct coir_parser *p)
{
    if (p->over)
        return false;
    if (p->nesting >= COIR_TREE_NESTING) {
        too_deep(p, p->at);
        return false;
    }
    p->nesting++;
    return true;
}

void coir_parse_leave(struct coir_parser *p)
{
    COIR_ASSERT(p->nesting > 0);
    p->nesting--;
}

struct coir_parse_context coir_parse_in_brackets(struct coir_parser *p)
{
    const struct coir_parse_context before = p->context;

    p->context = (struct coir_parse_context){ .lines = false };
    return before;
}

struct coir_parse_context coir_parse_in_braces(struct coir_parser *p)
{
    const struct coir_parse_context before = p->context;

    p->context = (struct coir_parse_context){ .lines = true };
    return before;
}

/* ---- what it builds ---- */

void coir_parse_push(struct coir_parser *p, coir_ast child)
{
    if (!coir_budget_grow(p->tree->budget, &p->stack, &p->stack_room, p->stack_count, sizeof *p->stack))
        starve(p);
    else
        p->stack[p->stack_count++] = child;
}

/* Moves the children from `mark` on into the tree. Value: one more than the highest of them; *last is raised to their
 * last token. */
static unsigned take_children(struct coir_parser *p, uint32_t mark, uint32_t *last)
{
    struct coir_tree *const t = p->tree;
    unsigned height = 0;

    for (uint32_t i = mark; i < p->stack_count && !p->starved; i++) {
        const coir_ast child = p->stack[i];
        if (!coir_budget_grow(t->budget, &t->children, &t->child_room, t->child_count, sizeof *t->children)) {
            starve(p);
            break;
        }
        t->children[t->child_count++] = child;
        if (child && t->nodes[child].height > height)
            height = t->nodes[child].height;
        if (child && t->nodes[child].last > *last)
            *last = t->nodes[child].last;
    }
    return height + 1;
}

coir_ast coir_parse_node(struct coir_parser *p, enum coir_ast_kind kind, uint32_t first, uint32_t main, uint32_t mark)
{
    struct coir_tree *const t = p->tree;
    const uint32_t children = t->child_count;

    /* When memory gave out some were not pushed. */
    mark = mark < p->stack_count ? mark : p->stack_count;
    uint32_t last = p->previous > first ? p->previous : first;
    unsigned height = take_children(p, mark, &last);
    p->stack_count = mark;
    if (p->starved)
        return 0;
    if (height > COIR_TREE_HEIGHT) {
        too_deep(p, first);
        t->child_count = children;
        kind = COIR_N_ERROR;
        height = 1;
    }
    if (!coir_budget_grow(t->budget, &t->nodes, &t->room, t->count, sizeof *t->nodes)) {
        starve(p);
        return 0;
    }
    t->nodes[t->count] = (struct coir_ast_node){
        .kind = (uint8_t)kind, .height = (uint16_t)height, .first = first, .last = last, .main = main,
        .children = children, .count = t->child_count - children,
    };
    return t->count++;
}

coir_ast coir_parse_flag(struct coir_parser *p, coir_ast n, unsigned flags)
{
    if (n)
        p->tree->nodes[n].flags |= (uint8_t)flags;
    return n;
}

coir_ast coir_parse_leaf(struct coir_parser *p, enum coir_ast_kind kind)
{
    const uint32_t token = p->at;

    coir_parse_next(p);
    return coir_parse_node(p, kind, token, token, p->stack_count);
}

coir_ast coir_parse_node1(struct coir_parser *p, enum coir_ast_kind kind, uint32_t first, uint32_t main, coir_ast a)
{
    const uint32_t mark = coir_parse_mark(p);

    coir_parse_push(p, a);
    return coir_parse_node(p, kind, first, main, mark);
}

coir_ast coir_parse_node2(struct coir_parser *p, enum coir_ast_kind kind, uint32_t first, uint32_t main, coir_ast a,
                          coir_ast b)
{
    const uint32_t mark = coir_parse_mark(p);

    coir_parse_push(p, a);
    coir_parse_push(p, b);
    return coir_parse_node(p, kind, first, main, mark);
}

coir_ast coir_parse_node3(struct coir_parser *p, enum coir_ast_kind kind, uint32_t first, uint32_t main, coir_ast a,
                          coir_ast b, coir_ast c)
{
    const uint32_t mark = coir_parse_mark(p);

    coir_parse_push(p, a);
    coir_parse_push(p, b);
    coir_parse_push(p, c);
    return coir_parse_node(p, kind, first, main, mark);
}

/* ---- from a source to its tree ---- */

static int run(struct coir_parser *p)
{
    struct coir_tree *const t = p->tree;

    /* Number 0 is no node. */
    if (!coir_budget_grow(t->budget, &t->nodes, &t->room, 0, sizeof *t->nodes))
        return -ENOMEM;
    t->count = 1;
    p->tokens = t->tokens.list;
    stand(p, 0);
    t->root = coir_parse_module(p);
    coir_budget_resize(t->budget, p->stack, p->stack_room * sizeof *p->stack, 0);
    return p->starved ? -ENOMEM : 0;
}

int coir_parse(struct coir_tree *tree, const struct coir_source *source, struct coir_diagnostics *d,
               struct coir_budget *m, struct coir_parse_options options)
{
    struct coir_parser p = {
        .tree = tree, .source = source, .d = d, .options = options, .context = { .lines = true },
    };
    const uint32_t errors = d->errors;

    *tree = (struct coir_tree){ .source = source, .budget = m };
    int status = coir_lex(&tree->tokens, source, d, m);
    if (status == 0)
        status = run(&p);
    tree->errors = d->errors - errors;
    if (status < 0)
        coir_diagnose_memory(d, source);
    return status;
}
