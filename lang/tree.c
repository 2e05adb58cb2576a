/* SPDX-License-Identifier: MIT */
/*
 * Reading a tree: places, words and what literals are worth (lang/tree.h). It trusts the tree that the parser made. A
 * literal that the lexer has reported has some value.
 */
#include "lang/tree.h"

#include "lang/literal.h"

void coir_tree_free(struct coir_tree *t)
{
    if (!t->budget)
        return;
    coir_tokens_free(&t->tokens, t->budget);
    coir_budget_resize(t->budget, t->nodes, t->room * sizeof *t->nodes, 0);
    coir_budget_resize(t->budget, t->children, t->child_room * sizeof *t->children, 0);
    *t = (struct coir_tree){ 0 };
}

struct coir_place coir_token_place(const struct coir_tree *t, uint32_t token)
{
    const struct coir_token *const list = t->tokens.list;
    const bool last = token + 1 >= t->tokens.count;

    return (struct coir_place){ t->source, list[token].start, last ? t->source->size : list[token + 1].start };
}

struct coir_word coir_token_word(const struct coir_tree *t, uint32_t token)
{
    const struct coir_place at = coir_token_place(t, token);

    return (struct coir_word){ t->source->text + at.start, at.end - at.start };
}

struct coir_word coir_ast_word(const struct coir_tree *t, coir_ast n)
{
    const uint32_t main = t->nodes[n].main;

    return main ? coir_token_word(t, main) : (struct coir_word){ "", 0 };
}

enum coir_token_kind coir_ast_operator(const struct coir_tree *t, coir_ast n)
{
    const uint32_t main = t->nodes[n].main;

    return main ? (enum coir_token_kind)t->tokens.list[main].kind : COIR_T_END;
}

struct coir_place coir_ast_place(const struct coir_tree *t, coir_ast n)
{
    struct coir_place at = coir_token_place(t, t->nodes[n].first);

    at.end = coir_token_place(t, t->nodes[n].last).end;
    return at;
}

struct coir_place coir_ast_main_place(const struct coir_tree *t, coir_ast n)
{
    return t->nodes[n].main ? coir_token_place(t, t->nodes[n].main) : coir_ast_place(t, n);
}

struct coir_position coir_ast_position(const struct coir_tree *t, coir_ast n)
{
    return coir_source_position(t->source, coir_ast_place(t, n).start);
}

struct coir_position coir_ast_main_position(const struct coir_tree *t, coir_ast n)
{
    return coir_source_position(t->source, coir_ast_main_place(t, n).start);
}

uint32_t coir_ast_docs(const struct coir_tree *t, coir_ast n)
{
    uint32_t found = 0, lines = 0;

    for (uint32_t i = t->nodes[n].first; i-- > 0;) {
        const enum coir_token_kind kind = (enum coir_token_kind)t->tokens.list[i].kind;
        if (kind == COIR_T_DOC)
            found = i, lines = 0;
        else if (kind == COIR_T_NEWLINE ? ++lines > 1 : kind != COIR_T_BLANK)
            break;
    }
    return found;
}

int64_t coir_ast_int(const struct coir_tree *t, coir_ast n)
{
    uint64_t value;

    coir_literal_int(coir_ast_word(t, n), &value);
    return (int64_t)value;
}

double coir_ast_float(const struct coir_tree *t, coir_ast n)
{
    return coir_literal_float(coir_ast_word(t, n));
}

bool coir_ast_bool(const struct coir_tree *t, coir_ast n)
{
    return coir_ast_operator(t, n) == COIR_T_TRUE;
}

uint32_t coir_ast_text(const struct coir_tree *t, coir_ast n, char *to)
{
    const struct coir_word w = coir_ast_word(t, n);
    uint32_t used = 0;

    for (uint32_t i = 0; i < w.size;) {
        const uint32_t length = w.text[i] == '\\' ? coir_literal_escape(w.text + i + 1, w.size - i - 1, to, &used) : 0;
        if (length > 0)
            i += 1 + length;
        else
            to[used++] = w.text[i++];
    }
    return used;
}

const char *coir_ast_kind_text(enum coir_ast_kind kind)
{
    static const char *const texts[COIR_NODE_KINDS] = {
        [COIR_N_NONE] = "none",
#define COIR_NODE(name, text) [COIR_N_##name] = text,
#include "lang/nodes.h"
    };

    return kind < COIR_NODE_KINDS ? texts[kind] : "none";
}
