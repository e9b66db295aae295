/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/msgpack_write.h"

#include <endian.h>
#include <string.h>

void msgpack_write_byte(struct msgpack_writer *writer, uint8_t byte)
{
    writer->bytes[writer->pos++] = byte;
}

void msgpack_write_bytes(struct msgpack_writer *writer, const void *bytes,
                         size_t len)
{
    if (len > 0)
        memcpy(writer->bytes + writer->pos, bytes, len);
    writer->pos += len;
}

void msgpack_write_u16(struct msgpack_writer *writer, uint8_t marker,
                       uint16_t value)
{
    value = htobe16(value);
    msgpack_write_byte(writer, marker);
    msgpack_write_bytes(writer, &value, sizeof(value));
}

void msgpack_write_u32(struct msgpack_writer *writer, uint8_t marker,
                       uint32_t value)
{
    value = htobe32(value);
    msgpack_write_byte(writer, marker);
    msgpack_write_bytes(writer, &value, sizeof(value));
}

void msgpack_write_u64(struct msgpack_writer *writer, uint8_t marker,
                       uint64_t value)
{
    value = htobe64(value);
    msgpack_write_byte(writer, marker);
    msgpack_write_bytes(writer, &value, sizeof(value));
}
