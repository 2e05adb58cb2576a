/* SPDX-License-Identifier: MIT */
/*
 * Happy eyeballs, for dial.c and its tests: connecting to the first of several addresses that answers.
 */
#ifndef COIR_RUNTIME_OPS_DIAL_H
#define COIR_RUNTIME_OPS_DIAL_H

#include <coir/group.h>
#include <coir/net.h>

#define COIR_DIAL_DELAY (250 * COIR_MS)  /* RFC 8305, section 8: between one attempt and the next */

/* Waits until an attempt has ended, or for `ns` at most; 0: for as long as it takes. Does not wait if `ended`. */
struct coir_dial_turn {
    coir_frame_void;
    coir_args(int64_t ns; const bool *ended;);
    struct coir_alarm alarm;
};
coir_declare(coir_dial_turn);

/*
 * Connects to one of n addresses, begun in order, each `delay` ns after the last, or as soon as one has failed.
 * The result is the socket of the first that connects; the others have been closed. Without one the status
 * tells of the first failure, of those that say more than "there is no way to it" if there are such.
 */
struct coir_dial_any {
    coir_frame(int);
    coir_args(const struct sockaddr_storage *addrs; size_t n; int64_t delay;);
    struct coir_group group;
    size_t next, live;                   /* attempts begun, and not ended */
    int won;                             /* the socket, or -1 */
    int error;                           /* what the attempts failed with, so far */
    bool ended;                          /* one has, since the last turn */
    struct coir_dial_turn turn;
    struct coir_group_wait wait;
};
coir_declare(coir_dial_any);

#endif
