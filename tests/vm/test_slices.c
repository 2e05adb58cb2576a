/* SPDX-License-Identifier: MIT */
/*
 * Long work runs in slices: between the beginning and the end of one instruction that copies, compares, writes or
 * rebuilds something big, another fiber has its turns; and whoever is cancelled in the middle leaves nothing behind.
 */
#include "make.h"

/* What prepares, what takes long, what drops; and main. The other fiber says "." at each of its turns, a hundred times,
 * this one "<" before the long work and ">" behind. */
static const char frame[] =
    "%s import join \"Task.join\" (Task[()]) import cancel \"Task.cancel\" (Task[()]) "
    "fn other() regs 20 { LOADI r1, 0 LOADI r2, 100 top: CONSTT r10, \".\" CALLN r10, say YIELD FORI r1, r2, top "
    "RET } "
    "fn work() regs 60 { %s CONSTT r40, \"<\" CALLN r40, say %s CONSTT r40, \">\" CALLN r40, say %s RET } "
    "fn main() regs 60 { %s } export main main";

static const char go_on[] = "SPAWN r1, other, r9, Task[()] CALL r10, work LEND r10, r1 CALLN r10, join DROP r1 RET";
static const char cut[] =
    "SPAWN r1, work, r9, Task[()] LOADI r2, 0 LOADI r3, 1000000 top: YIELD FORI r2, r3, top LEND r10, r1 "
    "CALLN r10, cancel from: LEND r10, r1 CALLN r10, join to: DROP r1 RET "
    "pad: LENDF r10, r2, 0 CALLN r10, say DROP r2 DROP r1 RET .catch from, to, pad, 2";

static int turns_between(const char *text)
{
    const char *from = strchr(text, '<'), *to = strchr(text, '>');
    int n = 0;

    for (; from && to && from < to; from++)
        n += *from == '.';
    return n;
}

/* The work is cut where it has come to after `yields` turns of main. */
static void cut_at(const char *name, const char *types, const char *prepare, const char *work, const char *drop,
                   unsigned yields)
{
    const struct coir_vm_options o = { .natives = test_tables, .seed = 1 };
    char text[8000], stopping[1000], *number;
    void *image;
    size_t len;

    snprintf(stopping, sizeof stopping, "%s", cut);
    number = strstr(stopping, "1000000");
    memcpy(number, "       ", 7);
    number[snprintf(number, 7, "%u", yields)] = ' ';
    snprintf(text, sizeof text, frame, types, prepare, work, drop, stopping);
    image = assembled(name, text, &len);
    run_image(image, len, &o);
    EQ(last.lives, 0, "%s, cut after %u turns, leaves nothing", name, yields);
    OK(strcmp(said, "< > ") == 0 || strstr(said, "Cancelled"), "it says %s", said);
    free(image);
}

static void sliced(const char *name, const char *types, const char *prepare, const char *work, const char *drop)
{
    const struct coir_vm_options o = { .natives = test_tables, .seed = 1 };
    char text[8000];
    void *image;
    size_t len;

    snprintf(text, sizeof text, frame, types, prepare, work, drop, go_on);
    image = assembled(name, text, &len);
    if (!image)
        return;
    if (!EQ(run_image(image, len, &o), 0, "%s", name))
        NOTE("it says: %s", complaint);
    OK(turns_between(said) >= 3, "%d turns of another fiber meanwhile", turns_between(said));
    EQ(last.lives, 0, "nothing is left");
    free(image);
    for (unsigned yields = 1; yields < 100; yields += 1 + yields / 8)
        cut_at(name, types, prepare, work, drop, yields);
}

#define NUMBERS "LOADI r2, 0 LOADI r3, 100000 NEWL r1, List[Int], r9, 0 mk: LPUSHW r1, r2 FORI r2, r3, mk "
#define TEXTS "LOADI r2, 0 LOADI r3, 60000 NEWL r1, List[Text], r9, 0 CONSTT r4, \"text\" mk: TCAT r5, r4, r4 " \
    "LPUSH r1, r5 FORI r2, r3, mk "
#define MAP "LOADI r2, 0 LOADI r3, 49152 NEWM r1, Map[Int, Int] mk: MSET r1, r2, r2 FORI r2, r3, mk "

int main(void)
{
    WITHOUT_CHANCE("fifo");
    sliced("a copy of a list", "", NUMBERS, "COPY r6, r1 LOADI r7, 5 LSETW r6, r7, r7", "DROP r6 DROP r1");
    sliced("a copy of a list of texts", "", TEXTS, "COPY r6, r1 COPY r5, r4 LPUSH r6, r5", "DROP r6 DROP r1");
    sliced("a copy inside a record", "record P { xs: List[Int] }", NUMBERS,
           "COPY r6, r1 NEW r7, P, r6 LOADI r8, 3 PREG r10, r7 PFLD r10, 0, 0 PIDX r10, 0, r8 PSTW r10, 0, r8",
           "DROP r7 DROP r1");
    sliced("a copy of a map", "", MAP, "COPY r6, r1 MSET r6, r2, r2", "DROP r6 DROP r1");
    sliced("a map that grows", "", MAP, "MSET r1, r2, r2 MGET r20, r1, r2 LOADI r21, 7 MGET r20, r1, r21", "DROP r1");
    sliced("a comparison", "", TEXTS "COPY r7, r1 COPY r5, r4 LPUSH r7, r5 COPY r8, r1 COPY r5, r4 LPUSH r8, r5",
           "EQV r9, r7, r8, List[Text]", "DROP r8 DROP r7 DROP r1");
    sliced("writing", "", TEXTS, "TNEW r7, 0 FORMAT r7, r1, List[Text], 1", "DROP r7 DROP r1");
    return DONE();
}
