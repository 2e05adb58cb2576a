/* SPDX-License-Identifier: MIT */
/*
 * JSON, as far as it is written here: strings. What is no UTF-8 in them, as names of files may be, is replaced, since
 * readers refuse a text that is none.
 */
#ifndef COIR_RUNTIME_SEE_JSON_H
#define COIR_RUNTIME_SEE_JSON_H

#include <stdio.h>

/* The length of the UTF-8 character that begins at `s`, which a NUL ends; 0 where none does. */
unsigned coir_json_utf8(const unsigned char *s);

/* A string with its quotes; null for NULL. */
void coir_json_string(FILE *to, const char *s);

/* "name":"value", with a comma after it. The name is written as it is. */
void coir_json_member(FILE *to, const char *name, const char *value);

#endif
