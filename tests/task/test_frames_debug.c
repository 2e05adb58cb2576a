/* SPDX-License-Identifier: MIT */
/*
 * The same as a debug build, whatever the library is: frames are filled with 0xA5.
 */
#ifndef COIR_DEBUG
#define COIR_DEBUG 1
#endif
#include "test_frames.c"
