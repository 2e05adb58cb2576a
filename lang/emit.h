/* SPDX-License-Identifier: MIT */
/*
 * The emitter: a typed program becomes an image. Generic functions are made once for each set of types they are used
 * with; what nobody reaches is not in the image. The image is proved by the loader as any other is.
 */
#ifndef COIR_LANG_EMIT_H
#define COIR_LANG_EMIT_H

#include "lang/diagnose.h"
#include "lang/typed.h"

/* What is wanted of a program: to be run, from its main; or from one that runs its tests (prelude/testing.coir); to be
 * called by a host: main, if there is one, and each function of coir_x_fn.exported; the natives of a host's modules, to
 * see how they are called. */
enum coir_emit_what { COIR_EMIT_MAIN, COIR_EMIT_TESTS, COIR_EMIT_EXPORTS, COIR_EMIT_NATIVES };

/*
 * The image of a program in which no error was reported; *bytes is malloc's, the caller's to free. More types may come
 * to its table. 0; -ENOMEM; or -E2BIG, and what is too large is reported (COIR_E_INSTANCES, COIR_E_FUNCTION_SIZE).
 * From any thread, one at a time for a program.
 */
int coir_emit(const struct coir_typed *program, enum coir_emit_what what, void **bytes, size_t *length,
              struct coir_diagnostics *diagnostics);

#endif
