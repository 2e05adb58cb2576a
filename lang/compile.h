/* SPDX-License-Identifier: MIT */
/*
 * A program from its first file to what the emitter takes: reads it and the files beside it that it uses, adds what it
 * uses of the standard library, parses and checks. It blocks: files are read as they are named.
 *
 *     struct coir_compilation c;
 *     if (coir_compile_file(&c, &budget, "main.coir") == 0 && c.diagnostics.errors == 0)
 *         ... c.typed is the program ...
 *     coir_diagnostics_print(&c.diagnostics, stderr);
 *     coir_compilation_free(&c);
 *
 * `use name` means the file name.coir beside the one that says it, or else the library's module of that name. Files may
 * use each other in a ring: a module is only declarations.
 */
#ifndef COIR_LANG_COMPILE_H
#define COIR_LANG_COMPILE_H

#include "lang/check.h"
#include "lang/prelude.h"

struct coir_file {
    const char *name;           /* of the module: "main" */
    bool library, core, host;
    struct coir_source source;
    struct coir_tree tree;
    bool parsed;
};

struct coir_compilation {
    struct coir_budget *memory;
    struct coir_arena arena;
    struct coir_diagnostics diagnostics;
    struct coir_file **files;   /* the first is the one that was asked for */
    uint32_t nfiles, room;
    const struct coir_prelude *hosts;   /* modules of a host's, beside the library's */
    uint32_t nhosts;
    const char *folder;         /* with a slash behind it, or ""; NULL: there are no files beside it */
    bool checked;               /* typed was made; it is whole if there were no errors */
    struct coir_typed typed;
};

/* A file; of a folder its main.coir. 0: all was looked at, c->diagnostics says what is wrong; -errno: `path` cannot be
 * read, and nothing was reported. Memory is taken from `m`; running out of it is reported. */
int coir_compile_file(struct coir_compilation *c, struct coir_budget *m, const char *path);

/* A text, as if it stood in a file `path`, with no other files beside it. 0, or -ENOMEM, -EFBIG. */
int coir_compile_text(struct coir_compilation *c, struct coir_budget *m, const char *path, const char *text, size_t n);

/* Either of them, `text` NULL being a file, with modules of a host's: they are found before the library's of the same
 * name, may use that, and declare natives and resources as it does. They must outlive the compilation. */
int coir_compile_hosted(struct coir_compilation *c, struct coir_budget *m, const char *path, const char *text, size_t n,
                        const struct coir_prelude *hosts, uint32_t nhosts);

/* Also after a failure. */
void coir_compilation_free(struct coir_compilation *c);

#endif
