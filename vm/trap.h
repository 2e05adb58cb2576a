/* SPDX-License-Identifier: MIT */
/*
 * Traps: their codes, and how one is raised. A trap is a record of type
 *
 *     Trap { code: Text, message: Text, file: Text, line: Int, errno: Int, trace: List[Text] }
 *
 * whose code is one of these names. Raising says what went wrong and returns at once; the fiber unwinds when the
 * instruction has come back to it (unwind.h).
 */
#ifndef COIR_VM_TRAP_H
#define COIR_VM_TRAP_H

#include <stdarg.h>

#define COIR_TRAPS(X) \
    X(BOUNDS, "Bounds") X(KEY, "Key") X(DIVZERO, "DivZero") X(STACK, "Stack") X(MEMORY, "Memory") X(IO, "Io") \
    X(CLOSED, "Closed") X(TIMEOUT, "Timeout") X(CANCELLED, "Cancelled") X(ACTORDOWN, "ActorDown") \
    X(DEADLOCK, "Deadlock") X(DB, "Db") X(ASSERT, "Assert") X(EXPLICIT, "Explicit")

enum coir_trap_code {
#define COIR_TRAP_CODE_(id, name) COIR_TRAP_##id,
    COIR_TRAPS(COIR_TRAP_CODE_)
#undef COIR_TRAP_CODE_
    COIR_TRAP_CODES
};

/* The slots of a Trap's cell, and how many. */
enum { COIR_TRAP_AT_CODE, COIR_TRAP_AT_MESSAGE, COIR_TRAP_AT_FILE, COIR_TRAP_AT_LINE, COIR_TRAP_AT_ERRNO,
       COIR_TRAP_AT_TRACE, COIR_TRAP_SLOTS };

const char *coir_trap_name(enum coir_trap_code code);

#endif
