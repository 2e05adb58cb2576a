/* SPDX-License-Identifier: MIT */
/*
 * The parser's inside, shared by its files: parser.c, where it stands and what it builds; parse_recover.c, what it
 * says and how it goes on after an error; and by subject parse_declaration.c, parse_member.c, parse_statement.c,
 * parse_control.c, parse_expression.c, parse_primary.c, parse_text.c, parse_type.c, parse_pattern.c.
 *
 * Every function that parses something stands at its first token, passes over all of it, and gives its node. It gives
 * a node for whatever is there, COIR_N_ERROR if it was reported. Each loop over tokens must pass at least one a turn.
 * When memory or nesting gives out the parser stands at the end at once, and everybody leaves.
 */
#ifndef COIR_LANG_PARSE_H
#define COIR_LANG_PARSE_H

#include "lang/parser.h"

/* What counts where the parser stands: brackets change it, and restore it. */
struct coir_parse_context {
    bool lines;         /* a newline ends a statement: in `{ }`, not in `( )` and `[ ]` */
    bool head;          /* of `if`, `for`…: no record literal */
    bool guard;         /* before the `=>` of an arm: no arrow closure */
};

struct coir_parser {
    struct coir_tree *tree;
    const struct coir_source *source;
    struct coir_diagnostics *d;
    struct coir_parse_options options;
    const struct coir_token *tokens;
    uint32_t at;                        /* the token where it stands, which is no space */
    enum coir_token_kind kind;          /* of that */
    bool newline;                       /* that is the first of its line, or the END */
    uint32_t previous;                  /* the token before, that is no space; 0 at the beginning */
    struct coir_parse_context context;
    unsigned nesting;
    bool panic;                         /* after an error, until the statement is over: nothing more is said */
    bool over;                          /* memory or nesting gave out */
    bool starved;                       /* it was memory */
    bool in_actor;                      /* among its members */
    bool told_load_time;                /* a statement outside of functions has been reported */
    uint32_t minus;                     /* the literal right behind a unary minus */
    uint32_t indent_line, indent;       /* what coir_parse_indent found last */
    uint32_t suspect;                   /* a `{` whose `}` stands further left than its line; 0 if there was none */
    coir_ast *stack;                    /* children of nodes that are being built */
    uint32_t stack_count, stack_room;
};

/* ---- where it stands: parser.c ---- */

void coir_parse_next(struct coir_parser *p);
bool coir_parse_accept(struct coir_parser *p, enum coir_token_kind kind);

/* The i-th token from here that is no space; 0 is this one. *newline, unless NULL: whether it begins a line. */
enum coir_token_kind coir_parse_peek(const struct coir_parser *p, uint32_t i, bool *newline);

/* The token behind `token` that is no space. */
uint32_t coir_parse_following(const struct coir_parser *p, uint32_t token);

/* Whether a token of this kind stands here, on the line of the one before. */
bool coir_parse_here(const struct coir_parser *p, enum coir_token_kind kind);

/* Whether this token is the name `text`; whether token `token` is. */
bool coir_parse_is_name(const struct coir_parser *p, const char *text);
bool coir_parse_token_is(const struct coir_parser *p, uint32_t token, const char *text);

/* One level deeper; false, and reported, if that is too deep. Each that gave true is left. */
bool coir_parse_enter(struct coir_parser *p);
void coir_parse_leave(struct coir_parser *p);

/* Another context; the value is the one before, to be put back. */
struct coir_parse_context coir_parse_in_brackets(struct coir_parser *p);
struct coir_parse_context coir_parse_in_braces(struct coir_parser *p);

/* ---- what it builds: parser.c ---- */

/* Children wait on the stack: mark, push each, and the node takes those from the mark on. 0 may be pushed. */
static inline uint32_t coir_parse_mark(const struct coir_parser *p)
{
    return p->stack_count;
}

void coir_parse_push(struct coir_parser *p, coir_ast child);

/* The node of the children from `mark` on, from the token `first` to the last that was passed. */
coir_ast coir_parse_node(struct coir_parser *p, enum coir_ast_kind kind, uint32_t first, uint32_t main, uint32_t mark);

/* A node with flags. */
coir_ast coir_parse_flag(struct coir_parser *p, coir_ast n, unsigned flags);

/* A node of this token alone, which is passed. */
coir_ast coir_parse_leaf(struct coir_parser *p, enum coir_ast_kind kind);

