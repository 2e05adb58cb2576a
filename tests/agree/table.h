/* SPDX-License-Identifier: MIT */
/*
 * The table: for each operation its rows. See rows.h.
 */
#ifndef COIR_TESTS_AGREE_TABLE_H
#define COIR_TESTS_AGREE_TABLE_H

#include "operations.h"
#include "rows.h"

/* ---- io.h ---- */

static const struct row coir_poll_rows[] = {
    { "readable", UNIX, .before = SEND5, .flags = POLLIN, .result = POLLIN, .in = 5 },
    { "writable", UNIX, .flags = POLLOUT, .result = POLLOUT },
    { "both", UNIX, .before = SEND5, .flags = POLLIN | POLLOUT, .result = POLLIN | POLLOUT, .in = 5 },
    { "becomes readable", UNIX, .flags = POLLIN, .when = LATER, .act = SEND5, .result = POLLIN, .in = 5 },
    { "becomes writable", UNIX, .before = BLOCK, .flags = POLLOUT, .when = LATER, .act = DRAIN, .result = POLLOUT },
    { "the peer closes", UNIX, .flags = POLLIN, .when = LATER, .act = FIN, .result = POLLIN | POLLHUP },
    { "the peer closes", TCP, .flags = POLLIN, .when = LATER, .act = FIN, .result = POLLIN },
    { "the peer resets", TCP, .flags = POLLIN, .when = LATER, .act = RST, .result = POLLIN | POLLERR | POLLHUP },
    { "the writer closes", INFLOW, .flags = POLLIN, .when = LATER, .act = FIN, .result = POLLHUP },
    { "the reader closes", OUTFLOW, .before = BLOCK, .flags = POLLOUT, .when = LATER, .act = FIN,
      .result = POLLERR },
    { "cancelled before", UNIX, .flags = POLLIN, .when = BEFORE, .status = -ECANCELED },
    { "cancelled before, readable", UNIX, .before = SEND5, .flags = POLLIN, .when = BEFORE, .result = POLLIN, .in = 5 },
    { "cancelled", UNIX, .flags = POLLIN, .when = DURING, .status = -ECANCELED },
    { "cancelled as it becomes readable", UNIX, .flags = POLLIN, .when = AFTER, .act = SEND5, .result = POLLIN,
      .in = 5 },
    { "deadline", UNIX, .flags = POLLIN, .deadline = SOON, .status = -ETIMEDOUT },
    { "deadline in the past", UNIX, .flags = POLLIN, .deadline = PAST, .status = -ETIMEDOUT },
    { "descriptor is closed", UNIX, .flags = POLLIN, .when = CLOSING, .status = -ECANCELED },
    { "a connection", LISTENER, .flags = POLLIN, .when = LATER, .act = CONNECT, .result = POLLIN },
    { "a file", FILES, .flags = POLLIN, .result = POLLIN, .in = 10 },
    { "-1", UNIX, .wrong = NEGATIVE, .flags = POLLIN, .status = -EBADF },
    { "a closed descriptor", UNIX, .wrong = CLOSED, .flags = POLLIN, .status = -EBADF },
};

static const struct row coir_read_rows[] = {
    INPUT(UNIX, ROOM),
    INPUT(TCP, ROOM),
    INPUT(INFLOW, ROOM),
    { "short", UNIX, .before = SEND5, .len = 2, .result = 2, .buf = "he", .in = 3 },
    { "no length", UNIX, .before = SEND5, .in = 5 },
    { "no length, NULL", UNIX, .before = SEND5, .null = true, .in = 5 },
    { "the peer has closed", UNIX, .before = FIN, .len = ROOM },
    { "the peer closes", UNIX, .len = ROOM, .when = LATER, .act = FIN },
    { "the peer closes", TCP, .len = ROOM, .when = LATER, .act = FIN },
    { "the writer closes", INFLOW, .len = ROOM, .when = LATER, .act = FIN },
    { "the peer resets", TCP, .len = ROOM, .when = LATER, .act = RST, .status = -ECONNRESET },
    { "the peer has reset", TCP, .before = RST, .len = ROOM, .status = -ECONNRESET },
    { "a file", FILES, .len = 4, .result = 4, .buf = "0123", .in = 10, .out = 4 },
    { "a file, to its end", FILES, .len = ROOM, .result = 10, .buf = "0123456789", .in = 10, .out = 10 },
    { "a file, cancelled before", FILES, .len = 4, .when = BEFORE, .unsaid = true },     /* not all know RWF_NOWAIT */
    { "a folder", UNIX, .wrong = A_FOLDER, .len = 4, .status = -EISDIR },
    { "write-only", UNIX, .wrong = WRITE_ONLY, .len = 4, .status = -EBADF },
    { "the wrong end", OUTFLOW, .len = 4, .status = -EBADF },
    { "not connected", SOCKET, .len = 4, .status = -ENOTCONN },
};

static const struct row coir_write_rows[] = {
    OUTPUT(UNIX, 5),
    OUTPUT(OUTFLOW, 5),
    { "no length", UNIX, .text = "hello" },
    { "no length, NULL", UNIX, .in = 0 },
    { "the peer has closed", UNIX, .before = FIN, .len = 5, .text = "hello", .status = -EPIPE },
    { "the reader has closed", OUTFLOW, .before = FIN, .len = 5, .text = "hello", .status = -EPIPE },
    { "the reader closes", OUTFLOW, .before = BLOCK, .len = 5, .text = "hello", .when = LATER, .act = FIN,
      .status = -EPIPE },
    { "the peer closes", UNIX, .before = BLOCK, .len = 5, .text = "hello", .when = LATER, .act = FIN,
      .status = -EPIPE },
    { "TCP", TCP, .len = 5, .text = "hello", .result = 5, .out = 5 },
    { "the peer has reset", TCP, .before = RST, .len = 5, .text = "hello", .status = -ECONNRESET },
    { "a file", FILES, .len = 5, .text = "hello", .result = 5, .in = 10, .out = 5 },
    { "read-only", UNIX, .wrong = READ_ONLY, .len = 5, .text = "hello", .status = -EBADF },
    { "the wrong end", INFLOW, .len = 5, .text = "hello", .status = -EBADF },
    { "not connected", SOCKET, .len = 5, .text = "hello", .status = -EPIPE },
};

