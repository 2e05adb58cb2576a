/* SPDX-License-Identifier: MIT */
/*
 * Signatures of natives against imports. A type of the text is matched with a type of the program by going through
 * both; a type parameter stands for whatever it is matched with first, and for the same from then on. What a signature
 * does not say is whether the native copies values of a type parameter; only those that are named below never do, and
 * take types that own a resource. Recursion is as deep as the text of a signature nests, which is the library's.
 */
#include "vm/signature.h"

#include <ctype.h>
#include <string.h>

#include "vm/image.h"

enum { VARIABLES = 4 };

struct span {
    const char *at, *end;
};

struct match {
    const struct coir_type_classes *classes;
    struct variable {
        struct span name;
        char bound;                         /* 'O'rd, 'K'ey, or 0 */
        const struct coir_type *type;
    } variables[VARIABLES];
    unsigned n;
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static void skip(struct span *s)
{
    while (s->at < s->end && *s->at == ' ')
        s->at++;
}

static bool eat(struct span *s, const char *text)
{
    const size_t n = strlen(text);

    skip(s);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, text, n) != 0
            || (is_word(text[n - 1]) && s->at + n < s->end && is_word(s->at[n])))
        return false;
    s->at += n;
    return true;
}

static struct span word(struct span *s)
{
    struct span w;

    skip(s);
    w.at = s->at;
    while (s->at < s->end && is_word(*s->at))
        s->at++;
    w.end = s->at;
    return w;
}

static bool same(struct span a, const char *text)
{
    return (size_t)(a.end - a.at) == strlen(text) && memcmp(a.at, text, strlen(text)) == 0;
}

/* What is between brackets, the opening one being next. */
static struct span inside(struct span *s)
{
    struct span in = { s->at + 1, s->at + 1 };
    int depth = 0;

    for (; s->at < s->end; s->at++) {
        depth += *s->at == '(' || *s->at == '[' ? 1 : *s->at == ')' || *s->at == ']' ? -1 : 0;
        if (depth == 0)
            break;
    }
    in.end = s->at;
    if (s->at < s->end)
        s->at++;
    return in;
}

/* The text of the next type. */
static struct span next_type(struct span *s)
{
    struct span t;
    bool function;

    skip(s);
    t.at = s->at;
    function = eat(s, "fn");
    if (!function)
        word(s);
    while (s->at < s->end && (*s->at == '(' || *s->at == '['))
        inside(s);
    if (function && eat(s, "->"))
        next_type(s);
    while (s->at < s->end && *s->at == '?')
        s->at++;
    t.end = s->at;
    return t;
}

static bool matches(struct match *m, struct span text, const struct coir_type *t);

static bool is_variable(struct match *m, struct span name, const struct coir_type *t, bool *good)
{
    for (unsigned i = 0; i < m->n; i++) {
        struct variable *v = &m->variables[i];

        if (v->name.end - v->name.at != name.end - name.at
                || memcmp(v->name.at, name.at, (size_t)(name.end - name.at)) != 0)
            continue;
        *good = !v->type || v->type == t;
        if (v->bound && !(v->bound == 'K' ? m->classes->key : m->classes->ordered)[t->index])
            *good = false;
        v->type = t;
        return true;
    }
    return false;
}

static bool match_function(struct match *m, struct span text, const struct coir_type *t)
{
    static const char *const modes[] = { [COIR_MODE_LEND] = "", [COIR_MODE_OWN] = "own", [COIR_MODE_MUT] = "mut" };
    struct span params = inside(&text);

    for (uint32_t i = 0; i < t->nparams; i++) {
        if ((i && !eat(&params, ",")) || (*modes[t->params[i].mode] && !eat(&params, modes[t->params[i].mode]))
                || !matches(m, next_type(&params), t->params[i].type))
            return false;
    }
    skip(&params);
    if (params.at != params.end)
        return false;
    return eat(&text, "->") ? matches(m, next_type(&text), t->element) : t->element->kind == COIR_TYPE_UNIT;
}

static bool match_tuple(struct match *m, struct span text, const struct coir_type *t)
{
    struct span in = inside(&text);

    skip(&in);
    if (in.at == in.end)
        return t->kind == COIR_TYPE_UNIT;
    if (t->kind != COIR_TYPE_TUPLE)
        return false;
    for (uint32_t i = 0; i < t->nfields; i++) {
        if ((i && !eat(&in, ",")) || !matches(m, next_type(&in), t->fields[i].type))
            return false;
    }
    skip(&in);
    return in.at == in.end;
}

