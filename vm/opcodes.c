/* SPDX-License-Identifier: MIT */
/*
 * The table of instructions as an array, made of the list in the header. Nothing else may stand here.
 */
#include "vm/opcodes.h"

const struct coir_op_info coir_ops[COIR_OP_COUNT] = {
#define COIR_OPCODE_INFO(name, format, flags, text) { #name, format, flags, text },
    COIR_OPCODES(COIR_OPCODE_INFO)
#undef COIR_OPCODE_INFO
};
