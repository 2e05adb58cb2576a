/* SPDX-License-Identifier: MIT */
/*
 * coir_all, coir_any, coir_race: who decides, what becomes of the others, and that children of every kind have
 * ended, and their frames gone, when one returns.
 */
#include "help.h"

#include "runtime/task/home.h"

enum { KIDS = 4 };

/* Ends after `ns` (0: at once) with `with`; its finally takes `cleanup`. */
struct kid {
    coir_frame(int);
    coir_args(int64_t ns; int with; int64_t cleanup;);
    int64_t ended_at;
    struct coir_sleep sleep;
};
static coir_declare(kid);

static int begun, ended, cancelled;

coir_body(kid, f) {
    begun++;
    coir_try(f, &f->sleep, coir_sleep, .ns = f->ns);
    if (f->with < 0)
        coir_fail(f, f->with);
    coir_return(f, f->with);
    coir_finally(f) {
        coir_await(f, &f->sleep, coir_sleep, .ns = f->cleanup);
        ended++;
        cancelled += f->task.status == -ECANCELED;
    }
} coir_end

struct spec {
    int64_t ns;
    int with;
};

struct expect {
    int status;
    size_t index;
    int begun, cancelled;
    int64_t took;
};

struct one {
    coir_frame_void;
    coir_args(const char *name; int how; const struct spec *specs; struct expect e; bool heap;);
    int64_t began;
    struct kid kid[KIDS];
    struct coir_task *kids[KIDS];
    struct coir_combine combine;
};
static coir_declare(one);

coir_body(one, f) {
    begun = ended = cancelled = 0;
    f->began = coir_now();
    for (int i = 0; i < KIDS; i++)
        f->kids[i] = f->heap ? coir_new(kid, .ns = f->specs[i].ns, .with = f->specs[i].with,
                                        .cleanup = COIR_MS)
                             : coir_make(&f->kid[i], kid, .ns = f->specs[i].ns, .with = f->specs[i].with,
                                         .cleanup = COIR_MS);
    coir_await(f, &f->combine, coir_combine, .kids = f->kids, .n = KIDS, .how = f->how);
    EQ(coir_status(&f->combine), f->e.status, "%s: the status", f->name);
    EQ(f->combine.result, f->e.index, "%s: who decided", f->name);
    EQ(begun, f->e.begun, "%s: who began", f->name);
    EQ(ended, f->e.begun, "%s: all who began have ended", f->name);
    EQ(cancelled, f->e.cancelled, "%s: who was cancelled", f->name);
    EQ(coir_now() - f->began, f->e.took, "%s: how long it took", f->name);
} coir_end

#define S COIR_S
#define C COIR_MS               /* what a finally takes */
#define H (3600 * COIR_S)

/* As torture a child never ends while the others are being begun. */
static const struct { const char *name; int how; struct spec specs[KIDS]; struct expect e; } table[] = {
    { "all, all succeed", COIR_ALL, { { S, 1 }, { 2 * S, 2 }, { 0, 3 }, { S, 4 } },
      { 0, KIDS, 4, 0, 2 * S + C } },
    { "all, at once", COIR_ALL, { { 0, 1 }, { 0, 2 }, { 0, 3 }, { 0, 4 } },
      { 0, KIDS, 4, 0, C } },
    { "all, one fails", COIR_ALL, { { H, 1 }, { H, 1 }, { S, -EIO }, { H, 1 } },
      { -EIO, 2, 4, 3, S + 2 * C } },
    { "all, two fail at the same time", COIR_ALL, { { H, 1 }, { S, -EBADF }, { S, -EIO }, { H, 1 } },
      { -EBADF, 1, 4, 2, S + 2 * C } },
    { "any, all succeed", COIR_ANY, { { 2 * S, 1 }, { S, 2 }, { H, 3 }, { H, 4 } },
      { 0, 1, 4, 3, S + 2 * C } },
    { "any, failures do not count", COIR_ANY, { { 0, -EIO }, { S, -EIO }, { 2 * S, 0 }, { H, 4 } },
      { 0, 2, 4, 1, 2 * S + 2 * C } },
    { "any, all fail", COIR_ANY, { { 2 * S, -EIO }, { S, -EBADF }, { 0, -EPIPE }, { S, -ENOENT } },
      { -EIO, KIDS, 4, 0, 2 * S + C } },
    { "race, a success", COIR_RACE, { { H, 1 }, { 2 * S, 2 }, { H, 3 }, { S, 4 } },
      { 0, 3, 4, 3, S + 2 * C } },
    { "race, a failure", COIR_RACE, { { S, -EIO }, { 2 * S, 2 }, { H, 3 }, { 3 * S, 4 } },
      { -EIO, 0, 4, 3, S + 2 * C } },
};

