/* SPDX-License-Identifier: MIT */
/* Complaints: the first one stands, since what follows it is only its consequence. */
#include "volume/complain.h"

#include <stdarg.h>
#include <stdio.h>

int coir_complain(struct coir_complaint *c, int status, const char *format, ...)
{
    va_list ap;

    if (!c || c->status)
        return status;
    c->status = status;
    va_start(ap, format);
    vsnprintf(c->text, sizeof c->text, format, ap);
    va_end(ap);
    return status;
}
