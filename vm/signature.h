/* SPDX-License-Identifier: MIT */
/*
 * Whether a native can be called with the types that an image imports it with: its signature, which is text, is
 * compared with them. It is the loader's, and trusts the text, which is the library's own, but not the import.
 */
#ifndef COIR_VM_SIGNATURE_H
#define COIR_VM_SIGNATURE_H

#include "vm/native.h"

/* Which types may be keys, and which have an order, by their index. */
struct coir_type_classes {
    const uint8_t *key, *ordered;
};

/* NULL, or what is wrong. import->native is not looked at. A native without a signature is a host's, whose types are
 * compared by who has them (embed_match.c). */
const char *coir_signature_mismatch(const struct coir_native *native, const struct coir_import *import,
                                    const struct coir_type_classes *classes);

#endif
