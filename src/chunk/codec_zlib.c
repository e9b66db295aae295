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

/* Return a stream that can decode, or NULL if there is no memory. */
static z_stream *ready_decoder(struct codec_context *context)
{
    z_stream *zlib = context->decoder;

    if (zlib)
        return inflateReset(zlib) == Z_OK ? zlib : NULL;

    zlib = calloc(1, sizeof(*zlib));
    if (!zlib)
        return NULL;
    if (inflateInit2(zlib, WINDOW_BITS) != Z_OK) {
        free(zlib);
        return NULL;
    }
    context->decoder = zlib;
    return zlib;
}

static int decode(const struct codec_stream *stream)
{
    z_stream *zlib;
    int r;

    if (stream->src_len > UINT_MAX || stream->dst_len > UINT_MAX)
        return -EBADMSG;
    if (stream->src_len < HEADER_LEN || !is_header(stream->src))
        return -EBADMSG;
    zlib = ready_decoder(stream->context);
    if (!zlib)
        return -ENOMEM;

    zlib->next_in = (z_const Bytef *)stream->src + HEADER_LEN;
    zlib->avail_in = (uInt)stream->src_len - HEADER_LEN;
    zlib->next_out = stream->dst;
    zlib->avail_out = (uInt)stream->dst_len;
    r = inflate(zlib, Z_FINISH);
    if (r == Z_MEM_ERROR)
        return -ENOMEM;
    if (r != Z_STREAM_END || zlib->avail_out > 0 ||
        zlib->avail_in < CHECKSUM_LEN)
        return -EBADMSG;
    return load_be32(zlib->next_in) == adler_sum(stream->dst, stream->dst_len)
               ? 0
               : -EBADMSG;
}

/* Return a stream that can encode, or NULL if there is no memory. */
static z_stream *ready_encoder(struct codec_context *context, int level)
{
    z_stream *zlib = context->encoder;

    if (zlib) {
        deflateReset(zlib);
        deflateParams(zlib, level, Z_DEFAULT_STRATEGY);
        return zlib;
    }

    zlib = calloc(1, sizeof(*zlib));
    if (!zlib)
        return NULL;
    if (deflateInit2(zlib, level, Z_DEFLATED, WINDOW_BITS, MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        free(zlib);
        return NULL;
    }
    context->encoder = zlib;
    return zlib;
}

static ssize_t encode(const struct codec_stream *stream)
{
    z_stream *zlib = ready_encoder(stream->context, stream->level);

    if (!zlib)
        return -ENOMEM;
    if (stream->dst_len < HEADER_LEN)
        return 0;

    zlib->next_in = (z_const Bytef *)stream->src;
    zlib->avail_in = (uInt)stream->src_len;
    zlib->next_out = stream->dst + HEADER_LEN;
    zlib->avail_out = (uInt)(stream->dst_len - HEADER_LEN);
    if (deflate(zlib, Z_FINISH) != Z_STREAM_END ||
        zlib->avail_out < CHECKSUM_LEN)
        return 0;

    write_header(stream->dst, stream->level);
    store_be32(zlib->next_out, adler_sum(stream->src, stream->src_len));
    return zlib->next_out + CHECKSUM_LEN - stream->dst;
}

static void fini(struct codec_context *context)
{
    if (context->decoder)
        inflateEnd(context->decoder);
    free(context->decoder);
    if (context->encoder)
        deflateEnd(context->encoder);
    free(context->encoder);
}

const struct codec codec_zlib = {
    .id = CODEC_ZLIB,
    .name = "zlib",
    .wants_large_blocks = true,
    .trial_levels = { 5 },
    .decode = decode,
    .encode = encode,
    .fini = fini,
};
