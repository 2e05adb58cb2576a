/* SPDX-License-Identifier: MIT */
/*
 * The inside of the builder, for its three files: build.c (strings, constants, imports, the image), build_types.c,
 * build_code.c (instructions, labels). Nobody else includes it.
 */
#ifndef COIR_VM_BUILD_INSIDE_H
#define COIR_VM_BUILD_INSIDE_H

#include "vm/arena.h"
#include "vm/build.h"

/* Bytes that grow. The memory is of malloc. */
struct coir_bytes {
    uint8_t *p;
    size_t n, cap;
};

/* A type: what precedes the list of its fields, variants or elements in the image, how many those are, the list. */
struct coir_build_type {
    uint8_t kind;
    uint16_t count;                     /* fields; variants */
    uint16_t payload;                   /* fields of the last variant */
    size_t payload_at;                  /* where their number stands in `rest` */
    unsigned nslots;
    struct coir_build_slot *slots;
    struct coir_bytes head, rest;
};

struct coir_build_fn {
    uint32_t name, file;
    bool defined;
    struct coir_bytes bytes;            /* its record, name and file excepted */
};

/* An operand that is a branch's offset: of word `at`, of the instruction at `owner`. */
struct coir_build_fix {
    uint32_t at, owner, label;
    bool wide, is_far;
};

struct coir_build_handler {
    uint8_t kind;
    uint16_t keep;
    uint32_t from, to, at;              /* labels */
};

struct coir_build_line { uint32_t at, line; };

/* Arrays that grow by coir_build_grow. */
#define COIR_ARRAY(type) struct { type *p; uint32_t n, cap; }

struct coir_build {
    const char *error;
    char text[160];
    struct coir_load_arena arena;

    struct { uint32_t *at; uint32_t mask, n; } index;      /* of entries, open addressing; 0: free */
    COIR_ARRAY(struct coir_build_entry) entries;

    uint32_t nstrings, nconstants, nglobals, nglobal_slots, nimports, nexports;
    struct coir_bytes strings, constants, globals, imports, exports;
    COIR_ARRAY(struct coir_build_type) types;
    COIR_ARRAY(struct coir_build_fn) functions;

    /* the function that is being built */
    bool open;
    uint32_t function;
    struct coir_bytes head;
    size_t flags_at, captures_at;
    uint16_t ncaptures;
    COIR_ARRAY(uint64_t) code;
    uint32_t owner;                     /* the last instruction's word */
    uint32_t placed_at;                 /* where a label was placed last */
    COIR_ARRAY(struct coir_build_fix) fixes;
    COIR_ARRAY(uint32_t) labels;        /* their words; UINT32_MAX: not placed */
    COIR_ARRAY(struct coir_build_line) lines;
    COIR_ARRAY(struct coir_build_handler) handlers;
};

struct coir_build_entry {
    const uint8_t *key;
    uint32_t length, hash, value;
};

/* Keeps the first failure. */
void coir_build_fail(struct coir_build *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Room for one more of an array. */
bool coir_build_grow(struct coir_build *b, void *array, size_t size);
#define COIR_PUSH(b, array) \
    (coir_build_grow(b, &(array), sizeof *(array).p) ? &(array).p[(array).n++] : NULL)

void coir_put8(struct coir_build *b, struct coir_bytes *to, uint8_t x);
void coir_put16(struct coir_build *b, struct coir_bytes *to, uint16_t x);
void coir_put32(struct coir_build *b, struct coir_bytes *to, uint32_t x);
void coir_put64(struct coir_build *b, struct coir_bytes *to, uint64_t x);
void coir_put(struct coir_build *b, struct coir_bytes *to, const void *bytes, size_t n);

/* The value of a key; *is_new and the value `next` if there was none. */
uint32_t coir_build_intern(struct coir_build *b, const void *key, size_t length, uint32_t next, bool *is_new);

/* The index of a string. */
uint32_t coir_build_string(struct coir_build *b, const char *bytes, size_t length);
uint32_t coir_build_name(struct coir_build *b, const char *name);

/* The built-in types. */
void coir_build_types_init(struct coir_build *b);
void coir_build_params(struct coir_build *b, struct coir_bytes *to, const struct coir_build_param *params, unsigned n);

#endif
