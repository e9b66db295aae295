/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A Lizard stream, after two bytes with the length of the output.  The buffers
 * have exact sizes, because a sanitizer then notices an access to the first
 * byte beyond.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "chunk/codec.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct codec *codec = codec_by_id(CODEC_LIZARD);

    if (size < 3)
        return 0;
    size_t dst_len = load_le16(data);
    size_t src_len = size - 2;
    uint8_t *src = malloc(src_len);
    uint8_t *dst = malloc(dst_len);

    if (src && dst && dst_len > 0) {
        struct codec_context context = { 0 };
        const struct codec_stream stream = {
            .context = &context,
            .src = src,
            .src_len = src_len,
            .dst = dst,
            .dst_len = dst_len,
        };

        memcpy(src, data + 2, src_len);
        codec->decode(&stream);
        codec->fini(&context);
    }
    free(src);
    free(dst);
    return 0;
}
