/* SPDX-License-Identifier: MIT */
/*
 * A constant that is computed is a local too.
 *
 * caught: (a) gcc compile "jump-misses-init"
 * caught: (a) clang compile "uninitialized"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
};
static coir_declare(bad);

coir_body(bad, f) {
    const int64_t began = coir_now();
    coir_try(f, &f->pass, coir_pass);
    if (began < 0)
        coir_fail(f, EIO);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