/* A node with up to three children. */
coir_ast coir_parse_node1(struct coir_parser *p, enum coir_ast_kind kind, uint32_t first, uint32_t main, coir_ast a);
coir_ast coir_parse_node2(struct coir_parser *p, enum coir_ast_kind kind, uint32_t first, uint32_t main, coir_ast a,
                          coir_ast b);
coir_ast coir_parse_node3(struct coir_parser *p, enum coir_ast_kind kind, uint32_t first, uint32_t main, coir_ast a,
                          coir_ast b, coir_ast c);

static inline uint32_t coir_parse_first(const struct coir_parser *p, coir_ast n)
{
    return p->tree->nodes[n].first;
}

static inline bool coir_parse_is(const struct coir_parser *p, coir_ast n, enum coir_ast_kind kind)
{
    return coir_ast_is(p->tree, n, kind);
}

/* ---- what it says, and how it goes on: parse_recover.c ---- */

/* Reports at a token, unless something was reported since the last statement began, or the lexer has reported it. Notes
 * are added by coir_parse_note, which is silent if this was. */
__attribute__((format(printf, 4, 5)))
void coir_parse_error(struct coir_parser *p, enum coir_code code, uint32_t token, const char *format, ...);

/* The same of what the parser goes on from as if nothing were wrong. */
__attribute__((format(printf, 4, 5)))
void coir_parse_remark(struct coir_parser *p, enum coir_code code, uint32_t token, const char *format, ...);
__attribute__((format(printf, 2, 3)))
void coir_parse_note(struct coir_parser *p, const char *format, ...);

/* "`x`", "the end of the line": what stands here, for "…, not %s". */
const char *coir_parse_found(const struct coir_parser *p, char to[64]);

/* Passes a token of this kind; reports that it is missing otherwise. */
bool coir_parse_expect(struct coir_parser *p, enum coir_token_kind kind, const char *where);

/* Passes the closing bracket of `open`; reports, and looks for it, otherwise. `what` may follow an item: "`,`". */
void coir_parse_close(struct coir_parser *p, enum coir_token_kind kind, uint32_t open);

/* Between the items of ( ) and [ ]: passes a comma. False where the list ends, or cannot go on. */
bool coir_parse_comma(struct coir_parser *p, enum coir_token_kind close);

/* Between arms, fields and handlers in { }: passes commas; false, and reported, if there is neither one, nor a newline,
 * nor the `}`, nor did the last end in a `}`. */
void coir_parse_between(struct coir_parser *p, const char *what);

/* Behind a statement that began at `first`: passes `;`, reports what else there is, and ends the panic. */
void coir_parse_end(struct coir_parser *p, uint32_t first, bool closed);

/* The column of the first token on the line of this one. */
uint32_t coir_parse_indent(struct coir_parser *p, uint32_t token);

/* Behind the `}` of `open`: remembers it, if it stands further left than the line of that. */
void coir_parse_compare_indent(struct coir_parser *p, uint32_t open);

/* Whether here, in a block that is open, the next declaration of a module begins, or handler of an actor: then a `}` is
 * missing. */
bool coir_parse_at_declaration(const struct coir_parser *p);

/* Passes what is left of a statement, brackets whole. */
void coir_parse_skip(struct coir_parser *p);

/* Passes a whole bracket, from its opening here. */
void coir_parse_skip_brackets(struct coir_parser *p);

/* An error node of all from `first` on to the last token that was passed; of the children from `mark` on. */
coir_ast coir_parse_broken(struct coir_parser *p, uint32_t first, uint32_t mark);

/* A name that is declared: small, or a capital one, as `capital` says. Passes it, whatever word it is. Value: its
 * token; 0, and reported, if none is here. */
uint32_t coir_parse_name(struct coir_parser *p, bool capital, const char *what);

/* Behind `.` and `on`, and of fields: any word. Value: its token; 0, and reported, if none is here. */
uint32_t coir_parse_any_word(struct coir_parser *p, const char *what);

/* What a word of another language is here; NULL if it is none that is known. */
const char *coir_parse_foreign(const struct coir_parser *p, uint32_t token);

/* ---- by subject ---- */

coir_ast coir_parse_module(struct coir_parser *p);

/* A declaration, with `pub` before it or not; 0, and nothing passed, if none begins here. */
coir_ast coir_parse_item(struct coir_parser *p);

