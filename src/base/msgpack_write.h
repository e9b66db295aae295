/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_MSGPACK_WRITE_H
#define BASE_MSGPACK_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "base/msgpack.h"

/*
 * Writes msgpack, big-endian, to a buffer.  Each call appends and does not
 * check for the end of the buffer, so the caller works out the size beforehand.
 */
struct msgpack_writer {
    uint8_t *bytes;
    size_t pos; /* where the next byte goes */
};

/* Append bytes as they are, such as a marker or the text of a string. */
void msgpack_write_byte(struct msgpack_writer *writer, uint8_t byte);
void msgpack_write_bytes(struct msgpack_writer *writer, const void *bytes,
                         size_t len);

/* Append a marker and the integer that follows it. */
void msgpack_write_u16(struct msgpack_writer *writer, uint8_t marker,
                       uint16_t value);
void msgpack_write_u32(struct msgpack_writer *writer, uint8_t marker,
                       uint32_t value);
void msgpack_write_u64(struct msgpack_writer *writer, uint8_t marker,
                       uint64_t value);

#endif
