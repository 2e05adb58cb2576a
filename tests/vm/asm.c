/* SPDX-License-Identifier: MIT */
/*
 * The assembler of the VM's tests: see asm.h. It reads the text twice: first for what there is, then for what it says.
 * The first thing wrong ends it.
 */
#include "vm/asm.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/build.h"

enum kind { RECORD, SUM, ENUM, RESOURCE, ACTOR, FUNCTION, IMPORT, GLOBAL, VARIANT };

struct name {
    char *text;
    enum kind kind;
    uint32_t value;
};

struct assembler {
    const char *at;
    int line;
    struct coir_build *b;
    struct name *names;
    size_t nnames;
    struct { char *text; uint32_t label; } labels[512];
    size_t nlabels;
    char word[256];                     /* the last one read */
    struct coir_load_error *error;
    jmp_buf out;
};

__attribute__((format(printf, 2, 3))) static _Noreturn void fail(struct assembler *a, const char *format, ...)
{
    char what[300];
    va_list ap;

    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    snprintf(a->error->text, sizeof a->error->text, "line %d: %s", a->line, what);
    longjmp(a->out, 1);
}

/* ---- the text ---- */

static void skip(struct assembler *a)
{
    while (*a->at == '#' || isspace((unsigned char)*a->at)) {
        if (*a->at == '#')
            a->at += strcspn(a->at, "\n");
        else if (*a->at++ == '\n')
            a->line++;
    }
}

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool is(struct assembler *a, const char *text)
{
    const size_t n = strlen(text);

    skip(a);
    if (strncmp(a->at, text, n) != 0 || (is_letter(text[n - 1]) && is_letter(a->at[n])))
        return false;
    a->at += n;
    return true;
}

static void want(struct assembler *a, const char *text)
{
    if (!is(a, text))
        fail(a, "%s is missing before '%.20s'", text, a->at);
}

/* A word of letters, digits, _ and dots, kept in a->word; "" if there is none. */
static const char *word(struct assembler *a)
{
    size_t n = 0;

    skip(a);
    while (n + 1 < sizeof a->word && (is_letter(*a->at) || *a->at == '.' || (*a->at == '-' && n == 0)))
        a->word[n++] = *a->at++;
    a->word[n] = 0;
    return a->word;
}

static char *copy(struct assembler *a)
{
    if (!*a->word)
        fail(a, "a name is missing before '%.20s'", a->at);
    return strdup(a->word);
}

static size_t quoted(struct assembler *a, char *to, size_t size)
{
    size_t n = 0;

    want(a, "\"");
    while (*a->at && *a->at != '"' && n + 1 < size) {
        char c = *a->at++;

        if (c == '\\') {
            c = *a->at++;
            if (c == 'x') {
                const char hex[3] = { a->at[0], a->at[1], 0 };

                c = (char)strtol(hex, NULL, 16);
                a->at += 2;
            } else {
                c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
            }
        }
        to[n++] = c;
    }
    to[n] = 0;
    want(a, "\"");
    return n;
}

static struct name *find(struct assembler *a, const char *text)
{
    for (size_t i = 0; i < a->nnames; i++) {
        if (strcmp(a->names[i].text, text) == 0)
            return &a->names[i];
    }
    return NULL;
}

static struct name *add(struct assembler *a, enum kind kind, uint32_t value)
{
    a->names = realloc(a->names, (a->nnames + 1) * sizeof *a->names);
    a->names[a->nnames] = (struct name){ copy(a), kind, value };
    return &a->names[a->nnames++];
}

static uint32_t named(struct assembler *a, enum kind kind, const char *what)
{
    const struct name *n = find(a, word(a));

    if (!n || n->kind != kind)
        fail(a, "%s is no %s", a->word, what);
    return n->value;
}

static uint64_t number(struct assembler *a)
{
    char *end;
    const uint64_t x = strtoull(word(a), &end, 0);

    if (!*a->word || *end)
        fail(a, "'%s' is no number", a->word);
    return x;
}

static unsigned reg(struct assembler *a)
{
    char *end;

    word(a);
    const unsigned long r = a->word[0] == 'r' ? strtoul(a->word + 1, &end, 10) : 0;
    if (a->word[0] != 'r' || end == a->word + 1 || *end)
        fail(a, "'%s' is no register", a->word);
    return (unsigned)r;
}

