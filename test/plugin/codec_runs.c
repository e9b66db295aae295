/* SPDX-License-Identifier: BSD-3-Clause */
#include <framefs-codec.h>
#include <string.h>

/*
 * A codec for runs of equal bytes, as an example of a plug-in: codec 200.
 *
 * A stream is a row of pairs: how often, 1 to 255, and which byte.
 *
 *     cc -shared -fPIC -O2 -o codec-200.so codec_runs.c
 */
enum {
    RUN_MAX = 255
};

static int decode(const struct framefs_stream *stream)
{
    size_t done = 0;

    if (stream->src_len % 2 != 0)
        return -1;
    for (size_t i = 0; i < stream->src_len; i += 2) {
        size_t n = stream->src[i];

        if (n > stream->dst_len - done)
            return -1;
        memset(stream->dst + done, stream->src[i + 1], n);
        done += n;
    }
    return done == stream->dst_len ? 0 : -1;
}

static size_t encode(const struct framefs_stream *stream)
{
    const uint8_t *src = stream->src;
    size_t len = 0;

    for (size_t i = 0, n; i < stream->src_len; i += n) {
        for (n = 1; n < RUN_MAX && i + n < stream->src_len; n++)
            if (src[i + n] != src[i])
                break;
        if (stream->dst_len - len < 2)
            return 0;
        stream->dst[len++] = (uint8_t)n;
        stream->dst[len++] = src[i];
    }
    return len;
}

const struct framefs_codec framefs_codec = {
    .abi = FRAMEFS_CODEC_ABI,
    .name = "runs",
    .decode = decode,
    .encode = encode,
};
