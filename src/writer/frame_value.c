/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/frame_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/size.h"
#include "chunk/chunk.h"
#include "chunk/chunk_format.h"
#include "frame/frame_pattern.h"

enum {
    RUN_BLOCK_MAX = 1 << 20, /* limits the bytes that a reader decodes at a
                                time */
};

/* Make a chunk that repeats one item. */
static int make_repeated(const uint8_t *item, uint8_t typesize, uint32_t nbytes,
                         uint8_t **out, size_t *len)
{
    uint32_t most = (uint32_t)CHUNK_BLOCKSIZE_MAX / typesize * typesize;
    size_t cbytes = CHUNK_LONG_HEADER_LEN + (size_t)typesize;
    const struct chunk_header header = {
        .kind = CHUNK_VALUE,
        .typesize = typesize,
        .nbytes = nbytes,
        .blocksize = nbytes < most ? nbytes : most,
        .cbytes = (uint32_t)cbytes,
    };
    uint8_t *dst = calloc(1, cbytes);

    if (!dst)
        return -ENOMEM;
    chunk_header_write(&header, dst);
    memcpy(dst + CHUNK_LONG_HEADER_LEN, item, typesize);
    *out = dst;
    *len = cbytes;
    return 0;
}

/* Make an ordinary chunk, each block of which is one run of zeros. */
static int make_runs(uint8_t typesize, uint32_t nbytes, uint8_t **out,
                     size_t *len)
{
    uint32_t most = nbytes < RUN_BLOCK_MAX ? nbytes : RUN_BLOCK_MAX;
    uint32_t blocksize = most < typesize ? 1 : most - most % typesize;
    uint32_t nblocks = (uint32_t)size_pieces(nbytes, blocksize);
    size_t starts_end =
        CHUNK_LONG_HEADER_LEN + (size_t)nblocks * CHUNK_BSTART_LEN;
    size_t cbytes = starts_end + (size_t)nblocks * CHUNK_STREAM_PREFIX_LEN;
    const struct chunk_header header = {
        .kind = CHUNK_BLOCKS,
        .flags = CHUNK_FLAG_UNSPLIT,
        .typesize = typesize,
        .nbytes = nbytes,
        .blocksize = blocksize,
        .cbytes = (uint32_t)cbytes,
    };
    uint8_t *dst = calloc(1, cbytes);

    if (!dst)
        return -ENOMEM;
    chunk_header_write(&header, dst);
    for (uint32_t i = 0; i < nblocks; i++)
        store_le32(dst + CHUNK_LONG_HEADER_LEN + (size_t)i * CHUNK_BSTART_LEN,
                   (uint32_t)(starts_end + i * CHUNK_STREAM_PREFIX_LEN));
    *out = dst;
    *len = cbytes;
    return 0;
}

/*
 * The reference library rejects a frame whose first chunk has another typesize
 * than the frame, and fails to read repeated items if the chunk is not a whole
 * number of them.  If items are too large for the typesize in a chunk header,
 * the chunk has items of one byte, which may not repeat either (observed:
 * 3.3.3).
 */
int frame_value_make(const struct frame_value *value, uint8_t **out,
                     size_t *len)
{
    uint32_t typesize = value->typesize;
    uint8_t item_len = typesize <= UINT8_MAX ? (uint8_t)typesize : 1;

    if (item_len != typesize || value->nbytes % item_len != 0)
        return make_runs(item_len, value->nbytes, out, len);
    return make_repeated(value->nans ? frame_pattern_nans(item_len)
                                     : frame_pattern_zeros,
                         item_len, value->nbytes, out, len);
}