/* Members: of a record (FIELD, FN), an actor (FIELD, HANDLER, FN), a table (FIELD); their node is the caller's. */
enum coir_parse_owner { COIR_OF_RECORD, COIR_OF_ACTOR, COIR_OF_TABLE, COIR_OF_MODULE };
void coir_parse_members(struct coir_parser *p, enum coir_parse_owner owner, const char *of);
coir_ast coir_parse_field(struct coir_parser *p, bool attributes, bool value);
coir_ast coir_parse_fn(struct coir_parser *p, enum coir_parse_owner owner);
coir_ast coir_parse_handler(struct coir_parser *p);
coir_ast coir_parse_type_params(struct coir_parser *p);
coir_ast coir_parse_params(struct coir_parser *p, enum coir_parse_owner owner);
coir_ast coir_parse_result(struct coir_parser *p);

/* A statement; *closed: it ended at a `}` and needs no separator. */
coir_ast coir_parse_statement(struct coir_parser *p, bool *closed);
coir_ast coir_parse_let(struct coir_parser *p);

/* A block; `of` is what it belongs to, "`if`", on whose line it opens; NULL for one by itself, which is here. */
coir_ast coir_parse_block(struct coir_parser *p, const char *of);

/* In the head of something: an expression without record literals. */
coir_ast coir_parse_head(struct coir_parser *p);

coir_ast coir_parse_if(struct coir_parser *p);
coir_ast coir_parse_match(struct coir_parser *p);
coir_ast coir_parse_try(struct coir_parser *p);
coir_ast coir_parse_group(struct coir_parser *p);
coir_ast coir_parse_within(struct coir_parser *p);
coir_ast coir_parse_while(struct coir_parser *p);
coir_ast coir_parse_for(struct coir_parser *p);
coir_ast coir_parse_select(struct coir_parser *p);

/* Binding strengths, the loosest first. */
enum coir_parse_strength {
    COIR_S_LOOSEST, COIR_S_OR, COIR_S_AND, COIR_S_NOT, COIR_S_COMPARE, COIR_S_OR_ELSE, COIR_S_BAR, COIR_S_CARET,
    COIR_S_AMPERSAND, COIR_S_SHIFT, COIR_S_SUM, COIR_S_PRODUCT, COIR_S_MINUS,
};

/* An expression; what cannot follow one anywhere, `=` and `..`, is reported. */
coir_ast coir_parse_expression(struct coir_parser *p);

/* An expression of operators at least as strong; what follows is left to the caller. */
coir_ast coir_parse_binary(struct coir_parser *p, enum coir_parse_strength least);

/* The expression n, after which nothing may follow that only some can have: `=`, `..`. */
coir_ast coir_parse_tail(struct coir_parser *p, coir_ast n);

/* `=`, `+=`… */
bool coir_parse_assigns(enum coir_token_kind kind);

/* An expression with calls, indexes and members after it. */
coir_ast coir_parse_postfix(struct coir_parser *p);

/* Pushes the arguments, from `(` to `)`. */
void coir_parse_args(struct coir_parser *p);

/* `from..to`, of which `from` has been parsed, or is 0; the operator stands here. */
coir_ast coir_parse_range(struct coir_parser *p, coir_ast from, bool open);

coir_ast coir_parse_primary(struct coir_parser *p);

/* Reports 9223372036854775808 where there is no minus before it. */
void coir_parse_check_literal(struct coir_parser *p, uint32_t token);
coir_ast coir_parse_text(struct coir_parser *p, bool plain);

/* `{ x: 1 }` behind the type of a record, whose node it takes. */
coir_ast coir_parse_record(struct coir_parser *p, coir_ast type);

/* Behind `spawn`: a call, or, with `literal`, an actor. */
coir_ast coir_parse_spawned(struct coir_parser *p, bool literal);

/* Whether `{` here begins a record, seen from a head where it is none: `{ x: …`. */
bool coir_parse_record_ahead(const struct coir_parser *p);

/* `x => e`, `(a, b) => e`: whether one begins here, and it. */
bool coir_parse_at_arrow(const struct coir_parser *p);
coir_ast coir_parse_arrow(struct coir_parser *p);

coir_ast coir_parse_type(struct coir_parser *p);

coir_ast coir_parse_pattern(struct coir_parser *p);
/* A name, `_`, or a tuple of these; `of` is `let` or `for`. */
coir_ast coir_parse_binding(struct coir_parser *p, const char *of);

/* Whether an expression can begin with this. */
bool coir_parse_begins(enum coir_token_kind kind);

#endif
