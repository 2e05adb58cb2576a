/* SPDX-License-Identifier: MIT */
/*
 * What an image is made of: the numbers that its writer (build.c) and its reader (load.c) share, and its limits.
 * docs/image.md tells the format byte by byte. Nothing here depends on how a program is run.
 */
#ifndef COIR_VM_IMAGE_H
#define COIR_VM_IMAGE_H

#include "vm/opcodes.h"
#include "vm/type.h"

/* The first types of every image: the fixed ones of type.h, then these. */
enum {
    COIR_INDEX_SCOPE = COIR_TYPE_FIXED, /* what WITHIN and SHIELD open: only in registers */
    COIR_INDEX_GROUP,                   /* only in registers */
    COIR_INDEX_TEXTS,                   /* List[Text] */
    COIR_INDEX_TRAP,                    /* trap.h */
    COIR_INDEX_FREE,                    /* the first of the program's own */
};

/* A trap goes on at the first handler around its pc; a fiber that is being stopped passes over COIR_CATCH. */
enum coir_handler_kind { COIR_CATCH, COIR_CLEANUP, COIR_HANDLER_KINDS };

/* What the outside starts: main, the init function (which main's fiber runs first), functions by name, tests. */
enum coir_export_kind { COIR_EXPORT_MAIN, COIR_EXPORT_INIT, COIR_EXPORT_FUNCTION, COIR_EXPORT_TEST, COIR_EXPORT_KINDS };

/* The arms of SELECT. */
enum coir_arm_kind { COIR_ARM_RECV, COIR_ARM_SEND, COIR_ARM_AFTER, COIR_ARM_KINDS };

/* The head, then a table of the sections: each is {u32 section, u32 length}, in this order, all of them; then their
 * bytes, back to back. Numbers are little-endian and not aligned. */
#define COIR_IMAGE_MAGIC "\x7f" "COIRB\r\n"
enum { COIR_IMAGE_VERSION = 1, COIR_IMAGE_HEAD = 24, COIR_IMAGE_ENTRY = 8 };

enum coir_section {
    COIR_SECTION_STRINGS,
    COIR_SECTION_TYPES,
    COIR_SECTION_CONSTANTS,
    COIR_SECTION_GLOBALS,
    COIR_SECTION_IMPORTS,
    COIR_SECTION_FUNCTIONS,
    COIR_SECTION_EXPORTS,
    COIR_SECTIONS,
};

/* Bits of the head's features that this reader knows: none yet. An image with others is refused. */
#define COIR_IMAGE_FEATURES UINT32_C(0)

/* What stands before the value of a constant. */
enum { COIR_CONSTANT_WORD, COIR_CONSTANT_TEXT };

/* A function's flags. */
enum { COIR_FUNCTION_BODY = 1 };

/* Limits: what is more is not an image. */
enum {
    COIR_MAX_TYPES = 65535,
    COIR_MAX_FUNCTIONS = 65535,
    COIR_MAX_REGISTERS = 65535,
    COIR_MAX_PARAMS = 255,
    COIR_MAX_CODE = 1 << 24,            /* words of a function */
    COIR_MAX_VARIANTS = 65535,          /* of an enum; a sum with payloads has at most 256 */
    COIR_MAX_PAYLOADS = 256,
    COIR_MAX_GLOBAL_SLOTS = 65535,
    COIR_MAX_ARMS = 255,                /* of a SELECT */
};

#endif