static const struct row coir_write_all_rows[] = {
    OUTPUT(UNIX, 5),
    OUTPUT(OUTFLOW, 5),
    { "no length", UNIX, .text = "hello" },
    { "the peer has closed", UNIX, .before = FIN, .len = 5, .text = "hello", .status = -EPIPE },
    { "the reader closes", OUTFLOW, .before = BLOCK, .len = 5, .text = "hello", .when = LATER, .act = FIN,
      .status = -EPIPE },
    { "the peer has reset", TCP, .before = RST, .len = 5, .text = "hello", .status = -ECONNRESET },
    { "a file", FILES, .len = 5, .text = "hello", .result = 5, .in = 10, .out = 5 },
    { "read-only", UNIX, .wrong = READ_ONLY, .len = 5, .text = "hello", .status = -EBADF },
};

/* Two pieces of two and the rest of the buffer; of the text two and three bytes. */
static const struct row coir_readv_rows[] = {
    INPUT(UNIX, 2),
    INPUT(INFLOW, 2),
    { "short", UNIX, .before = SEND5, .len = 1, .result = 2, .buf = "he", .in = 3 },
    { "no pieces", UNIX, .before = SEND5, .in = 5 },
    { "too many pieces", UNIX, .len = 1025, .status = -EINVAL },
    { "fewer than none", UNIX, .len = (size_t)-1, .status = -EINVAL },
    { "the peer closes", TCP, .len = 2, .when = LATER, .act = FIN },
    { "the peer resets", TCP, .len = 2, .when = LATER, .act = RST, .status = -ECONNRESET },
    { "a file", FILES, .len = 2, .result = 10, .buf = "0123456789", .in = 10, .out = 10 },
    { "a folder", UNIX, .wrong = A_FOLDER, .len = 2, .status = -EISDIR },
    { "write-only", UNIX, .wrong = WRITE_ONLY, .len = 2, .status = -EBADF },
};

static const struct row coir_writev_rows[] = {
    OUTPUT(UNIX, 2),
    OUTPUT(OUTFLOW, 2),
    { "no pieces", UNIX, .text = "hello" },
    { "too many pieces", UNIX, .len = 1025, .text = "hello", .status = -EINVAL },
    { "the peer has closed", UNIX, .before = FIN, .len = 2, .text = "hello", .status = -EPIPE },
    { "the reader has closed", OUTFLOW, .before = FIN, .len = 2, .text = "hello", .status = -EPIPE },
    { "the peer has reset", TCP, .before = RST, .len = 2, .text = "hello", .status = -ECONNRESET },
    { "a file", FILES, .len = 2, .text = "hello", .result = 5, .in = 10, .out = 5 },
    { "read-only", UNIX, .wrong = READ_ONLY, .len = 2, .text = "hello", .status = -EBADF },
};

/* It closes all the same when it was cancelled: the fixture's own descriptor is gone then. */
static const struct row coir_close_rows[] = {
    { "a socket", UNIX, .in = 0 },
    { "a file", FILES, .in = 10 },
    { "cancelled before", UNIX, .when = BEFORE },
    { "cancelled at once", UNIX, .when = QUICKLY },
    { "deadline in the past", UNIX, .deadline = PAST },
    { "-1", UNIX, .wrong = NEGATIVE, .status = -EBADF },
    { "a closed descriptor", UNIX, .wrong = CLOSED, .status = -EBADF },
};

/* Nothing is read, nothing is closed. */
static const struct row coir_leave_rows[] = {
    { "a socket", UNIX, .before = SEND5, .in = 5 },
    { "a file", FILES, .in = 10 },
    { "cancelled before", UNIX, .when = BEFORE },
    { "cancelled at once", UNIX, .when = QUICKLY },
    { "deadline in the past", UNIX, .deadline = PAST },
    { "-1", UNIX, .wrong = NEGATIVE, .status = -EBADF },
    { "a closed descriptor", UNIX, .wrong = CLOSED, .status = -EBADF },
};

static const struct row coir_splice_rows[] = {
    { "it is there", PLUMBING, .before = SEND5, .len = ROOM, .result = 5, .out = 5 },
    { "it comes", PLUMBING, .len = ROOM, .when = LATER, .act = SEND5, .result = 5, .out = 5 },
    { "short", PLUMBING, .before = SEND5, .len = 2, .result = 2, .in = 3, .out = 2 },
    { "no length", PLUMBING, .before = SEND5, .in = 5 },
    { "the writer closes", PLUMBING, .len = ROOM, .when = LATER, .act = FIN },
    { "cancelled before", PLUMBING, .len = ROOM, .when = BEFORE, .status = -ECANCELED },
    { "cancelled before, it is there", PLUMBING, .before = SEND5, .len = ROOM, .when = BEFORE, .result = 5, .out = 5 },
    { "cancelled", PLUMBING, .len = ROOM, .when = DURING, .status = -ECANCELED },
    { "cancelled as it comes", PLUMBING, .len = ROOM, .when = AFTER, .act = SEND5, .result = 5, .out = 5 },
    { "deadline", PLUMBING, .len = ROOM, .deadline = SOON, .status = -ETIMEDOUT },
    { "descriptor is closed", PLUMBING, .len = ROOM, .when = CLOSING, .status = -ECANCELED },
    { "-1", PLUMBING, .wrong = NEGATIVE, .len = ROOM, .status = -EBADF },
    { "a closed descriptor", PLUMBING, .wrong = CLOSED, .len = ROOM, .status = -EBADF },
    { "no pipe", OUTLET, .len = ROOM, .status = -EINVAL, .unsaid = true },
};

/* ---- net.h ---- */

static const struct row coir_socket_rows[] = {
    { "success", NOTHING, .flags = AF_UNIX, .result = 1 },
    { "cancelled before", NOTHING, .flags = AF_UNIX, .when = BEFORE, .result = 1 },
    { "deadline in the past", NOTHING, .flags = AF_UNIX, .deadline = PAST, .result = 1 },
    { "no family", NOTHING, .flags = 9999, .status = -EAFNOSUPPORT },
};

