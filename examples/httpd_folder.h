/* SPDX-License-Identifier: MIT */
/*
 * What httpd reads of its folder: files, and the names in folders that have no index. Paths are relative, and as
 * strangers wrote them; nothing outside the folder is opened.
 */
#ifndef HTTPD_FOLDER_H
#define HTTPD_FOLDER_H

#include <coir/coir.h>

/* Opens a file beneath the folder: at once if the kernel knows the way to it, else on a thread that may wait for
 * a disk. Result: the descriptor. */
struct find {
    coir_frame(int);
    coir_args(int folder; const char *path;);
    struct coir_offload offload;
};
coir_declare(find);

/* Makes a page of what is in a folder, but for names that begin with a dot. Result: the descriptor of a file in
 * memory that holds it as HTML. */
struct listing {
    coir_frame(int);
    coir_args(int folder; const char *path;);
    int fd;
    char **names;
    size_t n, filled;
    char entries[16384];
    union {
        struct find find;
        struct coir_readdir read;
        struct coir_close close;
    };
};
coir_declare(listing);

#endif
