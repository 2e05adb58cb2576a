/* SPDX-License-Identifier: MIT */
/*
 * The kinds of nodes, and the accessors of each, in one list. It is included with some of these macros defined, takes
 * the others for nothing, and undefines all; it owns no declaration of its own.
 *
 *     COIR_NODE(CALL, "call")              the kind COIR_N_CALL, "call" in dumps
 *     COIR_SLOT(ast_call, callee, 0)       coir_ast_call_callee(tree, node): child 0
 *     COIR_LIST(ast_call, args, 1, 0)      coir_ast_call_args(tree, node): the children from 1 on, less the last 0
 *     COIR_LAST(ast_if, otherwise)         coir_ast_if_otherwise(tree, node): the last child
 *
 * "or none": the child may be 0 without any error. "main": what the main token is (coir_ast_word).
 */
#ifndef COIR_NODE
#define COIR_NODE(name, text)
#endif
#ifndef COIR_SLOT
#define COIR_SLOT(kind, slot, i)
#endif
#ifndef COIR_LIST
#define COIR_LIST(kind, list, from, less)
#endif
#ifndef COIR_LAST
#define COIR_LAST(kind, slot)
#endif

/* What could not be parsed; its children are what could be made out of it, and need no looking at. */
COIR_NODE(ERROR, "error")

/* ---- declarations: items of a module, and members ---- */

/* The whole file. */
COIR_NODE(MODULE, "module")
COIR_LIST(ast_module, items, 0, 0)              /* USE, LET, FN, RECORD_TYPE, SUM_TYPE, ACTOR, TABLE, TEST, ERROR */

/* `use net, io`. */
COIR_NODE(USE, "use")
COIR_LIST(ast_use, modules, 0, 0)               /* NAME each */

/* `fn name[T](x: T) -> R { … }`; also as a member of a record or an actor. main: the name. PUB. NATIVE: no body. */
COIR_NODE(FN, "fn")
COIR_SLOT(ast_fn, type_params, 0)               /* TYPE_PARAMS or none */
COIR_SLOT(ast_fn, params, 1)                    /* PARAMS */
COIR_SLOT(ast_fn, result, 2)                    /* a type or none */
COIR_SLOT(ast_fn, body, 3)                      /* BLOCK; none if NATIVE */

/* `[T, K: Key]`. */
COIR_NODE(TYPE_PARAMS, "type-params")
COIR_LIST(ast_type_params, list, 0, 0)          /* TYPE_PARAM */

/* main: the name. */
COIR_NODE(TYPE_PARAM, "type-param")
COIR_SLOT(ast_type_param, bound, 0)             /* TYPE_NAME or none */

/* The parameters of FN, HANDLER, CLOSURE, TYPE_FN. */
COIR_NODE(PARAMS, "params")
COIR_LIST(ast_params, list, 0, 0)               /* PARAM */

/* main: the name, COIR_T_SELF for `self`, COIR_T_UNDERSCORE for `_`; none in TYPE_FN. MUT, OWN. */
COIR_NODE(PARAM, "param")
COIR_SLOT(ast_param, type, 0)                   /* none for `self` (not in a prelude) and those of `x => e` */

/* `type P[T] { x: Int, y: Int = 0, fn norm(self) -> Int { … } }`. main: the name. PUB, SHARED. */
COIR_NODE(RECORD_TYPE, "record-type")
COIR_SLOT(ast_record_type, type_params, 0)      /* TYPE_PARAMS or none */
COIR_LIST(ast_record_type, members, 1, 0)       /* FIELD, FN */

/* `x: Int = 0`, of a record, an actor, a table; `r: Float` or `Float` of a VARIANT. main: the name, or none. */
COIR_NODE(FIELD, "field")
COIR_SLOT(ast_field, attributes, 0)             /* ATTRIBUTES or none; in tables only */
COIR_SLOT(ast_field, type, 1)
COIR_SLOT(ast_field, value, 2)                  /* an expression or none */

COIR_NODE(ATTRIBUTES, "attributes")
COIR_LIST(ast_attributes, list, 0, 0)           /* ATTRIBUTE */

/* `@unique`. main: the word behind the `@`. */
COIR_NODE(ATTRIBUTE, "attribute")

/* `type Shape = Circle(r: Float) | Empty`. main: the name. PUB. */
COIR_NODE(SUM_TYPE, "sum-type")
COIR_SLOT(ast_sum_type, type_params, 0)         /* TYPE_PARAMS or none */
COIR_LIST(ast_sum_type, variants, 1, 0)         /* VARIANT */

/* main: the name. */
COIR_NODE(VARIANT, "variant")
COIR_LIST(ast_variant, fields, 0, 0)            /* FIELD */

