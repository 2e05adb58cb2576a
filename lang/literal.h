/* SPDX-License-Identifier: MIT */
/*
 * What literals are worth: for the lexer, which reports those that are worth nothing, and for the tree. Pure functions
 * of the bytes as written.
 */
#ifndef COIR_LANG_LITERAL_H
#define COIR_LANG_LITERAL_H

#include "lang/source.h"

/* The longest float, in bytes. */
#define COIR_LITERAL_FLOAT 400

/* Nanoseconds of `ms`; 0 for what is no unit. */
uint64_t coir_literal_unit(struct coir_word unit);

/* Digits, or 0x and hexadecimal digits, and a unit or none. False if it does not fit 64 bits; *value is then what is
 * left of it. */
bool coir_literal_int(struct coir_word w, uint64_t *value);

/* Infinite if it is out of range. */
double coir_literal_float(struct coir_word w);

/* The escape of which n bytes stand behind its backslash: its value at to[*used…], at most four bytes, and *used counts
 * them. Value: how many bytes of the source it takes; 0 if it is none. */
uint32_t coir_literal_escape(const char *at, uint32_t n, char *to, uint32_t *used);

#endif
