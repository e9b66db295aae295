/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <lz4.h>
#include <lz4hc.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/codec_private.h"

/* LZ4 digests nothing: it uses a dictionary as history before the output. */
struct codec_dict {
    size_t len;
    uint8_t bytes[];
};

static int decode(const struct codec_stream *stream)
{
    const struct codec_dict *dict = stream->dict;
    const char *src = (const char *)stream->src;
    char *dst = (char *)stream->dst;
    int src_len = (int)stream->src_len;
    int dst_len = (int)stream->dst_len;
    int len;

    if (stream->src_len > INT_MAX || stream->dst_len > INT_MAX)
        return -EBADMSG;

    if (dict)
        len = LZ4_decompress_safe_usingDict(src, dst, src_len, dst_len,
                                            (const char *)dict->bytes,
                                            (int)dict->len);
    else
        len = LZ4_decompress_safe(src, dst, src_len, dst_len);

    return len == dst_len ? 0 : -EBADMSG;
}

static ssize_t encode(const struct codec_stream *stream)
{
    const struct codec_dict *dict = stream->dict;
    const char *src = (const char *)stream->src;
    char *dst = (char *)stream->dst;
    int src_len = (int)stream->src_len;
    int dst_len = (int)stream->dst_len;
    int acceleration = 10 - stream->level;
    LZ4_stream_t *lz4 = stream->context->encoder;

    if (!lz4)
        lz4 = stream->context->encoder = LZ4_createStream();
    if (!lz4)
        return -ENOMEM;
    if (!dict)
        return LZ4_compress_fast_extState(lz4, src, dst, src_len, dst_len,
                                          acceleration);

    LZ4_resetStream_fast(lz4);
    LZ4_loadDict(lz4, (const char *)dict->bytes, (int)dict->len);
    return LZ4_compress_fast_continue(lz4, src, dst, src_len, dst_len,
                                      acceleration);
}

static ssize_t encode_hc(const struct codec_stream *stream)
{
    const struct codec_dict *dict = stream->dict;
    const char *src = (const char *)stream->src;
    char *dst = (char *)stream->dst;
    int src_len = (int)stream->src_len;
    int dst_len = (int)stream->dst_len;
    LZ4_streamHC_t *lz4 = stream->context->encoder;

    if (!lz4)
        lz4 = stream->context->encoder = LZ4_createStreamHC();
    if (!lz4)
        return -ENOMEM;
    if (!dict)
        return LZ4_compress_HC_extStateHC(lz4, src, dst, src_len, dst_len,
                                          stream->level);

    LZ4_resetStreamHC_fast(lz4, stream->level);
    LZ4_loadDictHC(lz4, (const char *)dict->bytes, (int)dict->len);
    return LZ4_compress_HC_continue(lz4, src, dst, src_len, dst_len);
}

/* Use the samples themselves, because data that repeats them need not be stored
   again. */
static size_t make_dict(const uint8_t *samples, size_t sample_len,
                        unsigned nsamples, uint8_t *dst, size_t dst_cap)
{
    size_t len = sample_len * nsamples;

    if (len > dst_cap)
        len = dst_cap;
    memcpy(dst, samples, len);
    return len;
}

static int new_dict(const uint8_t *bytes, size_t len, struct codec_dict **out)
{
    struct codec_dict *dict = malloc(sizeof(*dict) + len);

    if (!dict)
        return -ENOMEM;
    dict->len = len;
    memcpy(dict->bytes, bytes, len);
    *out = dict;
    return 0;
}

static int new_encode_dict(const uint8_t *bytes, size_t len, int level,
                           struct codec_dict **out)
{
    (void)level;
    return new_dict(bytes, len, out);
}

static void free_dict(struct codec_dict *dict)
{
    free(dict);
}

static size_t dict_footprint(const struct codec_dict *dict)
{
    return sizeof(*dict) + dict->len;
}

static void fini(struct codec_context *context)
{
    LZ4_freeStream(context->encoder);
}

static void fini_hc(struct codec_context *context)
{
    LZ4_freeStreamHC(context->encoder);
}

const struct codec codec_lz4 = {
    .id = CODEC_LZ4,
    .name = "lz4",
    .split_below = CODEC_LEVEL_MAX + 1,
    .trial_levels = { 5 },
    .decode = decode,
    .encode = encode,
    .fini = fini,
    .new_dict = new_dict,
    .free_dict = free_dict,
    .dict_footprint = dict_footprint,
    .make_dict = make_dict,
    .new_encode_dict = new_encode_dict,
};

/* The format of LZ4, encoded with more effort. */
const struct codec codec_lz4hc = {
    .id = CODEC_LZ4HC,
    .name = "lz4hc",
    .wants_large_blocks = true,
    .trial_levels = { 9 },
    .decode = decode,
    .encode = encode_hc,
    .fini = fini_hc,
    .new_dict = new_dict,
    .free_dict = free_dict,
    .dict_footprint = dict_footprint,
    .make_dict = make_dict,
    .new_encode_dict = new_encode_dict,
};
