/* SPDX-License-Identifier: MIT */
/*
 * From the bytes of an image to a program: the only validator there is. It may be given any bytes whatever, and reads
 * them once. What it lets pass keeps the rules of docs/image.md; what it refuses it names: the function, the pc, the
 * register, and why. Its work and its memory are bounded by a multiple of the image's size.
 */
#ifndef COIR_VM_LOAD_H
#define COIR_VM_LOAD_H

#include "vm/program.h"

/* Why an image was refused: one line, without an end of line. */
struct coir_load_error {
    char text[400];
};

/* Where the natives and resources that an image names are found: NULL if there is none of that name. */
struct coir_library {
    const struct coir_native *(*native)(const struct coir_library *l, const char *name);
    const struct coir_resource *(*resource)(const struct coir_library *l, const char *name);
};

/* 0 and *program, or -EINVAL (not a valid image; error->text says why) or -ENOMEM. The bytes are not kept. Without a
 * library any native and resource passes; such a program can be looked at, not run. */
int coir_program_load(const void *bytes, size_t length, const struct coir_library *library,
                      struct coir_program **program, struct coir_load_error *error);

void coir_program_free(struct coir_program *program);

/* What the proof knows of a function's registers wherever code is come to by a branch, by rising pc and register: "owns
 * Text or null", "is a word". For who looks at a program: it proves the function again. 0 or -ENOMEM. */
int coir_program_states(const struct coir_program *program, uint32_t function,
                        void (*see)(void *arg, uint32_t pc, uint32_t reg, const char *what), void *arg);

#endif