static bool matches(struct match *m, struct span text, const struct coir_type *t)
{
    static const struct { const char *word; enum coir_type_kind kind; } words[] = {
        { "Int", COIR_TYPE_INT }, { "Float", COIR_TYPE_FLOAT }, { "Bool", COIR_TYPE_BOOL },
        { "Duration", COIR_TYPE_DURATION }, { "Text", COIR_TYPE_TEXT }, { "List", COIR_TYPE_LIST },
        { "Map", COIR_TYPE_MAP }, { "Chan", COIR_TYPE_CHAN }, { "Task", COIR_TYPE_TASK },
    };
    bool good = false;

    if (text.end > text.at && text.end[-1] == '?' && !(text.end - text.at > 2 && memcmp(text.at, "fn", 2) == 0))
        return t->kind == COIR_TYPE_OPTIONAL && matches(m, (struct span){ text.at, text.end - 1 }, t->element);
    if (text.at < text.end && *text.at == '(')
        return match_tuple(m, text, t);
    if (eat(&text, "fn"))
        return t->kind == COIR_TYPE_FUNC && match_function(m, text, t);
    const struct span name = word(&text);
    if (is_variable(m, name, t, &good))
        return good;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct span in;

        if (!same(name, words[i].word))
            continue;
        if (t->kind != words[i].kind)
            return false;
        if (t->kind < COIR_TYPE_LIST)
            return true;
        in = inside(&text);
        if (t->kind == COIR_TYPE_MAP && (!matches(m, next_type(&in), t->key) || !eat(&in, ",")))
            return false;
        return matches(m, next_type(&in), t->element);
    }
    return (t->kind == COIR_TYPE_RESOURCE || t->index == COIR_INDEX_TRAP) && same(name, t->name);
}

/* The type parameters in brackets, if any. */
static bool variables(struct match *m, struct span *s)
{
    struct span in;

    skip(s);
    if (s->at == s->end || *s->at != '[')
        return true;
    in = inside(s);
    do {
        if (m->n == VARIABLES)
            return false;
        m->variables[m->n].name = word(&in);
        if (eat(&in, ":"))
            m->variables[m->n].bound = *word(&in).at;
        m->n++;
    } while (eat(&in, ","));
    return true;
}

/* The parameters that are mut, or those that are not, of the text; *next is the import's that comes next. */
static bool parameters(struct match *m, struct span in, const struct coir_import *import, bool mut, uint32_t *next)
{
    for (skip(&in); in.at < in.end; eat(&in, ",")) {
        const enum coir_mode mode = eat(&in, "mut") ? COIR_MODE_MUT : eat(&in, "own") ? COIR_MODE_OWN : COIR_MODE_LEND;

        word(&in);
        eat(&in, ":");
        const struct span type = next_type(&in);
        if ((mode == COIR_MODE_MUT) == mut) {
            const struct coir_param *p = *next < import->nparams ? &import->params[*next] : NULL;

            if (!p || p->mode != mode || !matches(m, type, p->type))
                return false;
            ++*next;
        }
        skip(&in);
    }
    return true;
}

/* Of what its type parameters can stand for, beyond what the signature says: `monitor` is for actors. */
static bool is_for(const char *name, const struct coir_type *t)
{
    return strcmp(name, "monitor") != 0 || t->kind == COIR_TYPE_ACTOR;
}

/* Whether it never copies a value of a type parameter: it moves them, or does not touch them. */
static bool takes(const char *name)
{
    static const char *const takers[] = {
        "List.push", "List.pop", "List.insert", "List.remove", "List.len", "Map.insert", "Map.remove", "Map.len",
        "Option.take", "Chan.send", "Chan.recv", "Chan.close", "Chan.len", "chan", "Task.join", "Task.cancel",
    };

    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++) {
        if (strcmp(takers[i], name) == 0)
            return true;
    }
    return false;
}

const char *coir_signature_mismatch(const struct coir_native *native, const struct coir_import *import,
                                    const struct coir_type_classes *classes)
{
    struct match m = { .classes = classes };
    struct span s = { native->signature, NULL }, in;
    uint32_t next = 0;

    if (!native->signature)
        return NULL;
    s.end = s.at + strlen(s.at);
    if (!eat(&s, "fn") || (word(&s), !variables(&m, &s)) || s.at == s.end || *s.at != '(')
        return "its signature cannot be read";
    in = inside(&s);
    if (!parameters(&m, in, import, true, &next) || !parameters(&m, in, import, false, &next)
            || next != import->nparams)
        return "its parameters are others";
    if (!(eat(&s, "->") ? matches(&m, next_type(&s), import->result) : import->result->kind == COIR_TYPE_UNIT))
        return "its result is another";
    for (unsigned i = 0; i < m.n; i++) {
        const struct variable *v = &m.variables[i];

        if (!v->type)
            return "a type parameter stands for nothing";
        if (!is_for(native->name, v->type))
            return "it is for actors";
        if (v->type->owns && !takes(native->name))
            return "it copies what has one owner";
    }
    return NULL;
}
