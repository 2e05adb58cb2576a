/* SPDX-License-Identifier: MIT */
/*
 * The sources of the standard library, as they were when this was built: lang/prelude/NAME.coir. They declare natives
 * as functions without a body, and resources as types without fields; all else in them is plain Coir.
 */
#ifndef COIR_LANG_PRELUDE_H
#define COIR_LANG_PRELUDE_H

#include <stdbool.h>
#include <stdint.h>

struct coir_prelude {
    const char *name;           /* as `use` says it */
    const char *text;
    uint32_t size;
    bool core;                  /* there without `use` */
};

extern const struct coir_prelude coir_preludes[];
extern const uint32_t coir_preludes_count;

#endif
