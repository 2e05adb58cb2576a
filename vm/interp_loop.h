/* SPDX-License-Identifier: MIT */
/*
 * The interpreter's loop, included twice by interp.c: with THREADED each instruction jumps to the next one's code by a
 * table of labels, without it they are the cases of a switch. Nothing else differs.
 *
 * It trusts the code, which the loader has proved and machine.c has linked. It must never recurse, call what might
 * interpret, or hold the address of a register over a call that can move the stack. What is rare is not here: a slow
 * instruction is a function as natives are (machine.h), and gets the fiber with pc, r, fp and budget in it.
 */
__attribute__((aligned(64)))                 /* so that what is linked before it does not change how fast it is */
static enum coir_stop LOOP_NAME(struct coir_fiber *f)
{
    struct coir_vm *const vm = f->vm;
    struct coir_heap *const h = &vm->heap;
    const uint64_t *const constants = vm->program->constants;
    const struct coir_callee *const callees = vm->callees;
    const uint64_t *pc = f->pc;
    uint64_t *r = f->r;
    const uint64_t **fp = f->fp;
    int64_t budget = f->budget;
    uint64_t w;
    coir_native_fn *call;
    uint64_t *window;

#define A ((uint16_t)(w >> 16))
#define B ((uint16_t)(w >> 32))
#define C ((uint16_t)(w >> 48))
#define D ((uint8_t)(w >> 8))
#define SB ((int16_t)(w >> 32))
#define SC ((int64_t)w >> 48)
#define X ((uint32_t)(w >> 32))
#define SX ((int64_t)w >> 32)
#define RA r[A]
#define RB r[B]
#define RC r[C]
#define IA ((int64_t)RA)
#define IB ((int64_t)RB)
#define IC ((int64_t)RC)
#define FA as_float(RA)
#define FB as_float(RB)
#define FC as_float(RC)
#define BOX(slot) ((struct coir_box *)coir_ref(slot))
#define SAVE() (f->pc = pc - 1, f->r = r, f->fp = fp, f->budget = budget)

#ifdef THREADED
    static const void *const labels[256] = {
#define LABEL(name, format, flags, text) [COIR_OP_##name] = &&L_##name,
        COIR_OPCODES(LABEL)
#undef LABEL
#define LABEL(name) [COIR_OP_BACK_##name] = &&L_BACK_##name,
        COIR_BRANCH_OPS(LABEL)
#undef LABEL
#define LABEL(first, second) [COIR_OP_PAIR_##first##_##second] = &&L_PAIR_##first##_##second,
        COIR_PAIRS(LABEL)
#undef LABEL
#define LABEL(first, second) [COIR_OP_CHANGE_##first##_##second] = &&L_CHANGE_##first##_##second,
        COIR_CHANGES(LABEL)
#undef LABEL
#define LABEL(first, second) [COIR_OP_CHAIN_##first##_##second] = &&L_CHAIN_##first##_##second,
        COIR_CHAINS(LABEL)
#undef LABEL
#define LABEL(second) [COIR_OP_CHAIN_LFLDW_##second] = &&L_CHAIN_LFLDW_##second,
        COIR_LOADED_CHAINS(LABEL)
#undef LABEL
#define LABEL(first) [COIR_OP_PAIR_##first##_FORI] = &&L_PAIR_##first##_FORI,
        COIR_FORI_PAIRS(LABEL)
#undef LABEL
#define LABEL(first) [COIR_OP_PAIR_##first##_CALL] = &&L_PAIR_##first##_CALL,
        COIR_CALL_PAIRS(LABEL)
#undef LABEL
#define LABEL(first, second) [COIR_OP_PAIR_##first##_##second] = &&L_PAIR_##first##_##second, \
        [COIR_OP_PAIR_##first##_BACK_##second] = &&L_PAIR_##first##_BACK_##second,
        COIR_BRANCH_PAIRS(LABEL)
        [COIR_OP_PAIR_ADDI_LGETW_BACK_JLT] = &&L_PAIR_ADDI_LGETW_BACK_JLT,
#undef LABEL
        [COIR_OP_END] = &&L_END,
    };
#define OP(name) L_##name:
#ifdef COIR_HEAP_EXACT                       /* checked at every step: compiling a jump from each place takes minutes */
#define NEXT goto dispatch
dispatch:
    w = *pc++;
    goto *labels[(uint8_t)w];
#else
#define NEXT do { w = *pc++; goto *labels[(uint8_t)w]; } while (0)
    NEXT;
#endif
#else
#define OP(name) case COIR_OP_##name:
#define NEXT goto again
again:
    w = *pc++;
    switch ((uint8_t)w) {
    default:
        __builtin_unreachable();
#endif

#define WORD(name, value) OP(name) RA = (uint64_t)(value); NEXT;
#define FLOAT(name, value) OP(name) RA = as_word(value); NEXT;
/* A branch forwards, and the same back: that one costs a reduction, once it has landed. */
#define LAND() do { if (__builtin_expect(--budget == 0, 0)) goto slice; NEXT; } while (0)
#define BRANCH(name, offset, taken) \
    OP(name) if (taken) pc += (offset) - 1; NEXT; \
    OP(BACK_##name) if (taken) { pc += (offset) - 1; LAND(); } NEXT;
#define SLOW(name, function) OP(name) call = function; goto slow;
/* The list or map at a place becomes that place's own, with room for `room` more elements. A big one is copied in
 * slices, and the instruction run again: so it stands before anything else that an instruction does. */
#define OWN_LIST(p, room) do { \
        uint64_t *const list_place = (p); \
        const struct coir_list *const shared = coir_list_at(*list_place); \
        if (__builtin_expect(!coir_sole(&shared->head) || shared->cap < shared->len + (room), 0)) { \
            if (!coir_sole(&shared->head) && coir_list_is_big(h, *list_place)) { \
                window = list_place; \
                call = coir_big_list_copy; \
                goto first; \
            } \
            if (!coir_list_own_slow(h, list_place, room)) \
                goto memory; \
        } } while (0)
#define OWN_MAP(p) do { \
        uint64_t *const map_place = (p); \
        if (__builtin_expect(!coir_sole(coir_ref(*map_place)), 0)) { \
            if (coir_map_is_big(*map_place)) { \
                window = map_place; \
                call = coir_big_map_copy; \
                goto first; \
            } \
            if (!coir_map_own(h, map_place)) \
                goto memory; \
        } } while (0)

/* What some instructions do, since pairs of them do it too. */
#define DO_MOVW RA = RB
#define DO_LEND RA = RB
#define DO_LOADI RA = (uint64_t)SX
#define DO_ADD RA = RB + RC
#define DO_SUB RA = RB - RC
#define DO_MUL RA = RB * RC
#define DO_ADDI RA = RB + (uint64_t)SC
#define DO_MULI RA = RB * (uint64_t)SC
#define DO_MODI RA = (uint64_t)(IB % SC)
#define DO_FADD RA = as_word(FB + FC)
#define DO_FSUB RA = as_word(FB - FC)
#define DO_FMUL RA = as_word(FB * FC)
#define INDEXED(list, index) do { \
        if (__builtin_expect((uint64_t)(index) >= coir_list_at(list)->len, 0)) { \
            SAVE(); \
            coir_trap_index(f, (int64_t)(index), coir_list_at(list)->len); \
            return COIR_STOP_TRAP; \
        } } while (0)
#define DO_LGETW do { \
        INDEXED(RB, RC); \
        RA = coir_list_at(RB)->data[RC]; \
        } while (0)
