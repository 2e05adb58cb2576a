/* SPDX-License-Identifier: MIT */
/*
 * How long an address that is in use is tried again. A server that was killed may have it a moment longer than its
 * process lasts: the kernel lets go of what its ring held only then. Who starts the next one need not know.
 */
#ifndef COIR_SERVE_AGAIN_H
#define COIR_SERVE_AGAIN_H

enum { AGAIN_TRIES = 200, AGAIN_PAUSE_MS = 10 };

#endif
