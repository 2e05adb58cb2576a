/* SPDX-License-Identifier: MIT */
/*
 * An await inside the program's own switch, over a character.
 *
 * caught: (a) gcc compile "overflow"
 * caught: (a) clang compile "switch|case value"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
    unsigned char n;
};
static coir_declare(bad);

coir_body(bad, f) {
    switch (f->n) {
    case 0:
        coir_try(f, &f->pass, coir_pass);
        break;
    default:
        break;
    }
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
