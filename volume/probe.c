/* SPDX-License-Identifier: MIT */
/* Asking libblkid. Two signatures at once, of which neither is believed, are something too. */
#include "volume/probe.h"

#include <blkid.h>
#include <errno.h>
#include <stdio.h>

static blkid_probe begin(int fd)
{
    const blkid_probe pr = blkid_new_probe();

    if (!pr)
        return NULL;
    if (blkid_probe_set_device(pr, fd, 0, 0) < 0) {
        blkid_free_probe(pr);
        return NULL;
    }
    blkid_probe_enable_superblocks(pr, 1);
    blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE | BLKID_SUBLKS_LABEL
                                          | BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_BADCSUM);
    blkid_probe_enable_partitions(pr, 1);
    blkid_probe_set_partitions_flags(pr, BLKID_PARTS_FORCE_GPT | BLKID_PARTS_MAGIC);
    return pr;
}

static const char *value(blkid_probe pr, const char *name)
{
    const char *text = NULL;

    return blkid_probe_lookup_value(pr, name, &text, NULL) == 0 ? text : NULL;
}

static void describe(blkid_probe pr, char *to, size_t n)
{
    const char *const type = value(pr, "TYPE"), *const table = value(pr, "PTTYPE"), *const label = value(pr, "LABEL");
    const char *const usage = value(pr, "USAGE");

    if (type)
        snprintf(to, n, "%s (%s)%s%s", type, usage ? usage : "data", label ? ", labelled " : "", label ? label : "");
    else if (table)
        snprintf(to, n, "a partition table (%s)", table);
    else
        snprintf(to, n, "something that libblkid knows");
}

int64_t coir_probe_look(void *arg)
{
    struct coir_probe *const probe = arg;
    const blkid_probe pr = begin(probe->fd);

    probe->found[0] = 0;
    if (!pr)
        return -EIO;
    errno = 0;
    const int r = blkid_do_safeprobe(pr);
    int status = 0;
    if (r == 0)
        describe(pr, probe->found, sizeof probe->found);
    else if (r == -2)
        snprintf(probe->found, sizeof probe->found, "the signatures of several filesystems");
    else if (r < 0)
        status = errno ? -errno : -EIO;
    blkid_free_probe(pr);
    return status;
}

int64_t coir_probe_wipe(void *arg)
{
    struct coir_probe *const probe = arg;
    const blkid_probe pr = begin(probe->fd);
    int r = 0;

    if (!pr)
        return -EIO;
    while (r == 0 && blkid_do_probe(pr) == 0) {
        errno = 0;
        if (blkid_do_wipe(pr, 0) < 0)
            r = errno ? -errno : -EIO;
    }
    blkid_free_probe(pr);
    return r;
}
