/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <zdict.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "chunk/codec_private.h"

struct codec_dict {
    ZSTD_DDict *digest;
    ZSTD_CDict *encode_digest;
};

static int decode(const struct codec_stream *stream)
{
    ZSTD_DCtx *zstd = stream->context->decoder;
    size_t len;

    if (!zstd)
        zstd = stream->context->decoder = ZSTD_createDCtx();
    if (!zstd)
        return -ENOMEM;

    if (stream->dict)
        len = ZSTD_decompress_usingDDict(zstd, stream->dst, stream->dst_len,
                                         stream->src, stream->src_len,
                                         stream->dict->digest);
    else
        len = ZSTD_decompressDCtx(zstd, stream->dst, stream->dst_len,
                                  stream->src, stream->src_len);

    if (ZSTD_getErrorCode(len) == ZSTD_error_memory_allocation)
        return -ENOMEM;
    return len == stream->dst_len ? 0 : -EBADMSG;
}

/* Levels 1 to 8 are every second one of zstd's; level 9 is its highest. */
static int zstd_level(int level)
{
    return level < 9 ? 2 * level - 1 : ZSTD_maxCLevel();
}

static ssize_t encode(const struct codec_stream *stream)
{
    ZSTD_CCtx *zstd = stream->context->encoder;
    size_t len;

    if (!zstd)
        zstd = stream->context->encoder = ZSTD_createCCtx();
    if (!zstd)
        return -ENOMEM;

    if (stream->dict)
        len = ZSTD_compress_usingCDict(zstd, stream->dst, stream->dst_len,
                                       stream->src, stream->src_len,
                                       stream->dict->encode_digest);
    else
        len = ZSTD_compressCCtx(zstd, stream->dst, stream->dst_len, stream->src,
                                stream->src_len, zstd_level(stream->level));

    if (ZSTD_getErrorCode(len) == ZSTD_error_memory_allocation)
        return -ENOMEM;
    return ZSTD_isError(len) ? 0 : (ssize_t)len;
}

static void fini(struct codec_context *context)
{
    ZSTD_freeDCtx(context->decoder);
    ZSTD_freeCCtx(context->encoder);
}

static void free_dict(struct codec_dict *dict)
{
    ZSTD_freeDDict(dict->digest);
    ZSTD_freeCDict(dict->encode_digest);
    free(dict);
}

/*
 * zstd uses entropy tables if the bytes start with the magic number of its
 * dictionaries; otherwise all bytes are raw content.
 */
static int new_dict(const uint8_t *bytes, size_t len, struct codec_dict **out)
{
    struct codec_dict *dict = calloc(1, sizeof(*dict));

    if (!dict)
        return -ENOMEM;
    dict->digest = ZSTD_createDDict(bytes, len);
    if (!dict->digest) {
        free(dict);
        return -EBADMSG;
    }
    *out = dict;
    return 0;
}

static int new_encode_dict(const uint8_t *bytes, size_t len, int level,
                           struct codec_dict **out)
{
    struct codec_dict *dict = calloc(1, sizeof(*dict));

    if (!dict)
        return -ENOMEM;
    dict->encode_digest = ZSTD_createCDict(bytes, len, zstd_level(level));
    if (!dict->encode_digest) {
        free(dict);
        return -ENOMEM;
    }
    *out = dict;
    return 0;
}

static size_t make_dict(const uint8_t *samples, size_t sample_len,
                        unsigned nsamples, uint8_t *dst, size_t dst_cap)
{
    size_t *lens = malloc(nsamples * sizeof(*lens));
    size_t len;

    if (!lens)
        return 0;
    for (unsigned i = 0; i < nsamples; i++)
        lens[i] = sample_len;
    len = ZDICT_trainFromBuffer(dst, dst_cap, samples, lens, nsamples);
    free(lens);
    return ZDICT_isError(len) ? 0 : len;
}

static size_t dict_footprint(const struct codec_dict *dict)
{
    return sizeof(*dict) + ZSTD_sizeof_DDict(dict->digest);
}

const struct codec codec_zstd = {
    .id = CODEC_ZSTD,
    .name = "zstd",
    .split_below = 6,
    .wants_large_blocks = true,
    .trial_levels = { 1, 5, 9 },
    .decode = decode,
    .encode = encode,
    .fini = fini,
    .new_dict = new_dict,
    .free_dict = free_dict,
    .dict_footprint = dict_footprint,
    .make_dict = make_dict,
    .new_encode_dict = new_encode_dict,
};
