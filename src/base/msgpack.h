/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_MSGPACK_H
#define BASE_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Markers.  In the header and trailer of a frame each value has one fixed
 * encoding, so the caller asks for the marker that must come next.  For values
 * that Python packed see base/msgpack_any.h.
 *
 * Format: frame.md, "Conventions"; MessagePack specification.
 */
enum msgpack_marker {
    MSGPACK_FIXINT_MAX = 0x7F,
    MSGPACK_FIXMAP = 0x80,   /* low nibble: number of pairs */
    MSGPACK_FIXARRAY = 0x90, /* low nibble: number of elements */
    MSGPACK_FIXSTR = 0xA0,   /* low five bits: length */
    MSGPACK_NIL = 0xC0,
    MSGPACK_FALSE = 0xC2,
    MSGPACK_TRUE = 0xC3,
    MSGPACK_BIN8 = 0xC4,
    MSGPACK_BIN32 = 0xC6,
    MSGPACK_EXT8 = 0xC7,
    MSGPACK_EXT32 = 0xC9,
    MSGPACK_FLOAT32 = 0xCA,
    MSGPACK_FLOAT64 = 0xCB,
    MSGPACK_UINT8 = 0xCC,
    MSGPACK_UINT16 = 0xCD,
    MSGPACK_UINT32 = 0xCE,
    MSGPACK_UINT64 = 0xCF,
    MSGPACK_INT8 = 0xD0,
    MSGPACK_INT16 = 0xD1,
    MSGPACK_INT32 = 0xD2,
    MSGPACK_INT64 = 0xD3,
    MSGPACK_FIXEXT1 = 0xD4,
    MSGPACK_FIXEXT16 = 0xD8,
    MSGPACK_STR8 = 0xD9,
    MSGPACK_STR32 = 0xDB,
    MSGPACK_ARRAY16 = 0xDC,
    MSGPACK_ARRAY32 = 0xDD,
    MSGPACK_MAP16 = 0xDE,
    MSGPACK_MAP32 = 0xDF,
    MSGPACK_FIXINT_MIN = 0xE0, /* negative integers, up to 0xFF */
};

/*
 * A reader that never passes the end of its bytes.  The first value that is not
 * as requested makes the reader fail, and all later calls fail too, so a run of
 * calls needs only one check at its end.
 */
struct msgpack {
    const uint8_t *bytes;
    size_t len;
    size_t pos;         /* of the next byte, or of the one that failed */
    bool little_endian; /* as in some frames of 2021; else big-endian */
    bool failed;
};

/* Read the next byte; 0 if there is none. */
uint8_t msgpack_byte(struct msgpack *reader);

/* Read the next byte; fail if it is not this one. */
void msgpack_expect(struct msgpack *reader, uint8_t byte);

/* Read the next two, four or eight bytes, which follow a marker; 0 if there are
   too few. */
uint16_t msgpack_u16(struct msgpack *reader);
uint32_t msgpack_u32(struct msgpack *reader);
uint64_t msgpack_u64(struct msgpack *reader);

/* Read the next `len` bytes, in place; NULL if there are too few. */
const uint8_t *msgpack_bytes(struct msgpack *reader, size_t len);

/* Read the next value, a string of up to 31 bytes, in place; NULL if the next
   value is something else. */
const uint8_t *msgpack_fixstr(struct msgpack *reader, size_t *len);

#endif
