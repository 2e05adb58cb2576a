/* SPDX-License-Identifier: MIT */
/*
 * What went wrong, for a person: which file, where in it, and what to do, in one or two sentences without a full stop
 * at the end. It goes beside the negative errno, which is for programs: whoever meets the failure first fills it,
 * whoever passes the failure on leaves it alone. Owns nothing; any thread, one at a time.
 *
 *     return coir_complain(c, -EBADMSG, "%s: both headers are damaged, at blocks 0 and 128", path);
 */
#ifndef COIR_VOLUME_COMPLAIN_H
#define COIR_VOLUME_COMPLAIN_H

struct coir_complaint {
    int status;                         /* 0: nobody has complained */
    char text[1000];                    /* of a longer one, the beginning */
};

/* Fills it, unless somebody has before, or it is NULL. Value: `status`. */
int coir_complain(struct coir_complaint *c, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