static const struct row coir_recv_rows[] = {
    INPUT(UNIX, ROOM),
    INPUT(TCP, ROOM),
    { "short", UNIX, .before = SEND5, .len = 2, .result = 2, .buf = "he", .in = 3 },
    { "a peek", UNIX, .before = SEND5, .len = 2, .flags = MSG_PEEK, .result = 2, .buf = "he", .in = 5 },
    { "no length", UNIX, .before = SEND5, .in = 5 },
    { "no length, NULL", UNIX, .before = SEND5, .null = true, .in = 5 },
    { "MSG_DONTWAIT", UNIX, .len = ROOM, .flags = MSG_DONTWAIT, .status = -EAGAIN },
    { "MSG_WAITALL", UNIX, .before = SEND5, .len = ROOM, .flags = MSG_WAITALL, .status = -EOPNOTSUPP, .in = 5 },
    { "the peer has closed", UNIX, .before = FIN, .len = ROOM },
    { "the peer closes", UNIX, .len = ROOM, .when = LATER, .act = FIN },
    { "the peer closes", TCP, .len = ROOM, .when = LATER, .act = FIN },
    { "the peer resets", TCP, .len = ROOM, .when = LATER, .act = RST, .status = -ECONNRESET },
    { "the peer has reset", TCP, .before = RST, .len = ROOM, .status = -ECONNRESET },
    { "a file", UNIX, .wrong = A_FILE, .len = 4, .status = -ENOTSOCK },
    { "a pipe", UNIX, .wrong = A_PIPE, .len = 4, .status = -ENOTSOCK },
    { "a file, no length", UNIX, .wrong = A_FILE, .status = -ENOTSOCK },
    { "not connected", SOCKET, .len = 4, .status = -ENOTCONN },
};

static const struct row coir_send_rows[] = {
    OUTPUT(UNIX, 5),
    { "TCP", TCP, .len = 5, .text = "hello", SENDS },
    { "no length", UNIX, .text = "hello" },
    { "MSG_DONTWAIT", UNIX, .before = BLOCK, .len = 5, .text = "hello", .flags = MSG_DONTWAIT, .status = -EAGAIN },
    { "the peer has closed", UNIX, .before = FIN, .len = 5, .text = "hello", .status = -EPIPE },
    { "the peer closes", UNIX, .before = BLOCK, .len = 5, .text = "hello", .when = LATER, .act = FIN,
      .status = -EPIPE },
    { "the peer has reset", TCP, .before = RST, .len = 5, .text = "hello", .status = -ECONNRESET },
    { "a file", UNIX, .wrong = A_FILE, .len = 5, .text = "hello", .status = -ENOTSOCK },
    { "a pipe", UNIX, .wrong = A_PIPE, .len = 5, .text = "hello", .status = -ENOTSOCK },
    { "not connected", SOCKET, .len = 5, .text = "hello", .status = -EPIPE },
};

static const struct row coir_recvfrom_rows[] = {
    INPUT(UDP, ROOM),
    INPUT(UDP_APART, ROOM),
    INPUT(PACKETS, ROOM),
    INPUT(UNIX_APART, ROOM),
    INPUT(UNIX, ROOM),
    { "cut off", UDP, .before = SEND5, .len = 2, .result = 1002, .buf = "he" },
    { "cut off as it comes", UNIX_APART, .len = 2, .when = LATER, .act = SEND5, .result = 1002, .buf = "he" },
    { "cut off, MSG_TRUNC", UDP_APART, .before = SEND5, .len = 2, .flags = MSG_TRUNC, .result = 1005, .buf = "he" },
    { "comes cut off, MSG_TRUNC", PACKETS, .len = 2, .flags = MSG_TRUNC, .when = LATER, .act = SEND5, .result = 1005,
      .buf = "he" },
    { "a peek at its length", UDP, .before = SEND5, .null = true, .flags = MSG_PEEK | MSG_TRUNC, .result = 1005,
      .in = 5 },
    { "a peek", UDP_APART, .before = SEND5, .len = ROOM, .flags = MSG_PEEK, TAKES, .in = 5 },
    { "an empty one", UDP, .before = SEND0, .len = ROOM },
    { "an empty one comes", UDP_APART, .len = ROOM, .when = LATER, .act = SEND0 },
    { "an empty one comes", PACKETS, .len = ROOM, .when = LATER, .act = SEND0 },
    { "no length takes one", UDP, .before = SEND5, .result = 1000 },
    { "no length waits", UDP_APART, .when = LATER, .act = SEND5, .result = 1000 },
    { "no length, cancelled", PACKETS, .when = DURING, .status = -ECANCELED },
    { "no length, a stream", UNIX, .before = SEND5, .in = 5 },
    { "nobody is there", UDP, .before = REFUSE, .len = ROOM, .status = -ECONNREFUSED },
    { "nobody is there, it turns out", UDP, .len = ROOM, .when = LATER, .act = REFUSE, .status = -ECONNREFUSED },
    { "MSG_DONTWAIT", UDP, .len = ROOM, .flags = MSG_DONTWAIT, .status = -EAGAIN },
    { "MSG_WAITALL", UDP, .before = SEND5, .len = ROOM, .flags = MSG_WAITALL, .status = -EOPNOTSUPP, .in = 5 },
    { "a file", UDP, .wrong = A_FILE, .len = 4, .status = -ENOTSOCK },
    { "a pipe", UDP, .wrong = A_PIPE, .len = 4, .status = -ENOTSOCK },
};

