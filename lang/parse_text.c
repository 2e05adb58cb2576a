/* SPDX-License-Identifier: MIT */
/*
 * Texts and the expressions in them: see lang/parse.h. The lexer keeps TEXT_OPEN and TEXT_CLOSE, HOLE_OPEN and
 * HOLE_CLOSE balanced, so that every text ends here at its own end, whatever stands in its holes.
 */
#include "lang/parse.h"

/* To the end of the hole, over what could not be parsed. */
static void skip_hole(struct coir_parser *p)
{
    uint32_t texts = 0;

    while (p->kind != COIR_T_END && (texts > 0 || p->kind != COIR_T_HOLE_CLOSE)) {
        if (p->kind == COIR_T_TEXT_OPEN)
            texts++;
        if (p->kind == COIR_T_TEXT_CLOSE)
            texts--;
        coir_parse_next(p);
    }
    coir_parse_accept(p, COIR_T_HOLE_CLOSE);
}

static void hole(struct coir_parser *p, bool plain)
{
    const uint32_t open = p->at;
    const struct coir_parse_context before = coir_parse_in_brackets(p);
    char found[64];

    if (plain) {
        coir_parse_remark(p, COIR_E_PLAIN_TEXT, open, "this text must be plain");
        coir_parse_note(p, "a `${` that is meant as such is written `\\${`");
    }
    coir_parse_next(p);
    if (p->kind == COIR_T_HOLE_CLOSE) {
        coir_parse_error(p, COIR_E_EXPRESSION, p->at, "there is no expression in `${}`");
        coir_parse_note(p, "a `${` that is meant as such is written `\\${`");
    } else if (coir_parse_enter(p)) {
        coir_parse_push(p, coir_parse_expression(p));
        coir_parse_leave(p);
    }
    if (p->kind != COIR_T_HOLE_CLOSE) {
        coir_parse_error(p, COIR_E_SEPARATOR, p->at, "expected the `}` of `${`, not %s", coir_parse_found(p, found));
        coir_parse_note(p, p->kind == COIR_T_COLON ? "there are no formats: write `${x.fixed(2)}`" :
                                                     "one expression stands in `${ }`");
    }
    skip_hole(p);
    p->context = before;
}

coir_ast coir_parse_text(struct coir_parser *p, bool plain)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);

    coir_parse_next(p);
    while (p->kind != COIR_T_TEXT_CLOSE && p->kind != COIR_T_END) {
        if (p->kind == COIR_T_TEXT_PART)
            coir_parse_push(p, coir_parse_leaf(p, COIR_N_TEXT_PART));
        else if (p->kind == COIR_T_HOLE_OPEN)
            hole(p, plain);
        else
            coir_parse_next(p);                 /* what an error left over */
    }
    coir_parse_accept(p, COIR_T_TEXT_CLOSE);
    return coir_parse_node(p, COIR_N_TEXT, first, 0, mark);
}
