/* SPDX-License-Identifier: MIT */
/*
 * Images written by hand, for the tests of the VM: text in, the bytes of an image out, by the builder. It is no part of
 * coir; it takes what a test says, right or wrong, and leaves judging to the loader.
 *
 *     # a comment
 *     record P { x: Int, name: Text }                 types, in any order
 *     sum Shape { Circle(r: Float), Rect(w: Float, h: Float), Empty }
 *     enum Color { Red, Green }
 *     resource net.Conn
 *     actor Meter of State { add: f, read: g }        its messages and their functions; the state is a record
 *     global limit: Int
 *     import print "io.print" (Text)                  its name here, its name there, how it is called
 *     import push "List.push" (mut List[Int], Int) -> ()
 *
 *     fn fib(n: Int) -> Int regs 3 {                  parameters: own, mut, or neither (lent)
 *         .line 7                                     what follows is of this line
 *         JGEI r0, 2, more                            operands as in opcodes.h, in the order A, B, C, D
 *         RET
 *     more:
 *         ...
 *     }
 *     fn add(x: Int) -> Int of fn(Int) -> Int captures (k: Int) regs 3 { ... }     the body of a closure
 *     export main main                                also: init, test, function; "name" before the function's, if any
 *
 * Types are written as in Coir, group and scope excepted. Operands: registers r0, labels, functions, imports and
 * globals by name, numbers; CONSTW takes a number or a Float (1.5), CONSTT a "text" with \n \t \" \\ \xNN; a variant's
 * name may stand for its number, a trap's for its code. EQV and CMPV have their type as a fourth operand, SPAWN the
 * Task's type and maybe `any`, GSPAWN the Task's type and the group's register; an actor is spawned by SPAWN r0, 0, r1,
 * Meter, and MSG has as third and fourth operands the actor's type and the message's number. What is not used is left
 * out.
 *
 *     SELECT else                                     or without else; then its arms
 *     recv r1, r4, got
 *     send r2, r6, sent
 *     after r3, late
 *
 *     .catch from, to, pad, 3                         handlers: labels, and what is kept; innermost first
 *     .cleanup from, to, pad, 3
 */
#ifndef COIR_TESTS_VM_ASM_H
#define COIR_TESTS_VM_ASM_H

#include <stddef.h>

#include "vm/load.h"

/* 0, and bytes of malloc; or -1, and in error->text "line 3: what is wrong". */
int asm_image(const char *text, void **bytes, size_t *length, struct coir_load_error *error);

/* The same, and loaded: NULL, and error->text, if the text or the image is refused. */
struct coir_program *asm_load(const char *text, const struct coir_library *library, struct coir_load_error *error);

/* A function of a program by its name; NULL if there is none. */
const struct coir_function *asm_function(const struct coir_program *p, const char *name);

#endif