static const struct row coir_sendto_rows[] = {
    OUTPUT(PACKETS, 5),
    OUTPUT(UNIX_APART, 5),
    OUTPUT(UNIX, 5),
    { "UDP, connected", UDP, .len = 5, .text = "hello", SENDS },
    { "UDP", UDP_APART, .len = 5, .text = "hello", SENDS },
    { "UDP, cancelled before", UDP_APART, .len = 5, .text = "hello", .when = BEFORE, SENDS },
    { "UDP, deadline in the past", UDP_APART, .len = 5, .text = "hello", .deadline = PAST, SENDS },
    { "an empty one", UDP_APART, .text = "hello" },
    { "an empty one, NULL", UDP, .in = 0 },
    { "no length, a stream", UNIX, .text = "hello" },
    { "MSG_DONTWAIT", PACKETS, .before = BLOCK, .len = 5, .text = "hello", .flags = MSG_DONTWAIT, .status = -EAGAIN },
    { "MSG_DONTWAIT", UNIX_APART, .before = BLOCK, .len = 5, .text = "hello", .flags = MSG_DONTWAIT,
      .status = -EAGAIN },
    { "nobody is there", UDP, .before = REFUSE, .len = 5, .text = "hello", .status = -ECONNREFUSED },
    { "nobody is there", PACKETS, .before = FIN, .len = 5, .text = "hello", .status = -ECONNREFUSED },
    { "nobody has the name", UNIX_APART, .before = FIN, .len = 5, .text = "hello", .status = -ECONNREFUSED },
    { "the last one of the name goes", UNIX_APART, .before = BLOCK, .len = 5, .text = "hello", .when = LATER,
      .act = FIN, .status = -ECONNREFUSED },
    { "the peer goes", PACKETS, .before = BLOCK, .len = 5, .text = "hello", .when = LATER, .act = FIN,
      .status = -ECONNREFUSED },
    { "to nobody", SOCKET, .len = 5, .text = "hello", .status = -EPIPE },
    { "MSG_ZEROCOPY", UDP, .len = 5, .text = "hello", .flags = MSG_ZEROCOPY, .status = -EOPNOTSUPP },
    { "a file", UDP, .wrong = A_FILE, .len = 5, .text = "hello", .status = -ENOTSOCK },
};

static const struct row coir_recv_exact_rows[] = {
    INPUT(UNIX, 5),
    INPUT(TCP, 5),
    { "more than it wants", UNIX, .before = SEND5, .len = 2, .result = 2, .buf = "he", .in = 3 },
    { "in two parts", UNIX, .before = SEND2, .len = 5, .when = LATER, .act = SEND3, TAKES },
    { "no length", UNIX, .before = SEND5, .in = 5 },
    { "the peer closes", UNIX, .len = 5, .when = LATER, .act = FIN, .status = -ENODATA },
    { "the peer closes in the middle", UNIX, .before = SEND2, .len = 5, .when = LATER, .act = FIN, .status = -ENODATA,
      .result = 2, .buf = "he" },
    { "the peer resets in the middle", TCP, .before = SEND2, .len = 5, .when = LATER, .act = RST, .status = -ECONNRESET,
      .result = 2, .buf = "he" },
    { "cancelled in the middle", UNIX, .before = SEND2, .len = 5, .when = DURING, .status = -ECANCELED, .result = 2,
      .buf = "he" },
    { "a part comes, cancelled", UNIX, .len = 5, .when = PARTLY, .act = SEND2, .status = -ECANCELED, .result = 2,
      .buf = "he" },
    { "cancelled before, a part is there", UNIX, .before = SEND2, .len = 5, .when = BEFORE, .status = -ECANCELED,
      .result = 2, .buf = "he" },
    { "cancelled as a part comes", UNIX, .len = 5, .when = AFTER, .act = SEND2, .status = -ECANCELED, .result = 2,
      .buf = "he" },
    { "deadline in the middle", TCP, .before = SEND2, .len = 5, .deadline = SOON, .status = -ETIMEDOUT, .result = 2,
      .buf = "he" },
    { "closed in the middle", UNIX, .before = SEND2, .len = 5, .when = CLOSING, .status = -ECANCELED, .result = 2,
      .buf = "he" },
    { "a file", UNIX, .wrong = A_FILE, .len = 4, .status = -ENOTSOCK },
    { "a pipe", UNIX, .wrong = A_PIPE, .len = 4, .status = -ENOTSOCK },
};

static const struct row coir_send_all_rows[] = {
    OUTPUT(UNIX, 5),
    { "TCP", TCP, .len = 5, .text = "hello", SENDS },
    { "no length", UNIX, .text = "hello" },
    { "the peer has closed", UNIX, .before = FIN, .len = 5, .text = "hello", .status = -EPIPE },
    { "the peer closes", UNIX, .before = BLOCK, .len = 5, .text = "hello", .when = LATER, .act = FIN,
      .status = -EPIPE },
    { "the peer has reset", TCP, .before = RST, .len = 5, .text = "hello", .status = -ECONNRESET },
    { "a file", UNIX, .wrong = A_FILE, .len = 5, .text = "hello", .status = -ENOTSOCK },
};

static const struct row coir_recvmsg_rows[] = {
    INPUT(UNIX, 2),
    INPUT(TCP, 2),
    { "short", UNIX, .before = SEND5, .len = 1, .result = 2, .buf = "he", .in = 3 },
    { "no pieces", UNIX, .before = SEND5, .in = 5 },
    { "MSG_DONTWAIT", UNIX, .len = 2, .flags = MSG_DONTWAIT, .status = -EAGAIN },
    { "the peer closes", UNIX, .len = 2, .when = LATER, .act = FIN },
    { "the peer resets", TCP, .len = 2, .when = LATER, .act = RST, .status = -ECONNRESET },
    { "a file", UNIX, .wrong = A_FILE, .len = 2, .status = -ENOTSOCK },
};

static const struct row coir_sendmsg_rows[] = {
    OUTPUT(UNIX, 2),
    { "TCP", TCP, .len = 2, .text = "hello", SENDS },
    { "no pieces", UNIX, .text = "hello" },
    { "the peer has closed", UNIX, .before = FIN, .len = 2, .text = "hello", .status = -EPIPE },
    { "the peer has reset", TCP, .before = RST, .len = 2, .text = "hello", .status = -ECONNRESET },
    { "a file", UNIX, .wrong = A_FILE, .len = 2, .text = "hello", .status = -ENOTSOCK },
};

