/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zfp.h>

#include "base/bytes.h"
#include "base/late_library.h"
#include "chunk/chunk_params.h"
#include "chunk/codec_private.h"
#include "chunk/filter.h"

/*
 * The streams of libzfp, without its header: mode and shape come from the chunk
 * and the frame.  A stream is a whole block.
 *
 * Format: ZFP.  The numbers below are its sections.
 */
enum {
    NDIM_MAX = 4,
    EXTENT_MIN = 4,       /* 4: smaller blocks cannot be written */
    RATE_MAX = 100,       /* 4: percent */
    PRECISION_MAX = 64,   /* 1: bits */
    WORD_LEN = 8,         /* 2: other readers load this many bytes at a time */
    KEEP_MAX = 8 << 20,   /* larger buffers are freed after each use */
    INPUT_MAX = 128 << 20 /* bytes of a stream that libzfp may read */
};

static struct {
    __typeof__(stream_close) *stream_close;
    __typeof__(stream_open) *stream_open;
    __typeof__(zfp_compress) *zfp_compress;
    __typeof__(zfp_decompress) *zfp_decompress;
    __typeof__(zfp_field_1d) *zfp_field_1d;
    __typeof__(zfp_field_2d) *zfp_field_2d;
    __typeof__(zfp_field_3d) *zfp_field_3d;
    __typeof__(zfp_field_4d) *zfp_field_4d;
    __typeof__(zfp_field_free) *zfp_field_free;
    __typeof__(zfp_stream_close) *zfp_stream_close;
    __typeof__(zfp_stream_maximum_size) *zfp_stream_maximum_size;
    __typeof__(zfp_stream_open) *zfp_stream_open;
    __typeof__(zfp_stream_rewind) *zfp_stream_rewind;
    __typeof__(zfp_stream_set_accuracy) *zfp_stream_set_accuracy;
    __typeof__(zfp_stream_set_bit_stream) *zfp_stream_set_bit_stream;
    __typeof__(zfp_stream_set_precision) *zfp_stream_set_precision;
    __typeof__(zfp_stream_set_rate) *zfp_stream_set_rate;
    __typeof__(stream_word_bits) *stream_word_bits;
} lib;

static const struct late_function functions[] = {
    LATE_FUNCTION(lib, stream_close),
    LATE_FUNCTION(lib, stream_open),
    LATE_FUNCTION(lib, zfp_compress),
    LATE_FUNCTION(lib, zfp_decompress),
    LATE_FUNCTION(lib, zfp_field_1d),
    LATE_FUNCTION(lib, zfp_field_2d),
    LATE_FUNCTION(lib, zfp_field_3d),
    LATE_FUNCTION(lib, zfp_field_4d),
    LATE_FUNCTION(lib, zfp_field_free),
    LATE_FUNCTION(lib, zfp_stream_close),
    LATE_FUNCTION(lib, zfp_stream_maximum_size),
    LATE_FUNCTION(lib, zfp_stream_open),
    LATE_FUNCTION(lib, zfp_stream_rewind),
    LATE_FUNCTION(lib, zfp_stream_set_accuracy),
    LATE_FUNCTION(lib, zfp_stream_set_bit_stream),
    LATE_FUNCTION(lib, zfp_stream_set_precision),
    LATE_FUNCTION(lib, zfp_stream_set_rate),
    LATE_FUNCTION(lib, stream_word_bits),
};

static bool loaded;

static void load(void)
{
    loaded = late_library_load(ZFP_SONAME, LATE_ITSELF, functions,
                               sizeof(functions) / sizeof(functions[0]));
}

static bool has_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    return loaded;
}

/* Memory that is kept from stream to stream. */
struct buffer {
    uint8_t *bytes;
    size_t size;
    size_t used; /* by the last stream to decode; zeros follow */
};

/* The same struct serves decoding and encoding, in its own half of the
   context. */
struct work {
    struct buffer stream;
    struct buffer items; /* for a block that libzfp cannot use in place */
};

/* Return room for `size` bytes, which are zeros if it is made anew; NULL if
   there is no memory. */