/* ---- types ---- */

static uint32_t type(struct assembler *a);

static unsigned params(struct assembler *a, struct coir_build_param *to, bool with_names)
{
    unsigned n = 0;

    want(a, "(");
    while (!is(a, ")")) {
        to[n].mode = is(a, "own ") ? COIR_MODE_OWN : is(a, "mut ") ? COIR_MODE_MUT : COIR_MODE_LEND;
        if (with_names) {
            word(a);
            want(a, ":");
        }
        to[n++].type = type(a);
        is(a, ",");
    }
    return n;
}

static uint32_t result(struct assembler *a)
{
    return is(a, "->") ? type(a) : COIR_TYPE_UNIT;
}

static uint32_t tuple(struct assembler *a)
{
    uint32_t elements[256];
    unsigned n = 0;

    while (!is(a, ")")) {
        elements[n++] = type(a);
        is(a, ",");
    }
    return n ? coir_build_tuple(a->b, elements, n) : COIR_TYPE_UNIT;
}

static uint32_t in_brackets(struct assembler *a, uint32_t make(struct coir_build *, uint32_t))
{
    const uint32_t t = type(a);

    want(a, "]");
    return make(a->b, t);
}

static uint32_t plain_type(struct assembler *a)
{
    static const struct { const char *name; uint32_t type; } fixed[] = {
        { "Int", COIR_TYPE_INT }, { "Float", COIR_TYPE_FLOAT }, { "Bool", COIR_TYPE_BOOL },
        { "Duration", COIR_TYPE_DURATION }, { "Text", COIR_TYPE_TEXT }, { "Trap", COIR_INDEX_TRAP },
        { "group", COIR_INDEX_GROUP }, { "scope", COIR_INDEX_SCOPE },
    };
    struct coir_build_param p[256];
    uint32_t key, value;

    if (is(a, "("))
        return tuple(a);
    if (is(a, "List["))
        return in_brackets(a, coir_build_list);
    if (is(a, "Chan["))
        return in_brackets(a, coir_build_chan);
    if (is(a, "Task["))
        return in_brackets(a, coir_build_task);
    if (is(a, "Map[")) {
        key = type(a);
        want(a, ",");
        value = type(a);
        want(a, "]");
        return coir_build_map(a->b, key, value);
    }
    if (is(a, "fn")) {
        const unsigned n = params(a, p, false);

        return coir_build_func(a->b, p, n, result(a));
    }
    word(a);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        if (strcmp(fixed[i].name, a->word) == 0)
            return fixed[i].type;
    }
    const struct name *n = find(a, a->word);
    if (!n || n->kind > ACTOR)
        fail(a, "'%s' is no type", a->word);
    if (n->kind == ACTOR)
        return n->value;
    return n->kind == RECORD ? coir_build_record(a->b, n->text) : n->kind == SUM ? coir_build_sum(a->b, n->text)
        : n->kind == ENUM ? coir_build_enum(a->b, n->text) : coir_build_resource(a->b, n->text);
}

static uint32_t type(struct assembler *a)
{
    uint32_t t = plain_type(a);

    while (is(a, "?"))
        t = coir_build_optional(a->b, t);
    return t;
}

/* ---- declarations ---- */

static void fields(struct assembler *a, uint32_t of, const char *end,
                   void put(struct coir_build *, uint32_t, const char *, uint32_t))
{
    while (!is(a, end)) {
        word(a);
        char *name = copy(a);
        want(a, ":");
        const uint32_t t = type(a);
        put(a->b, of, name, t);
        free(name);
        is(a, ",");
    }
}

static void variants(struct assembler *a, uint32_t t)
{
    want(a, "{");
    while (!is(a, "}")) {
        coir_build_variant(a->b, t, word(a));
        if (is(a, "("))
            fields(a, t, ")", coir_build_payload);
        is(a, ",");
    }
}

/* Its state's name follows; an actor is made when it is first read of, since its type needs the state's. */
static void actor_of(struct assembler *a, struct name *n)
{
    want(a, "of");
    n->value = coir_build_actor_type(a->b, n->text, coir_build_record(a->b, word(a)));
}

