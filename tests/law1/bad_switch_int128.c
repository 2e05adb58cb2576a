/* SPDX-License-Identifier: MIT */
/*
 * An await inside the program's own switch, over an __int128: wide enough for the label.
 *
 * caught: (a) gcc run "no resume point"
 * caught: (a) clang run "no resume point"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
    unsigned __int128 n;
};
static coir_declare(bad);

coir_body(bad, f) {
    f->n = 0;
    switch (f->n) {
    case 0:
        coir_try(f, &f->pass, coir_pass); /* HERE */
        break;
    default:
        break;
    }
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
