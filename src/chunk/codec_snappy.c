/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <snappy-c.h>

#include "chunk/codec_private.h"

/* libsnappy checks all bounds itself, but the length of the output only here. */
static int decode(const struct codec_stream *stream)
{
    const char *src = (const char *)stream->src;
    size_t len;

    if (snappy_uncompressed_length(src, stream->src_len, &len) != SNAPPY_OK ||
        len != stream->dst_len)
        return -EBADMSG;
    if (snappy_uncompress(src, stream->src_len, (char *)stream->dst, &len) !=
            SNAPPY_OK ||
        len != stream->dst_len)
        return -EBADMSG;
    return 0;
}

/* No current program reads what an encoder would write. */
const struct codec codec_snappy = {
    .id = CODEC_SNAPPY,
    .name = "snappy",
    .decode = decode,
};
