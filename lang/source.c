/* SPDX-License-Identifier: MIT */
/*
 * A source and its lines: see lang/source.h. The three pieces of memory are one each, so that what is freed is what the
 * struct says.
 */
#include "lang/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint32_t count_lines(const char *text, uint32_t n)
{
    uint32_t lines = 1;

    for (const char *at = text; (at = memchr(at, '\n', (size_t)(text + n - at))); at++)
        lines++;
    return lines;
}

static void find_lines(const char *text, uint32_t n, uint32_t *starts)
{
    *starts++ = 0;
    for (const char *at = text; (at = memchr(at, '\n', (size_t)(text + n - at))); at++)
        *starts++ = (uint32_t)(at + 1 - text);
}

/* Takes s->text as it is, of n bytes. */
static int finish(struct coir_source *s, const char *path, uint32_t n)
{
    const size_t path_size = strlen(path) + 1;
    char *const copy = coir_budget_resize(s->memory, NULL, 0, path_size);

    if (!copy)
        return -ENOMEM;
    memcpy(copy, path, path_size);
    s->path = copy;
    s->size = n;
    const uint32_t lines = count_lines(s->text, n);
    uint32_t *const starts = coir_budget_resize(s->memory, NULL, 0, lines * sizeof *starts);
    if (!starts)
        return -ENOMEM;
    find_lines(s->text, n, starts);
    s->starts = starts;
    s->lines = lines;
    return 0;
}

int coir_source_init(struct coir_source *s, struct coir_budget *m, const char *path, const void *text, size_t n)
{
    *s = (struct coir_source){ .memory = m };
    if (n > COIR_SOURCE_MOST)
        return -EFBIG;
    char *const copy = coir_budget_resize(m, NULL, 0, n + 1);
    if (!copy)
        return -ENOMEM;
    if (n > 0)
        memcpy(copy, text, n);
    s->text = copy;
    s->size = (uint32_t)n;
    const int status = finish(s, path, (uint32_t)n);
    if (status < 0)
        coir_source_free(s);
    return status;
}

/* What is left in fd, into *text, which has *room bytes. */
static int read_all(struct coir_budget *m, int fd, char **text, size_t *room, size_t *n)
{
    for (;;) {
        if (*n + 1 >= *room) {
            const size_t more = *room ? 2 * *room : 16 << 10;
            char *const grown = coir_budget_resize(m, *text, *room, more);
            if (!grown)
                return -ENOMEM;
            *text = grown;
            *room = more;
        }
        const ssize_t got = read(fd, *text + *n, *room - *n - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : 0;
        *n += (size_t)got;
        if (*n > COIR_SOURCE_MOST)
            return -EFBIG;
    }
}

int coir_source_read(struct coir_source *s, struct coir_budget *m, const char *path)
{
    char *text = NULL;
    size_t room = 0, n = 0;

    *s = (struct coir_source){ .memory = m };
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int status = read_all(m, fd, &text, &room, &n);
    close(fd);
    if (status == 0)
        status = coir_source_init(s, m, path, text, n);
    coir_budget_resize(m, text, room, 0);
    return status;
}

void coir_source_free(struct coir_source *s)
{
    if (!s->memory)
        return;
    if (s->text)
        coir_budget_resize(s->memory, (void *)(uintptr_t)s->text, (size_t)s->size + 1, 0);
    if (s->path)
        coir_budget_resize(s->memory, (void *)(uintptr_t)s->path, strlen(s->path) + 1, 0);
    if (s->starts)
        coir_budget_resize(s->memory, (void *)(uintptr_t)s->starts, s->lines * sizeof *s->starts, 0);
    *s = (struct coir_source){ 0 };
}

struct coir_position coir_source_position(const struct coir_source *s, uint32_t offset)
{
    uint32_t from = 0, to = s->lines;       /* the line is in [from, to) */

    while (to - from > 1) {
        const uint32_t middle = from + (to - from) / 2;
        if (s->starts[middle] <= offset)
            from = middle;
        else
            to = middle;
    }
    return (struct coir_position){ from + 1, offset - s->starts[from] + 1 };
}
