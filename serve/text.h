/* SPDX-License-Identifier: MIT */
/* Text of others inside a JSON string. Pure; any thread. */
#ifndef COIR_SERVE_TEXT_H
#define COIR_SERVE_TEXT_H

#include <stddef.h>

enum { COIR_JSON_NAME = 6 * 256 };      /* enough for 255 bytes, each escaped */

/* Writes `from` into `to`, of `size` bytes, as what stands between the quotes: control characters, quotes and
 * backslashes escaped, bytes that are not UTF-8 replaced by U+FFFD. What has no room is left out; it ends with a 0. */
void coir_json_text(char *to, size_t size, const char *from);

#endif
