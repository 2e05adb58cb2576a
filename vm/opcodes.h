/* SPDX-License-Identifier: MIT */
/*
 * The instructions of the VM: the one table that the loader, the interpreter, the disassembler, the builder and
 * docs/image.md are made of or compared with. It owns no code and assumes nothing but <stdint.h>. What is not said
 * here about an instruction must not be relied on by anybody.
 *
 * An instruction is a 64-bit word, some have further words (EXT). In the word, from its low end:
 *
 *      0        8        16               32               48               64
 *      +--------+--------+----------------+----------------+----------------+
 *      |   op   |   D    |       A        |       B        |       C        |
 *      +--------+--------+----------------+----------------+----------------+
 *                                         |   a 32-bit operand, signed (B:C) |
 *
 * pc counts words from the function's first. A branch's target is the pc of its instruction plus its offset.
 *
 * Formats: one letter for each of A, B, C, D.
 *      -   unused, must be 0
 *      w   a register with a word, read
 *      W   a register that gets a word
 *      r   a register, as the text says
 *      i   a signed 16-bit number            I.   (B:C) a signed 32-bit number
 *      u   an unsigned 16-bit number         K.   (B:C) a constant
 *      j   a branch offset, signed           J.   (B:C) a branch offset, signed
 *      t   a type                            F.   (B:C) a function
 *      f   a function                        N.   (B:C) an import
 *      d   a number in D                     G.   (B:C) a slot of the globals
 *
 * Words of the texts. `rA` is the register whose number is A, `rA..` the registers from it that a value of the type
 * takes. A register holds nothing, a word, null, or a reference: owned, lent, or a place.
 *      word      64 bits of Int, Float, Bool (not 0 is true), Duration, an enum, a tag. Any bits are safe.
 *      borrowed  read only; the register may be owned or lent, and stays as it is.
 *      taken     the register was owned, and is empty afterwards (what is in it does not matter any more).
 *      gets      the register must not own anything before; it owns, or is lent, or a word, afterwards.
 *      changed   the register is owned and not null; the cell it names is made unique first (copied if it is shared),
 *                so rA may name another cell afterwards. What was lent from rA is empty from then on, and may not be
 *                another operand of the same instruction.
 * Operands are read before anything is written, so a register may be both.
 * An instruction that traps has done nothing: the registers are as before it. (CALL and CALLC, too, as long as the
 * callee was not entered.) A reference that is null where its type says it is not (a hole that PTAKE left) traps
 * Explicit when it is read.
 *
 * The window of a call at rA: the arguments, those of mut parameters first, then the others in order, each as many
 * registers as it has slots; the callee's registers begin there, so its r0 is the caller's rA. An own or mut
 * argument is owned, a lent one is lent (LEND it there) or a word. For CALLC the callee finds the closure's cell,
 * lent, behind them. After the call the mut arguments are back, owned, in rA.., the result is behind them, and all
 * else from rA on is empty; so nothing else that is owned may lie there. If the callee traps, the mut arguments
 * are in rA.., owned, and whole; nothing else is. Lent to the callee is what is lent; it returns nothing lent.
 *
 * A branch that is taken to a pc at or before its own, and a call, cost a reduction; when none is left the fiber
 * gives its slice up where it has landed, and may be cut there, before the instruction at that pc: there is a drop
 * map.
 */
#ifndef COIR_VM_OPCODES_H
#define COIR_VM_OPCODES_H

#include <stdint.h>

/* What the flags say. */
enum {
    COIR_MAY_TRAP = 1,      /* may trap before it has done anything: the loader makes a drop map */
    COIR_MAY_PARK = 2,      /* may park, or end the slice in its middle and go on later; always with TRAP */
    COIR_BRANCHES = 4,      /* has a branch operand */
    COIR_ENDS = 8,       /* never falls through */
    COIR_CALLS = 16,     /* enters a function: a second drop map holds while the callee runs */
    COIR_KEEPS = 32,     /* places live on over it: it touches words, constants and places only */
    COIR_EXTENDS = 64,   /* one EXT word follows; SELECT: as many as it says */
};

