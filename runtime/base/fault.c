/* SPDX-License-Identifier: MIT */
/*
 * The counters of fault.h. Nothing else may live here: without COIR_FAULTS this file is empty.
 */
#include "runtime/base/fault.h"

#ifdef COIR_FAULTS
_Thread_local long coir_fail_syscall_at;
_Thread_local int coir_fail_syscall_with;
#else
typedef int coir_no_faults;
#endif