static uint8_t *reserve(struct buffer *buffer, size_t size)
{
    if (buffer->size < size) {
        free(buffer->bytes);
        buffer->bytes = calloc(1, size);
        buffer->size = buffer->bytes ? size : 0;
        buffer->used = 0;
    }
    return buffer->bytes;
}

static void trim(struct buffer *buffer)
{
    if (buffer->size <= KEEP_MAX)
        return;
    free(buffer->bytes);
    *buffer = (struct buffer){ 0 };
}

static struct work *get_work(void **place)
{
    if (!*place)
        *place = calloc(1, sizeof(struct work));
    return *place;
}

static void free_work(struct work *work)
{
    if (!work)
        return;
    free(work->stream.bytes);
    free(work->items.bytes);
    free(work);
}

static void fini(struct codec_context *context)
{
    free_work(context->decoder);
    free_work(context->encoder);
}

/* The description of a stream for libzfp. */
struct job {
    zfp_stream *zfp;
    zfp_field *field;
    bitstream *bits;
    enum codec_id id;
    uint8_t meta;
    const struct chunk_items *items;
};

static zfp_type type_of(const struct chunk_items *items)
{
    return items->size == 4 ? zfp_type_float : zfp_type_double;
}

/* 1: set the mode of a codec. */
static void set_mode(const struct job *job)
{
    unsigned ndim = job->items->block.ndim;
    unsigned precision = job->meta + 3u + 2u * ndim;

    switch (job->id) {
    case CODEC_ZFP_ACC:
        lib.zfp_stream_set_accuracy(job->zfp, pow(10, (int8_t)job->meta));
        break;
    case CODEC_ZFP_PREC:
        lib.zfp_stream_set_precision(
            job->zfp, precision < PRECISION_MAX ? precision : PRECISION_MAX);
        break;
    default:
        lib.zfp_stream_set_rate(job->zfp,
                                job->meta / 100.0 * 8 * job->items->size,
                                type_of(job->items), ndim, 0);
        break;
    }
}

/* Describe a block: the last dimension of the array is the first of libzfp. */
static zfp_field *describe(const struct chunk_items *items, void *bytes)
{
    const uint32_t *n = items->block.extents;
    zfp_type type = type_of(items);

    switch (items->block.ndim) {
    case 1:
        return lib.zfp_field_1d(bytes, type, n[0]);
    case 2:
        return lib.zfp_field_2d(bytes, type, n[1], n[0]);
    case 3:
        return lib.zfp_field_3d(bytes, type, n[2], n[1], n[0]);
    default:
        return lib.zfp_field_4d(bytes, type, n[3], n[2], n[1], n[0]);
    }
}

static void job_fini(struct job *job)
{
    if (job->bits)
        lib.stream_close(job->bits);
    if (job->field)
        lib.zfp_field_free(job->field);
    if (job->zfp)
        lib.zfp_stream_close(job->zfp);
}

/* Begin the work on a stream whose items are at `bytes`.  Returns 0, -ENOMEM or
   -ENOTSUP; the caller calls job_fini() in any case. */
static int job_init(struct job *job, const struct chunk_items *items,
                    uint8_t *bytes)
{
    if (!has_library())
        return -ENOTSUP;
    job->items = items;
    job->zfp = lib.zfp_stream_open(NULL);
    job->field = describe(items, bytes);
    if (!job->zfp || !job->field)
        return -ENOMEM;
    set_mode(job);
    return 0;
}

/* Let libzfp use `size` bytes for its stream. */
static int job_set_stream(struct job *job, uint8_t *bytes, size_t size)
{
    job->bits = lib.stream_open(bytes, size);
    if (!job->bits)
        return -ENOMEM;
    lib.zfp_stream_set_bit_stream(job->zfp, job->bits);
    lib.zfp_stream_rewind(job->zfp);
    return 0;
}

