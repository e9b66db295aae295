/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/msgpack.h"

#include "base/bytes.h"
#include "base/size.h"

const uint8_t *msgpack_bytes(struct msgpack *reader, size_t len)
{
    const uint8_t *bytes = reader->bytes + reader->pos;

    if (reader->failed || !size_within(reader->pos, len, reader->len)) {
        reader->failed = true;
        return NULL;
    }
    reader->pos += len;
    return bytes;
}

uint8_t msgpack_byte(struct msgpack *reader)
{
    const uint8_t *bytes = msgpack_bytes(reader, 1);

    return bytes ? *bytes : 0;
}

void msgpack_expect(struct msgpack *reader, uint8_t byte)
{
    const uint8_t *bytes = msgpack_bytes(reader, 1);

    if (bytes && *bytes != byte) {
        reader->failed = true;
        reader->pos--;
    }
}

uint16_t msgpack_u16(struct msgpack *reader)
{
    const uint8_t *bytes = msgpack_bytes(reader, 2);

    if (!bytes)
        return 0;
    return reader->little_endian ? load_le16(bytes) : load_be16(bytes);
}

uint32_t msgpack_u32(struct msgpack *reader)
{
    const uint8_t *bytes = msgpack_bytes(reader, 4);

    if (!bytes)
        return 0;
    return reader->little_endian ? load_le32(bytes) : load_be32(bytes);
}

uint64_t msgpack_u64(struct msgpack *reader)
{
    const uint8_t *bytes = msgpack_bytes(reader, 8);

    if (!bytes)
        return 0;
    return reader->little_endian ? load_le64(bytes) : load_be64(bytes);
}

const uint8_t *msgpack_fixstr(struct msgpack *reader, size_t *len)
{
    uint8_t marker = msgpack_byte(reader);

    if (!reader->failed && (marker & 0xE0) != MSGPACK_FIXSTR) {
        reader->failed = true;
        reader->pos--;
    }
    *len = marker & 0x1F;
    return msgpack_bytes(reader, *len);
}