static void messages(struct assembler *a)
{
    const uint32_t actor = named(a, ACTOR, "actor");

    want(a, "of");
    word(a);
    want(a, "{");
    while (!is(a, "}")) {
        word(a);
        char *name = copy(a);
        want(a, ":");
        coir_build_message(a->b, actor, name, named(a, FUNCTION, "function"));
        free(name);
        is(a, ",");
    }
}

/* First reading: what there is. Everything in braces is passed over, but for the names of variants. */
static void declare(struct assembler *a)
{
    static const struct { const char *word; enum kind kind; } words[] = {
        { "record", RECORD }, { "sum", SUM }, { "enum", ENUM }, { "resource", RESOURCE }, { "fn", FUNCTION },
        { "actor", ACTOR },
    };
    int depth = 0;
    uint32_t variant = 0;

    for (; skip(a), *a->at;) {
        if (*a->at == '"') {
            char text[1024];

            quoted(a, text, sizeof text);
            continue;
        }
        if (!*word(a)) {
            depth += *a->at == '{' || *a->at == '(' ? 1 : *a->at == '}' || *a->at == ')' ? -1 : 0;
            a->at++;
            continue;
        }
        if (depth == 1 && a->nnames && variant != UINT32_MAX && isupper((unsigned char)*a->word))
            add(a, VARIANT, variant++);
        if (depth == 0)
            variant = UINT32_MAX;
        for (size_t i = 0; depth == 0 && i < sizeof words / sizeof *words; i++) {
            if (strcmp(a->word, words[i].word) != 0)
                continue;
            if (words[i].kind == SUM || words[i].kind == ENUM)
                variant = 0;
            word(a);
            if (words[i].kind == FUNCTION && *a->at == '(' && !*a->word)
                break;                  /* a function type */
            if (!find(a, a->word))
                add(a, words[i].kind, words[i].kind != FUNCTION ? 0
                    : coir_build_function(a->b, a->word, "test.coir"));
            if (words[i].kind == ACTOR)
                actor_of(a, &a->names[a->nnames - 1]);
            break;
        }
    }
}

/* ---- code ---- */

static uint32_t label(struct assembler *a, const char *text)
{
    for (size_t i = 0; i < a->nlabels; i++) {
        if (strcmp(a->labels[i].text, text) == 0)
            return a->labels[i].label;
    }
    if (!*text || a->nlabels == sizeof a->labels / sizeof *a->labels)
        fail(a, "a label is missing, or one too many");
    a->labels[a->nlabels].text = strdup(text);
    a->labels[a->nlabels].label = coir_build_label(a->b);
    return a->labels[a->nlabels++].label;
}

static unsigned small(struct assembler *a)
{
    const struct name *n;

    skip(a);
    if (isdigit((unsigned char)*a->at) || *a->at == '-')
        return (unsigned)number(a);
    word(a);
    for (unsigned i = 0; i < COIR_TRAP_CODES; i++) {
        static const char *const codes[] = {
#define CODE(id, name) name,
            COIR_TRAPS(CODE)
#undef CODE
        };
        if (strcmp(codes[i], a->word) == 0)
            return i;
    }
    n = find(a, a->word);
    if (!n || n->kind != VARIANT)
        fail(a, "'%s' is neither a number nor a variant", a->word);
    return n->value;
}

static uint32_t constant(struct assembler *a, enum coir_op op)
{
    char text[1024];

    if (op == COIR_OP_CONSTT) {
        const size_t n = quoted(a, text, sizeof text);

        return coir_build_text(a->b, text, n);
    }
    skip(a);
    const char *from = a->at;
    word(a);
    if (strchr(a->word, '.') || strstr(a->word, "nan") || strstr(a->word, "inf")) {
        const double d = strtod(a->word, NULL);
        uint64_t bits;

        memcpy(&bits, &d, sizeof bits);
        return coir_build_word(a->b, bits);
    }
    a->at = from;
    return coir_build_word(a->b, number(a));
}