/* ---- what ends before the others have begun ---- */

struct instant {
    coir_frame_void;
    coir_args(int with;);
};
static coir_declare(instant);

coir_body(instant, f) {
    begun++;
    if (f->with)
        coir_fail(f, f->with);
} coir_end

struct early {
    coir_frame_void;
    coir_no_args;
    struct instant a;
    struct kid b;
    struct coir_task *kids[KIDS];
    struct coir_combine c;
};
static coir_declare(early);

coir_body(early, f) {
    begun = 0;
    f->kids[0] = coir_make(&f->a, instant);
    f->kids[1] = coir_new(kid, .ns = H);
    f->kids[2] = coir_new(kid, .ns = H);
    coir_race(f, &f->c, f->kids, 3);
    EQ(coir_status(&f->c), 0, "a race that the first wins at once");
    EQ(f->c.result, 0, "by its index");
    EQ(begun, TORTURE ? 3 : 1, "those that come after need not begin");
    f->kids[0] = coir_make(&f->a, instant, .with = -EIO);
    f->kids[1] = coir_make(&f->b, kid, .ns = H);
    begun = 0;
    coir_all(f, &f->c, f->kids, 2);
    EQ(coir_status(&f->c), -EIO, "all, the first fails at once");
    EQ(begun, TORTURE ? 2 : 1, "the second need not begin");
    EQ(coir_status(&f->b), -ECANCELED, "and is cancelled");
    f->kids[0] = NULL;
    f->kids[1] = coir_make(&f->b, kid, .ns = S, .with = 3);
    coir_all(f, &f->c, f->kids, 2);
    EQ(coir_status(&f->c), -ENOMEM, "all, a NULL child");
    EQ(f->c.result, 0, "is one that failed");
    f->kids[0] = NULL;
    f->kids[1] = coir_make(&f->b, kid, .ns = S, .with = 3);
    coir_any(f, &f->c, f->kids, 2);
    EQ(coir_status(&f->c), 0, "any, a NULL child");
    EQ(f->b.result, 3, "does not hinder the other");
    coir_race(f, &f->c, (struct coir_task **)NULL, 0);
    EQ(coir_status(&f->c), -EINVAL, "a race of nobody");
    coir_any(f, &f->c, (struct coir_task **)NULL, 0);
    EQ(coir_status(&f->c), -EINVAL, "any of nobody");
    coir_all(f, &f->c, (struct coir_task **)NULL, 0);
    EQ(coir_status(&f->c), 0, "all of nobody");
    EQ(f->c.result, 0, "has no index but n");
} coir_end

/* ---- cancelled from outside ---- */

struct hours {
    coir_frame_void;
    coir_args(int how;);
    struct kid a;
    struct coir_task *kids[2];
    struct coir_combine c;
};
static coir_declare(hours);