#define COIR_OPCODES(X)                                                                                               \
    X(EXT, "----", 0, "the further word of the instruction before it: never executed, never jumped to")               \
    /* ---- moves ---- */                                                                                             \
    X(MOVW, "Ww--", COIR_KEEPS, "rA = rB, a word")                                                                    \
    X(MOVE, "rr--", 0, "rA gets what rB owns; rB is null afterwards (0 is stored)")                                   \
    X(SET, "rr--", 0, "drops what rA owns (rA owned or null), rA gets what rB owns; rB is null afterwards")           \
    X(LEND, "rr--", 0, "rA is lent what rB owns or is lent: no count changes")                                        \
    X(COPY, "rr--", 0, "rA gets rB, borrowed, count + 1; not of a type that owns a resource")                         \
    X(DROP, "r---", 0, "drops what rA owns (null is nothing); rA is empty. A scope is closed, a group cancelled")     \
    X(NULL, "r---", COIR_KEEPS, "rA = null (0)")                                                                      \
    X(NONNULL, "r---", COIR_MAY_TRAP, "traps Explicit if rA is null; it is not null afterwards")                      \
    X(LOADI, "WI.-", COIR_KEEPS, "rA = the number, sign-extended")                                                    \
    X(CONSTW, "WK.-", COIR_KEEPS, "rA = the constant, a word")                                                        \
    X(CONSTT, "rK.-", COIR_KEEPS, "rA is lent the constant, a Text (immortal)")                                       \
    X(GLOBAL, "rG.-", COIR_MAY_TRAP, "rA is the word of, or is lent, the global's slot; traps if that is a hole")     \
    X(GSET, "rG.-", COIR_MAY_TRAP, "the global's slot takes rA; only in the init function; traps if one is there")    \
    /* ---- Int: wraps ---- */                                                                                        \
    X(ADD, "Www-", COIR_KEEPS, "rA = rB + rC")                                                                        \
    X(SUB, "Www-", COIR_KEEPS, "rA = rB - rC")                                                                        \
    X(MUL, "Www-", COIR_KEEPS, "rA = rB * rC")                                                                        \
    X(DIV, "Www-", COIR_KEEPS | COIR_MAY_TRAP, "rA = rB / rC, truncated; DivZero at 0 and at MIN / -1")               \
    X(MOD, "Www-", COIR_KEEPS | COIR_MAY_TRAP, "rA = rB % rC, sign of rB; DivZero at 0; MIN % -1 is 0") \
    X(NEG, "Ww--", COIR_KEEPS, "rA = -rB")                                                                            \
    X(AND, "Www-", COIR_KEEPS, "rA = rB & rC")                                                                        \
    X(OR, "Www-", COIR_KEEPS, "rA = rB | rC")                                                                         \
    X(XOR, "Www-", COIR_KEEPS, "rA = rB ^ rC")                                                                        \
    X(SHL, "Www-", COIR_KEEPS | COIR_MAY_TRAP, "rA = rB << rC; Bounds unless 0 <= rC <= 63")                          \
    X(SHR, "Www-", COIR_KEEPS | COIR_MAY_TRAP, "rA = rB >> rC with rB's sign; Bounds unless 0 <= rC <= 63")           \
    X(ADDI, "Wwi-", COIR_KEEPS, "rA = rB + C")                                                                        \
    X(RSUBI, "Wwi-", COIR_KEEPS, "rA = C - rB")                                                                       \
    X(MULI, "Wwi-", COIR_KEEPS, "rA = rB * C")                                                                        \
    X(DIVI, "Wwi-", COIR_KEEPS, "rA = rB / C; C is neither 0 nor -1")                                                 \
    X(MODI, "Wwi-", COIR_KEEPS, "rA = rB % C; C is neither 0 nor -1")                                                 \
    X(ANDI, "Wwi-", COIR_KEEPS, "rA = rB & C, C sign-extended")                                                       \
    X(SHLI, "Wwi-", COIR_KEEPS, "rA = rB << C; 0 <= C <= 63")                                                         \
    X(SHRI, "Wwi-", COIR_KEEPS, "rA = rB >> C with rB's sign; 0 <= C <= 63")                                          \
    X(NOT, "Ww--", COIR_KEEPS, "rA = rB == 0")                                                                        \
    X(EQ, "Www-", COIR_KEEPS, "rA = rB == rC")                                                                        \
    X(NE, "Www-", COIR_KEEPS, "rA = rB != rC")                                                                        \
    X(LT, "Www-", COIR_KEEPS, "rA = rB < rC, signed")                                                                 \
    X(LE, "Www-", COIR_KEEPS, "rA = rB <= rC, signed")                                                                \
    /* ---- Float: IEEE doubles ---- */                                                                               \
    X(FADD, "Www-", COIR_KEEPS, "rA = rB + rC")                                                                       \
    X(FSUB, "Www-", COIR_KEEPS, "rA = rB - rC")                                                                       \
    X(FMUL, "Www-", COIR_KEEPS, "rA = rB * rC")                                                                       \
    X(FDIV, "Www-", COIR_KEEPS, "rA = rB / rC")                                                                       \
    X(FMOD, "Www-", COIR_KEEPS, "rA = fmod(rB, rC)")                                                                  \
    X(FNEG, "Ww--", COIR_KEEPS, "rA = -rB")                                                                           \
    X(FABS, "Ww--", COIR_KEEPS, "rA = |rB|")                                                                          \
    X(FSQRT, "Ww--", COIR_KEEPS, "rA = the square root of rB")                                                        \
    X(FEQ, "Www-", COIR_KEEPS, "rA = rB == rC")                                                                       \
    X(FNE, "Www-", COIR_KEEPS, "rA = rB != rC")                                                                       \
    X(FLT, "Www-", COIR_KEEPS, "rA = rB < rC")                                                                        \
    X(FLE, "Www-", COIR_KEEPS, "rA = rB <= rC")                                                                       \
    X(ITOF, "Ww--", COIR_KEEPS, "rA = rB, an Int, as the nearest Float")                                              \
    X(FTOI, "Ww--", COIR_KEEPS, "rA = rB, a Float, truncated to Int; the nearest Int if outside, 0 for NaN")          \
    /* ---- branches: one taken to a pc that is not after it is a back edge, and costs a reduction ---- */            \
    X(JMP, "-J.-", COIR_BRANCHES | COIR_ENDS, "jumps")                                                                \
    X(JT, "wJ.-", COIR_BRANCHES, "jumps if rA is not 0")                                                              \
    X(JF, "wJ.-", COIR_BRANCHES, "jumps if rA is 0")                                                                  \
    X(JEQ, "wwj-", COIR_BRANCHES, "jumps if rA == rB")                                                                \
    X(JNE, "wwj-", COIR_BRANCHES, "jumps if rA != rB")                                                                \
    X(JLT, "wwj-", COIR_BRANCHES, "jumps if rA < rB, signed")                                                         \
    X(JLE, "wwj-", COIR_BRANCHES, "jumps if rA <= rB, signed")                                                        \
    X(JEQI, "wij-", COIR_BRANCHES, "jumps if rA == B")                                                                \
    X(JNEI, "wij-", COIR_BRANCHES, "jumps if rA != B")                                                                \
    X(JLTI, "wij-", COIR_BRANCHES, "jumps if rA < B, signed")                                                         \
    X(JLEI, "wij-", COIR_BRANCHES, "jumps if rA <= B, signed")                                                        \
    X(JGTI, "wij-", COIR_BRANCHES, "jumps if rA > B, signed")                                                         \
    X(JGEI, "wij-", COIR_BRANCHES, "jumps if rA >= B, signed")                                                        \
    X(JFEQ, "wwj-", COIR_BRANCHES, "jumps if rA == rB, Floats")                                                       \
    X(JFNE, "wwj-", COIR_BRANCHES, "jumps if not rA == rB, Floats")                                                   \
    X(JFLT, "wwj-", COIR_BRANCHES, "jumps if rA < rB, Floats")                                                        \
    X(JFLE, "wwj-", COIR_BRANCHES, "jumps if rA <= rB, Floats")                                                       \
    X(JFNLT, "wwj-", COIR_BRANCHES, "jumps if not rA < rB, Floats (as with NaN)")                                     \
    X(JFNLE, "wwj-", COIR_BRANCHES, "jumps if not rA <= rB, Floats (as with NaN)")                                    \
    X(JNULL, "rJ.-", COIR_BRANCHES, "jumps if the reference rA is null; it is null there, and not null below")        \
    X(JNNULL, "rJ.-", COIR_BRANCHES, "jumps if the reference rA is not null; it is null below")                       \
    X(JIS, "rJ.d", COIR_BRANCHES, "jumps if the sum rA, borrowed, is of variant D")                                   \
    X(JISNT, "rJ.d", COIR_BRANCHES, "jumps if the sum rA, borrowed, is not of variant D")                             \
    X(SWITCH, "wu--", 0, "goes to the word rA of the B JMPs that follow, behind them unless rA < B, unsigned")        \
    X(FORI, "wwj-", COIR_BRANCHES, "rA += 1; jumps if rA < rB")                                                       \
    X(FORE, "wwj-", COIR_BRANCHES, "if rA < rB: rA += 1 and jumps")                                                   \
    /* ---- records and sums ---- */                                                                                  \
    X(NEW, "rtr-", COIR_MAY_TRAP, "rA gets a record of type B, its fields taken from rC..")                           \
    X(NEWV, "rtrd", COIR_MAY_TRAP, "rA gets variant D of the sum type B, its payload taken from rC..")                \
    X(GETW, "Wru-", 0, "rA = word C of the cell rB (record, closure), borrowed")                                      \
    X(GETR, "rru-", COIR_MAY_TRAP, "rA gets a copy of reference C of the cell rB, borrowed; traps at a hole")         \
    X(LENDF, "rru-", COIR_MAY_TRAP, "rA is lent reference C of the cell rB, borrowed; traps at a hole")               \
    X(SETW, "ruw-", COIR_MAY_TRAP, "the record rA, changed: word B = rC")                                             \
    X(SETR, "rur-", COIR_MAY_TRAP, "the record rA, changed: reference B takes rC, the old one is dropped")            \
    X(TAG, "Wr--", 0, "rA = the variant's number of the sum rB, borrowed")                                            \
    X(GETPW, "Wrud", COIR_MAY_TRAP, "rA = word C of the payload of rB, borrowed; Explicit unless of variant D")       \
    X(GETPR, "rrud", COIR_MAY_TRAP, "rA gets a copy of reference C of the payload of rB, borrowed, of variant D")     \
    X(LENDP, "rrud", COIR_MAY_TRAP, "rA is lent reference C of the payload of rB, borrowed, of variant D")            \
    X(UNPACK, "rr-d", COIR_MAY_TRAP, "rA.. get the payload of rB, taken, of variant D: moved if rB was unshared")     \
    /* ---- places: interior pointers, which live over instructions that keep them, and over no branch ---- */        \
    X(PREG, "rr--", COIR_KEEPS, "rA = the place of rB (owned, not null); what was lent from rB is empty")             \
    X(PFLD, "ruu-", COIR_KEEPS | COIR_MAY_TRAP, "place rA: its slot B names a record, made unique; rA = slot C")      \
    X(PIDX, "ruw-", COIR_KEEPS | COIR_MAY_TRAP, "place rA: its slot B names a list, made unique; rA = place of [rC]") \
    X(PKEY, "rur-", COIR_KEEPS | COIR_MAY_TRAP, "place rA: its slot B names a map; rA = value of rC.., borrowed")     \
    X(PLDW, "Wru-", COIR_KEEPS, "rA = word C of the place rB")                                                        \
    X(PLDR, "rru-", COIR_KEEPS | COIR_MAY_TRAP, "rA gets a copy of reference C of the place rB; traps at a hole")     \
    X(PSTW, "ruw-", COIR_KEEPS, "word B of the place rA = rC")                                                        \
    X(PSTR, "rur-", COIR_KEEPS, "reference B of the place rA takes rC; the old one (or a hole) is dropped")           \
    X(PTAKE, "rru-", COIR_KEEPS | COIR_MAY_TRAP, "rA gets reference C of the place rB, leaves null; traps at a hole") \
    X(PCAT, "rur-", COIR_KEEPS | COIR_MAY_TRAP, "the Text B of the place rA, changed: rC, borrowed, is appended")     \
    X(PPUSH, "rur-", COIR_KEEPS | COIR_MAY_TRAP, "the list B of the place rA, changed: takes rC.. at its end")        \
    /* ---- lists: C.. or A.. are as many registers as an element has slots ---- */                                   \
    X(NEWL, "rtrd", COIR_MAY_TRAP, "rA gets a list of type B, its D elements taken from rC..")                        \
    X(LLEN, "Wr--", 0, "rA = the length of the list rB, borrowed")                                                    \
    X(LGETW, "Wrw-", COIR_MAY_TRAP, "rA = rB[rC], elements of one word; Bounds")                                      \
    X(LGETR, "rrw-", COIR_MAY_TRAP, "rA gets a copy of rB[rC], elements of one reference; Bounds")                    \
    X(LGET, "rrw-", COIR_MAY_TRAP, "rA.. get a copy of rB[rC]; Bounds")                                               \
    X(LLEND, "rrw-", COIR_MAY_TRAP, "rA.. are lent rB[rC]; Bounds")                                                   \
    X(LSETW, "rww-", COIR_MAY_TRAP, "the list rA, changed: [rB] = rC, elements of one word; Bounds")                  \
    X(LSETR, "rwr-", COIR_MAY_TRAP, "the list rA, changed: [rB] takes rC, elements of one reference; Bounds")         \
    X(LSET, "rwr-", COIR_MAY_TRAP, "the list rA, changed: [rB] takes rC..; Bounds")                                   \
    X(LPUSHW, "rw--", COIR_MAY_TRAP, "the list rA, changed: rB, elements of one word, at its end")                    \
    X(LPUSH, "rr--", COIR_MAY_TRAP, "the list rA, changed: takes rB.. at its end")                                    \
    X(LFLDW, "Wrwd", COIR_MAY_TRAP, "rA = word D of the record rB[rC], rB borrowed; Bounds")                          \
    X(LFLDR, "rrwd", COIR_MAY_TRAP, "rA gets a copy of reference D of the record rB[rC], rB borrowed; Bounds")        \
    X(LPUTW, "rwwd", COIR_MAY_TRAP, "the list rA, changed: word D of its record [rB] (made unique) = rC; Bounds")     \
    X(LPUTR, "rwrd", COIR_MAY_TRAP, "the list rA, changed: reference D of its record [rB] takes rC; Bounds")          \
    X(LNEXTW, "Wrj-", COIR_BRANCHES, "i is r(B+1): if i < length of rB, rA = rB[i], i += 1, jumps; words")            \
    X(LNEXT, "rrj-", COIR_BRANCHES | COIR_MAY_TRAP, "the same; rA.. get a copy of the element, only if it jumps")     \
    X(LNEXTL, "rrj-", COIR_BRANCHES | COIR_MAY_TRAP, "the same; rA.. are lent the element, only if it jumps")         \
    /* ---- maps: keys are borrowed, and copied when they are inserted ---- */                                        \
    X(NEWM, "rt--", COIR_MAY_TRAP, "rA gets an empty map of type B")                                                  \
    X(MLEN, "Wr--", 0, "rA = the number of entries of the map rB, borrowed")                                          \
    X(MGET, "rrr-", COIR_MAY_TRAP, "rA.. get a copy of the value of rC.. in the map rB; Key")                         \
    X(MGETO, "rrr-", COIR_MAY_TRAP, "the same as an optional: null, or tag 0, if it is missing")                      \
    X(MLEND, "rrr-", COIR_MAY_TRAP, "rA.. are lent the value of rC.. in the map rB; Key")                             \
    X(MHAS, "Wrr-", 0, "rA = whether the map rB has the key rC..")                                                    \
    X(MSET, "rrr-", COIR_MAY_TRAP, "the map rA, changed: the value of rB.. becomes rC.., taken; the old is dropped")  \
    X(MNEXT, "rrj-", COIR_BRANCHES | COIR_MAY_TRAP, "r(B+1) is where in the map rB: rA.. get copies of key, value")   \
    X(MNEXTL, "rrj-", COIR_BRANCHES | COIR_MAY_TRAP, "the same; rA.. are lent the next key and value")                \
    /* ---- texts, and what is generic ---- */                                                                        \
    X(TNEW, "ru--", COIR_MAY_TRAP, "rA gets an empty Text with room for B bytes")                                     \
    X(TLEN, "Wr--", 0, "rA = the bytes of the Text rB, borrowed")                                                     \
    X(TBYTE, "Wrw-", COIR_MAY_TRAP, "rA = byte rC of the Text rB, borrowed, 0..255; Bounds")                          \
    X(TEQ, "Wrr-", 0, "rA = whether the Texts rB and rC, borrowed, are equal")                                        \
    X(TCMP, "Wrr-", 0, "rA = -1, 0, 1: the order of the Texts rB and rC, borrowed, by bytes")                         \
    X(TCAT, "rrr-", COIR_MAY_TRAP, "rA gets the Texts rB and rC, borrowed, joined")                                   \
    X(APPEND, "rr--", COIR_MAY_TRAP, "the Text rA, changed: the Text rB, borrowed, is appended")                      \
    X(FORMAT, "rrtd", COIR_MAY_TRAP | COIR_MAY_PARK,                                                                  \
      "the Text rA, changed: appends rB.., borrowed, of type C; D: 0 as print does, 1 as a literal")                  \
    X(EQV, "Wrr-", COIR_MAY_TRAP | COIR_MAY_PARK | COIR_EXTENDS,                                                      \
      "rA = whether rB.. and rC.., borrowed, are equal; EXT A: their type")                                           \
    X(CMPV, "Wrr-", COIR_MAY_TRAP | COIR_MAY_PARK | COIR_EXTENDS,                                                     \
      "rA = -1, 0, 1: the order of rB.. and rC.., borrowed; EXT A: their type")                                       \
    /* ---- calls ---- */                                                                                             \
    X(CALL, "rF.-", COIR_MAY_TRAP | COIR_MAY_PARK | COIR_CALLS, "calls the function with the window at rA")           \
    X(CALLC, "rr--", COIR_MAY_TRAP | COIR_MAY_PARK | COIR_CALLS,                                                      \
      "calls the function value rB, borrowed, B < A, with the window at rA; the closure's cell follows the args")     \
    X(CALLN, "rN.-", COIR_MAY_TRAP | COIR_MAY_PARK,                                                                   \
      "calls the native with the window at rA; if it traps, what it took of its own args it has set to 0")            \
    X(CLOSURE, "rfr-", COIR_MAY_TRAP, "rA gets a function value: the body B, what it captures taken from rC..")       \
    X(RET, "----", COIR_ENDS, "returns; results stand in the registers behind the mut params")                        \
    X(RETV, "r---", COIR_ENDS, "returns a result of one slot, taken from rA")                                         \
    /* ---- fibers ---- */                                                                                            \
    X(SPAWN, "rfrd", COIR_MAY_TRAP | COIR_MAY_PARK | COIR_EXTENDS,                                                    \
      "rA gets the Task of a new fiber that runs B (own params only, taken from rC..); EXT A: its type; D: 1 any "    \
      "shard. If that is an actor: B is 0, rC is its state, taken")                                                   \
    X(GROUP, "rw--", COIR_MAY_TRAP, "rA gets a new group with this fiber in it; limit rB, 0 or less: none")           \
    X(GROOM, "r---", COIR_MAY_TRAP | COIR_MAY_PARK, "waits until the group rA has room for one more")                 \
    X(GSPAWN, "rfrd", COIR_MAY_TRAP | COIR_EXTENDS, "SPAWN into the group r(EXT B); EXT A: the type of the Task")     \
    X(GFAIL, "rr--", 0, "the group rA, unless it has failed: fails with the Trap rB, borrowed; members are cancelled") \
    X(GWAIT, "r---", COIR_MAY_TRAP | COIR_MAY_PARK,                                                                   \
      "waits for all members of the group rA, cancelled or not; then traps with what it failed of, if it did")        \
    X(WITHIN, "rw--", COIR_MAY_TRAP, "rA gets a scope that expires in rB ns: traps are Timeout then. DROP closes it") \
    X(SHIELD, "r---", COIR_MAY_TRAP, "rA gets a scope in which no cancellation from outside is met. DROP closes it")  \
    X(YIELD, "----", COIR_MAY_TRAP | COIR_MAY_PARK, "goes to the tail of the shard's queue")                          \
    X(SELECT, "--ud", COIR_MAY_TRAP | COIR_MAY_PARK | COIR_EXTENDS | COIR_BRANCHES,                                   \
      "one of the C arms that follow as EXT words; D: 1 falls through if none is ready. EXT D is the kind: 0 recv: "  \
      "rB.. get the optional from channel rA; 1 send: channel rA takes rB.., if chosen; 2 after: rA ns. EXT C: where") \
    /* ---- traps ---- */                                                                                             \
    X(TRAP, "r---", COIR_MAY_TRAP | COIR_ENDS, "raises the Trap rA, borrowed, unchanged; so does a cleanup pad end")  \
    X(TRAPM, "r--d", COIR_MAY_TRAP | COIR_ENDS, "raises a trap of code D whose message is the Text rA, borrowed")     \
    X(REPORT, "r---", COIR_MAY_TRAP, "prints the Trap rA, borrowed, on stderr")                                       \
    /* ---- actors ---- */                                                                                            \
    X(MSG, "r--d", COIR_MAY_TRAP | COIR_MAY_PARK | COIR_EXTENDS,                                                      \
      "the actor rA, lent, of type EXT A, is sent its message EXT B with r(A+1).., args as CALLN's; D: 1 waits for "  \
      "the reply, which rA.. get")