/* Reverse the bytes of each item if this machine keeps them the other way. */
static void to_host(const struct chunk_items *items, uint8_t *bytes, size_t len)
{
    if (htole16(1) == 1)
        return;
    for (size_t off = 0; off < len; off += items->size) {
        for (size_t i = 0; i < items->size / 2; i++) {
            uint8_t *a = bytes + off + i;
            uint8_t *b = bytes + off + items->size - 1 - i;
            uint8_t byte = *a;

            *a = *b;
            *b = byte;
        }
    }
}

static bool is_whole(const struct codec_stream *stream, size_t len)
{
    return chunk_items_fill(stream->items, stream->items->size, len);
}

/* 2: what a reader has to check. */
static const char *refuse(const struct codec_stream *stream)
{
    const struct chunk_items *items = stream->items;

    if (!has_library())
        return "codec zfp needs libzfp, which is missing";
    if (items->block.ndim == 0)
        return "codec zfp needs the shape of blocks, which the frame lacks";
    if (items->block.ndim > NDIM_MAX)
        return "codec zfp cannot have more than 4 dimensions";
    if (items->size != 4 && items->size != 8)
        return "codec zfp needs items of 4 or 8 bytes";
    if (!is_whole(stream, stream->dst_len))
        return "codec zfp needs blocks of another size";
    if (htole16(1) != 1 && *lib.stream_word_bits != 8)
        return "codec zfp is of another byte order here";
    return NULL;
}

/*
 * libzfp does not see the end of its input, so copy that to a buffer which ends
 * in zeros, as large as any stream of this mode and shape can be.  Blocks that
 * are thin in several dimensions would take many times their own size.
 */
static int decode_input(struct job *job, const struct codec_stream *stream,
                        struct buffer *buffer)
{
    size_t size = lib.zfp_stream_maximum_size(job->zfp, job->field);
    size_t words = (stream->src_len + WORD_LEN - 1) / WORD_LEN;
    size_t used;
    int r;

    if (size == 0 || size > INPUT_MAX + 2 * stream->dst_len)
        return -EBADMSG;
    if (size < stream->src_len)
        size = stream->src_len;
    size += 2 * WORD_LEN;
    size -= size % WORD_LEN;
    if (!reserve(buffer, size))
        return -ENOMEM;
    memcpy(buffer->bytes, stream->src, stream->src_len);
    if (buffer->used > stream->src_len)
        memset(buffer->bytes + stream->src_len, 0,
               buffer->used - stream->src_len);
    buffer->used = stream->src_len;
    r = job_set_stream(job, buffer->bytes, size);
    if (r < 0)
        return r;
    used = lib.zfp_decompress(job->zfp, job->field);
    return used == 0 || used > words * WORD_LEN ? -EBADMSG : 0;
}

/* Are the bytes of a block where libzfp can take them for numbers? */
static bool is_aligned(const void *bytes)
{
    return (uintptr_t)bytes % sizeof(double) == 0;
}

static int decode(enum codec_id id, const struct codec_stream *stream)
{
    struct job job = { .id = id, .meta = stream->meta };
    struct work *work = get_work(&stream->context->decoder);
    uint8_t *dst = stream->dst;
    int r;

    if (work && !is_aligned(dst))
        dst = reserve(&work->items, stream->dst_len);
    if (!work || !dst)
        return -ENOMEM;
    r = job_init(&job, stream->items, dst);
    if (r == 0)
        r = decode_input(&job, stream, &work->stream);
    job_fini(&job);
    to_host(stream->items, dst, stream->dst_len);
    if (r == 0 && dst != stream->dst)
        memcpy(stream->dst, dst, stream->dst_len);
    trim(&work->stream);
    trim(&work->items);
    return r;
}

/* Encode the block that the job describes.  Returns as codec.encode(). */
static ssize_t encode_block(struct job *job, const struct codec_stream *stream,
                            struct buffer *buffer)
{
    size_t size = lib.zfp_stream_maximum_size(job->zfp, job->field);
    size_t len;
    int r;

