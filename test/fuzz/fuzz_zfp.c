/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A stream of libzfp.  The input is a byte each of: mode, parameter, size of
 * items, number of dimensions, and the extents of the block; then the stream.
 * It is decoded in place and, as the items of an unaligned block, by way of
 * another buffer.  Then the rest of the input is encoded as items.  The buffers
 * have exact sizes, because a sanitizer then notices an access to the first
 * byte beyond.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/chunk_params.h"
#include "chunk/codec.h"
#include "fuzz.h"

enum {
    HEAD_LEN = 4,
    NDIM_ALL = 6,        /* one more than can be decoded is to be refused */
    BLOCK_MAX = 64 << 10 /* bytes */
};

static void insist(bool what)
{
    if (!what)
        abort();
}

/* A block, and the codec that it is for. */
struct sample {
    const struct codec *codec;
    struct codec_context context;
    struct chunk_items items;
    size_t len; /* of the block, bytes */
    uint8_t meta;
};

static struct codec_stream stream_of(struct sample *sample, const uint8_t *src,
                                     size_t src_len, uint8_t *dst,
                                     size_t dst_len)
{
    return (struct codec_stream){
        .codec = sample->codec,
        .context = &sample->context,
        .items = &sample->items,
        .typesize = (uint8_t)sample->items.size,
        .meta = sample->meta,
        .level = 5,
        .src = src,
        .src_len = src_len,
        .dst = dst,
        .dst_len = dst_len,
    };
}

/* Decode a stream at any address; the result must be the same.  Returns that of
   the decoder. */
static int decode(struct sample *sample, const uint8_t *src, size_t len)
{
    uint8_t *aligned = malloc(sample->len);
    uint8_t *other = malloc(sample->len + 1);
    struct codec_stream stream =
        stream_of(sample, src, len, aligned, sample->len);
    int r;

    insist(aligned && other);
    r = sample->codec->decode(&stream);
    insist(r == 0 || r == -EBADMSG);
    stream.dst = other + 1;
    insist(sample->codec->decode(&stream) == r);
    if (r == 0)
        insist(memcmp(aligned, other + 1, sample->len) == 0);
    free(aligned);
    free(other);
    return r;
}

/* May this block be encoded? */
static bool suits(const struct sample *sample)
{
    const struct chunk_params params = {
        .typesize = sample->items.size,
        .blocksize = (uint32_t)sample->len,
        .block = sample->items.block,
        .codec = (uint8_t)sample->codec->id,
        .codec_meta = sample->meta,
        .clevel = 5,
        .split_mode = CHUNK_SPLIT_FORWARD,
    };

    return chunk_params_check(&params) == 0;
}

/* Encode items, whose bytes repeat; whatever comes of it must decode. */
static void encode(struct sample *sample, const uint8_t *bytes, size_t nbytes)
{
    uint8_t *src = malloc(sample->len);
    uint8_t *dst = malloc(sample->len);
    struct codec_stream stream =
        stream_of(sample, src, sample->len, dst, sample->len);
    ssize_t len;

    insist(src && dst);
    for (size_t i = 0; i < sample->len; i++)
        src[i] = nbytes > 0 ? bytes[i % nbytes] : 0;
    len = sample->codec->encode(&stream);
    insist(len >= 0 && (size_t)len <= sample->len && len % 8 == 0);
    if (len > 0)
        insist(decode(sample, dst, (size_t)len) == 0);
    free(src);
    free(dst);
}

/* Take the head of the input.  Returns its length, or 0 if the block is too
   large to be tried. */
static size_t take_head(const uint8_t *data, size_t size, struct sample *out)
{
    struct block_shape *block = &out->items.block;
    size_t len;

    if (size < HEAD_LEN)
        return 0;
    out->codec = codec_by_id(CODEC_ZFP_ACC + data[0] % 3u);
    out->meta = data[1];
    out->items.size = data[2];
    block->ndim = data[3] % NDIM_ALL;
    len = HEAD_LEN + block->ndim;
    if (!out->codec || size < len)
        return 0;
    for (unsigned i = 0; i < block->ndim; i++)
        block->extents[i] = data[HEAD_LEN + i];
    out->len = (size_t)chunk_items_per_block(&out->items) * out->items.size;
    return out->len <= BLOCK_MAX ? len : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sample sample = { 0 };
    size_t head_len = take_head(data, size, &sample);
    struct codec_stream stream;
    uint8_t *src;

    if (head_len == 0 || size == head_len)
        return 0;
    size -= head_len;
    src = malloc(size);
    insist(src);
    memcpy(src, data + head_len, size);
    stream = stream_of(&sample, src, size, NULL, sample.len);
    if (!sample.codec->refuse(&stream)) {
        decode(&sample, src, size);
        if (suits(&sample))
            encode(&sample, src, size);
    }
    sample.codec->fini(&sample.context);
    free(src);
    return 0;
}
