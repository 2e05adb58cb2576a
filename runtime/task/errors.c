/* SPDX-License-Identifier: MIT */
/*
 * Errors in words. coir has no numbers of its own: where it gives an errno a meaning of its own, that is said
 * here.
 */
#include <string.h>

#include <coir/task.h>

static const struct { int err; const char *text; } own[] = {
    { ECANCELED, "cancelled (by its scope, its group, a close of its descriptor, or the end of the program)" },
    { ETIMEDOUT, "the deadline has passed" },
    { EDEADLK, "everything is asleep, and nothing can wake it" },
    { EFAULT, "bad address: NULL, or memory on the C stack, which does not outlive an await" },
    { ENOEXEC, "no program that can be run; of coir_run: one compiled against another version of libcoir" },
    { EPIPE, "the other end is gone, or the channel is closed" },
};

const char *coir_strerror(int status)
{
    static _Thread_local char unknown[40];
    const int err = status < 0 ? -status : status;
    const char *text;

    if (err == 0)
        return "success";
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (own[i].err == err)
            return own[i].text;
    }
    text = strerrordesc_np(err);
    if (text)
        return text;
    __builtin_snprintf(unknown, sizeof unknown, "unknown error %d", err);
    return unknown;
}
