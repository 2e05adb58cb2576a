/* SPDX-License-Identifier: MIT */
/*
 * What stands for what in a file's name that is given in the environment.
 */
#include "runtime/see/template.h"

#include <stdio.h>
#include <unistd.h>

#include <coir/task.h>

int coir_template_expand(const char *template, char *path, size_t size)
{
    size_t n = 0;

    for (const char *c = template; *c; c++) {
        if (*c == '%' && c[1] != '%' && c[1] != 'p')
            return -EINVAL;
        if (*c == '%' && *++c == 'p')
            n += (size_t)snprintf(path + n, size - n, "%d", (int)getpid());
        else
            path[n++] = *c;
        if (n >= size - 1)
            return -ENAMETOOLONG;
    }
    path[n] = '\0';
    return 0;
}

const char *coir_template_why(int err)
{
    if (err == -EINVAL)
        return "%p stands for the process and %% for a per cent sign, and nothing else begins with one";
    return coir_strerror(err);
}