    if (!reserve(buffer, size + WORD_LEN))
        return -ENOMEM;
    r = job_set_stream(job, buffer->bytes, size);
    if (r < 0)
        return r;
    len = lib.zfp_compress(job->zfp, job->field);
    if (len == 0)
        return 0;
    memset(buffer->bytes + len, 0, WORD_LEN);
    len += (WORD_LEN - len % WORD_LEN) % WORD_LEN;
    if (len > stream->dst_len)
        return 0;
    memcpy(stream->dst, buffer->bytes, len);
    return (ssize_t)len;
}

/* A stream that is no whole block is stored as it is. */
static ssize_t encode(enum codec_id id, const struct codec_stream *stream)
{
    struct job job = { .id = id, .meta = stream->meta };
    struct work *work = get_work(&stream->context->encoder);
    uint8_t *src;
    ssize_t r;

    if (!is_whole(stream, stream->src_len))
        return 0;
    src = work ? reserve(&work->items, stream->src_len) : NULL;
    if (!src)
        return -ENOMEM;
    memcpy(src, stream->src, stream->src_len);
    to_host(stream->items, src, stream->src_len);
    r = job_init(&job, stream->items, src);
    if (r == 0)
        r = encode_block(&job, stream, &work->stream);
    job_fini(&job);
    trim(&work->stream);
    trim(&work->items);
    return r;
}

/* 4: what a writer has to refuse. */
static int check(const struct chunk_params *params)
{
    const struct chunk_items items = chunk_params_items(params);
    const struct codec_stream stream = {
        .items = &items,
        .dst_len = params->blocksize,
    };

    if (refuse(&stream))
        return -EINVAL;
    for (unsigned i = 0; i < items.block.ndim; i++)
        if (items.block.extents[i] < EXTENT_MIN)
            return -EINVAL;
    for (unsigned i = 0; i < CHUNK_NFILTERS; i++) {
        const struct filter *filter = filter_by_id(params->filters[i]);

        if (filter && !filter->keeps_items)
            return -EINVAL;
    }
    return 0;
}

/* 4: other rates are of no use, or make other writers fail. */
static int check_rate(const struct chunk_params *params)
{
    if (params->codec_meta == 0 || params->codec_meta > RATE_MAX)
        return -EINVAL;
    return check(params);
}

static int decode_acc(const struct codec_stream *stream)
{
    return decode(CODEC_ZFP_ACC, stream);
}

static ssize_t encode_acc(const struct codec_stream *stream)
{
    return encode(CODEC_ZFP_ACC, stream);
}

static int decode_prec(const struct codec_stream *stream)
{
    return decode(CODEC_ZFP_PREC, stream);
}

static ssize_t encode_prec(const struct codec_stream *stream)
{
    return encode(CODEC_ZFP_PREC, stream);
}

static int decode_rate(const struct codec_stream *stream)
{
    return decode(CODEC_ZFP_RATE, stream);
}

static ssize_t encode_rate(const struct codec_stream *stream)
{
    return encode(CODEC_ZFP_RATE, stream);
}

const struct codec codec_zfp_acc = {
    .id = CODEC_ZFP_ACC,
    .name = "zfp_acc",
    .uses_shape = true,
    .codes_items = true,
    .is_lossy = true,
    .has_meta = true,
    .meta_is_signed = true,
    .check = check,
    .refuse = refuse,
    .decode = decode_acc,
    .encode = encode_acc,
    .fini = fini,
};

const struct codec codec_zfp_prec = {
    .id = CODEC_ZFP_PREC,
    .name = "zfp_prec",
    .uses_shape = true,
    .codes_items = true,
    .is_lossy = true,
    .has_meta = true,
    .check = check,
    .refuse = refuse,
    .decode = decode_prec,
    .encode = encode_prec,
    .fini = fini,
};

const struct codec codec_zfp_rate = {
    .id = CODEC_ZFP_RATE,
    .name = "zfp_rate",
    .uses_shape = true,
    .codes_items = true,
    .is_lossy = true,
    .has_meta = true,
    .check = check_rate,
    .refuse = refuse,
    .decode = decode_rate,
    .encode = encode_rate,
    .fini = fini,
};
