/* SPDX-License-Identifier: MIT */
/*
 * Assertions that stay in release builds, and the few words that every file of the runtime needs: branch
 * hints, container_of, what sanitizer the build runs under. It assumes nothing and includes nothing of
 * coir. No side effect may ever stand inside COIR_ASSERT(): it is for reading, not for doing.
 *
 * The name shadows <assert.h> only for who puts runtime/base itself on the include path: nobody does, coir's
 * files are included from the root of the tree ("runtime/base/assert.h").
 */
#ifndef COIR_RUNTIME_BASE_ASSERT_H
#define COIR_RUNTIME_BASE_ASSERT_H

#include <stddef.h>

#define COIR_LIKELY(cond) __builtin_expect(!!(cond), 1)
#define COIR_UNLIKELY(cond) __builtin_expect(!!(cond), 0)

/* Prints "file:line: assertion failed: expression" to stderr and aborts. */
_Noreturn void coir_assert_failed(const char *file, int line, const char *expression)
    __attribute__((cold, noinline));

/* An invariant of coir or a duty of its caller: always checked. An expression of type void. */
#define COIR_ASSERT(cond) (COIR_LIKELY(cond) ? (void)0 : coir_assert_failed(__FILE__, __LINE__, #cond))

/* The struct of `type` whose `member` `ptr` points at. The unused arm of ?: has the compiler compare the
 * types. */
#define coir_container_of(ptr, type, member) \
    ((type *)(void *)((char *)(1 ? (ptr) : (__typeof__(&((type *)0)->member))0) - offsetof(type, member)))

/* 1 or 0: gcc says it with a macro, clang with a feature test. */
#if defined(__has_feature)
#define COIR_HAS_FEATURE_(name) __has_feature(name)
#else
#define COIR_HAS_FEATURE_(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || COIR_HAS_FEATURE_(address_sanitizer)
#define COIR_ASAN 1
#else
#define COIR_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || COIR_HAS_FEATURE_(thread_sanitizer)
#define COIR_TSAN 1
#else
#define COIR_TSAN 0
#endif

#if COIR_ASAN
#include <sanitizer/asan_interface.h>
#endif

/* From now on touching [p, p + n) is reported. Nothing without AddressSanitizer. */
static inline void coir_asan_poison(const volatile void *p, size_t n)
{
#if COIR_ASAN
    __asan_poison_memory_region(p, n);
#else
    (void)p;
    (void)n;
#endif
}

/* [p, p + n) may be touched again. Nothing without AddressSanitizer. */
static inline void coir_asan_unpoison(const volatile void *p, size_t n)
{
#if COIR_ASAN
    __asan_unpoison_memory_region(p, n);
#else
    (void)p;
    (void)n;
#endif
}

#endif
