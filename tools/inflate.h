/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_INFLATE_H
#define TOOLS_INFLATE_H

#include <stdint.h>

#include "input.h"

/* The bytes of a member of a zip archive. */
struct inflate {
    const struct input *input; /* the archive */
    const char *name;          /* of the member, for messages */
    uint64_t off;              /* where its bytes start in the archive */
    uint64_t nbytes;           /* number of bytes there */
    uint64_t decoded;          /* number of bytes that they stand for */
    uint32_t crc;              /* CRC-32 of these */
    int fd;                    /* an empty file to write them to */
};

/* The functions below return 0 or a negative errno, which was reported;
   -EBADMSG if the bytes are damaged; -EINTR if the user has interrupted the
   program. */

/* Check a member that is stored as it is. */
int inflate_check(const struct inflate *from);

/* Decode a member that is compressed by deflate, check it, and write it to the
   file. */
int inflate_member(const struct inflate *from);

#endif
