/* SPDX-License-Identifier: MIT */
/*
 * The terminal, as a view that fills the screen needs it: keys one by one and without an echo, the other screen, and
 * everything as it was at the end, whatever that is. The sequences are ECMA-48's and xterm's, which every terminal
 * that is in use understands; there is no terminfo.
 */
#ifndef COIR_CLI_TERMINAL_H
#define COIR_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* True when standard input and output are a terminal that can do all this. */
bool terminal_is_there(void);

/* Takes the terminal: a negative errno if it cannot be had. From then on a crash of this program, too, gives it back;
 * terminal_leave does, and may be called twice. They write to it themselves. */
int terminal_enter(void);
void terminal_leave(void);

/* Its size now; 24 by 80 where it does not say. */
void terminal_size(int *rows, int *columns);

/* Colours are wanted: NO_COLOR is not set. */
bool terminal_has_colours(void);

/* ---- keys (terminal_keys.c) ---- */

/* A key that is no character. */
enum { KEY_NONE = 0, KEY_UP = 256, KEY_DOWN, KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_HOME, KEY_END };

/* Where in a sequence the bytes so far have led. Begins as zero. */
struct terminal_keys {
    enum { KEYS_PLAIN, KEYS_ESCAPE, KEYS_CSI, KEYS_SS3 } state;
    int number;
};

/* One byte further: a key, or KEY_NONE while there is none. A sequence that is not known is no key. */
int terminal_key(struct terminal_keys *k, unsigned char byte);

#endif