enum coir_op {
#define COIR_OPCODE_ENUM(name, format, flags, text) COIR_OP_##name,
    COIR_OPCODES(COIR_OPCODE_ENUM)
#undef COIR_OPCODE_ENUM
    COIR_OP_COUNT,
};

/* An instruction as the tables know it. */
struct coir_op_info {
    const char *name;
    const char *format;     /* four letters: A, B, C, D */
    unsigned flags;
    const char *text;
};
extern const struct coir_op_info coir_ops[COIR_OP_COUNT];

/* ---- the parts of a word ---- */

#define COIR_I_OP(w) ((uint8_t)(w))
#define COIR_I_D(w) ((uint8_t)((w) >> 8))
#define COIR_I_A(w) ((uint16_t)((w) >> 16))
#define COIR_I_B(w) ((uint16_t)((w) >> 32))
#define COIR_I_C(w) ((uint16_t)((w) >> 48))
#define COIR_I_SB(w) ((int16_t)((w) >> 32))
#define COIR_I_SC(w) ((int16_t)((w) >> 48))
#define COIR_I_X(w) ((uint32_t)((w) >> 32))         /* B:C */
#define COIR_I_SX(w) ((int32_t)((w) >> 32))

static inline uint64_t coir_instruction(unsigned op, unsigned a, unsigned b, unsigned c, unsigned d)
{
    return (uint64_t)(op & 0xff) | (uint64_t)(d & 0xff) << 8 | (uint64_t)(a & 0xffff) << 16
        | (uint64_t)(b & 0xffff) << 32 | (uint64_t)(c & 0xffff) << 48;
}

static inline uint64_t coir_instruction_wide(unsigned op, unsigned a, uint32_t x, unsigned d)
{
    return coir_instruction(op, a, x & 0xffff, x >> 16, d);
}

#endif