/* `actor Meter { … }`. main: the name. PUB. */
COIR_NODE(ACTOR, "actor")
COIR_LIST(ast_actor, members, 0, 0)             /* FIELD, HANDLER, FN */

/* `on read() -> T { … }`. main: the name, which may be any word. */
COIR_NODE(HANDLER, "on")
COIR_SLOT(ast_handler, params, 0)               /* PARAMS */
COIR_SLOT(ast_handler, result, 1)               /* a type or none */
COIR_SLOT(ast_handler, body, 2)                 /* BLOCK */

/* `table Account { … }`. main: the name. PUB. */
COIR_NODE(TABLE, "table")
COIR_LIST(ast_table, fields, 0, 0)              /* FIELD */

/* `test "name" { … }`. */
COIR_NODE(TEST, "test")
COIR_SLOT(ast_test, name, 0)                    /* TEXT without expressions */
COIR_SLOT(ast_test, body, 1)                    /* BLOCK */

/* `let p: T = e`, of a module or a block. VAR. PUB, of a module. */
COIR_NODE(LET, "let")
COIR_SLOT(ast_let, pattern, 0)                  /* BIND, ANY, TUPLE_PATTERN of these */
COIR_SLOT(ast_let, type, 1)                     /* or none */
COIR_SLOT(ast_let, value, 2)

/* ---- types ---- */

/* `Int`, `List[T]`, `net.Conn`. main: the name. */
COIR_NODE(TYPE_NAME, "type")
COIR_SLOT(ast_type_name, module, 0)             /* NAME or none */
COIR_LIST(ast_type_name, args, 1, 0)            /* types */

/* `T?`; `T??` is two of them. */
COIR_NODE(TYPE_OPTIONAL, "optional")
COIR_SLOT(ast_type_optional, type, 0)

/* `(A, B)`, and `()`: the type of no value. */
COIR_NODE(TYPE_TUPLE, "tuple-type")
COIR_LIST(ast_type_tuple, list, 0, 0)

/* `fn(A, mut B) -> C`. */
COIR_NODE(TYPE_FN, "fn-type")
COIR_SLOT(ast_type_fn, params, 0)               /* PARAMS, whose PARAM have no names */
COIR_SLOT(ast_type_fn, result, 1)               /* or none */

/* `(T)`. */
COIR_NODE(TYPE_PAREN, "paren-type")
COIR_SLOT(ast_type_paren, type, 0)

/* ---- statements; every expression is one too ---- */

/* `{ … }`: an expression also; its value is that of its last statement, if that is an expression. */
COIR_NODE(BLOCK, "block")
COIR_LIST(ast_block, statements, 0, 0)

/* `place = e`, `place += e`. main: the operator. */
COIR_NODE(ASSIGN, "assign")
COIR_SLOT(ast_assign, place, 0)                 /* NAME, SELF, MEMBER, INDEX; nothing else */
COIR_SLOT(ast_assign, value, 1)

COIR_NODE(ASSERT, "assert")
COIR_SLOT(ast_assert, condition, 0)

COIR_NODE(WHILE, "while")
COIR_SLOT(ast_while, condition, 0)              /* an expression, or LET_CONDITION */
COIR_SLOT(ast_while, body, 1)                   /* BLOCK */

/* `let p = e` in the head of `if` and `while`: e is an optional. */
COIR_NODE(LET_CONDITION, "let-condition")
COIR_SLOT(ast_let_condition, pattern, 0)        /* as LET's */
COIR_SLOT(ast_let_condition, value, 1)

/* `for x in e`, `for k, v in e`. */
COIR_NODE(FOR, "for")
COIR_SLOT(ast_for, first, 0)                    /* as LET's */
COIR_SLOT(ast_for, second, 1)                   /* as LET's, or none */
COIR_SLOT(ast_for, over, 2)                     /* an expression, or a RANGE that has both ends */
COIR_SLOT(ast_for, body, 3)                     /* BLOCK */

COIR_NODE(LOOP, "loop")
COIR_SLOT(ast_loop, body, 0)                    /* BLOCK */

COIR_NODE(DEFER, "defer")
COIR_SLOT(ast_defer, body, 0)                   /* BLOCK */

COIR_NODE(SELECT, "select")
COIR_LIST(ast_select, arms, 0, 0)               /* SELECT_ARM, SELECT_AFTER, SELECT_ELSE */

/* `v = a.recv() => s`, `b.send(x) => s`. main: the name that is bound, COIR_T_UNDERSCORE for `_`; none without `=`. */
COIR_NODE(SELECT_ARM, "select-arm")
COIR_SLOT(ast_select_arm, operation, 0)         /* an expression */
COIR_SLOT(ast_select_arm, body, 1)              /* a statement */

