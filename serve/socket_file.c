/* SPDX-License-Identifier: MIT */
/*
 * An inode's number alone is not who it is: a filesystem gives the next file the number of the last one that went. The
 * time of its birth tells them apart, and is not changed by an owner or a mode that somebody gives to it.
 */
#include "serve/socket_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* What is at a path, if that is a socket. */
static bool look(struct coir_socket_file *to, const char *path)
{
    struct statx st;

    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_INO | STATX_BTIME, &st) < 0
        || !S_ISSOCK(st.stx_mode))
        return false;
    *to = (struct coir_socket_file){ .path = path, .device = makedev(st.stx_dev_major, st.stx_dev_minor),
                                     .number = st.stx_ino };
    if (st.stx_mask & STATX_BTIME) {
        to->born = st.stx_btime.tv_sec;
        to->born_ns = st.stx_btime.tv_nsec;
    }
    return true;
}

void coir_socket_file_note(struct coir_socket_file *file, const char *address)
{
    if (strncmp(address, "unix:", 5) != 0 || address[5] == '@' || !look(file, address + 5))
        file->path = NULL;
}

bool coir_socket_file_remove(struct coir_socket_file *file)
{
    struct coir_socket_file now;
    const bool is_ours = file->path && look(&now, file->path) && now.device == file->device
        && now.number == file->number && now.born == file->born && now.born_ns == file->born_ns;

    if (is_ours)
        unlink(file->path);
    file->path = NULL;
    return is_ours;
}
