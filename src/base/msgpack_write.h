/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_MSGPACK_WRITE_H
#define BASE_MSGPACK_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "base/msgpack.h"

/*
 * Writes msgpack, big-endian, into bytes whose number was worked out before.
 * Each call appends.
 */
struct msgpack_writer {
    uint8_t *bytes;
    size_t pos; /* of what comes next */
};

/* Bytes as they are, such as a marker or a string behind its marker. */
void msgpack_write_byte(struct msgpack_writer *writer, uint8_t byte);
void msgpack_write_bytes(struct msgpack_writer *writer, const void *bytes,
                         size_t len);

/* A marker and the integer that follows it. */
void msgpack_write_u16(struct msgpack_writer *writer, uint8_t marker,
                       uint16_t value);
void msgpack_write_u32(struct msgpack_writer *writer, uint8_t marker,
                       uint32_t value);
void msgpack_write_u64(struct msgpack_writer *writer, uint8_t marker,
                       uint64_t value);

#endif