#define DO_LSETW do { \
        INDEXED(RA, RB); \
        OWN_LIST(&RA, 0); \
        coir_list_at(RA)->data[RB] = RC; \
        } while (0)
#define DO_LFLDW do { \
        uint64_t record; \
        INDEXED(RB, RC); \
        record = coir_list_at(RB)->data[RC]; \
        if (__builtin_expect(!record, 0)) \
            goto hole; \
        RA = BOX(record)->slots[D]; \
        } while (0)
#define DO_LPUTW do { \
        uint64_t *record; \
        INDEXED(RA, RB); \
        if (__builtin_expect(!coir_list_at(RA)->data[RB], 0)) \
            goto hole; \
        OWN_LIST(&RA, 0); \
        record = &coir_list_at(RA)->data[RB]; \
        if (__builtin_expect(!coir_sole(coir_ref(*record)), 0) && !coir_box_own(h, record)) \
            goto memory; \
        BOX(*record)->slots[D] = RC; \
        } while (0)
#define DO_RETV do { \
        r[B] = RA;                           /* linked: B is behind the mut parameters */ \
        pc = *fp++; \
        r -= COIR_I_A(pc[-1]); \
        } while (0)
#define DO_CALL do { \
        const struct coir_callee *to = &callees[X]; \
        if (__builtin_expect(!coir_has_room(f, r + A, to->nregs, fp), 0)) { \
            SAVE(); \
            if (!coir_stack_grow(f, A + to->nregs)) \
                return COIR_STOP_TRAP; \
            r = f->r; \
            fp = f->fp; \
        } \
        *--fp = pc; \
        r += A; \
        pc = to->code; \
        } while (0)
