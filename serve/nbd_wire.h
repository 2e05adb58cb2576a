/* SPDX-License-Identifier: MIT */
/*
 * What goes over the wire in the NBD protocol (https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md), as
 * C: numbers, layouts, and the one function that makes an error of ours one of the protocol's. All integers on the wire
 * are big-endian; the structures hold them as they are there, so whoever reads a field converts it. Nothing here reads
 * or writes, or knows a connection.
 */
#ifndef COIR_SERVE_NBD_WIRE_H
#define COIR_SERVE_NBD_WIRE_H

#include <endian.h>
#include <stdint.h>

#define NBD_MAGIC UINT64_C(0x4e42444d41474943)              /* "NBDMAGIC" */
#define NBD_OPTION_MAGIC UINT64_C(0x49484156454f5054)       /* "IHAVEOPT" */
#define NBD_OPTION_REPLY_MAGIC UINT64_C(0x0003e889045565a9)
#define NBD_REQUEST_MAGIC UINT32_C(0x25609513)
#define NBD_SIMPLE_MAGIC UINT32_C(0x67446698)
#define NBD_CHUNK_MAGIC UINT32_C(0x668e33ef)

enum {
    NBD_STRING_MAX = 4096,          /* bytes of a name or message */
    NBD_BLOCK_MAX = 32 << 20,       /* bytes of a request's data */

    /* the handshake's flags, the server's and the client's alike */
    NBD_FIXED_NEWSTYLE = 1 << 0,
    NBD_NO_ZEROES = 1 << 1,

    /* of an export */
    NBD_HAS_FLAGS = 1 << 0,
    NBD_READ_ONLY = 1 << 1,
    NBD_SEND_FLUSH = 1 << 2,
    NBD_SEND_FUA = 1 << 3,
    NBD_SEND_TRIM = 1 << 5,
    NBD_SEND_WRITE_ZEROES = 1 << 6,
    NBD_SEND_DF = 1 << 7,
    NBD_CAN_MULTI_CONN = 1 << 8,
    NBD_SEND_CACHE = 1 << 10,
    NBD_SEND_FAST_ZERO = 1 << 11,

    /* of base:allocation */
    NBD_STATE_HOLE = 1 << 0,
    NBD_STATE_ZERO = 1 << 1,

    /* of a chunk */
    NBD_CHUNK_DONE = 1 << 0,
};

enum nbd_option {
    NBD_OPT_EXPORT_NAME = 1,
    NBD_OPT_ABORT = 2,
    NBD_OPT_LIST = 3,
    NBD_OPT_STARTTLS = 5,
    NBD_OPT_INFO = 6,
    NBD_OPT_GO = 7,
    NBD_OPT_STRUCTURED_REPLY = 8,
    NBD_OPT_LIST_META_CONTEXT = 9,
    NBD_OPT_SET_META_CONTEXT = 10,
};

#define NBD_REP_ERR_(n) (UINT32_C(1) << 31 | (n))
#define NBD_REP_ACK UINT32_C(1)
#define NBD_REP_SERVER UINT32_C(2)
#define NBD_REP_INFO UINT32_C(3)
#define NBD_REP_META_CONTEXT UINT32_C(4)
#define NBD_REP_ERR_UNSUP NBD_REP_ERR_(1)
#define NBD_REP_ERR_POLICY NBD_REP_ERR_(2)
#define NBD_REP_ERR_INVALID NBD_REP_ERR_(3)
#define NBD_REP_ERR_UNKNOWN NBD_REP_ERR_(6)
#define NBD_REP_ERR_SHUTDOWN NBD_REP_ERR_(7)
#define NBD_REP_ERR_TOO_BIG NBD_REP_ERR_(9)

enum { NBD_INFO_EXPORT = 0, NBD_INFO_NAME = 1, NBD_INFO_BLOCK_SIZE = 3 };

enum nbd_command {
    NBD_CMD_READ = 0,
    NBD_CMD_WRITE = 1,
    NBD_CMD_DISC = 2,
    NBD_CMD_FLUSH = 3,
    NBD_CMD_TRIM = 4,
    NBD_CMD_CACHE = 5,
    NBD_CMD_WRITE_ZEROES = 6,
    NBD_CMD_BLOCK_STATUS = 7,
    NBD_COMMANDS = 8,
};

