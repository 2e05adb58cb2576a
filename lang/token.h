/* SPDX-License-Identifier: MIT */
/*
 * The tokens of a source. They follow each other without a gap: a token ends where the next begins, blanks, newlines
 * and comments are tokens too, and the texts of all, one after the other, are the source, whatever it is.
 *
 * A text is several tokens: TEXT_OPEN, then TEXT_PART, and for each `${…}` HOLE_OPEN, the tokens of the expression and
 * HOLE_CLOSE, then TEXT_CLOSE. They are always balanced: of a text that does not end the lexer has reported it, and the
 * closing tokens that are missing are there, and empty.
 */
#ifndef COIR_LANG_TOKEN_H
#define COIR_LANG_TOKEN_H

#include "lang/diagnose.h"

/* Reserved words: COIR_WORD(text, NAME) is the token COIR_T_NAME. */
#define COIR_WORDS \
    COIR_WORD("actor", ACTOR) COIR_WORD("and", AND) COIR_WORD("assert", ASSERT) COIR_WORD("async", ASYNC) \
    COIR_WORD("await", AWAIT) COIR_WORD("break", BREAK) COIR_WORD("catch", CATCH) COIR_WORD("continue", CONTINUE) \
    COIR_WORD("defer", DEFER) COIR_WORD("else", ELSE) COIR_WORD("enum", ENUM) COIR_WORD("false", FALSE) \
    COIR_WORD("fn", FN) COIR_WORD("for", FOR) COIR_WORD("group", GROUP) COIR_WORD("if", IF) COIR_WORD("in", IN) \
    COIR_WORD("let", LET) COIR_WORD("loop", LOOP) COIR_WORD("match", MATCH) COIR_WORD("mut", MUT) \
    COIR_WORD("nil", NIL) COIR_WORD("not", NOT) COIR_WORD("on", ON) COIR_WORD("or", OR) COIR_WORD("own", OWN) \
    COIR_WORD("pub", PUB) COIR_WORD("return", RETURN) COIR_WORD("select", SELECT) COIR_WORD("self", SELF) \
    COIR_WORD("shared", SHARED) COIR_WORD("spawn", SPAWN) COIR_WORD("table", TABLE) COIR_WORD("test", TEST) \
    COIR_WORD("transaction", TRANSACTION) COIR_WORD("trap", TRAP) COIR_WORD("true", TRUE) COIR_WORD("try", TRY) \
    COIR_WORD("type", TYPE) COIR_WORD("use", USE) COIR_WORD("var", VAR) COIR_WORD("while", WHILE) \
    COIR_WORD("within", WITHIN)

/* Operators and punctuation, longest first where one begins another: COIR_MARK(text, NAME). */
#define COIR_MARKS \
    COIR_MARK("..=", DOTS_EQUAL) COIR_MARK("..", DOTS) COIR_MARK(".", DOT) \
    COIR_MARK("=>", ARROW) COIR_MARK("==", EQUAL) COIR_MARK("=", ASSIGN) COIR_MARK("!=", UNEQUAL) \
    COIR_MARK("<<", SHIFT_LEFT) COIR_MARK("<=", LESS_EQUAL) COIR_MARK("<", LESS) \
    COIR_MARK(">>", SHIFT_RIGHT) COIR_MARK(">=", GREATER_EQUAL) COIR_MARK(">", GREATER) \
    COIR_MARK("->", GIVES) COIR_MARK("-=", MINUS_ASSIGN) COIR_MARK("-", MINUS) \
    COIR_MARK("+=", PLUS_ASSIGN) COIR_MARK("+", PLUS) COIR_MARK("*=", TIMES_ASSIGN) COIR_MARK("*", TIMES) \
    COIR_MARK("/=", SLASH_ASSIGN) COIR_MARK("/", SLASH) COIR_MARK("%=", PERCENT_ASSIGN) COIR_MARK("%", PERCENT) \
    COIR_MARK("??", OR_ELSE) COIR_MARK("?", QUESTION) COIR_MARK("|", BAR) COIR_MARK("^", CARET) \
    COIR_MARK("&", AMPERSAND) COIR_MARK("(", PAREN_OPEN) COIR_MARK(")", PAREN_CLOSE) \
    COIR_MARK("[", BRACKET_OPEN) COIR_MARK("]", BRACKET_CLOSE) COIR_MARK("{", BRACE_OPEN) \
    COIR_MARK("}", BRACE_CLOSE) COIR_MARK(",", COMMA) COIR_MARK(":", COLON) COIR_MARK(";", SEMICOLON) \
    COIR_MARK("@", AT)

enum coir_token_kind {
    COIR_T_END,                 /* the end of the source: empty, the last of them */
    /* between tokens: what a parser passes over */
    COIR_T_BLANK,               /* spaces, tabs, carriage returns, a byte order mark at the very beginning */
    COIR_T_NEWLINE,             /* one */
    COIR_T_COMMENT,             /* from `//` to the end of the line, without the newline */
    COIR_T_DOC,                 /* from `///` to the end of the line */
    COIR_T_BAD,                 /* reported by the lexer; stands for anything, and nothing more is said of it */
    /* literals and names */
    COIR_T_INT,
    COIR_T_FLOAT,
    COIR_T_DURATION,
    COIR_T_TEXT_OPEN,           /* `"` or `"""` */
    COIR_T_TEXT_PART,           /* as written, escapes and all */
    COIR_T_HOLE_OPEN,           /* `${` */
    COIR_T_HOLE_CLOSE,
    COIR_T_TEXT_CLOSE,
    COIR_T_NAME,                /* begins with a lower-case letter or `_` */
    COIR_T_CAPITAL,             /* a name that begins with a capital */
    COIR_T_UNDERSCORE,          /* `_` by itself */
#define COIR_WORD(text, name) COIR_T_##name,
    COIR_WORDS
#undef COIR_WORD
#define COIR_MARK(text, name) COIR_T_##name,
    COIR_MARKS
#undef COIR_MARK
    COIR_TOKEN_KINDS
};

struct coir_token {
    uint32_t start;             /* where it begins in the source */
    uint8_t kind;               /* enum coir_token_kind */
    bool bad;                   /* the lexer has reported something about it */
};

/* The first is a COIR_T_BLANK, mostly an empty one, so that number 0 is no token of a node; the last is COIR_T_END. */
struct coir_tokens {
    struct coir_token *list;
    uint32_t count, room;
};

/* All tokens of a source; what is wrong in them is reported. 0; -ENOMEM, and then the list is not for use, but for
 * coir_tokens_free. */
int coir_lex(struct coir_tokens *to, const struct coir_source *source, struct coir_diagnostics *d,
             struct coir_budget *m);
void coir_tokens_free(struct coir_tokens *tokens, struct coir_budget *m);

/* As it is written, for messages: "`while`", "a name". Never NULL. */
const char *coir_token_kind_text(enum coir_token_kind kind);

/* Passed over between tokens. */
static inline bool coir_token_is_space(enum coir_token_kind kind)
{
    return kind >= COIR_T_BLANK && kind <= COIR_T_DOC;
}

static inline bool coir_token_is_word(enum coir_token_kind kind)
{
    return kind >= COIR_T_ACTOR && kind <= COIR_T_WITHIN;
}

#endif