#define PLAIN(name) OP(name) DO_##name; NEXT;
#define PAIR(first, second) OP(PAIR_##first##_##second) DO_##first; w = *pc++; DO_##second; NEXT;
/* The second takes what the first has made from here, not from memory, where it lies as well. */
#define MAKE_FADD (FB + FC)
#define MAKE_FSUB (FB - FC)
#define MAKE_FMUL (FB * FC)
#define USE_FADD(x) RA = as_word((x) + FC)
#define USE_FSUB(x) RA = as_word((x) - FC)
#define USE_FBUS(x) RA = as_word(FB - (x))
#define USE_FMUL(x) RA = as_word((x) * FC)
#define CHAIN(first, second) OP(CHAIN_##first##_##second) { \
        const double made = MAKE_##first; \
        RA = as_word(made); \
        w = *pc++; \
        USE_##second(made); \
        NEXT; \
    }
#define LOADED(second) OP(CHAIN_LFLDW_##second) { \
        double made; \
        DO_LFLDW; \
        made = FA; \
        w = *pc++; \
        USE_##second(made); \
        NEXT; \
    }
/* Whoever holds the list alone, and the record, changes the word where it is; else the instruction is the first of the
 * three, and the others follow. */
#define SLOT_LFLDW(slot) do { \
        const struct coir_list *const list = coir_list_at(RB); \
        uint64_t holder; \
        INDEXED(RB, RC); \
        holder = list->data[RC]; \
        if (__builtin_expect(!coir_sole(&list->head) || !holder || !coir_sole(coir_ref(holder)), 0)) { \
            DO_LFLDW; \
            NEXT; \
        } \
        slot = &BOX(holder)->slots[D]; \
        } while (0)
#define SLOT_LGETW(slot) do { \
        const struct coir_list *const list = coir_list_at(RB); \
        INDEXED(RB, RC); \
        if (__builtin_expect(!coir_sole(&list->head), 0)) { \
            DO_LGETW; \
            NEXT; \
        } \
        slot = &list->data[RC]; \
        } while (0)
#define WITH_FADD(x) as_word(as_float(x) + FC)
#define WITH_FSUB(x) as_word(as_float(x) - FC)
#define WITH_ADD(x) (x) + RC
#define WITH_ADDI(x) (x) + (uint64_t)SC
#define CHANGE(first, second) OP(CHANGE_##first##_##second) { \
        uint64_t *slot, was, is; \
        SLOT_##first(slot); \
        was = *slot; \
        RA = was; \
        w = *pc; \
        is = WITH_##second(was); \
        RA = is; \
        *slot = is; \
        pc += 2; \
        NEXT; \
    }
#define PAIR_FORI(first) OP(PAIR_##first##_FORI) \
    DO_##first; w = *pc++; if ((int64_t)++RA < IB) { pc += SC - 1; LAND(); } NEXT;
