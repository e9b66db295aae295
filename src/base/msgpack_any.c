/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/msgpack_any.h"

/* The bytes and values that follow a marker. */
struct shape {
    uint64_t nbytes;  /* bytes that are not values */
    uint64_t nvalues; /* values that belong to this one */
};

/* Fail at the marker that was just read; the caller wants another one. */
static void refuse_marker(struct msgpack *reader)
{
    if (reader->failed)
        return;
    reader->failed = true;
    reader->pos--;
}

/* Read a big-endian number of 1 << log bytes: 1, 2, 4 or 8. */
static uint64_t read_number(struct msgpack *reader, unsigned log)
{
    switch (log) {
    case 0:
        return msgpack_byte(reader);
    case 1:
        return msgpack_u16(reader);
    case 2:
        return msgpack_u32(reader);
    default:
        return msgpack_u64(reader);
    }
}

uint32_t msgpack_map(struct msgpack *reader)
{
    uint8_t marker = msgpack_byte(reader);

    if ((marker & 0xF0) == MSGPACK_FIXMAP)
        return marker & 0x0F;
    if (marker == MSGPACK_MAP16)
        return msgpack_u16(reader);
    if (marker == MSGPACK_MAP32)
        return msgpack_u32(reader);
    refuse_marker(reader);
    return 0;
}

const uint8_t *msgpack_str(struct msgpack *reader, size_t *len)
{
    uint8_t marker = msgpack_byte(reader);

    *len = 0;
    if ((marker & 0xE0) == MSGPACK_FIXSTR)
        *len = marker & 0x1F;
    else if (marker >= MSGPACK_STR8 && marker <= MSGPACK_STR32)
        *len = (size_t)read_number(reader, marker - MSGPACK_STR8);
    else
        refuse_marker(reader);
    return msgpack_bytes(reader, *len);
}

uint64_t msgpack_uint(struct msgpack *reader)
{
    uint8_t marker = msgpack_byte(reader);
    uint64_t value;

    if (marker <= MSGPACK_FIXINT_MAX)
        return marker;
    if (marker >= MSGPACK_UINT8 && marker <= MSGPACK_UINT64)
        return read_number(reader, marker - MSGPACK_UINT8);
    if (marker < MSGPACK_INT8 || marker > MSGPACK_INT64) {
        refuse_marker(reader);
        return 0;
    }
    value = read_number(reader, marker - MSGPACK_INT8);
    if (value >> ((8U << (marker - MSGPACK_INT8)) - 1) != 0)
        reader->failed = true;
    return value;
}

/* Does the marker alone tell the shape of its value?  If so, set `out`. */
static bool fixed_shape(uint8_t marker, struct shape *out)
{
    *out = (struct shape){ 0 };
    if (marker <= MSGPACK_FIXINT_MAX || marker >= MSGPACK_FIXINT_MIN)
        return true;
    if (marker < MSGPACK_FIXARRAY)
        out->nvalues = 2 * (uint64_t)(marker & 0x0F);
    else if (marker < MSGPACK_FIXSTR)
        out->nvalues = marker & 0x0F;
    else if (marker < MSGPACK_NIL)
        out->nbytes = marker & 0x1F;
    else if (marker >= MSGPACK_FIXEXT1 && marker <= MSGPACK_FIXEXT16)
        out->nbytes = 1 + (UINT64_C(1) << (marker - MSGPACK_FIXEXT1));
    else if (marker >= MSGPACK_UINT8 && marker <= MSGPACK_UINT64)
        out->nbytes = UINT64_C(1) << (marker - MSGPACK_UINT8);
    else if (marker >= MSGPACK_INT8 && marker <= MSGPACK_INT64)
        out->nbytes = UINT64_C(1) << (marker - MSGPACK_INT8);
    else if (marker == MSGPACK_FLOAT32 || marker == MSGPACK_FLOAT64)
        out->nbytes = marker == MSGPACK_FLOAT32 ? 4 : 8;
    else
        return marker == MSGPACK_NIL || marker == MSGPACK_FALSE ||
               marker == MSGPACK_TRUE;
    return true;
}

/* Read a marker, and the count that may follow it. */
static struct shape read_shape(struct msgpack *reader)
{
    uint8_t marker = msgpack_byte(reader);
    struct shape shape;

    if (fixed_shape(marker, &shape))
        return shape;
    if (marker >= MSGPACK_BIN8 && marker <= MSGPACK_BIN32)
        shape.nbytes = read_number(reader, marker - MSGPACK_BIN8);
    else if (marker >= MSGPACK_EXT8 && marker <= MSGPACK_EXT32)
        shape.nbytes = 1 + read_number(reader, marker - MSGPACK_EXT8);
    else if (marker >= MSGPACK_STR8 && marker <= MSGPACK_STR32)
        shape.nbytes = read_number(reader, marker - MSGPACK_STR8);
    else if (marker == MSGPACK_ARRAY16 || marker == MSGPACK_ARRAY32)
        shape.nvalues = read_number(reader, marker - MSGPACK_ARRAY16 + 1U);
    else if (marker == MSGPACK_MAP16 || marker == MSGPACK_MAP32)
        shape.nvalues = 2 * read_number(reader, marker - MSGPACK_MAP16 + 1U);
    else
        refuse_marker(reader);
    return shape;
}

/* A value takes at least one byte.  So the count of pending values cannot lead
   to a long loop: the reader fails at the end of its bytes. */
void msgpack_skip(struct msgpack *reader)
{
    for (uint64_t nvalues = 1; nvalues > 0 && !reader->failed; nvalues--) {
        struct shape shape = read_shape(reader);

        msgpack_bytes(reader, (size_t)shape.nbytes);
        nvalues += shape.nvalues;
    }
}
