/* SPDX-License-Identifier: MIT */
/*
 * Two coir_finally in one body.
 *
 * caught: (b) gcc compile "duplicate label"
 * caught: (b) clang compile "redefinition of label"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
};
static coir_declare(bad);

coir_body(bad, f) {
    coir_try(f, &f->pass, coir_pass);
    coir_finally(f) {
        coir_await(f, &f->pass, coir_pass);
    }
    coir_finally(f) {
        coir_await(f, &f->pass, coir_pass);
    }
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
