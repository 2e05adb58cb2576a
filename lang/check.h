/* SPDX-License-Identifier: MIT */
/*
 * From the trees of all modules to a typed program. Everything that is wrong in names, types, patterns and ownership is
 * reported; the program is whole only if nothing was. Nothing is read and nothing printed here: lang/compile.h does.
 */
#ifndef COIR_LANG_CHECK_H
#define COIR_LANG_CHECK_H

#include "lang/tree.h"
#include "lang/typed.h"

/* One file. `use` finds others by their names. */
struct coir_module {
    const char *name;           /* "main", "net": as `use` says it */
    const struct coir_tree *tree;
    bool library;               /* of the standard library: may declare natives, and methods of built-in types */
    bool core;                  /* of that: there without `use` */
    bool host;                  /* no, of a host's, which declares natives likewise */
    bool asked;                 /* its tests are to be run, and unused names in it are reported */
    bool main;                  /* its `main` is the program's */
    uint32_t nuses;             /* the names behind its `use`s, and the modules that they mean */
    const struct coir_module_use {
        coir_ast node;          /* the NAME */
        uint32_t module;        /* UINT32_MAX: there is none, which was reported */
    } *uses;
};

/*
 * Checks `n` modules. 0: `typed` is a program, if d->errors is still 0, and to be freed by coir_typed_free in any case.
 * -ENOMEM: it was reported (E902), and `typed` is to be freed as well. The modules' trees and sources must outlive it.
 */
int coir_check(struct coir_typed *typed, const struct coir_module *modules, uint32_t n, struct coir_diagnostics *d,
               struct coir_budget *m);
void coir_typed_free(struct coir_typed *typed);

#endif
