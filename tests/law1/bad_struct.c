/* SPDX-License-Identifier: MIT */
/*
 * A local structure is filled member by member, and read after an await.
 *
 * caught: (d) gcc torture "lost"
 * caught: (d) clang torture "lost"
 */
#include <coir/coir.h>
#include <stdio.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
};
static coir_declare(bad);

coir_body(bad, f) {
    struct coir_options o;
    o.shards = 4;
    coir_try(f, &f->pass, coir_pass);
    if (o.shards != 4) {
        fprintf(stderr, "lost: %u\n", o.shards);
        coir_fail(f, EIO);
    }
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
