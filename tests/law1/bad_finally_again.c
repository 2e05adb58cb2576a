/* SPDX-License-Identifier: MIT */
/*
 * coir_finally is entered a second time, by a goto out of it.
 *
 * caught: (b) gcc run "second time"
 * caught: (b) clang run "second time"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
    int n;
};
static coir_declare(bad);

coir_body(bad, f) {
again:
    f->n++;
    coir_finally(f) {
        coir_await(f, &f->pass, coir_pass); /* HERE */
        if (f->n++ < 3)
            goto again;
    }
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
