/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <snappy-c.h>

#include "base/late_library.h"
#include "chunk/codec_private.h"

static struct {
    __typeof__(snappy_uncompress) *snappy_uncompress;
    __typeof__(snappy_uncompressed_length) *snappy_uncompressed_length;
} lib;

static const struct late_function functions[] = {
    LATE_FUNCTION(lib, snappy_uncompress),
    LATE_FUNCTION(lib, snappy_uncompressed_length),
};

static bool loaded;

static void load(void)
{
    loaded = late_library_load(SNAPPY_SONAME, LATE_PROGRAM, functions,
                               sizeof(functions) / sizeof(functions[0]));
}

static bool has_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    return loaded;
}

static const char *refuse(const struct codec_stream *stream
                          __attribute__((unused)))
{
    return has_library() ? NULL
                         : "codec snappy needs libsnappy, which is missing";
}

/* libsnappy checks all bounds itself, but the length of the output only
   here. */
static int decode(const struct codec_stream *stream)
{
    const char *src = (const char *)stream->src;
    size_t len;

    if (!has_library())
        return -ENOTSUP;
    if (lib.snappy_uncompressed_length(src, stream->src_len, &len) !=
            SNAPPY_OK ||
        len != stream->dst_len)
        return -EBADMSG;
    if (lib.snappy_uncompress(src, stream->src_len, (char *)stream->dst,
                              &len) != SNAPPY_OK ||
        len != stream->dst_len)
        return -EBADMSG;
    return 0;
}

/* No current program reads such chunks, so there is no encoder. */
const struct codec codec_snappy = {
    .id = CODEC_SNAPPY,
    .name = "snappy",
    .refuse = refuse,
    .decode = decode,
};
