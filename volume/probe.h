/* SPDX-License-Identifier: MIT */
/*
 * What there is already where a store is to be made: by libblkid, which mount and mkfs ask. Both functions block, and
 * run on a pool (coir_offload); they use the caller's descriptor, and move its position.
 */
#ifndef COIR_VOLUME_PROBE_H
#define COIR_VOLUME_PROBE_H

#include <stddef.h>
#include <stdint.h>

struct coir_probe {
    int fd;
    char found[200];            /* out: "an ext4 filesystem, labelled data"; empty: nothing */
};

/* Looks. Value: 0, also when something was found; or a negative errno. */
int64_t coir_probe_look(void *probe);

/* Removes every signature that libblkid knows from a block device, those at its end too. Value: as above. */
int64_t coir_probe_wipe(void *probe);

#endif
