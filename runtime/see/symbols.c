/* SPDX-License-Identifier: MIT */
/*
 * Names, files and lines by libdw. It looks into the files that are mapped and, by build id, into the debug files that
 * are installed; never into the network, which elfutils would ask too.
 *
 * Paths are shortened by the directory they were compiled in: so they read as __FILE__ does.
 */
#include "runtime/see/symbols.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/see/libdw.h"
#include "runtime/see/text.h"

/* ---- the library ---- */

struct coir_libdw coir_libdw;
static bool is_loaded;
static pthread_once_t load_once = PTHREAD_ONCE_INIT;

/* It stays loaded. */
static void load(void)
{
    void *const library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return;
    is_loaded = true;
#define LOAD(name, ...) \
    *(void **)&coir_libdw.name = dlsym(library, #name); \
    is_loaded &= coir_libdw.name != NULL;
    COIR_LIBDW(LOAD)
}

struct coir_symbols *coir_symbols_open(void)
{
    static Dwfl_Callbacks how;
    struct coir_symbols *s;

    pthread_once(&load_once, load);
    s = is_loaded ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return NULL;
    how.find_elf = coir_libdw.dwfl_linux_proc_find_elf;
    how.find_debuginfo = coir_libdw.dwfl_build_id_find_debuginfo;
    s->dwfl = coir_libdw.dwfl_begin(&how);
    if (s->dwfl && coir_libdw.dwfl_linux_proc_report(s->dwfl, getpid()) == 0
        && coir_libdw.dwfl_report_end(s->dwfl, NULL, NULL) == 0)
        return s;
    coir_symbols_close(s);
    return NULL;
}

void coir_symbols_close(struct coir_symbols *s)
{
    if (s && s->dwfl)
        coir_libdw.dwfl_end(s->dwfl);
    free(s);
}

/* ---- one frame ---- */

struct place {
    const char *file, *dir;              /* file NULL: not known */
    uint64_t line;
};

static void put_head(struct coir_text *t, unsigned *number)
{
    coir_text_str(t, *number < 10 ? "    #" : "   #");
    coir_text_unsigned(t, (*number)++);
    coir_text_str(t, "  ");
}

static const char *within(const char *file, const char *dir)
{
    const size_t n = dir ? strlen(dir) : 0;

    return n && !strncmp(file, dir, n) && file[n] == '/' ? file + n + 1 : file;
}

static void put_line(struct coir_text *t, unsigned *number, const char *name, const struct place *at)
{
    put_head(t, number);
    coir_text_str(t, name ? name : "?");
    if (at->file) {
        coir_text_str(t, " at ");
        coir_text_str(t, within(at->file, at->dir));
        coir_text_char(t, ':');
        coir_text_unsigned(t, at->line);
    }
    coir_text_char(t, '\n');
}

/* The unit that the place belongs to; NULL: there is no debug information. By the table of units one is found at once,
 * but clang leaves its own out of that, and then it is another's. */
static Dwarf_Die *unit_of(Dwfl_Module *module, Dwarf_Addr pc, Dwarf_Addr *bias)
{
    Dwarf_Die *unit = coir_libdw.dwfl_module_addrdie(module, pc, bias);

    if (unit && coir_libdw.dwarf_haspc(unit, pc - *bias) == 1)
        return unit;
    unit = NULL;
    while ((unit = coir_libdw.dwfl_module_nextcu(module, unit, bias)) && coir_libdw.dwarf_haspc(unit, pc - *bias) != 1)
        ;
    return unit;
}

static struct place place_of(Dwarf_Die *unit, Dwarf_Addr pc)
{
    Dwarf_Line *const line = coir_libdw.dwarf_getsrc_die(unit, pc);
    Dwarf_Attribute attribute;
    struct place at = { NULL, NULL, 0 };
    int n = 0;

    if (line && coir_libdw.dwarf_lineno(line, &n) == 0) {
        at.file = coir_libdw.dwarf_linesrc(line, NULL, NULL);
        at.line = (uint64_t)n;
    }
    if (coir_libdw.dwarf_attr(unit, DW_AT_comp_dir, &attribute))
        at.dir = coir_libdw.dwarf_formstring(&attribute);
    return at;
}

/* Where the function was called that `die`, an instance of it, was made from. */
static struct place call_place(Dwarf_Die *die, Dwarf_Die *unit, const char *dir)
{
    Dwarf_Attribute attribute;
    Dwarf_Word file = 0, line = 0;
    Dwarf_Files *files;
    size_t n;

    if (coir_libdw.dwarf_getsrcfiles(unit, &files, &n)
        || !coir_libdw.dwarf_attr(die, DW_AT_call_file, &attribute) || coir_libdw.dwarf_formudata(&attribute, &file)
        || !coir_libdw.dwarf_attr(die, DW_AT_call_line, &attribute) || coir_libdw.dwarf_formudata(&attribute, &line))
        return (struct place){ NULL, NULL, 0 };
    return (struct place){ coir_libdw.dwarf_filesrc(files, file, NULL, NULL), dir, line };
}

static bool is_function(Dwarf_Die *die)
{
    const int tag = coir_libdw.dwarf_tag(die);

    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* The function that is innermost at `pc`, with all that it was inlined into. Value: how many; free(*out). */
static int functions_at(Dwarf_Die *unit, Dwarf_Addr pc, Dwarf_Die **out)
{
    Dwarf_Die *scopes = NULL, innermost;
    const int n = coir_libdw.dwarf_getscopes(unit, pc, &scopes);
    int i = 0;

    *out = NULL;
    while (i < n && !is_function(&scopes[i]))
        i++;
    if (i >= n) {
        free(n > 0 ? scopes : NULL);
        return 0;
    }
    innermost = scopes[i];
    free(scopes);
    return coir_libdw.dwarf_getscopes_die(&innermost, out);
}

/* The loop is not what anybody looks for: there the frames end. */
static bool is_loop(const char *name, const char *file)
{
    static const char loop[] = "runtime/shard/loop.c";
    const size_t n = file ? strlen(file) : 0;

    return (n >= sizeof loop - 1 && !strcmp(file + n - (sizeof loop - 1), loop))
        || (name && (!strcmp(name, "coir_loop_turn") || !strcmp(name, "run_ready_noted")));
}

/* With what debug information says. */
static bool put_functions(struct coir_text *t, Dwarf_Die *unit, Dwarf_Die *functions, int n, struct place at,
                          unsigned *number)
{
    for (int i = 0; i < n; i++) {
        const char *const name = coir_libdw.dwarf_diename(&functions[i]);

        if (!is_function(&functions[i]))
            continue;
        if (is_loop(name, at.file))
            return false;
        put_line(t, number, name, &at);
        if (coir_libdw.dwarf_tag(&functions[i]) == DW_TAG_subprogram)
            break;
        at = call_place(&functions[i], unit, at.dir);
    }
    return true;
}

/* Without libdw, or without symbols. */
static void put_offset(struct coir_text *t, uintptr_t pc, unsigned *number)
{
    struct link_map *map = NULL;
    Dl_info info;

    put_head(t, number);
    if (dladdr1((void *)pc, &info, (void **)&map, RTLD_DL_LINKMAP) && info.dli_fname && map) {
        coir_text_str(t, info.dli_fname);
        coir_text_str(t, "+0x");
        coir_text_hex(t, pc - map->l_addr);
    } else {
        coir_text_str(t, "0x");
        coir_text_hex(t, pc);
    }
    coir_text_char(t, '\n');
}

/* With what the symbols say. */
static bool put_symbol(struct coir_text *t, Dwfl_Module *module, uintptr_t pc, unsigned *number)
{
    const char *const name = coir_libdw.dwfl_module_addrname(module, pc);
    const char *const file = coir_libdw.dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

    if (is_loop(name, NULL))
        return false;
    if (name) {
        put_head(t, number);
        coir_text_str(t, name);
        coir_text_str(t, " in ");
        coir_text_str(t, file ? file : "?");
        coir_text_char(t, '\n');
    } else {
        put_offset(t, pc, number);
    }
    return true;
}

bool coir_symbols_frame(struct coir_symbols *s, struct coir_text *t, uintptr_t pc, unsigned *number)
{
    Dwfl_Module *const module = s ? coir_libdw.dwfl_addrmodule(s->dwfl, pc) : NULL;
    Dwarf_Die *unit, *functions = NULL;
    Dwarf_Addr bias = 0;
    bool goes_on;

    if (!module) {
        put_offset(t, pc, number);
        return true;
    }
    unit = unit_of(module, pc, &bias);
    const int n = unit ? functions_at(unit, pc - bias, &functions) : 0;
    if (n <= 0)
        return put_symbol(t, module, pc, number);
    goes_on = put_functions(t, unit, functions, n, place_of(unit, pc - bias), number);
    free(functions);
    return goes_on;
}
