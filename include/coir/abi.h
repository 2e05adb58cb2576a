/* SPDX-License-Identifier: MIT */
/*
 * coir/abi.h - what a program and the library must agree on: the sizes of the frames that lie in the
 * program's memory. coir_main and coir_run pass this number, and refuse a program whose number differs.
 * Private.
 */
#ifndef COIR_ABI_H
#define COIR_ABI_H

#include <coir/cell.h>
#include <coir/channel.h>
#include <coir/combine.h>
#include <coir/context.h>
#include <coir/fs.h>
#include <coir/group.h>
#include <coir/io.h>
#include <coir/lend.h>
#include <coir/listen.h>
#include <coir/lock.h>
#include <coir/net.h>
#include <coir/offload.h>
#include <coir/process.h>
#include <coir/reader.h>
#include <coir/select.h>
#include <coir/serve.h>
#include <coir/shard.h>
#include <coir/signal.h>
#include <coir/stream.h>
#include <coir/sync.h>
#include <coir/time.h>
#include <coir/writer.h>
# 33 "coir/abi.h"

#define COIR_ABI_VERSION 1

/* A sum of sizes by growing weights, folded by the compiler. Bit 0 says that the program was built with
 * COIR_TORTURE, bit 1 the same of COIR_DEBUG. */
#define COIR_ABI_SIZES_(X) \
    X(1, coir_task) X(3, coir_scope) X(5, coir_group) X(7, coir_cell) X(11, coir_combine) X(13, coir_io) \
    X(17, coir_sleep) X(19, coir_sleep_until) X(23, coir_group_spawn) X(29, coir_group_wait) X(31, coir_cell_wait) \
    X(37, coir_pass) X(41, coir_options) X(43, coir_alarm) X(47, coir_channel) X(53, coir_channel_send) \
    X(59, coir_channel_recv) X(61, coir_xchan_send) X(67, coir_xchan_recv) X(71, coir_semaphore) X(73, coir_acquire) \
    X(101, coir_open) X(103, coir_openat) X(107, coir_statx) X(109, coir_rename) X(113, coir_unlink) \
    X(127, coir_mkdir) X(131, coir_pread) X(137, coir_pwrite) X(139, coir_pread_exact) X(149, coir_pwrite_all) \
    X(151, coir_preadv) X(157, coir_pwritev) X(163, coir_fsync) X(167, coir_fallocate) X(173, coir_ftruncate) \
    X(179, coir_readdir) X(181, coir_offload) X(211, coir_socket) X(223, coir_recv) X(227, coir_send) \
    X(229, coir_recv_exact) X(233, coir_send_all) X(239, coir_recvmsg) X(241, coir_sendmsg) X(251, coir_sendfile) \
    X(257, coir_shutdown) X(263, coir_connect) X(269, coir_dial) X(271, coir_resolve) X(307, coir_accept) \
    X(311, coir_recv_lend) X(313, coir_serve) X(317, coir_context) X(401, coir_stream_read) \
    X(409, coir_stream_write_all) X(419, coir_stream_shutdown) X(421, coir_stream_close) X(431, coir_fd_stream) \
    X(433, coir_reader) X(439, coir_reader_fill) X(443, coir_read_some) X(449, coir_read_exact) X(457, coir_peek) \
    X(461, coir_skip) X(463, coir_read_until) X(467, coir_read_line) X(479, coir_skip_until) X(487, coir_copy) \
    X(491, coir_writer) X(499, coir_put) X(503, coir_flush) X(509, coir_make_room) X(521, coir_reader_stream) \
    X(601, coir_arm) X(607, coir_select) X(701, coir_process) X(709, coir_process_start) X(719, coir_process_wait) \
    X(727, coir_process_close) X(733, coir_process_run) X(739, coir_recvfrom) X(743, coir_sendto) \
    X(751, coir_signal_next) X(757, coir_stop_on_signal) X(811, coir_mutex) X(821, coir_lock) X(823, coir_condition) \
    X(827, coir_condition_wait) X(829, coir_event) X(839, coir_event_wait) X(853, coir_once) X(857, coir_once_begin) \
    X(859, coir_barrier) X(863, coir_barrier_wait) \
    X(877, coir_leave)
#define COIR_ABI_TERM_(weight, name) + (uint64_t)(weight) * sizeof(struct name)
#define COIR_ABI_SIZE_ (((uint64_t)COIR_ABI_VERSION << 48) + (((uint64_t)0 COIR_ABI_SIZES_(COIR_ABI_TERM_)) << 2))

#if defined(COIR_TORTURE)
#define COIR_ABI_ (COIR_ABI_SIZE_ | 3)
#elif defined(COIR_DEBUG)
#define COIR_ABI_ (COIR_ABI_SIZE_ | 2)
#else
#define COIR_ABI_ COIR_ABI_SIZE_
#endif

#endif
