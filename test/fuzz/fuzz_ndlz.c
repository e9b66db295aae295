/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An NDLZ stream, after two bytes with the length of the output and one with
 * the side of the cells.  The buffers have exact sizes, because a sanitizer
 * then notices an access to the first byte beyond.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "chunk/codec.h"
#include "fuzz.h"

enum {
    HEAD_LEN = 3
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct codec *codec = codec_by_id(CODEC_NDLZ);

    if (size <= HEAD_LEN)
        return 0;
    size_t dst_len = load_le16(data);
    size_t src_len = size - HEAD_LEN;
    uint8_t *src = malloc(src_len);
    uint8_t *dst = malloc(dst_len);

    if (src && dst && dst_len > 0) {
        const struct codec_stream stream = {
            .meta = data[2],
            .src = src,
            .src_len = src_len,
            .dst = dst,
            .dst_len = dst_len,
        };

        memcpy(src, data + HEAD_LEN, src_len);
        if (!codec->refuse(&stream))
            codec->decode(&stream);
    }
    free(src);
    free(dst);
    return 0;
}
