/* SPDX-License-Identifier: MIT */
/*
 * Keys out of bytes. A sequence may come in pieces, so this is a machine that is fed byte by byte; it needs no clock:
 * an Escape that nothing follows is no key here, and one with a character behind it is that character.
 */
#include "cli/terminal.h"

static int of_letter(unsigned char letter)
{
    switch (letter) {
    case 'A': return KEY_UP;
    case 'B': return KEY_DOWN;
    case 'H': return KEY_HOME;
    case 'F': return KEY_END;
    default: return KEY_NONE;
    }
}

static int of_number(int number)
{
    switch (number) {
    case 1: case 7: return KEY_HOME;
    case 4: case 8: return KEY_END;
    case 5: return KEY_PAGE_UP;
    case 6: return KEY_PAGE_DOWN;
    default: return KEY_NONE;
    }
}

static int in_csi(struct terminal_keys *k, unsigned char byte)
{
    if (byte >= '0' && byte <= '9')
        k->number = k->number < 1000 ? 10 * k->number + byte - '0' : k->number;
    else if (byte == ';')                   /* what follows is of Shift and the like */
        k->number = k->number < 1000 ? k->number + 1000 : k->number;
    if (byte < 0x40 || byte > 0x7e)
        return KEY_NONE;
    k->state = KEYS_PLAIN;
    return byte == '~' ? of_number(k->number >= 1000 ? k->number - 1000 : k->number) : of_letter(byte);
}

int terminal_key(struct terminal_keys *k, unsigned char byte)
{
    if (byte == 0x1b) {
        *k = (struct terminal_keys){ .state = KEYS_ESCAPE };
        return KEY_NONE;
    }
    switch (k->state) {
    case KEYS_ESCAPE:
        k->state = byte == '[' ? KEYS_CSI : byte == 'O' ? KEYS_SS3 : KEYS_PLAIN;
        return k->state == KEYS_PLAIN ? byte : KEY_NONE;
    case KEYS_CSI:
        return in_csi(k, byte);
    case KEYS_SS3:
        k->state = KEYS_PLAIN;
        return of_letter(byte);
    default:
        return byte;
    }
}
