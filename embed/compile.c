/* SPDX-License-Identifier: MIT */
/*
 * Compiling for a host: see compile.h. Only this file of the folder sees the front end. What it makes is an image,
 * which nobody trusts for having come from here.
 */
#include "embed/compile.h"

#include <errno.h>
#include <string.h>

#include "lang/compile.h"
#include "lang/emit.h"

int coir_host_compile(const struct coir_prelude *hosts, uint32_t nhosts, const char *path, const char *text, size_t n,
                      enum coir_host_wants wants, FILE *why, void **image, size_t *length)
{
    const bool exports = wants == COIR_HOST_EXPORTS;
    struct coir_budget memory = { 0 };
    struct coir_compilation c;
    int status = coir_compile_hosted(&c, &memory, path, text, n, hosts, nhosts);

    if (status < 0) {
        fprintf(why, "coir: %s: %s\n", path, strerror(-status));
    } else {
        status = c.diagnostics.errors ? -EINVAL
                 : coir_emit(&c.typed, exports ? COIR_EMIT_EXPORTS : COIR_EMIT_NATIVES, image, length, &c.diagnostics);
        if (status == -E2BIG)
            status = -EINVAL;
        if (status < 0 || exports)
            coir_diagnostics_print(&c.diagnostics, why);
    }
    coir_compilation_free(&c);
    return status;
}
