/* SPDX-License-Identifier: MIT */
/*
 * The lexer's inside, shared by its two files: lexer.c, code, and lexer_text.c, texts and numbers. Texts and the
 * holes in them nest by a stack of its own, so that no depth of them is a depth of C.
 */
#ifndef COIR_LANG_LEXER_H
#define COIR_LANG_LEXER_H

#include "lang/token.h"

/* A text that is open. In a hole of it, brackets are counted, to know the `}` that ends the hole. */
struct coir_open_text {
    uint32_t start;             /* where it was opened */
    uint32_t token;             /* the token that opened it */
    uint32_t depth;             /* in a hole: brackets that are open */
    bool lines;                 /* opened by `"""`: may have several lines */
    bool hole;
};

struct coir_lexer {
    const struct coir_source *source;
    const char *text;
    uint32_t size, at;          /* at <= size */
    struct coir_diagnostics *d;
    struct coir_budget *budget;
    struct coir_tokens *to;
    struct coir_open_text *open;
    uint32_t open_count, open_room;
    bool bad;                   /* the token that is being read has been reported */
    bool no_block_end;          /* the end of a block comment is nowhere ahead */
    bool starved;               /* no memory: nothing more is added */
};

/* The byte i behind the place; 0 behind the end. */
static inline char coir_lexer_peek(const struct coir_lexer *l, uint32_t i)
{
    return i < l->size - l->at ? l->text[l->at + i] : '\0';
}

static inline bool coir_lexer_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Ends the token that began at `start`. */
void coir_lexer_add(struct coir_lexer *l, uint32_t start, enum coir_token_kind kind);

/* A text begins here: its TEXT_OPEN. */
void coir_lexer_open_text(struct coir_lexer *l);

/* In a text: its next token, a part, the opening of a hole, the end. */
void coir_lexer_in_text(struct coir_lexer *l);

/* Where a text of one line cannot go on, or the source ends: that is reported, and the texts and holes that end with
 * it get closing tokens that are empty. */
void coir_lexer_cut_text(struct coir_lexer *l, bool source_ends);

/* A number begins here. */
void coir_lexer_number(struct coir_lexer *l);

#endif