/* One operand by its letter; a label's index is left in *to_label. */
static uint32_t operand(struct assembler *a, enum coir_op op, char letter, uint32_t *to_label)
{
    switch (letter) {
    case 'w':
    case 'W':
    case 'r':
        return reg(a);
    case 't':
        return type(a);
    case 'f':
    case 'F':
        return named(a, FUNCTION, "function");
    case 'N':
        return named(a, IMPORT, "import");
    case 'G':
        skip(a);
        return isdigit((unsigned char)*a->at) ? (uint32_t)number(a) : named(a, GLOBAL, "global");
    case 'K':
        return constant(a, op);
    case 'j':
    case 'J':
        *to_label = label(a, word(a));
        return 0;
    case 'd':
        return small(a);
    default:
        return (uint32_t)number(a);
    }
}

static bool arm(struct assembler *a)
{
    static const char *const words[] = {
        [COIR_ARM_RECV] = "recv", [COIR_ARM_SEND] = "send", [COIR_ARM_AFTER] = "after",
    };

    for (unsigned kind = 0; kind < COIR_ARM_KINDS; kind++) {
        if (!is(a, words[kind]))
            continue;
        const unsigned r = reg(a);
        want(a, ",");
        const unsigned window = kind == COIR_ARM_AFTER ? 0 : reg(a);
        if (kind != COIR_ARM_AFTER)
            want(a, ",");
        coir_build_arm(a->b, kind, r, window, label(a, word(a)));
        return true;
    }
    return false;
}

static void more(struct assembler *a, enum coir_op op)
{
    if (op == COIR_OP_EQV || op == COIR_OP_CMPV) {
        want(a, ",");
        coir_build_ext(a->b, type(a), 0, 0, 0);
    } else if (op == COIR_OP_GSPAWN) {
        want(a, ",");
        const uint32_t t = type(a);
        want(a, ",");
        coir_build_ext(a->b, t, reg(a), 0, 0);
    } else if (op == COIR_OP_MSG) {
        want(a, ",");
        const uint32_t t = type(a);
        want(a, ",");
        coir_build_ext(a->b, t, (unsigned)number(a), 0, 0);
    }
}

static void instruction(struct assembler *a, enum coir_op op)
{
    const struct coir_op_info *info = &coir_ops[op];
    uint32_t x[4] = { 0 }, to = UINT32_MAX, task = 0;
    bool first = true;

    if (op == COIR_OP_SELECT) {
        coir_build_op(a->b, op, 0, 0, 0, is(a, "else"));
        while (arm(a))
            ;
        return;
    }
    for (unsigned i = 0; i < 4; i++) {
        if (info->format[i] == '-' || info->format[i] == '.'
                || (i == 3 && (op == COIR_OP_SPAWN || op == COIR_OP_GSPAWN)))
            continue;
        if (!first)
            want(a, ",");
        first = false;
        if (i == 1 && op == COIR_OP_SPAWN && is(a, "0"))
            continue;                   /* of an actor */
        x[i] = operand(a, op, info->format[i], &to);
    }
    if (op == COIR_OP_SPAWN) {
        want(a, ",");
        task = type(a);
        x[3] = is(a, "any");
    }
    if (to != UINT32_MAX)
        coir_build_jump(a->b, op, x[0], x[1], x[3], to);
    else if (info->format[2] == '.')
        coir_build_wide(a->b, op, x[0], x[1], x[3]);
    else
        coir_build_op(a->b, op, x[0], x[1], x[2], x[3]);
    if (op == COIR_OP_SPAWN)
        coir_build_ext(a->b, task, 0, 0, 0);
    more(a, op);
}

static void handler(struct assembler *a, enum coir_handler_kind kind)
{
    uint32_t l[3];

    for (int i = 0; i < 3; i++) {
        l[i] = label(a, word(a));
        want(a, ",");
    }
    coir_build_handler(a->b, kind, l[0], l[1], l[2], (unsigned)number(a));
}

static void statement(struct assembler *a)
{
    if (is(a, ".line")) {
        coir_build_line(a->b, (uint32_t)number(a));
    } else if (is(a, ".catch")) {
        handler(a, COIR_CATCH);
    } else if (is(a, ".cleanup")) {
        handler(a, COIR_CLEANUP);
    } else {
        char *name = (word(a), copy(a));

        if (is(a, ":")) {
            coir_build_place(a->b, label(a, name));
            free(name);
            return;
        }
        for (unsigned op = 0; op < COIR_OP_COUNT; op++) {
            if (strcmp(coir_ops[op].name, name) == 0) {
                free(name);
                instruction(a, op);
                return;
            }
        }
        fail(a, "there is no instruction %s", name);
    }
}