enum {
    NBD_CMD_FUA = 1 << 0,
    NBD_CMD_NO_HOLE = 1 << 1,       /* of WRITE_ZEROES */
    NBD_CMD_DF = 1 << 2,            /* of READ */
    NBD_CMD_REQ_ONE = 1 << 3,       /* of BLOCK_STATUS */
    NBD_CMD_FAST_ZERO = 1 << 4,     /* of WRITE_ZEROES */
};

enum nbd_chunk_type {
    NBD_CHUNK_NONE = 0,
    NBD_CHUNK_DATA = 1,
    NBD_CHUNK_HOLE = 2,
    NBD_CHUNK_STATUS = 5,
    NBD_CHUNK_ERROR = 1 << 15 | 1,
};

enum nbd_error {
    NBD_OK = 0,
    NBD_EPERM = 1,
    NBD_EIO = 5,
    NBD_ENOMEM = 12,
    NBD_EINVAL = 22,
    NBD_ENOSPC = 28,
    NBD_EOVERFLOW = 75,
    NBD_ENOTSUP = 95,
    NBD_ESHUTDOWN = 108,
};

#define NBD_WIRE_ struct __attribute__((packed))
#define NBD_WIRE_SIZE_(name, size) _Static_assert(sizeof(struct name) == (size), "the protocol says so of " #name)

/* The server's first words, and the client's. */
NBD_WIRE_ nbd_greeting {
    uint64_t magic, option_magic;
    uint16_t flags;
};
NBD_WIRE_SIZE_(nbd_greeting, 18);

NBD_WIRE_ nbd_option_head {
    uint64_t magic;
    uint32_t option, length;
};
NBD_WIRE_SIZE_(nbd_option_head, 16);

NBD_WIRE_ nbd_option_reply {
    uint64_t magic;
    uint32_t option, type, length;
};
NBD_WIRE_SIZE_(nbd_option_reply, 20);

/* The answer to EXPORT_NAME; the zeroes are left out where both sides agreed on that. */
NBD_WIRE_ nbd_export_reply {
    uint64_t size;
    uint16_t flags;
    uint8_t zeroes[124];
};
NBD_WIRE_SIZE_(nbd_export_reply, 134);

NBD_WIRE_ nbd_info_export {
    uint16_t type;
    uint64_t size;
    uint16_t flags;
};
NBD_WIRE_SIZE_(nbd_info_export, 12);

NBD_WIRE_ nbd_info_block_size {
    uint16_t type;
    uint32_t least, preferred, most;
};
NBD_WIRE_SIZE_(nbd_info_block_size, 14);

NBD_WIRE_ nbd_request_head {
    uint32_t magic;
    uint16_t flags, type;
    uint64_t handle, offset;
    uint32_t length;
};
NBD_WIRE_SIZE_(nbd_request_head, 28);

NBD_WIRE_ nbd_simple_reply {
    uint32_t magic, error;
    uint64_t handle;
};
NBD_WIRE_SIZE_(nbd_simple_reply, 16);

NBD_WIRE_ nbd_chunk {
    uint32_t magic;
    uint16_t flags, type;
    uint64_t handle;
    uint32_t length;                /* of what follows */
    union __attribute__((packed)) {
        uint64_t offset;                                                            /* DATA: the data follow */
        struct __attribute__((packed)) { uint64_t offset; uint32_t length; } hole;
        uint32_t context;                                                           /* STATUS: extents follow */
        struct __attribute__((packed)) { uint32_t error; uint16_t length; } error;  /* ERROR: a message follows */
    };
};
NBD_WIRE_SIZE_(nbd_chunk, 32);
enum { NBD_CHUNK_HEAD = 20 };       /* of a struct nbd_chunk, what is before the union */

/* One of a STATUS chunk. */
NBD_WIRE_ nbd_extent {
    uint32_t length, flags;
};
NBD_WIRE_SIZE_(nbd_extent, 8);

/* The protocol's error for 0 or a negative errno of ours. What it has no word for is EIO. */
enum nbd_error coir_nbd_error(int status);

/* What a client's user is told about such a status; static. */
const char *coir_nbd_error_text(int status);

/* "READ" and so on, for the log; "command" for a type that is none. Static. */
const char *coir_nbd_command_name(unsigned type);

#endif
