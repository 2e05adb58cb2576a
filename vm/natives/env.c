/* SPDX-License-Identifier: MIT */
/* Natives of env: what the process was started with. Nothing here changes it. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "vm/machine.h"
#include "vm/natives/standard.h"

static enum coir_native_result give(struct coir_fiber *f, uint64_t *r, struct coir_text *t)
{
    if (!t)
        return coir_trap_memory(f);
    r[0] = coir_slot_of(t);
    return COIR_NATIVE_DONE;
}

/* The value of a variable: NULL if that is another one's. */
static const char *value_of(const char *variable, const struct coir_text *name)
{
    return strlen(variable) > name->len && variable[name->len] == '=' && !memcmp(variable, name->bytes, name->len)
         ? variable + name->len + 1 : NULL;
}

static enum coir_native_result env_get(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const name = coir_text_at(r[0]);
    const char *value = NULL;

    for (char **at = environ; at && *at && !value; at++)
        value = value_of(*at, name);
    if (!value) {
        r[0] = 0;
        return COIR_NATIVE_DONE;
    }
    return give(f, r, coir_text_of(f->heap, value, strlen(value)));
}

/* The first of a name counts, as for env.get. False: no memory. */
static bool add(struct coir_fiber *f, struct coir_map *m, const char *variable)
{
    const char *const end = strchr(variable, '=');
    uint64_t key, value;

    if (!end)
        return true;
    key = coir_slot_of(coir_text_of(f->heap, variable, (size_t)(end - variable)));
    if (key && coir_map_find(f->heap, m, &key)) {
        coir_drop(f->heap, coir_ref(key));
        return true;
    }
    value = key ? coir_slot_of(coir_text_of(f->heap, end + 1, strlen(end + 1))) : 0;
    if (value && coir_map_put(f->heap, m, &key, &value))
        return true;
    if (value)
        coir_drop(f->heap, coir_ref(value));
    if (key)
        coir_drop(f->heap, coir_ref(key));
    return false;
}

static enum coir_native_result env_all(struct coir_fiber *f, uint64_t *r)
{
    struct coir_map *const m = coir_map_new(f->heap, coir_result_type(f));

    if (!m)
        return coir_trap_memory(f);
    for (char **at = environ; at && *at; at++) {
        if (!add(f, m, *at)) {
            coir_drop(f->heap, &m->head);
            return coir_trap_memory(f);
        }
    }
    coir_charge(f, m->live * 4);
    r[0] = coir_slot_of(m);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result env_args(struct coir_fiber *f, uint64_t *r)
{
    struct coir_list *const l = coir_list_new(f->heap, coir_result_type(f), (size_t)f->vm->argc);

    if (!l)
        return coir_trap_memory(f);
    for (int i = 0; i < f->vm->argc; i++) {
        struct coir_text *const t = coir_text_of(f->heap, f->vm->argv[i], strlen(f->vm->argv[i]));

        if (!t) {
            coir_drop(f->heap, &l->head);
            return coir_trap_memory(f);
        }
        l->data[l->len++] = coir_slot_of(t);
    }
    r[0] = coir_slot_of(l);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result env_cwd(struct coir_fiber *f, uint64_t *r)
{
    char path[PATH_MAX];

    if (!getcwd(path, sizeof path))
        return coir_trap_status(f, -errno, ".");
    return give(f, r, coir_text_of(f->heap, path, strlen(path)));
}

static enum coir_native_result env_pid(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    r[0] = (uint64_t)getpid();
    return COIR_NATIVE_DONE;
}

static const struct coir_native natives[] = {
    { "env.get", "fn get(name: Text) -> Text?", env_get },
    { "env.all", "fn all() -> Map[Text, Text]", env_all },
    { "env.args", "fn args() -> List[Text]", env_args },
    { "env.cwd", "fn cwd() -> Text", env_cwd },
    { "env.pid", "fn pid() -> Int", env_pid },
};
const struct coir_natives coir_env_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