static void function(struct assembler *a)
{
    struct coir_build_param p[256];
    const uint32_t f = named(a, FUNCTION, "function");
    const unsigned n = params(a, p, true);
    const uint32_t r = result(a);

    coir_build_begin(a->b, f, p, n, r);
    if (is(a, "of")) {
        coir_build_body(a->b, type(a));
        if (is(a, "captures")) {
            want(a, "(");
            while (!is(a, ")")) {
                word(a);
                char *name = copy(a);
                want(a, ":");
                coir_build_capture(a->b, name, type(a));
                free(name);
                is(a, ",");
            }
        }
    }
    want(a, "regs");
    const unsigned nregs = (unsigned)number(a);
    want(a, "{");
    while (!is(a, "}"))
        statement(a);
    coir_build_end(a->b, nregs);
    while (a->nlabels)
        free(a->labels[--a->nlabels].text);
}

static void exports(struct assembler *a)
{
    const enum coir_export_kind kind = is(a, "main") ? COIR_EXPORT_MAIN : is(a, "init") ? COIR_EXPORT_INIT
        : is(a, "test") ? COIR_EXPORT_TEST : (want(a, "function"), COIR_EXPORT_FUNCTION);
    char name[256] = "";

    skip(a);
    if (*a->at == '"')
        quoted(a, name, sizeof name);
    const uint32_t f = named(a, FUNCTION, "function");
    coir_build_export(a->b, kind, *name ? name : a->word, f);
}

static void declaration(struct assembler *a)
{
    struct coir_build_param p[256];
    char native[256];

    if (is(a, "record")) {
        const uint32_t t = coir_build_record(a->b, word(a));

        want(a, "{");
        fields(a, t, "}", coir_build_field);
    } else if (is(a, "sum")) {
        variants(a, coir_build_sum(a->b, word(a)));
    } else if (is(a, "enum")) {
        variants(a, coir_build_enum(a->b, word(a)));
    } else if (is(a, "actor")) {
        messages(a);
    } else if (is(a, "resource")) {
        coir_build_resource(a->b, word(a));
    } else if (is(a, "global")) {
        word(a);
        struct name *g = add(a, GLOBAL, 0);
        char *name = strdup(g->text);
        want(a, ":");
        const uint32_t slot = coir_build_global(a->b, name, type(a));
        find(a, name)->value = slot;
        free(name);
    } else if (is(a, "import")) {
        word(a);
        const size_t at = a->nnames;
        add(a, IMPORT, 0);
        quoted(a, native, sizeof native);
        const unsigned n = params(a, p, false);
        a->names[at].value = coir_build_import(a->b, native, p, n, result(a));
    } else if (is(a, "fn")) {
        function(a);
    } else if (is(a, "export")) {
        exports(a);
    } else {
        fail(a, "what is '%.20s'?", a->at);
    }
}

int asm_image(const char *text, void **bytes, size_t *length, struct coir_load_error *error)
{
    struct assembler a = { .at = text, .line = 1, .b = coir_build_new(), .error = error };
    int bad = setjmp(a.out);

    if (!bad) {
        declare(&a);
        a.at = text;
        a.line = 1;
        for (; skip(&a), *a.at;)
            declaration(&a);
        if (coir_build_finish(a.b, bytes, length) < 0)
            fail(&a, "%s", coir_build_error(a.b));
    }
    coir_build_free(a.b);
    while (a.nlabels)
        free(a.labels[--a.nlabels].text);
    for (size_t i = 0; i < a.nnames; i++)
        free(a.names[i].text);
    free(a.names);
    return bad ? -1 : 0;
}

struct coir_program *asm_load(const char *text, const struct coir_library *library, struct coir_load_error *error)
{
    struct coir_program *p;
    void *bytes;
    size_t length;

    if (asm_image(text, &bytes, &length, error) < 0)
        return NULL;
    coir_program_load(bytes, length, library, &p, error);
    free(bytes);
    return p;
}

const struct coir_function *asm_function(const struct coir_program *p, const char *name)
{
    for (uint32_t i = 0; i < p->nfunctions; i++) {
        if (strcmp(p->functions[i].name, name) == 0)
            return &p->functions[i];
    }
    return NULL;
}
