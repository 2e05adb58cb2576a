/* SPDX-License-Identifier: MIT */
/*
 * Programs that the loader must accept, and that mean no good: they loop, recurse, trap in their handlers, take all
 * memory. None may keep the shard, or go on when the program is stopped, or leave a cell. Each runs with little memory,
 * and is stopped after some slices.
 */
#include "tap.h"
#include "vm/asm.h"
#include "vm/vm.h"

enum { STOPPED = 128 + 15, TRAPPED = 2 };

static void runs(const char *name, const char *text, int wanted)
{
    const struct coir_vm_options options = { .reductions = 50, .slices = 300, .max_memory = 4 << 20, .seed = 1 };
    struct coir_vm_report report = { 0 };
    struct coir_load_error error;
    void *image;
    size_t length;

    if (!OK(asm_image(text, &image, &length, &error) == 0, "%s: assembled", name)) {
        NOTE("%s", error.text);
        return;
    }
    EQ(coir_vm_run(image, length, 0, NULL, &options, &report), wanted, "%s", name);
    EQ(report.lives, 0, "%s: no cell is left", name);
    free(image);
}

int main(void)
{
    runs("a loop", "fn main() regs 1 { again: JMP again } export main main", STOPPED);
    runs("a loop that owns something", "fn main() regs 2 { TNEW r0, 5 again: JMP again } export main main", STOPPED);
    runs("a recursion", "fn main() regs 1 { CALL r0, main RET } export main main", STOPPED);
    runs("a list that grows",
         "fn main() regs 3 { NEWL r0, List[Text], r0, 0 again: TNEW r1, 4000 LPUSH r0, r1 JMP again } export main main",
         TRAPPED);
    runs("a catch that traps into itself",
         "fn main() regs 4 { CONSTT r0, \"no\" a: TRAPM r0, Explicit pad: DROP r1 TRAPM r0, Explicit b: RET "
         ".catch a, b, pad, 1 } export main main", STOPPED);
    runs("a catch that tries again",
         "fn main() regs 4 { CONSTT r0, \"no\" a: TRAPM r0, Explicit b: pad: DROP r1 JMP a "
         ".catch a, b, pad, 1 } export main main", STOPPED);
    runs("fibers that spawn fibers",
         "fn again(own n: Int) regs 3 { MOVW r1, r0 SPAWN r1, again, r1, Task[()] DROP r1 MOVW r1, r0 "
         "SPAWN r1, again, r1, Task[()] DROP r1 RET } "
         "fn main() regs 3 { LOADI r0, 1 SPAWN r0, again, r0, Task[()] DROP r0 wait: YIELD JMP wait } export main main",
         STOPPED);
    return DONE();
}
