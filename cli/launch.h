/* SPDX-License-Identifier: MIT */
/*
 * How a program begins, whether the command runs it or it was built: the flags that say how, as arguments and as
 * variables of the environment, and the call of vm/vm.h. The command and the runtime of built programs both have this
 * file, so it knows neither of them.
 */
#ifndef COIR_CLI_LAUNCH_H
#define COIR_CLI_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What `coir run` takes, and `coir build` writes down. 0: it was not said. */
struct cli_flags {
    uint32_t shards;
    size_t max_memory;
};

/* For the help of who takes flags. */
#define CLI_FLAGS_HELP \
    "  --shards N           threads that run its fibers, from 1 to 64; 1. A fiber stays on its own\n" \
    "  --max-memory BYTES   what the program's values may take, with K, M, G behind it for\n" \
    "                       powers of 1024; more traps Memory. Without it: what there is\n"

/* If argv[*i] is a flag, takes it and what stands behind it, where *i is then: true. *wants is NULL, or what should
 * have stood there. False: it is none. */
bool cli_take_flag(int argc, char *const *argv, int *i, struct cli_flags *flags, const char **wants);

/* What COIR_SHARDS and COIR_MAX_MEMORY say goes before the flags. False, after a line on stderr: it makes no sense. */
bool cli_ask_environment(struct cli_flags *flags);

/* Descriptors 0, 1 and 2, where nothing is open, are taken, so that no file opened later becomes one of them. */
void cli_hold_places(void);

/* Runs the image, with the standard natives; SIGINT and SIGTERM stop it. The exit status, as of coir_vm_run; 1, after a
 * line on stderr, when a variable that the machine heeds makes no sense. */
int cli_launch(const void *image, size_t length, int argc, char *const *argv, const struct cli_flags *flags);

#endif