static const struct row coir_sendfile_rows[] = {
    { "success", OUTLET, .len = 4, .offset = 3, .result = 4, .out = 4 },
    { "at the position", OUTLET, .len = 4, .offset = -1, .result = 4, .out = 4 },
    { "to the end", OUTLET, .len = ROOM, .result = 10, .out = 10 },
    { "beyond the end", OUTLET, .len = 4, .offset = 10 },
    { "no length", OUTLET, .in = 0 },
    { "room comes", OUTLET, .before = BLOCK, .len = 4, .when = LATER, .act = DRAIN, .result = 4, .out = 4 },
    { "cancelled before", OUTLET, .len = 4, .when = BEFORE, .status = -ECANCELED },
    { "cancelled", OUTLET, .before = BLOCK, .len = 4, .when = DURING, .status = -ECANCELED },
    { "deadline", OUTLET, .before = BLOCK, .len = 4, .deadline = SOON, .status = -ETIMEDOUT },
    { "descriptor is closed", OUTLET, .before = BLOCK, .len = 4, .when = CLOSING, .status = -ECANCELED },
    { "the peer has closed", OUTLET, .before = FIN, .len = 4, .status = -EPIPE },
    { "a negative offset", OUTLET, .len = 4, .offset = -2, .status = -EINVAL },
    { "-1", OUTLET, .wrong = NEGATIVE, .len = 4, .status = -EBADF },
    { "a closed descriptor", OUTLET, .wrong = CLOSED, .len = 4, .status = -EBADF },
    { "read-only", OUTLET, .wrong = READ_ONLY, .len = 4, .status = -EBADF },
    { "from no file", UNIX, .len = 4, .status = -EBADF },
};

static const struct row coir_shutdown_rows[] = {
    { "success", UNIX, .flags = SHUT_WR },
    { "cancelled before", UNIX, .flags = SHUT_RDWR, .when = BEFORE },
    { "no such way", UNIX, .flags = 17, .status = -EINVAL },
    { "not connected", SOCKET, .flags = SHUT_WR, .status = -ENOTCONN },
    { "-1", UNIX, .wrong = NEGATIVE, .status = -EBADF },
    { "a closed descriptor", UNIX, .wrong = CLOSED, .status = -EBADF },
    { "a file", UNIX, .wrong = A_FILE, .status = -ENOTSOCK },
};

static const struct row coir_connect_rows[] = {
    { "success", SOCKET, .in = 0 },
    { "nobody listens", DEAD_END, .status = -ECONNREFUSED },
    { "connected already", SOCKET, .act = CONNECT, .wrong = A_FILE, .status = -ENOTSOCK },
    { "a full backlog, cancelled", FULL_UNIX, .when = DURING, .status = -ECANCELED },
    { "a full backlog, cancelled before", FULL_UNIX, .when = BEFORE, .status = -ECANCELED },
    { "a full backlog, deadline", FULL_UNIX, .deadline = SOON, .status = -ETIMEDOUT },
    { "a full backlog, descriptor is closed", FULL_UNIX, .when = CLOSING, .status = -ECANCELED },
    { "cancelled before", SOCKET, .when = BEFORE, .status = -ECANCELED },
    { "cancelled when it has ended", SOCKET, .when = ENDED },
    { "NULL", SOCKET, .null = true, .status = -EFAULT },
    { "-1", SOCKET, .wrong = NEGATIVE, .status = -EBADF },
    { "a closed descriptor", SOCKET, .wrong = CLOSED, .status = -EBADF },
    { "a pipe", SOCKET, .wrong = A_PIPE, .status = -ENOTSOCK },
};

static const struct row coir_dial_rows[] = {
    { "success", SOCKET, .result = 1 },
    { "nobody listens", DEAD_END, .status = -ECONNREFUSED },
    { "nobody listens, Unix", NOTHING, .text = "unix:nobody", .status = -ENOENT },
    { "cancelled before", SOCKET, .when = BEFORE, .status = -ECANCELED },
    { "deadline in the past", SOCKET, .deadline = PAST, .status = -ETIMEDOUT },
    { "no address", NOTHING, .text = "nonsense", .status = -EINVAL },
    { "NULL", NOTHING, .null = true, .status = -EFAULT },
};

static const struct row coir_resolve_rows[] = {
    { "numbers", NOTHING, .len = 4, .text = "127.0.0.1", .result = 1 },
    { "numbers, cancelled before", NOTHING, .len = 4, .text = "127.0.0.1", .when = BEFORE, .unsaid = true },
    { "no room", NOTHING, .text = "127.0.0.1", .status = -EINVAL },
    { "NULL", NOTHING, .len = 4, .text = "127.0.0.1", .null = true, .status = -EFAULT },
    { "a name, cancelled before", NOTHING, .len = 4, .text = "nowhere.invalid", .when = BEFORE, .status = -ECANCELED },
};

/* ---- listen.h ---- */

static const struct row coir_accept_rows[] = {
    { "it is there", LISTENER, .before = CONNECT, .result = 1 },
    { "it is there, no address wanted", LISTENER, .before = CONNECT, .null = true, .result = 1 },
    { "it comes", LISTENER, .when = LATER, .act = CONNECT, .result = 1 },
    { "cancelled before", LISTENER, .when = BEFORE, .status = -ECANCELED },
    { "cancelled before, it is there", LISTENER, .before = CONNECT, .when = BEFORE, .result = 1 },
    { "cancelled", LISTENER, .when = DURING, .status = -ECANCELED },
    { "cancelled at once", LISTENER, .when = QUICKLY, .status = -ECANCELED },
    /* or the ring has accepted it ahead, and keeps it for the next accept */
    { "cancelled as it comes", LISTENER, .when = AFTER, .act = CONNECT, .result = 1, .either = true },
    { "cancelled when it has ended", LISTENER, .when = ENDED, .act = CONNECT, .result = 1 },
    { "deadline", LISTENER, .deadline = SOON, .status = -ETIMEDOUT },
    { "deadline in the past", LISTENER, .deadline = PAST, .status = -ETIMEDOUT },
    { "deadline in the past, it is there", LISTENER, .before = CONNECT, .deadline = PAST, .result = 1 },
    { "descriptor is closed", LISTENER, .when = CLOSING, .status = -ECANCELED },
    { "-1", LISTENER, .wrong = NEGATIVE, .status = -EBADF },
    { "a closed descriptor", LISTENER, .wrong = CLOSED, .status = -EBADF },
    { "a file", LISTENER, .wrong = A_FILE, .status = -ENOTSOCK },
    { "a pipe", LISTENER, .wrong = A_PIPE, .status = -ENOTSOCK },
    { "does not listen", LISTENER, .wrong = A_SOCKET, .status = -EINVAL },
};

