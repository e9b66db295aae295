/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "chunk/codec_private.h"

static int ready_decoder(struct codec_state *state)
{
    z_stream *stream = state->zlib_decoder;

    if (stream)
        return inflateReset(stream) == Z_OK ? 0 : -ENOMEM;

    stream = calloc(1, sizeof(*stream));
    if (!stream)
        return -ENOMEM;
    if (inflateInit(stream) != Z_OK) {
        free(stream);
        return -ENOMEM;
    }
    state->zlib_decoder = stream;
    return 0;
}

static int decode(struct codec_state *state, const struct codec_dict *dict,
                  const uint8_t *src, size_t src_len, uint8_t *dst,
                  size_t dst_len)
{
    z_stream *stream;
    int r;

    (void)dict;
    if (src_len > UINT_MAX || dst_len > UINT_MAX)
        return -EBADMSG;
    r = ready_decoder(state);
    if (r < 0)
        return r;

    stream = state->zlib_decoder;
    stream->next_in = (z_const Bytef *)src;
    stream->avail_in = (uInt)src_len;
    stream->next_out = dst;
    stream->avail_out = (uInt)dst_len;
    r = inflate(stream, Z_FINISH);
    if (r == Z_MEM_ERROR)
        return -ENOMEM;
    return r == Z_STREAM_END && stream->avail_out == 0 ? 0 : -EBADMSG;
}

static int ready_encoder(struct codec_state *state, int level)
{
    z_stream *stream = state->zlib_encoder;

    if (stream) {
        deflateReset(stream);
        deflateParams(stream, level, Z_DEFAULT_STRATEGY);
        return 0;
    }

    stream = calloc(1, sizeof(*stream));
    if (!stream)
        return -ENOMEM;
    if (deflateInit(stream, level) != Z_OK) {
        free(stream);
        return -ENOMEM;
    }
    state->zlib_encoder = stream;
    return 0;
}

static ssize_t encode(struct codec_state *state, const struct codec_dict *dict,
                      int level, const uint8_t *src, size_t src_len,
                      uint8_t *dst, size_t dst_cap)
{
    z_stream *stream;
    int r;

    (void)dict;
    r = ready_encoder(state, level);
    if (r < 0)
        return r;

    stream = state->zlib_encoder;
    stream->next_in = (z_const Bytef *)src;
    stream->avail_in = (uInt)src_len;
    stream->next_out = dst;
    stream->avail_out = (uInt)dst_cap;
    if (deflate(stream, Z_FINISH) != Z_STREAM_END)
        return 0;
    return (ssize_t)(dst_cap - stream->avail_out);
}

void codec_zlib_fini(struct codec_state *state)
{
    if (state->zlib_decoder)
        inflateEnd(state->zlib_decoder);
    free(state->zlib_decoder);
    if (state->zlib_encoder)
        deflateEnd(state->zlib_encoder);
    free(state->zlib_encoder);
}

const struct codec codec_zlib = {
    .id = CODEC_ZLIB,
    .name = "zlib",
    .decode = decode,
    .encode = encode,
};