coir_body(hours, f) {
    f->kids[0] = coir_make(&f->a, kid, .ns = H, .cleanup = COIR_MS);
    f->kids[1] = coir_new(kid, .ns = H, .cleanup = COIR_S);
    coir_await(f, &f->c, coir_combine, .kids = f->kids, .n = 2, .how = f->how);
    coir_check(f, &f->c);
} coir_end

struct outside {
    coir_frame_void;
    coir_no_args;
    int how;
    int64_t began;
    struct coir_scope scope;
    struct hours hours;
};
static coir_declare(outside);

coir_body(outside, f) {
    for (f->how = COIR_ALL; f->how <= COIR_RACE; f->how++) {
        begun = ended = cancelled = 0;
        f->began = coir_now();
        coir_within(f, &f->scope, f->began + S, &f->hours, hours, .how = f->how);
        EQ(coir_status(&f->hours), -ETIMEDOUT, "way %d, cancelled from outside", f->how);
        EQ(f->hours.c.task.status, -ECANCELED, "way %d: the combinator says -ECANCELED", f->how);
        EQ(ended, 2, "way %d: both children ended", f->how);
        EQ(cancelled, 2, "way %d: cancelled", f->how);
        EQ(coir_now() - f->began, 2 * S, "way %d: the longer finally was waited for", f->how);
        begun = ended = 0;
        coir_within(f, &f->scope, coir_now(), &f->hours, hours, .how = f->how);
        EQ(coir_status(&f->hours), -ETIMEDOUT, "way %d, in a cancelled scope", f->how);
        EQ(ended, begun, "way %d: who began has ended", f->how);
    }
} coir_end

/* ---- many ---- */

enum { MANY = 20000 };

struct many {
    coir_frame_void;
    coir_no_args;
    struct coir_combine c;
    uint64_t live;
};
static coir_declare(many);

static struct coir_task *crowd[MANY];

coir_body(many, f) {
    begun = ended = 0;
    for (int i = 0; i < MANY; i++)
        crowd[i] = coir_new(kid, .ns = i);
    coir_all(f, &f->c, crowd, MANY);
    EQ(coir_status(&f->c), 0, "all of %d", MANY);
    EQ(ended, MANY, "each has ended");
    begun = ended = cancelled = 0;
    for (int i = 0; i < MANY; i++)
        crowd[i] = coir_new(kid, .ns = MANY - i);
    coir_race(f, &f->c, crowd, MANY);
    EQ(f->c.result, MANY - 1, "a race of %d: the last begun is the first to end", MANY);
    EQ(ended, MANY, "each has ended");
    EQ(cancelled, MANY - 1, "all but it cancelled");
} coir_end

/* Passes round a race: the child that was given its turn first wins. */
struct passes {
    coir_frame_void;
    coir_no_args;
    struct coir_pass a, b;
    struct coir_task *kids[2];
    struct coir_combine c;
};
static coir_declare(passes);

coir_body(passes, f) {
    f->kids[0] = coir_make(&f->a, coir_pass);
    f->kids[1] = coir_make(&f->b, coir_pass);
    coir_race(f, &f->c, f->kids, 2);
    OK(f->c.result == 0 || TORTURE, "operations as children: the first pass comes first");
    f->kids[0] = coir_make(&f->a, coir_pass);
    f->kids[1] = coir_make(&f->b, coir_pass);
    coir_all(f, &f->c, f->kids, 2);
    EQ(coir_status(&f->c), 0, "both passes");
} coir_end

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        for (int heap = 0; heap < 2; heap++)
            EQ(run(coir_new(one, .name = table[i].name, .how = table[i].how, .specs = table[i].specs,
                            .e = table[i].e,
                            .heap = heap)), 0, "%s%s", table[i].name, heap ? ", on the heap" : "");
    }
    EQ(run(coir_new(early)), 0, "early ends");
    EQ(run(coir_new(outside)), 0, "cancelled from outside");
    EQ(run(coir_new(many)), 0, "many");
    EQ(run(coir_new(passes)), 0, "passes");
    return DONE();
}
