/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "base/bytes.h"
#include "base/msgpack_write.h"

enum {
    /*
     * FIXED_LEN covers all but the extents and the text of the dtype: parts,
     * version and ndim, three list heads, and the dtype's format, marker and
     * length.  DIM_LEN covers the three extents of one dimension, with markers.
     */
    FIXED_LEN = 3 + 3 + 1 + 5,
    DIM_LEN = 9 + 5 + 5,
};

static void write_extents(struct msgpack_writer *writer,
                          const uint32_t *extents, unsigned ndim)
{
    msgpack_write_byte(writer, (uint8_t)(MSGPACK_FIXARRAY + ndim));
    for (unsigned i = 0; i < ndim; i++)
        msgpack_write_u32(writer, MSGPACK_INT32, extents[i]);
}

static void write_shape(struct msgpack_writer *writer,
                        const struct layout_shape *shape)
{
    msgpack_write_byte(writer, ARRAY_PARTS_ALL);
    msgpack_write_byte(writer, 0); /* version */
    msgpack_write_byte(writer, (uint8_t)shape->ndim);
    msgpack_write_byte(writer, (uint8_t)(MSGPACK_FIXARRAY + shape->ndim));
    for (unsigned i = 0; i < shape->ndim; i++)
        msgpack_write_u64(writer, MSGPACK_INT64, shape->items[i]);
    write_extents(writer, shape->chunk, shape->ndim);
    write_extents(writer, shape->block, shape->ndim);
}

int array_encode(const struct layout_shape *shape, const char *dtype,
                 uint8_t **content, size_t *len)
{
    struct msgpack_writer writer = { 0 };
    size_t dtype_len = dtype ? strlen(dtype) : 0;
    size_t capacity = FIXED_LEN + shape->ndim * (size_t)DIM_LEN + dtype_len;

    if (capacity > ARRAY_LAYER_MAX)
        return -EINVAL;
    writer.bytes = malloc(capacity);
    if (!writer.bytes)
        return -ENOMEM;
    write_shape(&writer, shape);
    if (dtype) {
        msgpack_write_byte(&writer, ARRAY_DTYPE_NUMPY);
        msgpack_write_u32(&writer, MSGPACK_STR32, (uint32_t)dtype_len);
        msgpack_write_bytes(&writer, dtype, dtype_len);
    } else {
        writer.bytes[0] = ARRAY_PARTS_NO_DTYPE;
    }
    *content = writer.bytes;
    *len = writer.pos;
    return 0;
}

void array_set_items(uint8_t *content, const uint64_t *items, unsigned ndim)
{
    /* Before the first marker are parts, ndim, and the head of the list; and
       the version, except in the oldest kind. */
    uint8_t *at = content + (content[0] == ARRAY_PARTS_OLDEST ? 3 : 4);

    for (unsigned i = 0; i < ndim; i++, at += 1 + sizeof(*items))
        store_be64(at + 1, items[i]);
}

/* Change the extents in a list, and return the end of the list. */
static uint8_t *set_extents(uint8_t *list, const uint32_t *extents,
                            unsigned ndim)
{
    uint8_t *at = list + 1;

    for (unsigned i = 0; i < ndim; i++, at += 1 + sizeof(*extents))
        store_be32(at + 1, extents[i]);
    return at;
}

int array_set_parts(uint8_t *content, const struct layout_shape *shape)
{
    uint8_t *at = content + 4 + shape->ndim * (1 + sizeof(*shape->items));

    if (content[0] == ARRAY_PARTS_OLDEST)
        return -ENOTSUP;
    at = set_extents(at, shape->chunk, shape->ndim);
    set_extents(at, shape->block, shape->ndim);
    return 0;
}