/* `after d => s`. */
COIR_NODE(SELECT_AFTER, "select-after")
COIR_SLOT(ast_select_after, time, 0)
COIR_SLOT(ast_select_after, body, 1)            /* a statement */

/* `else => s`. */
COIR_NODE(SELECT_ELSE, "select-else")
COIR_SLOT(ast_select_else, body, 0)             /* a statement */

/* ---- expressions ---- */

/* main: a name, of a value, a module, a type or a variant: `x`, `Circle`, `Int` in `Int("4")`. */
COIR_NODE(NAME, "name")
COIR_NODE(SELF, "self")
COIR_NODE(INT, "int")                           /* coir_ast_int */
COIR_NODE(FLOAT, "float")                       /* coir_ast_float */
COIR_NODE(DURATION, "duration")                 /* coir_ast_int */
COIR_NODE(BOOL, "bool")                         /* coir_ast_bool */
COIR_NODE(NIL, "nil")

/* A text, its pieces: TEXT_PART and expressions, in any order; none for "". */
COIR_NODE(TEXT, "text")
COIR_LIST(ast_text, pieces, 0, 0)

/* main: as written; coir_ast_text resolves it. The newline after an opening `"""` is not in it. */
COIR_NODE(TEXT_PART, "part")

COIR_NODE(LIST, "list")
COIR_LIST(ast_list, items, 0, 0)

COIR_NODE(MAP, "map")
COIR_LIST(ast_map, entries, 0, 0)               /* MAP_ENTRY */

COIR_NODE(MAP_ENTRY, "entry")
COIR_SLOT(ast_map_entry, key, 0)
COIR_SLOT(ast_map_entry, value, 1)

/* `P{ x: 1 }`, `m.P{ }`: a record, or an actor behind spawn. */
COIR_NODE(RECORD, "record")
COIR_SLOT(ast_record, type, 0)                  /* TYPE_NAME without arguments */
COIR_LIST(ast_record, values, 1, 0)             /* FIELD_VALUE */

/* main: the field's name, which may be any word. */
COIR_NODE(FIELD_VALUE, "value")
COIR_SLOT(ast_field_value, value, 0)

/* `(a, b)`; with no child `()`. */
COIR_NODE(TUPLE, "tuple")
COIR_LIST(ast_tuple, items, 0, 0)

/* `(e)`. */
COIR_NODE(PAREN, "paren")
COIR_SLOT(ast_paren, inner, 0)

/* main: `-` or `not`. */
COIR_NODE(UNARY, "unary")
COIR_SLOT(ast_unary, operand, 0)

/*
 * Operators of one binding strength in a row: operand, OPERATOR, operand, OPERATOR, operand… They are applied from the
 * left, `a - b + c` is (a - b) + c, but `??`, from the right. A comparison has exactly one. Of an intermediate result
 * the OPERATOR is the node: that of `a - b` is the one for `-`, in `??` the one for the operand before it.
 */
COIR_NODE(BINARY, "binary")
COIR_LIST(ast_binary, list, 0, 0)

/* A leaf. main: the operator; coir_ast_operator. */
COIR_NODE(OPERATOR, "op")

/* `f(x, mut y)`, `Circle(2.0)`. */
COIR_NODE(CALL, "call")
COIR_SLOT(ast_call, callee, 0)
COIR_LIST(ast_call, args, 1, 0)                 /* expressions, ARG */

/* `mut x`, `own x`, as an argument. MUT or OWN. */
COIR_NODE(ARG, "arg")
COIR_SLOT(ast_arg, value, 0)

/* `p.f(x)`: a method, or what is called in a module. main: the name, which may be any word. */
COIR_NODE(METHOD, "method")
COIR_SLOT(ast_method, receiver, 0)
COIR_LIST(ast_method, args, 1, 0)               /* expressions, ARG */

/* `p.x`, `mod.Empty`. main: the name, which may be any word. */
COIR_NODE(MEMBER, "member")
COIR_SLOT(ast_member, object, 0)

/* `xs[i]`, `s[a..b]`. */
COIR_NODE(INDEX, "index")
COIR_SLOT(ast_index, object, 0)
COIR_SLOT(ast_index, at, 1)                     /* an expression, or RANGE */

/* Only in FOR and INDEX. main: the operator. INCLUSIVE. */
COIR_NODE(RANGE, "range")
COIR_SLOT(ast_range, from, 0)                   /* or none */
COIR_SLOT(ast_range, to, 1)                     /* or none; not if INCLUSIVE */

/* `fn(x: Int) -> Int { … }`, `x => e`. main: `fn` or `=>`. */
COIR_NODE(CLOSURE, "closure")
COIR_SLOT(ast_closure, params, 0)               /* PARAMS */
COIR_SLOT(ast_closure, result, 1)               /* a type or none */
COIR_SLOT(ast_closure, body, 2)                 /* an expression; a BLOCK behind `fn` */

