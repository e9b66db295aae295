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

static int decode(struct codec_state *state, const struct codec_dict *dict,
                  const uint8_t *src, size_t src_len, uint8_t *dst,
                  size_t dst_len)
{
    const char *in = (const char *)src;
    char *out = (char *)dst;
    int len;

    (void)state;
    if (src_len > INT_MAX || dst_len > INT_MAX)
        return -EBADMSG;

    if (dict)
        len = LZ4_decompress_safe_usingDict(in, out, (int)src_len, (int)dst_len,
                                            (const char *)dict->bytes,
                                            (int)dict->len);
    else
        len = LZ4_decompress_safe(in, out, (int)src_len, (int)dst_len);

    return len >= 0 && (size_t)len == dst_len ? 0 : -EBADMSG;
}

static int encode_fast(LZ4_stream_t *stream, const struct codec_dict *dict,
                       int level, const char *src, int src_len, char *dst,
                       int dst_cap)
{
    int acceleration = 10 - level;

    if (!dict)
        return LZ4_compress_fast_extState(stream, src, dst, src_len, dst_cap,
                                          acceleration);

    LZ4_resetStream_fast(stream);
    LZ4_loadDict(stream, (const char *)dict->bytes, (int)dict->len);
    return LZ4_compress_fast_continue(stream, src, dst, src_len, dst_cap,
                                      acceleration);
}

static ssize_t encode(struct codec_state *state, const struct codec_dict *dict,
                      int level, const uint8_t *src, size_t src_len,
                      uint8_t *dst, size_t dst_cap)
{
    if (!state->lz4_encoder)
        state->lz4_encoder = LZ4_createStream();
    if (!state->lz4_encoder)
        return -ENOMEM;

    return encode_fast(state->lz4_encoder, dict, level, (const char *)src,
                       (int)src_len, (char *)dst, (int)dst_cap);
}

static int encode_high(LZ4_streamHC_t *stream, const struct codec_dict *dict,
                       int level, const char *src, int src_len, char *dst,
                       int dst_cap)
{
    if (!dict)
        return LZ4_compress_HC_extStateHC(stream, src, dst, src_len, dst_cap,
                                          level);

    LZ4_resetStreamHC_fast(stream, level);
    LZ4_loadDictHC(stream, (const char *)dict->bytes, (int)dict->len);
    return LZ4_compress_HC_continue(stream, src, dst, src_len, dst_cap);
}

static ssize_t encode_hc(struct codec_state *state,
                         const struct codec_dict *dict, int level,
                         const uint8_t *src, size_t src_len, uint8_t *dst,
                         size_t dst_cap)
{
    if (!state->lz4hc_encoder)
        state->lz4hc_encoder = LZ4_createStreamHC();
    if (!state->lz4hc_encoder)
        return -ENOMEM;

    return encode_high(state->lz4hc_encoder, dict, level, (const char *)src,
                       (int)src_len, (char *)dst, (int)dst_cap);
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

void codec_lz4_fini(struct codec_state *state)
{
    LZ4_freeStream(state->lz4_encoder);
    LZ4_freeStreamHC(state->lz4hc_encoder);
}

const struct codec codec_lz4 = {
    .id = CODEC_LZ4,
    .name = "lz4",
    .decode = decode,
    .new_dict = new_dict,
    .free_dict = free_dict,
    .dict_footprint = dict_footprint,
    .encode = encode,
    .make_dict = make_dict,
    .new_encode_dict = new_encode_dict,
};

/* The format of LZ4, encoded with more effort. */
const struct codec codec_lz4hc = {
    .id = CODEC_LZ4HC,
    .name = "lz4hc",
    .decode = decode,
    .new_dict = new_dict,
    .free_dict = free_dict,
    .dict_footprint = dict_footprint,
    .encode = encode_hc,
    .make_dict = make_dict,
    .new_encode_dict = new_encode_dict,
};
