/* SPDX-License-Identifier: MIT */
/*
 * A local array is filled, and read after an await.
 *
 * caught: (d) gcc torture "lost"
 * caught: (d) clang torture "lost"
 */
#include <coir/coir.h>
#include <stdio.h>
#include <string.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
};
static coir_declare(bad);

coir_body(bad, f) {
    char x[8];
    memcpy(x, "abcdefg", sizeof x);
    coir_try(f, &f->pass, coir_pass);
    if (strcmp(x, "abcdefg") != 0) {
        fprintf(stderr, "lost\n");
        coir_fail(f, EIO);
    }
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