/* `if a { } else if b { } else { }`, however long. */
COIR_NODE(IF, "if")
COIR_LIST(ast_if, arms, 0, 1)                   /* IF_ARM */
COIR_LAST(ast_if, otherwise)                    /* BLOCK or none */

COIR_NODE(IF_ARM, "if-arm")
COIR_SLOT(ast_if_arm, condition, 0)             /* an expression, or LET_CONDITION */
COIR_SLOT(ast_if_arm, body, 1)                  /* BLOCK */

COIR_NODE(MATCH, "match")
COIR_SLOT(ast_match, subject, 0)
COIR_LIST(ast_match, arms, 1, 0)                /* MATCH_ARM */

COIR_NODE(MATCH_ARM, "arm")
COIR_SLOT(ast_match_arm, pattern, 0)
COIR_SLOT(ast_match_arm, guard, 1)              /* an expression or none */
COIR_SLOT(ast_match_arm, body, 2)               /* a statement */

/* `try { } catch e { }`. main: the name, or COIR_T_UNDERSCORE. */
COIR_NODE(TRY, "try")
COIR_SLOT(ast_try, body, 0)                     /* BLOCK */
COIR_SLOT(ast_try, handler, 1)                  /* BLOCK */

/* `group g limit n { }`. main: the name. */
COIR_NODE(GROUP, "group")
COIR_SLOT(ast_group, limit, 0)                  /* an expression or none */
COIR_SLOT(ast_group, body, 1)                   /* BLOCK */

COIR_NODE(WITHIN, "within")
COIR_SLOT(ast_within, time, 0)
COIR_SLOT(ast_within, body, 1)                  /* BLOCK */

COIR_NODE(TRANSACTION, "transaction")
COIR_SLOT(ast_transaction, body, 0)             /* BLOCK */

COIR_NODE(RETURN, "return")
COIR_SLOT(ast_return, value, 0)                 /* or none */
COIR_NODE(BREAK, "break")
COIR_NODE(CONTINUE, "continue")
COIR_NODE(TRAP, "trap")
COIR_SLOT(ast_trap, value, 0)

/* `spawn f(x)`, `spawn on any f(x)`, `spawn Meter{} restart 3 in 10s`. ANY. */
COIR_NODE(SPAWN, "spawn")
COIR_SLOT(ast_spawn, what, 0)                   /* CALL, METHOD, RECORD */
COIR_SLOT(ast_spawn, restarts, 1)               /* or none; both or neither */
COIR_SLOT(ast_spawn, period, 2)

/* `g.spawn f(x)`. */
COIR_NODE(GROUP_SPAWN, "group-spawn")
COIR_SLOT(ast_group_spawn, group, 0)
COIR_SLOT(ast_group_spawn, what, 1)             /* CALL, METHOD */

/* `m.send add(1)`. main: the message's name, which may be any word. */
COIR_NODE(SEND, "send")
COIR_SLOT(ast_send, actor, 0)
COIR_LIST(ast_send, args, 1, 0)                 /* expressions, ARG */

/* `chan[T](n)`. */
COIR_NODE(CHAN, "chan")
COIR_SLOT(ast_chan, type, 0)
COIR_LIST(ast_chan, args, 1, 0)                 /* expressions */

/* ---- patterns ---- */

/* `_`. */
COIR_NODE(ANY, "any")
/* A name that is bound. main: the name. */
COIR_NODE(BIND, "bind")
COIR_NODE(NIL_PATTERN, "nil-pattern")

/* A literal, which may be negative. */
COIR_NODE(LITERAL_PATTERN, "literal")
COIR_SLOT(ast_literal_pattern, value, 0)        /* INT, FLOAT, DURATION, BOOL, TEXT; UNARY of the first three */

/* `Circle(p)`, `m.Circle(p)`, `Empty`. main: the variant's name. */
COIR_NODE(VARIANT_PATTERN, "variant-pattern")
COIR_SLOT(ast_variant_pattern, module, 0)       /* NAME or none */
COIR_LIST(ast_variant_pattern, list, 1, 0)      /* patterns */

/* `(p, q)`. */
COIR_NODE(TUPLE_PATTERN, "tuple-pattern")
COIR_LIST(ast_tuple_pattern, list, 0, 0)

/* `p | q | r`. */
COIR_NODE(OR_PATTERN, "or-pattern")
COIR_LIST(ast_or_pattern, list, 0, 0)

/* `(p)`. */
COIR_NODE(PAREN_PATTERN, "paren-pattern")
COIR_SLOT(ast_paren_pattern, pattern, 0)

#undef COIR_NODE
#undef COIR_SLOT
#undef COIR_LIST
#undef COIR_LAST
