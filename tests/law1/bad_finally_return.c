/* SPDX-License-Identifier: MIT */
/*
 * coir_return in coir_finally.
 *
 * caught: (b) gcc compile "cannot leave coir_finally"
 * caught: (b) clang compile "cannot leave coir_finally"
 */
#include <coir/coir.h>

struct number { coir_frame(int); coir_no_args; };
coir_declare(number);

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
    struct number number;
    int n;
};
static coir_declare(bad);

coir_body(bad, f) {
    coir_try(f, &f->pass, coir_pass);
    coir_finally(f) {
        coir_return(f);
    }
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