#define TAKEN_JLT (IA < IB)
#define TAKEN_JLE (IA <= IB)
#define TAKEN_JFLT (FA < FB)
#define PAIR_BRANCH(first, second) \
    OP(PAIR_##first##_##second) DO_##first; w = *pc++; if (TAKEN_##second) pc += SC - 1; NEXT; \
    OP(PAIR_##first##_BACK_##second) \
        DO_##first; w = *pc++; if (TAKEN_##second) { pc += SC - 1; LAND(); } NEXT;
#define PAIR_CALL(first) OP(PAIR_##first##_CALL) DO_##first; w = *pc++; DO_CALL; LAND();

    /* ---- moves ---- */
    OP(EXT) __builtin_unreachable();
    PLAIN(MOVW)
    OP(MOVE) {
        const uint64_t moved = RB;

        RB = 0;
        RA = moved;
        NEXT;
    }
    OP(SET) {
        const uint64_t old = RA;

        RA = RB;
        RB = 0;
        if (old)
            coir_drop(h, coir_ref(old));
        NEXT;
    }
    PLAIN(LEND)
    OP(COPY) {
        RA = RB;
        if (RA)
            coir_hold(coir_ref(RA));
        NEXT;
    }
    OP(DROP) {
        const uint64_t old = RA;

        RA = 0;
        if (old)
            coir_drop(h, coir_ref(old));
        NEXT;
    }
    OP(NULL) RA = 0; NEXT;
    OP(NONNULL) if (!RA) goto hole; NEXT;
    PLAIN(LOADI)
    WORD(CONSTW, constants[X])
    WORD(CONSTT, constants[X])
    OP(GLOBAL) {
        if (!vm->global_set[X])
            goto not_set;
        RA = vm->globals[X];
        NEXT;
    }
    OP(GSET) {
        if (vm->global_set[X])
            goto not_set;
        vm->global_set[X] = 1;
        vm->globals[X] = RA;
        RA = 0;
        if (!coir_global_keep(vm, X))
            goto memory;
        NEXT;
    }

    /* ---- Int ---- */
    PLAIN(ADD)
    PLAIN(SUB)
    PLAIN(MUL)
    OP(DIV) {
        const int64_t a = IB, b = IC;

        if (b == 0 || (b == -1 && a == INT64_MIN))
            goto division;
        RA = (uint64_t)(a / b);
        NEXT;
    }
    OP(MOD) {
        const int64_t a = IB, b = IC;

        if (b == 0)
            goto division;
        RA = b == -1 ? 0 : (uint64_t)(a % b);       /* the machine's own division does not do MIN % -1 */
        NEXT;
    }
    WORD(NEG, -RB)
    WORD(AND, RB & RC)
    WORD(OR, RB | RC)
    WORD(XOR, RB ^ RC)
    OP(SHL) if (RC > 63) goto shift; RA = RB << RC; NEXT;
    OP(SHR) if (RC > 63) goto shift; RA = (uint64_t)(IB >> RC); NEXT;
    PLAIN(ADDI)
    WORD(RSUBI, (uint64_t)SC - RB)
    PLAIN(MULI)
    WORD(DIVI, IB / SC)
    PLAIN(MODI)
    WORD(ANDI, RB & (uint64_t)SC)
    WORD(SHLI, RB << C)
    WORD(SHRI, IB >> C)
    WORD(NOT, RB == 0)
    WORD(EQ, RB == RC)
    WORD(NE, RB != RC)
    WORD(LT, IB < IC)
    WORD(LE, IB <= IC)

    /* ---- Float ---- */
    PLAIN(FADD)
    PLAIN(FSUB)
    PLAIN(FMUL)
    FLOAT(FDIV, FB / FC)
    FLOAT(FMOD, fmod(FB, FC))
    FLOAT(FNEG, -FB)
    FLOAT(FABS, fabs(FB))
    FLOAT(FSQRT, sqrt(FB))
    WORD(FEQ, FB == FC)
    WORD(FNE, FB != FC)
    WORD(FLT, FB < FC)
    WORD(FLE, FB <= FC)
    FLOAT(ITOF, (double)IB)
    WORD(FTOI, to_int(FB))

    /* ---- branches ---- */
    BRANCH(JMP, SX, true)
    BRANCH(JT, SX, RA)
    BRANCH(JF, SX, !RA)
    BRANCH(JEQ, SC, RA == RB)
    BRANCH(JNE, SC, RA != RB)
    BRANCH(JLT, SC, IA < IB)
    BRANCH(JLE, SC, IA <= IB)
    BRANCH(JEQI, SC, IA == SB)
    BRANCH(JNEI, SC, IA != SB)
    BRANCH(JLTI, SC, IA < SB)
    BRANCH(JLEI, SC, IA <= SB)
    BRANCH(JGTI, SC, IA > SB)
    BRANCH(JGEI, SC, IA >= SB)
    BRANCH(JFEQ, SC, FA == FB)
    BRANCH(JFNE, SC, !(FA == FB))
    BRANCH(JFLT, SC, FA < FB)
    BRANCH(JFLE, SC, FA <= FB)
    BRANCH(JFNLT, SC, !(FA < FB))
    BRANCH(JFNLE, SC, !(FA <= FB))
    BRANCH(JNULL, SX, !RA)
    BRANCH(JNNULL, SX, RA)
    BRANCH(JIS, SX, coir_ref(RA)->aux == D)
    BRANCH(JISNT, SX, coir_ref(RA)->aux != D)
    OP(SWITCH) pc += RA < B ? RA : B; NEXT;
    BRANCH(FORI, SC, (int64_t)++RA < IB)
    BRANCH(FORE, SC, IA < IB && (++RA, true))

    /* ---- records and sums ---- */
    OP(NEW) {
        const struct coir_type *t = &h->types[B];
        struct coir_box *b = coir_box_new(h, t, 0, t->cell_slots);

        if (__builtin_expect(!b, 0))
            goto memory;
        copy_slots(b->slots, &RC, t->cell_slots);
        RA = coir_slot_of(b);
        NEXT;
    }
    OP(NEWV) {
        const struct coir_type *t = &h->types[B];
        const struct coir_variant *v = &t->variants[D];
        struct coir_box *b;

        if (v->constant) {
            RA = coir_slot_of(v->constant);
            NEXT;
        }
        b = coir_box_new(h, t, D, v->slots);
        if (__builtin_expect(!b, 0))
            goto memory;
        copy_slots(b->slots, &RC, v->slots);
        RA = coir_slot_of(b);
        NEXT;
    }
    WORD(GETW, BOX(RB)->slots[C])
    OP(GETR) {
        const uint64_t found = BOX(RB)->slots[C];

        if (found)
            coir_hold(coir_ref(found));
        else if (!nullable(h, coir_ref(RB), C))
            goto hole;
        RA = found;
        NEXT;
    }
    OP(LENDF) {
        const uint64_t found = BOX(RB)->slots[C];

        if (!found && !nullable(h, coir_ref(RB), C))
            goto hole;
        RA = found;
        NEXT;
    }
    OP(SETW) {
        if (__builtin_expect(!coir_sole(coir_ref(RA)), 0) && !coir_box_own(h, &RA))
            goto memory;
        BOX(RA)->slots[B] = RC;
        NEXT;
    }
    OP(SETR) {
        uint64_t old;

        if (__builtin_expect(!coir_sole(coir_ref(RA)), 0) && !coir_box_own(h, &RA))
            goto memory;
        old = BOX(RA)->slots[B];
        BOX(RA)->slots[B] = RC;
        RC = 0;
        if (old)
            coir_drop(h, coir_ref(old));
        NEXT;
    }
    WORD(TAG, coir_ref(RB)->aux)
    OP(GETPW) if (coir_ref(RB)->aux != D) goto variant; RA = BOX(RB)->slots[C]; NEXT;
    OP(GETPR) {
        const uint64_t found = coir_ref(RB)->aux == D ? BOX(RB)->slots[C] : 0;

        if (found)
            coir_hold(coir_ref(found));
        else if (coir_ref(RB)->aux != D)
            goto variant;
        else if (!nullable(h, coir_ref(RB), C))
            goto hole;
        RA = found;
        NEXT;
    }
    OP(LENDP) {
        const uint64_t found = coir_ref(RB)->aux == D ? BOX(RB)->slots[C] : 0;

        if (found) {
            RA = found;
            NEXT;
        }
        if (coir_ref(RB)->aux != D)
            goto variant;
        if (!nullable(h, coir_ref(RB), C))
            goto hole;
        RA = found;
        NEXT;
    }
    SLOW(UNPACK, coir_op_unpack)

    /* ---- places ---- */
    WORD(PREG, (uintptr_t)&RB)
    OP(PFLD) {
        uint64_t *const p = place(RA) + B;

        if (!*p)
            goto hole;
        if (__builtin_expect(!coir_sole(coir_ref(*p)), 0) && !coir_box_own(h, p))
            goto memory;
        RA = (uintptr_t)&BOX(*p)->slots[C];
        NEXT;
    }
    OP(PIDX) {
        uint64_t *const p = place(RA) + B;
        const uint64_t i = RC;

        if (!*p)
            goto hole;
        if (i >= coir_list_at(*p)->len) {
            SAVE();
            coir_trap_index(f, (int64_t)i, coir_list_at(*p)->len);
            return COIR_STOP_TRAP;
        }
        OWN_LIST(p, 0);
        RA = (uintptr_t)coir_list_slot(coir_list_at(*p), i, h->types[coir_ref(*p)->type].cell_slots);
        NEXT;
    }
    OP(PKEY) {
        uint64_t *const p = place(RA) + B, *found;

        if (!*p)
            goto hole;
        if (!coir_map_find(h, coir_map_at(*p), &RC))
            goto key;
        OWN_MAP(p);
        found = coir_map_find(h, coir_map_at(*p), &RC);
        RA = (uintptr_t)found;
        NEXT;
    }
    WORD(PLDW, place(RB)[C])
    OP(PLDR) {
        const uint64_t found = place(RB)[C];

        if (found)
            coir_hold(coir_ref(found));
        else if (!D)
            goto hole;
        RA = found;
        NEXT;
    }
    OP(PSTW) place(RA)[B] = RC; NEXT;
    OP(PSTR) {
        uint64_t *const p = place(RA) + B;
        const uint64_t old = *p;

        *p = RC;
        RC = 0;
        if (old)
            coir_drop(h, coir_ref(old));
        NEXT;
    }
    OP(PTAKE) {
        uint64_t *const p = place(RB) + C;
        const uint64_t taken = *p;

        if (!taken && !D)
            goto hole;
        *p = 0;
        RA = taken;
        NEXT;
    }
    OP(PCAT) {
        uint64_t *const p = place(RA) + B;

        if (!*p)
            goto hole;
        if (!coir_text_append(h, p, coir_text_at(RC)->bytes, coir_text_at(RC)->len))
            goto memory;
        NEXT;
    }
    OP(PPUSH) {
        uint64_t *const p = place(RA) + B;

        if (!*p)
            goto hole;
        OWN_LIST(p, 1);
        push(h, coir_list_at(*p), &RC);
        NEXT;
    }

    /* ---- lists ---- */
    OP(NEWL) {
        const struct coir_type *t = &h->types[B];
        struct coir_list *l = coir_list_new(h, t, D);

        if (!l)
            goto memory;
        l->len = D;
        copy_slots(l->data, &RC, D * t->cell_slots);
        RA = coir_slot_of(l);
        NEXT;
    }
    WORD(LLEN, coir_list_at(RB)->len)
    PLAIN(LGETW)
    OP(LGETR) {
        uint64_t found;

        INDEXED(RB, RC);
        found = coir_list_at(RB)->data[RC];
        if (found)
            coir_hold(coir_ref(found));
        else if (!element_nullable(h, coir_ref(RB), 0))
            goto hole;
        RA = found;
        NEXT;
    }
    OP(LGET) {
        INDEXED(RB, RC);
        if (!get_element(h, coir_list_at(RB), RC, &RA, true))
            goto hole;
        NEXT;
    }
    OP(LLEND) {
        INDEXED(RB, RC);
        if (!get_element(h, coir_list_at(RB), RC, &RA, false))
            goto hole;
        NEXT;
    }
    PLAIN(LSETW)
    OP(LSETR) {
        uint64_t *p, old;

        INDEXED(RA, RB);
        OWN_LIST(&RA, 0);
        p = &coir_list_at(RA)->data[RB];
        old = *p;
        *p = RC;
        RC = 0;
        if (old)
            coir_drop(h, coir_ref(old));
        NEXT;
    }
    OP(LSET) {
        INDEXED(RA, RB);
        OWN_LIST(&RA, 0);
        set_element(h, coir_list_at(RA), RB, &RC);
        NEXT;
    }
    OP(LPUSHW) {
        struct coir_list *l;

        OWN_LIST(&RA, 1);
        l = coir_list_at(RA);
        l->data[l->len++] = RB;
        NEXT;
    }
    OP(LPUSH) {
        OWN_LIST(&RA, 1);
        push(h, coir_list_at(RA), &RB);
        NEXT;
    }
    PLAIN(LFLDW)
    OP(LFLDR) {
        uint64_t record, found;

        INDEXED(RB, RC);
        record = coir_list_at(RB)->data[RC];
        if (!record)
            goto hole;
        found = BOX(record)->slots[D];
        if (found)
            coir_hold(coir_ref(found));
        else if (!nullable(h, coir_ref(record), D))
            goto hole;
        RA = found;
        NEXT;
    }
    PLAIN(LPUTW)
    OP(LPUTR) {
        uint64_t *record, old;

        INDEXED(RA, RB);
        if (!coir_list_at(RA)->data[RB])
            goto hole;
        OWN_LIST(&RA, 0);
        record = &coir_list_at(RA)->data[RB];
        if (__builtin_expect(!coir_sole(coir_ref(*record)), 0) && !coir_box_own(h, record))
            goto memory;
        old = BOX(*record)->slots[D];
        BOX(*record)->slots[D] = RC;
        RC = 0;
        if (old)
            coir_drop(h, coir_ref(old));
        NEXT;
    }
#define NEXT_OF(name, offset, step) \
    OP(name) { \
        const uint16_t at = B + 1; \
        if (r[at] < coir_list_at(RB)->len) { \
            step; \
            r[at]++; \
            pc += (offset) - 1; \
        } \
        NEXT; \
    } \
    OP(BACK_##name) { \
        const uint16_t at = B + 1; \
        if (r[at] < coir_list_at(RB)->len) { \
            step; \
            r[at]++; \
            pc += (offset) - 1; \
            LAND(); \
        } \
        NEXT; \
    }
    NEXT_OF(LNEXTW, SC, RA = coir_list_at(RB)->data[r[at]])
    NEXT_OF(LNEXT, SC, if (!get_element(h, coir_list_at(RB), r[at], &RA, true)) goto hole)
    NEXT_OF(LNEXTL, SC, if (!get_element(h, coir_list_at(RB), r[at], &RA, false)) goto hole)

    /* ---- maps ---- */
    OP(NEWM) {
        struct coir_map *m = coir_map_new(h, &h->types[B]);

        if (!m)
            goto memory;
        RA = coir_slot_of(m);
        NEXT;
    }
    WORD(MLEN, coir_map_at(RB)->live)
    OP(MGET) {
        const uint64_t *found = coir_map_find(h, coir_map_at(RB), &RC);

        if (!found)
            goto key;
        if (!get_value(h, coir_map_at(RB), found, &RA, true))
            goto hole;
        NEXT;
    }
    OP(MGETO) {
        if (!get_optional(h, coir_map_at(RB), &RC, &RA))
            goto hole;
        NEXT;
    }
    OP(MLEND) {
        const uint64_t *found = coir_map_find(h, coir_map_at(RB), &RC);

        if (!found)
            goto key;
        if (!get_value(h, coir_map_at(RB), found, &RA, false))
            goto hole;
        NEXT;
    }
    WORD(MHAS, coir_map_find(h, coir_map_at(RB), &RC) != NULL)
    OP(MSET) {
        OWN_MAP(&RA);
        if (__builtin_expect(coir_map_at(RA)->used == coir_map_at(RA)->cap, 0) && coir_map_is_big(RA)
            && !coir_map_find(h, coir_map_at(RA), &RB)) {
            window = &RA;
            call = coir_big_map_grow;
            goto first;
        }
        if (!put(h, coir_map_at(RA), &RB, &RC))
            goto memory;
        NEXT;
    }
#define NEXT_IN(name, copied) \
    OP(name) { \
        const uint64_t *e = coir_map_next(h, coir_map_at(RB), &r[(uint16_t)(B + 1)]); \
        if (e) { \
            if (!get_entry(h, coir_map_at(RB), e, &RA, copied)) { \
                r[(uint16_t)(B + 1)]--; \
                goto hole; \
            } \
            pc += SC - 1; \
        } \
        NEXT; \
    } \
    OP(BACK_##name) { \
        const uint64_t *e = coir_map_next(h, coir_map_at(RB), &r[(uint16_t)(B + 1)]); \
        if (e) { \
            if (!get_entry(h, coir_map_at(RB), e, &RA, copied)) { \
                r[(uint16_t)(B + 1)]--; \
                goto hole; \
            } \
            pc += SC - 1; \
            LAND(); \
        } \
        NEXT; \
    }
    NEXT_IN(MNEXT, true)
    NEXT_IN(MNEXTL, false)

    /* ---- texts ---- */
    OP(TNEW) {
        struct coir_text *t = coir_text_new(h, B);

        if (!t)
            goto memory;
        t->len = 0;
        RA = coir_slot_of(t);
        NEXT;
    }
    WORD(TLEN, coir_text_at(RB)->len)
    OP(TBYTE) {
        const struct coir_text *t = coir_text_at(RB);

        if (__builtin_expect(RC >= t->len, 0)) {
            SAVE();
            coir_trap_index(f, IC, t->len);
            return COIR_STOP_TRAP;
        }
        RA = (uint8_t)t->bytes[RC];
        NEXT;
    }
    WORD(TEQ, coir_text_equal(coir_text_at(RB), coir_text_at(RC)))
    OP(TCMP) {
        const int order = coir_text_compare(coir_text_at(RB), coir_text_at(RC));

        RA = (uint64_t)(int64_t)((order > 0) - (order < 0));
        NEXT;
    }
    OP(TCAT) {
        struct coir_text *t = coir_text_join(h, coir_text_at(RB), coir_text_at(RC));

        if (!t)
            goto memory;
        RA = coir_slot_of(t);
        NEXT;
    }
    OP(APPEND) {
        if (!coir_text_append(h, &RA, coir_text_at(RB)->bytes, coir_text_at(RB)->len))
            goto memory;
        NEXT;
    }
    SLOW(FORMAT, coir_op_format)
    SLOW(EQV, coir_op_eqv)
    SLOW(CMPV, coir_op_cmpv)

    /* ---- calls ---- */
    OP(CALL) DO_CALL; LAND();
    OP(CALLC) {
        const struct coir_callee *to = &callees[coir_ref(RB)->aux];
        const uint64_t closure = RB;

        if (__builtin_expect(!coir_has_room(f, r + A, to->nregs, fp), 0)) {
            SAVE();
            if (!coir_stack_grow(f, A + to->nregs))
                return COIR_STOP_TRAP;
            r = f->r;
            fp = f->fp;
        }
        *--fp = pc;
        r += A;
        r[to->slots] = closure;
        pc = to->code;
        LAND();
    }
    OP(CALLN) {
        const struct coir_import *import = &vm->program->imports[X];

        SAVE();
        f->next = pc;
        f->import = import;
        f->call = import->native->call;
        f->window = r + A;
        f->step = 0;
        f->asked = f->call(f, r + A);
        if (__builtin_expect(f->asked != COIR_NATIVE_DONE, 0))
            return COIR_STOP_CALL;
        budget = f->budget;
        if (__builtin_expect(f->scratch != NULL, 0))
            coir_scratch_end(f);
        NEXT;
    }
    OP(CLOSURE) {
        const struct coir_function *to = &vm->program->functions[B];
        struct coir_box *b = coir_box_new(h, to->closure, B, to->capture_slots);

        if (!b)
            goto memory;
        copy_slots(b->slots, &RC, to->capture_slots);
        RA = coir_slot_of(b);
        NEXT;
    }
    PLAIN(RETV)
    OP(RET) {
        pc = *fp++;
        r -= COIR_I_A(pc[-1]);
        NEXT;
    }

    /* ---- fibers, traps ---- */
    SLOW(SPAWN, coir_op_spawn)
    SLOW(GROUP, coir_op_group)
    SLOW(GROOM, coir_op_groom)
    SLOW(GSPAWN, coir_op_gspawn)
    SLOW(GFAIL, coir_op_gfail)
    SLOW(GWAIT, coir_op_gwait)
    SLOW(WITHIN, coir_op_within)
    SLOW(SHIELD, coir_op_shield)
    SLOW(YIELD, coir_op_yield)
    SLOW(SELECT, coir_op_select)
    SLOW(TRAP, coir_op_trap)
    SLOW(TRAPM, coir_op_trapm)
    SLOW(REPORT, coir_op_report)
    SLOW(MSG, coir_op_msg)
    /* ---- pairs that linking makes ---- */
    COIR_PAIRS(PAIR)
    COIR_CHANGES(CHANGE)
    COIR_CHAINS(CHAIN)
    COIR_LOADED_CHAINS(LOADED)
    COIR_FORI_PAIRS(PAIR_FORI)
    COIR_CALL_PAIRS(PAIR_CALL)
    COIR_BRANCH_PAIRS(PAIR_BRANCH)
    OP(PAIR_ADDI_LGETW_BACK_JLT)
        DO_ADDI;
        w = *pc++;
        DO_LGETW;
        w = *pc++;
        if (TAKEN_JLT) {
            pc += SC - 1;
            LAND();
        }
        NEXT;
    OP(END) {
        SAVE();
        return COIR_STOP_DONE;
    }
#ifndef THREADED
    }
#endif

first:                                       /* then the same instruction again */
    f->next = pc - 1;
    goto calls;
slow:
    f->next = pc + further_words(w);
    window = r;
calls:
    SAVE();
    f->call = call;
    f->window = window;
    f->step = 0;
    f->asked = call(f, window);
    if (f->asked != COIR_NATIVE_DONE)
        return COIR_STOP_CALL;
    budget = f->budget;
    pc = f->next;
    if (f->scratch)
        coir_scratch_end(f);
    NEXT;
slice:
    f->pc = pc;
    f->r = r;
    f->fp = fp;
    return COIR_STOP_SLICE;
memory:
    SAVE();
    coir_trap_memory(f);
    return COIR_STOP_TRAP;
hole:
    SAVE();
    coir_trap(f, COIR_TRAP_EXPLICIT, "a value that has been taken out is used");
    return COIR_STOP_TRAP;
variant:
    SAVE();
    coir_trap(f, COIR_TRAP_EXPLICIT, "a value of another variant");
    return COIR_STOP_TRAP;
not_set:
    SAVE();
    coir_trap(f, COIR_TRAP_EXPLICIT, "a module's let is used before it is set, or set again");
    return COIR_STOP_TRAP;
division:
    SAVE();
    coir_trap(f, COIR_TRAP_DIVZERO, RC ? "%s overflows" : "%s by zero",
              (uint8_t)w == COIR_OP_DIV ? "division" : "remainder");
    return COIR_STOP_TRAP;
shift:
    SAVE();
    coir_trap(f, COIR_TRAP_BOUNDS, "shift by %lld", (long long)RC);
    return COIR_STOP_TRAP;
key:
    SAVE();
    trap_key(f, h, coir_map_at((uint8_t)w == COIR_OP_PKEY ? place(RA)[B] : RB), &RC);
    return COIR_STOP_TRAP;
}

