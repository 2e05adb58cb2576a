/* SPDX-License-Identifier: MIT */
/*
 * What is used of elfutils' libdw.so.1, by dlopen: its interface, said here, so that its headers are not needed to
 * build. The library has kept it since version 0.158 (2014), when unwinding came. It is loaded by symbols.c.
 */
#ifndef COIR_RUNTIME_SEE_LIBDW_H
#define COIR_RUNTIME_SEE_LIBDW_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct Dwfl Dwfl;
typedef struct Dwfl_Module Dwfl_Module;
typedef struct Dwfl_Thread Dwfl_Thread;
typedef struct Dwfl_Frame Dwfl_Frame;
typedef struct Dwarf_Files Dwarf_Files;
typedef struct Dwarf_Line Dwarf_Line;
typedef uint64_t Dwarf_Addr, Dwarf_Word;

typedef struct {
    void *addr, *cu, *abbrev;
    long padding;
} Dwarf_Die;

typedef struct {
    unsigned code, form;
    unsigned char *value;
    void *cu;
} Dwarf_Attribute;

typedef struct {
    int (*find_elf)(Dwfl_Module *, void **, const char *, Dwarf_Addr, char **, void **);
    int (*find_debuginfo)(Dwfl_Module *, void **, const char *, Dwarf_Addr, const char *, const char *, uint32_t,
                          char **);
    int (*section_address)(void);
    char **debuginfo_path;
} Dwfl_Callbacks;

typedef struct {
    pid_t (*next_thread)(Dwfl *, void *, void **);
    bool (*get_thread)(Dwfl *, pid_t, void *, void **);
    bool (*memory_read)(Dwfl *, Dwarf_Addr, Dwarf_Word *, void *);
    bool (*set_initial_registers)(Dwfl_Thread *, void *);
    void (*detach)(Dwfl *, void *);
    void (*thread_detach)(Dwfl_Thread *, void *);
} Dwfl_Thread_Callbacks;

enum {
    DW_TAG_inlined_subroutine = 0x1d, DW_TAG_subprogram = 0x2e,
    DW_AT_comp_dir = 0x1b, DW_AT_call_file = 0x58, DW_AT_call_line = 0x59,
};

/* X(name, type of the function) */
#define COIR_LIBDW(X) \
    X(dwfl_begin, Dwfl *(const Dwfl_Callbacks *)) \
    X(dwfl_end, void (Dwfl *)) \
    X(dwfl_linux_proc_find_elf, int (Dwfl_Module *, void **, const char *, Dwarf_Addr, char **, void **)) \
    X(dwfl_build_id_find_debuginfo, int (Dwfl_Module *, void **, const char *, Dwarf_Addr, const char *, const char *, \
                                         uint32_t, char **)) \
    X(dwfl_linux_proc_report, int (Dwfl *, pid_t)) \
    X(dwfl_report_end, int (Dwfl *, int (*)(void), void *)) \
    X(dwfl_addrmodule, Dwfl_Module *(Dwfl *, Dwarf_Addr)) \
    X(dwfl_module_info, const char *(Dwfl_Module *, void ***, Dwarf_Addr *, Dwarf_Addr *, Dwarf_Addr *, Dwarf_Addr *, \
                                     const char **, const char **)) \
    X(dwfl_module_addrname, const char *(Dwfl_Module *, Dwarf_Addr)) \
    X(dwfl_module_addrdie, Dwarf_Die *(Dwfl_Module *, Dwarf_Addr, Dwarf_Addr *)) \
    X(dwfl_module_nextcu, Dwarf_Die *(Dwfl_Module *, Dwarf_Die *, Dwarf_Addr *)) \
    X(dwfl_module_addrinfo, const char *(Dwfl_Module *, Dwarf_Addr, uint64_t *, Elf64_Sym *, unsigned *, void **, \
                                         Dwarf_Addr *)) \
    X(dwarf_haspc, int (Dwarf_Die *, Dwarf_Addr)) \
    X(dwarf_getsrc_die, Dwarf_Line *(Dwarf_Die *, Dwarf_Addr)) \
    X(dwarf_linesrc, const char *(Dwarf_Line *, Dwarf_Word *, Dwarf_Word *)) \
    X(dwarf_lineno, int (Dwarf_Line *, int *)) \
    X(dwarf_getscopes, int (Dwarf_Die *, Dwarf_Addr, Dwarf_Die **)) \
    X(dwarf_getscopes_die, int (Dwarf_Die *, Dwarf_Die **)) \
    X(dwarf_tag, int (Dwarf_Die *)) \
    X(dwarf_diename, const char *(Dwarf_Die *)) \
    X(dwarf_attr, Dwarf_Attribute *(Dwarf_Die *, unsigned, Dwarf_Attribute *)) \
    X(dwarf_formstring, const char *(Dwarf_Attribute *)) \
    X(dwarf_formudata, int (Dwarf_Attribute *, Dwarf_Word *)) \
    X(dwarf_getsrcfiles, int (Dwarf_Die *, Dwarf_Files **, size_t *)) \
    X(dwarf_filesrc, const char *(Dwarf_Files *, size_t, Dwarf_Word *, Dwarf_Word *)) \
    X(dwfl_attach_state, bool (Dwfl *, void *, pid_t, const Dwfl_Thread_Callbacks *, void *)) \
    X(dwfl_getthread_frames, int (Dwfl *, pid_t, int (*)(Dwfl_Frame *, void *), void *)) \
    X(dwfl_thread_state_registers, bool (Dwfl_Thread *, int, unsigned, const Dwarf_Word *)) \
    X(dwfl_thread_state_register_pc, void (Dwfl_Thread *, Dwarf_Word)) \
    X(dwfl_frame_pc, bool (Dwfl_Frame *, Dwarf_Addr *, bool *))

#define COIR_LIBDW_TYPE_(name, ...) typedef __typeof__(__VA_ARGS__) name##_type;
#define COIR_LIBDW_MEMBER_(name, ...) name##_type *name;
COIR_LIBDW(COIR_LIBDW_TYPE_)
struct coir_libdw {
    COIR_LIBDW(COIR_LIBDW_MEMBER_)
};
extern struct coir_libdw coir_libdw;

struct coir_symbols {
    Dwfl *dwfl;
};

#endif