/* ---- lend.h ---- */

static const struct row coir_recv_lend_rows[] = {
    { "it is there", UNIX, .before = SEND5, TAKES },
    { "it comes", UNIX, .when = LATER, .act = SEND5, TAKES },
    { "it comes", TCP, .when = LATER, .act = SEND5, TAKES },
    { "cancelled before", UNIX, .when = BEFORE, .status = -ECANCELED },
    { "cancelled before, it is there", UNIX, .before = SEND5, .when = BEFORE, TAKES },
    { "cancelled", UNIX, .when = DURING, .status = -ECANCELED },
    { "cancelled at once", UNIX, .when = QUICKLY, .status = -ECANCELED },
    { "cancelled as it comes", UNIX, .when = AFTER, .act = SEND5, TAKES },
    { "cancelled as it comes", TCP, .when = AFTER, .act = SEND5, TAKES },
    { "cancelled when it has ended", UNIX, .when = ENDED, .act = SEND5, TAKES },
    { "deadline", UNIX, .deadline = SOON, .status = -ETIMEDOUT },
    { "deadline in the past", UNIX, .deadline = PAST, .status = -ETIMEDOUT },
    { "deadline in the past, it is there", UNIX, .before = SEND5, .deadline = PAST, TAKES },
    { "descriptor is closed", UNIX, .when = CLOSING, .status = -ECANCELED },
    { "the peer has closed", UNIX, .before = FIN },
    { "the peer closes", UNIX, .when = LATER, .act = FIN },
    { "the peer closes", TCP, .when = LATER, .act = FIN },
    { "the peer resets", TCP, .when = LATER, .act = RST, .status = -ECONNRESET },
    { "the peer has reset", TCP, .before = RST, .status = -ECONNRESET },
    { "-1", UNIX, .wrong = NEGATIVE, .status = -EBADF },
    { "a closed descriptor", UNIX, .wrong = CLOSED, .status = -EBADF },
    { "a file", UNIX, .wrong = A_FILE, .status = -ENOTSOCK },
    { "a pipe", UNIX, .wrong = A_PIPE, .status = -ENOTSOCK },
    { "not connected", SOCKET, .status = -ENOTCONN },
};

/* ---- fs.h ---- */

static const struct row coir_open_rows[] = {
    ON_DISK(FILES, ALL(.text = "file", .flags = O_RDWR, .in = 10), .result = 1),
    { "makes one", FILES, .text = "new", .flags = O_RDWR | O_CREAT | O_EXCL, .result = 1, .in = 10 },
    { "is there already", FILES, .text = "file", .flags = O_RDWR | O_CREAT | O_EXCL, .status = -EEXIST, .in = 10 },
    { "is not there", FILES, .text = "nothing", .flags = O_RDWR, .status = -ENOENT, .in = 10 },
    { "no folder", FILES, .text = "file/x", .flags = O_RDWR, .status = -ENOTDIR, .in = 10 },
    { "a folder, to write", FILES, .text = "folder", .flags = O_RDWR, .status = -EISDIR, .in = 10 },
    { "an empty path", FILES, .text = "", .flags = O_RDWR, .status = -ENOENT, .in = 10 },
    { "NULL", FILES, .flags = O_RDWR, .status = -EFAULT, .in = 10 },
};

static const struct row coir_openat_rows[] = {
    ON_DISK(FOLDER, ALL(.text = "../file", .flags = O_RDWR), .result = 1),
    { "makes one", FOLDER, .text = "../new", .flags = O_RDWR | O_CREAT | O_EXCL, .result = 1 },
    { "is not there", FOLDER, .text = "nothing", .flags = O_RDWR, .status = -ENOENT },
    { "relative to no folder", FILES, .text = "x", .flags = O_RDWR, .status = -ENOTDIR, .in = 10 },
    { "NULL", FOLDER, .flags = O_RDWR, .status = -EFAULT },
    NO_DESCRIPTOR(ALL(.text = "x", .flags = O_RDWR)),
};

static const struct row coir_statx_rows[] = {
    ON_DISK(FOLDER, .text = "../file", .buf = "(much)"),
    { "by descriptor", FILES, .text = "", .flags = AT_EMPTY_PATH, .buf = "(much)", .in = 10 },
    { "is not there", FOLDER, .text = "nothing", .status = -ENOENT },
    { "relative to no folder", FILES, .text = "x", .status = -ENOTDIR, .in = 10 },
    { "NULL", FOLDER, .text = "../file", .null = true, .status = -EFAULT },
    { "no path", FOLDER, .status = -EFAULT },
    { "flags that are none", FOLDER, .text = "../file", .flags = 0x40000000, .status = -EINVAL },
    NO_DESCRIPTOR(.text = "x"),
};

static const struct row coir_rename_rows[] = {
    { "success", FILES, .text = "file", .in = -1 },
    { "cancelled before", FILES, .text = "file", .when = BEFORE, .status = -ECANCELED, .in = 10 },
    { "cancelled when it has ended", FILES, .text = "file", .when = ENDED, .in = -1 },
    { "deadline in the past", FILES, .text = "file", .deadline = PAST, .status = -ETIMEDOUT, .in = 10 },
    { "is not there", FILES, .text = "nothing", .status = -ENOENT, .in = 10 },
    { "exchange, is not there", FILES, .text = "file", .flags = 2, .status = -ENOENT, .in = 10 },
    { "flags that are none", FILES, .text = "file", .flags = 0x4000, .status = -EINVAL, .in = 10 },
    { "NULL", FILES, .status = -EFAULT, .in = 10 },
};

static const struct row coir_unlink_rows[] = {
    { "success", FILES, .text = "file", .in = -1 },
    { "cancelled before", FILES, .text = "file", .when = BEFORE, .status = -ECANCELED, .in = 10 },
    { "cancelled when it has ended", FILES, .text = "file", .when = ENDED, .in = -1 },
    { "deadline in the past", FILES, .text = "file", .deadline = PAST, .status = -ETIMEDOUT, .in = 10 },
    { "a folder", FILES, .text = "folder", .status = -EISDIR, .in = 10 },
    { "a folder, as one", FILES, .text = "folder", .flags = AT_REMOVEDIR, .in = 10 },
    { "no folder, as one", FILES, .text = "file", .flags = AT_REMOVEDIR, .status = -ENOTDIR, .in = 10 },
    { "is not there", FILES, .text = "nothing", .status = -ENOENT, .in = 10 },
    { "flags that are none", FILES, .text = "file", .flags = 1, .status = -EINVAL, .in = 10 },
    { "NULL", FILES, .status = -EFAULT, .in = 10 },
};