#undef A
#undef B
#undef C
#undef D
#undef SB
#undef SC
#undef X
#undef SX
#undef RA
#undef RB
#undef RC
#undef IA
#undef IB
#undef IC
#undef FA
#undef FB
#undef FC
#undef BOX
#undef SAVE
#undef OP
#undef NEXT
#undef WORD
#undef FLOAT
#undef LAND
#undef BRANCH
#undef SLOW
#undef OWN_LIST
#undef OWN_MAP
#undef INDEXED
#undef PLAIN
#undef PAIR
#undef CHANGE
#undef SLOT_LFLDW
#undef SLOT_LGETW
#undef WITH_FADD
#undef WITH_FSUB
#undef WITH_ADD
#undef WITH_ADDI
#undef CHAIN
#undef LOADED
#undef MAKE_FADD
#undef MAKE_FSUB
#undef MAKE_FMUL
#undef USE_FADD
#undef USE_FSUB
#undef USE_FBUS
#undef USE_FMUL
#undef PAIR_FORI
#undef PAIR_CALL
#undef PAIR_BRANCH
#undef TAKEN_JLT
#undef TAKEN_JLE
#undef TAKEN_JFLT
#undef DO_MOVW
#undef DO_LEND
#undef DO_LOADI
#undef DO_ADD
#undef DO_SUB
#undef DO_MUL
#undef DO_ADDI
#undef DO_MULI
#undef DO_MODI
#undef DO_FADD
#undef DO_FSUB
#undef DO_FMUL
#undef DO_LGETW
#undef DO_LSETW
#undef DO_LFLDW
#undef DO_LPUTW
#undef DO_RETV
#undef DO_CALL
#undef NEXT_OF
#undef NEXT_IN
