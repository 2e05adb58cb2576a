/* SPDX-License-Identifier: MIT */
/*
 * What a body may do: locals between two awaits in a block of their own, a switch without an await, loops over
 * the frame.
 *
 */
#include <coir/coir.h>

struct number {
    coir_frame(int);
    coir_args(int n;);
    struct coir_pass pass;
};
static coir_declare(number);

coir_body(number, f) {
    coir_await(f, &f->pass, coir_pass);
    coir_return(f, f->n + 1);
} coir_end

struct good {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
    struct coir_sleep sleep;
    struct number number;
    int i, sum;
};
static coir_declare(good);

coir_body(good, f) {
    for (f->i = 0; f->i < 3; f->i++) {
        coir_get(f, f->sum, &f->number, number, .n = f->i);
        {
            int twice = f->sum * 2;
            f->sum = twice / 2;
        }
        switch (f->sum) {
        case 1:
            f->sum = 1;
            break;
        default:
            break;
        }
        coir_try(f, &f->sleep, coir_sleep, .ns = 1000); coir_try(f, &f->pass, coir_pass);
    }
    if (f->sum != 3)
        coir_fail(f, EIO);
    if (f->i == 3)
        coir_return(f);
    coir_finally(f) {
        coir_await(f, &f->pass, coir_pass);
    }
} coir_end

int main(void)
{
    return coir_main(coir_new(good));
}