static const struct row coir_mkdir_rows[] = {
    { "success", FILES, .text = "folder/new", .in = 10 },
    { "cancelled before", FILES, .text = "folder/new", .when = BEFORE, .status = -ECANCELED, .in = 10 },
    { "is there already", FILES, .text = "folder", .status = -EEXIST, .in = 10 },
    { "under nothing", FILES, .text = "nothing/x", .status = -ENOENT, .in = 10 },
    { "NULL", FILES, .status = -EFAULT, .in = 10 },
};

#define PLACED ALL(.offset = 3, .in = 10)

static const struct row coir_pread_rows[] = {
    ON_DISK(FILES, ALL(PLACED, .len = 4), ALL(.result = 4, .buf = "3456")),
    { "short", FILES, PLACED, .len = ROOM, .result = 7, .buf = "3456789" },
    { "at the end", FILES, .offset = 10, .in = 10, .len = 4 },
    { "no length", FILES, PLACED },
    { "NULL", FILES, PLACED, .len = 4, .null = true, .status = -EFAULT },
    { "a negative offset", FILES, .offset = -1, .in = 10, .len = 4, .status = -EINVAL },
    { "a pipe", UNIX, .wrong = A_PIPE, .len = 4, .status = -ESPIPE },
    { "a socket", UNIX, .len = 4, .status = -ESPIPE },
    { "a folder", UNIX, .wrong = A_FOLDER, .len = 4, .status = -EISDIR },
    { "write-only", UNIX, .wrong = WRITE_ONLY, .len = 4, .status = -EBADF },
    NO_DESCRIPTOR(.len = 4),
};

static const struct row coir_pwrite_rows[] = {
    ON_DISK(FILES, ALL(PLACED, .len = 5, .text = "hello"), .result = 5),
    { "beyond the end", FILES, .offset = 20, .len = 5, .text = "hello", .result = 5, .in = 25 },
    { "no length", FILES, PLACED, .text = "hello" },
    { "NULL", FILES, PLACED, .len = 5, .status = -EFAULT },
    { "a negative offset", FILES, .offset = -1, .in = 10, .len = 4, .text = "hello", .status = -EINVAL },
    { "a socket", UNIX, .len = 5, .text = "hello", .status = -ESPIPE },
    { "read-only", UNIX, .wrong = READ_ONLY, .len = 5, .text = "hello", .status = -EBADF },
    NO_DESCRIPTOR(ALL(.len = 5, .text = "hello")),
};

static const struct row coir_pread_exact_rows[] = {
    ON_DISK(FILES, ALL(PLACED, .len = 4), ALL(.result = 4, .buf = "3456")),
    { "the file ends", FILES, PLACED, .len = 8, .status = -ENODATA, .result = 7, .buf = "3456789" },
    { "at the end", FILES, .offset = 10, .in = 10, .len = 4, .status = -ENODATA },
    { "NULL", FILES, PLACED, .len = 4, .null = true, .status = -EFAULT },
    { "a folder", UNIX, .wrong = A_FOLDER, .len = 4, .status = -EISDIR },
    { "a pipe", UNIX, .wrong = A_PIPE, .len = 4, .status = -ESPIPE },
    NO_DESCRIPTOR(.len = 4),
};

static const struct row coir_pwrite_all_rows[] = {
    ON_DISK(FILES, ALL(PLACED, .len = 5, .text = "hello"), .result = 5),
    { "NULL", FILES, PLACED, .len = 5, .status = -EFAULT },
    { "read-only", UNIX, .wrong = READ_ONLY, .len = 5, .text = "hello", .status = -EBADF },
    NO_DESCRIPTOR(ALL(.len = 5, .text = "hello")),
};

static const struct row coir_preadv_rows[] = {
    ON_DISK(FILES, ALL(PLACED, .len = 2), ALL(.result = 7, .buf = "3456789")),
    { "one piece", FILES, PLACED, .len = 1, .result = 2, .buf = "34" },
    { "no pieces", FILES, PLACED },
    { "too many pieces", FILES, PLACED, .len = 1025, .status = -EINVAL },
    { "NULL", FILES, PLACED, .len = 2, .null = true, .status = -EFAULT },
    { "a socket", UNIX, .len = 2, .status = -ESPIPE },
    NO_DESCRIPTOR(.len = 2),
};

static const struct row coir_pwritev_rows[] = {
    ON_DISK(FILES, ALL(PLACED, .len = 2, .text = "hello"), .result = 5),
    { "no pieces", FILES, PLACED, .text = "hello" },
    { "NULL", FILES, PLACED, .len = 2, .null = true, .status = -EFAULT },
    { "read-only", UNIX, .wrong = READ_ONLY, .len = 2, .text = "hello", .status = -EBADF },
    NO_DESCRIPTOR(ALL(.len = 2, .text = "hello")),
};

static const struct row coir_fsync_rows[] = {
    ON_DISK(FILES, .in = 10, .result = 0),
    { "a folder", FOLDER, .status = 0 },
    { "a socket", UNIX, .status = -EINVAL },
    { "a pipe", INFLOW, .status = -EINVAL },
    NO_DESCRIPTOR(.len = 0),
};

static const struct row coir_fdatasync_rows[] = {
    ON_DISK(FILES, .in = 10, .result = 0),
    { "a socket", UNIX, .status = -EINVAL },
    NO_DESCRIPTOR(.len = 0),
};

