/* SPDX-License-Identifier: MIT */
/*
 * A task that runs, seen from outside. Its chain of awaiters stands still as long as the step lasts; who wants to be
 * sure compares the step before and after.
 */
#include "runtime/see/look.h"

#include <sys/uio.h>
#include <unistd.h>

#include "runtime/see/text.h"
#include "runtime/task/home.h"

enum { HOPS = 1000, PAGE = 4096 };

struct site {
    char task[64], file[256];
    unsigned line;
};

bool coir_look_at(const void *from, void *to, size_t n)
{
    const struct iovec here = { to, n }, there = { (void *)(uintptr_t)from, n };

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)n;
}

/* A string may end right before memory that is not there: no more than the rest of a page is asked for at once. */
static bool look_at_string(const char *from, char *to, size_t size)
{
    size_t n = 0;

    while (n < size - 1) {
        size_t part = PAGE - (uintptr_t)(from + n) % PAGE;

        part = part < size - 1 - n ? part : size - 1 - n;
        if (!coir_look_at(from + n, to + n, part))
            return false;
        for (const size_t end = n + part; n < end; n++) {
            if (!to[n])
                return true;
        }
    }
    to[n] = '\0';
    return true;
}

static bool look_at_site(const struct coir_site *from, struct site *out)
{
    struct coir_site s;

    if (!from || !coir_look_at(from, &s, sizeof s))
        return false;
    out->line = s.line;
    return look_at_string(s.task, out->task, sizeof out->task) && look_at_string(s.file, out->file, sizeof out->file);
}

/* The coir_new of the outermost awaiter of `t`, of which `copy` is a copy; NULL: it cannot be told. */
static const struct coir_site *birth_of(const struct coir_task *t, struct coir_task copy)
{
    struct coir_birth b;

    for (int i = 0; copy.awaiter && i < HOPS; i++) {
        t = copy.awaiter;
        if (!coir_look_at(t, &copy, sizeof copy))
            return NULL;
    }
    if (copy.awaiter || !(copy.flags & COIR_TASK_HEAP_)
        || !coir_look_at((const struct coir_birth *)t - 1, &b, sizeof b))
        return NULL;
    return b.site;
}

static void put_site(struct coir_text *t, const char *before, const struct site *s)
{
    coir_text_str(t, before);
    coir_text_str(t, s->file);
    coir_text_char(t, ':');
    coir_text_unsigned(t, s->line);
}

/* Task `t`, of which `copy` is a copy. */
static void put_task(struct coir_text *text, const struct coir_task *t, struct coir_task copy)
{
    const struct coir_site *const birth = birth_of(t, copy);
    struct coir_task up;
    struct site site;

    if (copy.site && copy.site == birth)
        coir_text_str(text, ", before its first await");
    else if (look_at_site(copy.site, &site))
        put_site(text, ", last await at ", &site);
    if (copy.awaiter && coir_look_at(copy.awaiter, &up, sizeof up) && look_at_site(up.site, &site)) {
        coir_text_str(text, ", awaited by ");
        coir_text_str(text, site.task);
        put_site(text, " at ", &site);
    }
    if (look_at_site(birth, &site))
        put_site(text, ", spawned at ", &site);
}

bool coir_look_at_step(const struct coir_shard *s, struct coir_text *text, char *name, size_t size)
{
    const struct coir_task *t = __atomic_load_n(&s->stepping, __ATOMIC_ACQUIRE);
    struct coir_text only = coir_text_in(name, size - 1);
    struct coir_task copy = { .site = NULL }, up;
    struct site site;

    if (t && t != &s->root_task && coir_look_at(t, &copy, sizeof copy) && !copy.site && copy.awaiter
        && coir_look_at(copy.awaiter, &up, sizeof up)) {
        t = copy.awaiter;                    /* an operation has no place: it is its awaiter's */
        copy = up;
    }
    if (look_at_site(copy.site, &site)) {
        coir_text_str(&only, "task ");
        coir_text_str(&only, site.task);
    } else {
        coir_text_str(&only, t == &s->root_task ? "the end of a task" : "a task");
    }
    *only.at = '\0';
    coir_text_str(text, name);
    if (copy.site)
        put_task(text, t, copy);
    return t != NULL;
}
