/* SPDX-License-Identifier: MIT */
/*
 * Failing on purpose, for tests: the N-th system call of a thread. (The N-th allocation is pool.h's.)
 * Compiled in only with COIR_FAULTS; otherwise a constant that costs nothing. It must never be asked where a
 * failure cannot be reported to somebody.
 */
#ifndef COIR_RUNTIME_BASE_FAULT_H
#define COIR_RUNTIME_BASE_FAULT_H

#include <errno.h>
#include <stdbool.h>

#ifdef COIR_FAULTS
/* Counts down to 0; the call that reaches it fails with coir_fail_syscall_with (a positive errno). 0:
 * none will. */
extern _Thread_local long coir_fail_syscall_at;
extern _Thread_local int coir_fail_syscall_with;

static inline int coir_syscall_fault(void)
{
    return coir_fail_syscall_at > 0 && --coir_fail_syscall_at == 0 ? -coir_fail_syscall_with : 0;
}
#else
/* 0, or the negative errno that the system call that comes now is to fail with. */
static inline int coir_syscall_fault(void)
{
    return 0;
}
#endif

/* The same for a call that the kernel neither interrupts nor puts off, or that it makes again by itself then. */
static inline int coir_syscall_fault_lasting(void)
{
    const int fault = coir_syscall_fault();

    return fault == -EINTR || fault == -EAGAIN ? 0 : fault;
}

#endif
