/* SPDX-License-Identifier: MIT */
/*
 * Errors and names of the NBD protocol. Tables, without state.
 */
#include "serve/nbd_wire.h"

#include <errno.h>
#include <stddef.h>

enum nbd_error coir_nbd_error(int status)
{
    switch (-status) {
    case 0:
        return NBD_OK;
    case EPERM:
    case EACCES:
    case EROFS:
        return NBD_EPERM;
    case ENOMEM:
        return NBD_ENOMEM;
    case EINVAL:
        return NBD_EINVAL;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return NBD_ENOSPC;
    case EOVERFLOW:
        return NBD_EOVERFLOW;
    case EOPNOTSUPP:
        return NBD_ENOTSUP;
    case ESHUTDOWN:
    case ECANCELED:                 /* only the end of the server cancels a request */
        return NBD_ESHUTDOWN;
    default:
        return NBD_EIO;
    }
}

const char *coir_nbd_error_text(int status)
{
    if (status == -EBADMSG)
        return "what was read is not what was written";
    switch (coir_nbd_error(status)) {
    case NBD_OK:
        return "no error";
    case NBD_EPERM:
        return "the export is read-only";
    case NBD_ENOMEM:
        return "the server has no memory";
    case NBD_EINVAL:
        return "invalid request";
    case NBD_ENOSPC:
        return "no space left";
    case NBD_EOVERFLOW:
        return "too much for one answer";
    case NBD_ENOTSUP:
        return "not supported";
    case NBD_ESHUTDOWN:
        return "the server is shutting down";
    case NBD_EIO:
        break;
    }
    return "input/output error";
}

const char *coir_nbd_command_name(unsigned type)
{
    static const char *const names[NBD_COMMANDS] = {
        [NBD_CMD_READ] = "READ",
        [NBD_CMD_WRITE] = "WRITE",
        [NBD_CMD_DISC] = "DISC",
        [NBD_CMD_FLUSH] = "FLUSH",
        [NBD_CMD_TRIM] = "TRIM",
        [NBD_CMD_CACHE] = "CACHE",
        [NBD_CMD_WRITE_ZEROES] = "WRITE_ZEROES",
        [NBD_CMD_BLOCK_STATUS] = "BLOCK_STATUS",
    };

    return type < NBD_COMMANDS ? names[type] : "command";
}
