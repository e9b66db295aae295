/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/bytes.h"
#include "chunk/adler.h"
#include "chunk/codec_private.h"

/*
 * zlib handles only the data between header and checksum, because it would
 * compute the checksum more slowly than adler_sum() does.
 *
 * Format: RFC 1950, 2.2.
 */
enum {
    HEADER_LEN = 2,
    CHECKSUM_LEN = 4,
    HEADER_MULTIPLE = 31, /* the header is a multiple of it, big-endian */
    METHOD_MASK = 0x0f,
    METHOD = 8,
    WINDOW_SHIFT = 4,
    WINDOW_MAX = 7,    /* 32 KiB */
    WINDOW_BITS = -15, /* the same window, and data without header */
    HAS_DICT = 0x20,
    LEVEL_SHIFT = 6,
    MEM_LEVEL = 8 /* the default of zlib */
};

static bool is_header(const uint8_t *bytes)
{
    return load_be16(bytes) % HEADER_MULTIPLE == 0 &&
           (bytes[0] & METHOD_MASK) == METHOD &&
           bytes[0] >> WINDOW_SHIFT <= WINDOW_MAX && !(bytes[1] & HAS_DICT);
}

/* Write the header as zlib does, with a hint at the level. */
static void write_header(uint8_t *dst, int level)
{
    static const uint8_t efforts[10] = { 0, 0, 1, 1, 1, 1, 2, 3, 3, 3 };
    unsigned flags = (unsigned)efforts[level] << LEVEL_SHIFT;

    dst[0] = WINDOW_MAX << WINDOW_SHIFT | METHOD;
    dst[1] = (uint8_t)flags;
    flags += HEADER_MULTIPLE - load_be16(dst) % HEADER_MULTIPLE;
    dst[1] = (uint8_t)flags;
}

static int ready_decoder(struct codec_state *state)
{
    z_stream *stream = state->zlib_decoder;

    if (stream)
        return inflateReset(stream) == Z_OK ? 0 : -ENOMEM;

    stream = calloc(1, sizeof(*stream));
    if (!stream)
        return -ENOMEM;
    if (inflateInit2(stream, WINDOW_BITS) != Z_OK) {
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
    if (src_len < HEADER_LEN || !is_header(src))
        return -EBADMSG;
    r = ready_decoder(state);
    if (r < 0)
        return r;

    stream = state->zlib_decoder;
    stream->next_in = (z_const Bytef *)src + HEADER_LEN;
    stream->avail_in = (uInt)src_len - HEADER_LEN;
    stream->next_out = dst;
    stream->avail_out = (uInt)dst_len;
    r = inflate(stream, Z_FINISH);
    if (r == Z_MEM_ERROR)
        return -ENOMEM;
    if (r != Z_STREAM_END || stream->avail_out > 0 ||
        stream->avail_in < CHECKSUM_LEN)
        return -EBADMSG;
    return load_be32(stream->next_in) == adler_sum(dst, dst_len) ? 0 : -EBADMSG;
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
    if (deflateInit2(stream, level, Z_DEFLATED, WINDOW_BITS, MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
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
    if (dst_cap < HEADER_LEN)
        return 0;

    stream = state->zlib_encoder;
    stream->next_in = (z_const Bytef *)src;
    stream->avail_in = (uInt)src_len;
    stream->next_out = dst + HEADER_LEN;
    stream->avail_out = (uInt)(dst_cap - HEADER_LEN);
    if (deflate(stream, Z_FINISH) != Z_STREAM_END ||
        stream->avail_out < CHECKSUM_LEN)
        return 0;

    write_header(dst, level);
    store_be32(stream->next_out, adler_sum(src, src_len));
    return stream->next_out + CHECKSUM_LEN - dst;
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