static const struct row coir_fallocate_rows[] = {
    { "success", FILES, .offset = 5, .len = 20, .in = 25 },
    { "cancelled before", FILES, .offset = 5, .len = 20, .when = BEFORE, .status = -ECANCELED, .in = 10 },
    { "no length", FILES, .offset = 5, .status = -EINVAL, .in = 10 },
    { "a negative offset", FILES, .offset = -5, .len = 1, .status = -EINVAL, .in = 10 },
    { "a pipe", INFLOW, .len = 1, .status = -ESPIPE, .unsaid = true },
    { "read-only", UNIX, .wrong = READ_ONLY, .len = 1, .status = -EBADF },
    NO_DESCRIPTOR(.len = 1),
};

static const struct row coir_ftruncate_rows[] = {
    { "success", FILES, .offset = 4, .in = 4 },
    { "longer", FILES, .offset = 40, .in = 40 },
    { "cancelled before", FILES, .offset = 4, .when = BEFORE, .status = -ECANCELED, .in = 10 },
    { "a negative length", FILES, .offset = -4, .status = -EINVAL, .in = 10 },
    { "read-only", UNIX, .wrong = READ_ONLY, .offset = 4, .status = -EINVAL },
    { "a socket", UNIX, .offset = 4, .status = -EINVAL },
    NO_DESCRIPTOR(.offset = 4),
};

/* "." and "..", each a record of 24 bytes. */
static const struct row coir_readdir_rows[] = {
    ON_DISK(FOLDER, .len = ROOM, ALL(.result = 48, .buf = "(much)")),
    { "no room for one", FOLDER, .len = 20, .status = -EINVAL },
    { "no length", FOLDER, .status = -EINVAL },
    { "NULL", FOLDER, .len = ROOM, .null = true, .status = -EFAULT },
    { "a file", UNIX, .wrong = A_FILE, .len = ROOM, .status = -ENOTDIR },
    NO_DESCRIPTOR(.len = ROOM),
};

/* ---- offload.h ---- */

static const struct row coir_offload_rows[] = {
    { "success", NOTHING, .result = 42 },
    { "a name", NOTHING, .text = "file", .result = 42 },
    { "cancelled before", NOTHING, .when = BEFORE, .status = -ECANCELED },
    { "cancelled while it runs", NOTHING, .flags = 60, .when = DURING, .result = 42, .either = true },
    { "cancelled when it has ended", NOTHING, .when = ENDED, .result = 42 },
    { "deadline while it runs", NOTHING, .flags = 400, .deadline = 300 * COIR_MS, .result = 42 },
    { "deadline in the past", NOTHING, .deadline = PAST, .status = -ETIMEDOUT },
    { "no such pool", NOTHING, .text = "nobody", .status = -ENOENT },
    { "NULL", NOTHING, .null = true, .status = -EFAULT },
};

/* ---- process.h ---- */

#define LONG .text = "printf hello; exec sleep 1000"
static const struct row coir_process_run_rows[] = {
    { "success", NOTHING, .len = ROOM, .text = "printf hello", TAKES },
    { "it fails", NOTHING, .len = ROOM, .text = "printf hello; exit 3", TAKES },
    { "just room enough", NOTHING, .len = 5, .text = "printf hello", TAKES },
    { "too little room", NOTHING, .len = 2, .text = "printf hello", .status = -EMSGSIZE, .result = 2, .buf = "he" },
    { "too little room, and it runs on", NOTHING, .len = 2, LONG, .status = -EMSGSIZE, .result = 2, .buf = "he" },
    { "it leaves somebody behind", NOTHING, .len = ROOM, .text = "printf hello; sleep 0.05 &", TAKES },
    { "cancelled before", NOTHING, .len = ROOM, LONG, .when = BEFORE, .status = -ECANCELED },
    { "cancelled at once", NOTHING, .len = ROOM, .text = "exec sleep 1000", .when = QUICKLY, .status = -ECANCELED },
    { "cancelled", NOTHING, .len = ROOM, .text = "exec sleep 1000", .when = DURING, .status = -ECANCELED },
    { "cancelled when it has ended", NOTHING, .len = ROOM, .text = "printf hello", .when = ENDED, TAKES },
    { "deadline", NOTHING, .len = ROOM, .text = "exec sleep 1000", .deadline = SOON, .status = -ETIMEDOUT },
    { "deadline in the past", NOTHING, .len = ROOM, LONG, .deadline = PAST, .status = -ETIMEDOUT },
    { "NULL", NOTHING, .len = ROOM, LONG, .null = true, .status = -EFAULT },
};

/* ---- all of them ---- */

struct operation {
    const char *name;
    struct coir_task *(*make)(struct world *w);
    const struct row *rows;
    size_t n;
};

#define coir_select_rows coir_poll_rows

#define TABLED(name) { #name, make_##name, name##_rows, sizeof name##_rows / sizeof *name##_rows }

static const struct operation operations[] = {
    TABLED(coir_poll), TABLED(coir_read), TABLED(coir_write), TABLED(coir_write_all), TABLED(coir_readv),
    TABLED(coir_writev), TABLED(coir_close), TABLED(coir_leave), TABLED(coir_splice), TABLED(coir_socket),
    TABLED(coir_recv), TABLED(coir_send), TABLED(coir_recv_exact),
    TABLED(coir_send_all), TABLED(coir_recvmsg), TABLED(coir_sendmsg),
    TABLED(coir_recvfrom), TABLED(coir_sendto),
    TABLED(coir_sendfile), TABLED(coir_shutdown), TABLED(coir_connect), TABLED(coir_dial), TABLED(coir_resolve),
    TABLED(coir_accept), TABLED(coir_recv_lend), TABLED(coir_open), TABLED(coir_openat), TABLED(coir_statx),
    TABLED(coir_rename), TABLED(coir_unlink), TABLED(coir_mkdir), TABLED(coir_pread), TABLED(coir_pwrite),
    TABLED(coir_pread_exact),
    TABLED(coir_pwrite_all), TABLED(coir_preadv), TABLED(coir_pwritev), TABLED(coir_fsync), TABLED(coir_fdatasync),
    TABLED(coir_fallocate), TABLED(coir_ftruncate), TABLED(coir_readdir), TABLED(coir_offload), TABLED(coir_select),
    TABLED(coir_process_run),
};

/* Not in the table, and why. */
static const char *const exempt[] = {
    "coir_connect_once",             /* private: a part of coir_connect */
    "coir_process_start", "coir_process_wait", "coir_process_close",     /* parts of coir_process_run */
};

#endif
