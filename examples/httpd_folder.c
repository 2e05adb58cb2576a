/* SPDX-License-Identifier: MIT */
/*
 * Opening and listing. The names of files are strangers' text too: they are escaped, as HTML and in links.
 */
#include "httpd_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "http_answer.h"

static int64_t open_slowly(void *arg)
{
    const struct find *f = arg;

    return http_open(f->folder, f->path, false);
}

coir_body(find, f) {
    f->result = http_open(f->folder, f->path, true);
    if (f->result == -EAGAIN)
        coir_get(f, f->result, &f->offload, coir_offload, .fn = open_slowly, .arg = f);
    if (f->result < 0)
        coir_fail(f, f->result);
} coir_end

/* Adds the names of one buffer of entries; folders end with a slash. False: no memory. */
static bool collect(struct listing *f)
{
    struct coir_dirent entry;
    size_t at = 0;

    while (coir_dirent_next(&entry, f->entries, f->filled, &at)) {
        if (entry.name[0] == '.')
            continue;
        char **more = realloc(f->names, (f->n + 1) * sizeof *more);
        if (more)
            f->names = more;
        if (!more || asprintf(&more[f->n], "%s%s", entry.name, entry.type == DT_DIR ? "/" : "") < 0)
            return false;
        f->n++;
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_text(FILE *page, const char *text)
{
    for (; *text; text++)
        fprintf(page, strchr("<>&\"'", *text) ? "&#%d;" : "%c", *text);
}

static void add_entry(FILE *page, const char *name)
{
    fprintf(page, "<li><a href=\"");
    for (const char *c = name; *c; c++)
        fprintf(page, isalnum((unsigned char)*c) || strchr("/-._~", *c) ? "%c" : "%%%02X", (unsigned char)*c);
    fprintf(page, "\">");
    add_text(page, name);
    fprintf(page, "</a>\n");
}

/* The page's file, or a negative errno. */
static int make_page(const struct listing *f)
{
    const int fd = memfd_create("listing", MFD_CLOEXEC), copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    FILE *page = copy < 0 ? NULL : fdopen(copy, "w");

    if (!page) {
        close(copy);                    /* -1 is no harm */
        close(fd);
        return -ENOMEM;
    }
    fprintf(page, "<!doctype html>\n<meta charset=\"utf-8\">\n<title>/");
    add_text(page, f->path);
    fprintf(page, "</title>\n<ul>\n");
    if (f->path[0] != '\0')
        add_entry(page, "../");
    for (size_t i = 0; i < f->n; i++)
        add_entry(page, f->names[i]);
    fprintf(page, "</ul>\n");
    fclose(page);
    return fd;
}

coir_body(listing, f) {
    f->fd = -1;
    f->names = NULL;
    f->n = 0;
    coir_get(f, f->fd, &f->find, find, .folder = f->folder, .path = f->path[0] ? f->path : ".");
    for (;;) {
        coir_get(f, f->filled, &f->read, coir_readdir, .fd = f->fd, .buf = f->entries, .len = sizeof f->entries);
        if (f->filled == 0)
            break;
        if (!collect(f))
            coir_fail(f, ENOMEM);
    }
    if (f->n > 0)
        qsort(f->names, f->n, sizeof *f->names, by_name);
    f->result = make_page(f);
    if (f->result < 0)
        coir_fail(f, f->result);
    coir_finally(f) {
        for (size_t i = 0; i < f->n; i++)
            free(f->names[i]);
        free(f->names);
        if (f->fd >= 0)
            coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end
