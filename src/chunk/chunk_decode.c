/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/size.h"
#include "chunk/chunk_format.h"
#include "chunk/chunk_private.h"

/* Larger buffers are freed after each use. */
enum {
    SCRATCH_KEEP = 8 << 20,
    INPUT_KEEP = 2 << 20,
};

/* Items that are unshuffled at a time: few, so that little memory has to be
   filled for a plane that is one repeated value. */
enum {
    PLANE_RUN = 512
};

/* Memory that is kept from block to block, which saves page faults. */
struct scratch {
    uint8_t *bytes;
    size_t size;
};

struct chunk_decoder {
    struct codec_state *codec_state;
    const struct shuffle_ops *shuffle;
    struct scratch filtered; /* a block, between filters */
    struct scratch input;    /* see chunk_decoder_input() */
};

int chunk_decoder_new(unsigned cpu, struct chunk_decoder **out)
{
    struct chunk_decoder *decoder = calloc(1, sizeof(*decoder));
    int r;

    if (!decoder)
        return -ENOMEM;
    r = codec_state_new(&decoder->codec_state);
    if (r < 0)
        goto fail;

    decoder->shuffle = shuffle_select(cpu);
    *out = decoder;
    return 0;

fail:
    chunk_decoder_free(decoder);
    return r;
}

void chunk_decoder_free(struct chunk_decoder *decoder)
{
    if (!decoder)
        return;
    codec_state_free(decoder->codec_state);
    free(decoder->filtered.bytes);
    free(decoder->input.bytes);
    free(decoder);
}

/* Free a buffer that is larger than `keep`. */
static void trim_scratch(struct scratch *scratch, size_t keep)
{
    if (scratch->size <= keep)
        return;
    free(scratch->bytes);
    *scratch = (struct scratch){ 0 };
}

static int grow_scratch(struct scratch *scratch, size_t size)
{
    if (size <= scratch->size)
        return 0;
    trim_scratch(scratch, 0);
    scratch->bytes = malloc(size);
    if (!scratch->bytes)
        return -ENOMEM;
    scratch->size = size;
    return 0;
}

uint8_t *chunk_decoder_input(struct chunk_decoder *decoder, size_t len)
{
    return grow_scratch(&decoder->input, len) < 0 ? NULL : decoder->input.bytes;
}

void chunk_decoder_input_done(struct chunk_decoder *decoder)
{
    trim_scratch(&decoder->input, INPUT_KEEP);
}

/* The stored bytes of a block, read from front to back. */
struct input {
    const uint8_t *bytes;
    uint32_t len;
    uint32_t pos;
    uint32_t off; /* position of `bytes` in the chunk */
};

/* The decoding of one block. */
struct job {
    const struct chunk *chunk;
    struct chunk_decoder *decoder;
    struct fault *fault;
    struct input in;
};

static int bad_input(const struct job *job, const char *what)
{
    return fault_set(job->fault, -EBADMSG, (uint64_t)job->in.off + job->in.pos,
                     what);
}

/* Decode the next `len` bytes with the codec. */
static int run_codec(struct job *job, uint32_t len, uint8_t *dst,
                     size_t dst_len)
{
    const struct chunk *chunk = job->chunk;
    struct input *in = &job->in;

    if (!chunk->codec)
        return fault_set_id(job->fault, (uint64_t)in->off + in->pos,
                            "chunk needs a codec that is not supported",
                            chunk->header.codec);

    const struct codec_stream stream = {
        .codec = chunk->codec,
        .context = codec_get_context(job->decoder->codec_state, chunk->codec),
        .dict = chunk->dict,
        .items = &chunk->items,
        .typesize = chunk->header.typesize,
        .meta = chunk->header.codec_meta,
        .src = in->bytes + in->pos,
        .src_len = len,
        .dst = dst,
        .dst_len = dst_len,
    };
    const char *why =
        chunk->codec->refuse ? chunk->codec->refuse(&stream) : NULL;

    if (why)
        return fault_set(job->fault, -EBADMSG, CHUNK_OFF_CODEC, why);
    int r = chunk->codec->decode(&stream);
    if (r == -EBADMSG)
        return bad_input(job, "stream is refused by its codec");
    if (r < 0)
        return fault_set(job->fault, r, in->off, "no memory for the codec");
    in->pos += len;
    return 0;
}

/* The decoded content of a stream. */
struct stream {
    const uint8_t *bytes; /* NULL if every byte is `value` */
    uint8_t value;
};

/* Read a stream that repeats one byte.  `csize` is that byte, negated. */
static int read_run(struct job *job, int32_t csize, uint8_t *value)
{
    struct input *in = &job->in;

    if (in->pos == in->len)
        return bad_input(job, "stream leaves its block");
    if ((in->bytes[in->pos] & CHUNK_RUN_TOKEN) == 0)
        return bad_input(job, "stream has a reserved token");
    if (csize < -CHUNK_RUN_VALUE_MAX)
        return bad_input(job, "stream repeats more than a byte");
    in->pos++;
    *value = (uint8_t)-csize;
    return 0;
}

/*
 * Read a stream that decodes to `len` bytes.  A compressed stream is decoded
 * into `buf`, which holds as many bytes; a raw one stays in the input.
 *
 * Format: Chunk Format, 6 "Streams".
 */
static int read_stream(struct job *job, uint8_t *buf, size_t len,
                       struct stream *out)
{
    struct input *in = &job->in;
    int32_t csize;

    if (in->len - in->pos < CHUNK_STREAM_PREFIX_LEN)
        return bad_input(job, "stream leaves its block");
    csize = (int32_t)load_le32(in->bytes + in->pos);
    in->pos += CHUNK_STREAM_PREFIX_LEN;

    *out = (struct stream){ NULL, 0 };
    if (csize < 0)
        return read_run(job, csize, &out->value);
    if ((uint32_t)csize > in->len - in->pos)
        return bad_input(job, "stream leaves its block");
    if (csize == 0)
        return 0;
    if ((uint32_t)csize != len) {
        out->bytes = buf;
        return run_codec(job, (uint32_t)csize, buf, len);
    }
    out->bytes = in->bytes + in->pos;
    in->pos += (uint32_t)csize;
    return 0;
}

static int decode_stream(struct job *job, uint8_t *dst, size_t dst_len)
{
    struct stream stream;
    int r = read_stream(job, dst, dst_len, &stream);

    if (r < 0)
        return r;
    if (!stream.bytes)
        memset(dst, stream.value, dst_len);
    else if (stream.bytes != dst)
        memcpy(dst, stream.bytes, dst_len);
    return 0;
}

/*
 * Find the buffer that the codec must fill with a block of `len` bytes, so that
 * the last filter to be undone writes to `dst`.
 */
static int coded_place(const struct job *job, size_t len, uint8_t *dst,
                       uint8_t **out)
{
    const struct filter_pipeline *pipeline = &job->chunk->pipeline;

    if (filter_pipeline_nmoves(pipeline) > 0) {
        if (len > CHUNK_BLOCK_MAX)
            return fault_set(job->fault, -ENOTSUP, job->in.off,
                             "block is larger than 128 MiB");
        if (grow_scratch(&job->decoder->filtered, len) < 0)
            return fault_set(job->fault, -ENOMEM, job->in.off,
                             "no memory for a block");
    }
    *out =
        filter_pipeline_undo_src(pipeline, dst, job->decoder->filtered.bytes);
    return 0;
}

static int undo_filters(const struct job *job, size_t len, const uint8_t *first,
                        uint8_t *dst)
{
    const struct chunk *chunk = job->chunk;
    const struct filter_block block = {
        .len = len,
        .typesize = chunk->header.typesize,
        .items = &chunk->items,
        .chunk_version = chunk->header.version,
        .first = first,
        .shuffle = job->decoder->shuffle,
    };

    unsigned slot;
    const char *why = filter_pipeline_refuse(&chunk->pipeline, &block, &slot);

    if (why)
        return fault_set(job->fault, -EBADMSG, CHUNK_OFF_FILTERS + slot, why);
    filter_pipeline_undo(&chunk->pipeline, &block, dst,
                         job->decoder->filtered.bytes);
    return 0;
}

/*
 * Are the streams of a full block the planes of a shuffle, which the kernel can
 * undo without joining them first?
 */
static bool streams_are_planes(const struct job *job)
{
    const struct chunk *chunk = job->chunk;
    uint8_t typesize = chunk->header.typesize;

    return chunk->nstreams > 1 && chunk->nstreams == typesize &&
           typesize <= SHUFFLE_PLANES_MAX &&
           chunk->header.blocksize % typesize == 0 &&
           job->decoder->shuffle->unshuffle_planes &&
           filter_pipeline_is_shuffle(&chunk->pipeline, typesize);
}

/*
 * Undo the shuffle of `nitems` items.  `buf` has `nitems` bytes per plane, one
 * plane after the other.  The plane of a stream that is one repeated value is
 * filled for a single run, and each run uses it again.
 */
static void undo_shuffle(const struct job *job, const struct stream streams[],
                         size_t nitems, uint8_t *buf, uint8_t *dst)
{
    const uint8_t *planes[SHUFFLE_PLANES_MAX];
    size_t typesize = job->chunk->nstreams;
    size_t run = nitems < PLANE_RUN ? nitems : PLANE_RUN;

    for (size_t j = 0; j < typesize; j++) {
        if (!streams[j].bytes)
            memset(buf + j * nitems, streams[j].value, run);
    }
    for (size_t i = 0; i < nitems; i += run) {
        for (size_t j = 0; j < typesize; j++)
            planes[j] =
                streams[j].bytes ? streams[j].bytes + i : buf + j * nitems;
        run = nitems - i < run ? nitems - i : run;
        job->decoder->shuffle->unshuffle_planes(typesize, run, planes,
                                                dst + i * typesize);
    }
}

static int decode_planes(struct job *job, uint32_t len, uint8_t *dst)
{
    struct stream streams[SHUFFLE_PLANES_MAX];
    uint32_t typesize = job->chunk->nstreams;
    uint32_t nitems = len / typesize;
    uint8_t *buf;
    int r;

    r = coded_place(job, len, dst, &buf);
    for (uint32_t j = 0; r == 0 && j < typesize; j++)
        r = read_stream(job, buf + (size_t)j * nitems, nitems, &streams[j]);
    if (r < 0)
        return r;
    undo_shuffle(job, streams, nitems, buf, dst);
    return 0;
}

/* Decode a block of a CHUNK_BLOCKS.  Format: Chunk Format, 5 and 6. */
static int decode_streams(struct job *job, uint32_t len, const uint8_t *first,
                          uint8_t *dst)
{
    const struct chunk *chunk = job->chunk;
    bool is_full = len == chunk->header.blocksize;
    uint32_t nstreams = is_full ? chunk->nstreams : 1;
    uint32_t stream_len = len / nstreams;
    uint8_t *coded;
    int r;

    if (is_full && streams_are_planes(job))
        return decode_planes(job, len, dst);

    r = coded_place(job, len, dst, &coded);
    for (uint32_t i = 0; r == 0 && i < nstreams; i++)
        r = decode_stream(job, coded + (size_t)i * stream_len, stream_len);
    if (r < 0)
        return r;
    return undo_filters(job, len, first, dst);
}

/*
 * Decode the VL-block that fills the rest of the input, to at most `capacity`
 * bytes.  Returns their number.  Format: Chunk Format, 9.
 */
static ssize_t decode_vlblock(struct job *job, uint8_t *dst, uint32_t capacity)
{
    struct input *in = &job->in;
    uint8_t *coded;
    uint32_t len;
    int r;

    if (in->len - in->pos <= CHUNK_STREAM_PREFIX_LEN)
        return bad_input(job, "VL-block is too short");
    len = load_le32(in->bytes + in->pos);
    if (len == 0 || len > capacity)
        return bad_input(job, "VL-blocks do not add up to the chunk");
    in->pos += CHUNK_STREAM_PREFIX_LEN;

    r = coded_place(job, len, dst, &coded);
    if (r < 0)
        return r;
    if (in->len - in->pos == len)
        memcpy(coded, in->bytes + in->pos, len);
    else
        r = run_codec(job, in->len - in->pos, coded, len);
    if (r < 0)
        return r;
    r = undo_filters(job, len, NULL, dst);
    return r < 0 ? r : (ssize_t)len;
}

static int decode_vlblocks(struct job *job, uint32_t extent, uint8_t *dst)
{
    const struct chunk_header *header = &job->chunk->header;
    const uint32_t *starts = job->chunk->starts;
    uint32_t done = 0;

    for (uint32_t i = 0; i < header->nvlblocks; i++) {
        bool is_last = i + 1 == header->nvlblocks;
        uint32_t end = is_last ? header->cbytes : starts[i + 1];

        job->in.pos = starts[i] - starts[0];
        job->in.len = end - starts[0];
        if (job->in.len > extent)
            return bad_input(job, "VL-blocks are too long");
        ssize_t len = decode_vlblock(job, dst + done, header->nbytes - done);
        if (len < 0)
            return (int)len;
        done += (uint32_t)len;
    }
    if (done != header->nbytes)
        return fault_set(job->fault, -EBADMSG, CHUNK_OFF_NBYTES,
                         "VL-blocks do not add up to the chunk");
    return 0;
}

ssize_t chunk_decode_block(const struct chunk *chunk,
                           const struct chunk_block *block, uint8_t *dst,
                           struct chunk_decoder *decoder, struct fault *fault)
{
    const struct chunk_header *header = &chunk->header;
    uint32_t len = chunk_block_size(chunk, block->no);
    struct job job = { chunk, decoder, fault, { .bytes = block->src } };
    struct input *in = &job.in;
    int r;

    switch (header->kind) {
    case CHUNK_BLOCKS:
        chunk_block_extent(chunk, block->no, &in->off, &in->len);
        r = decode_streams(&job, len, block->no > 0 ? block->first : NULL, dst);
        break;
    case CHUNK_VLBLOCKS:
        chunk_block_extent(chunk, block->no, &in->off, &in->len);
        r = decode_vlblocks(&job, in->len, dst);
        break;
    case CHUNK_COPY:
        memcpy(dst, block->src, len);
        return len;
    default:
        chunk_fill(chunk, block->no * header->blocksize, dst, len);
        return len;
    }
    trim_scratch(&decoder->filtered, SCRATCH_KEEP);
    return r < 0 ? r : (ssize_t)len;
}

static ssize_t decode_all(const struct chunk *chunk, const uint8_t *data,
                          uint8_t *dst, struct chunk_decoder *decoder,
                          struct fault *fault)
{
    const struct chunk_header *header = &chunk->header;
    uint8_t *out = dst;

    for (uint32_t i = 0; i < header->nblocks; i++) {
        struct chunk_block block = { .no = i, .first = dst };
        uint32_t off = 0;
        uint32_t len;

        if (chunk_kind_has_blocks(header->kind))
            chunk_block_extent(chunk, i, &off, &len);
        block.src = data + off;
        ssize_t n = chunk_decode_block(chunk, &block, out, decoder, fault);
        if (n < 0)
            return n;
        out += n;
    }
    return header->nbytes;
}

ssize_t chunk_decode(const struct stored_chunk *stored, uint8_t *dst,
                     size_t cap, struct chunk_decoder *decoder,
                     struct fault *fault)
{
    struct chunk_header header;
    struct chunk *chunk;
    ssize_t n;

    n = chunk_header_parse(stored->bytes, stored->len, &header, fault);
    if (n < 0)
        return n;
    if (header.cbytes > stored->len)
        return fault_set(fault, -EBADMSG, stored->len, "chunk is cut short");
    if (header.nbytes > cap)
        return fault_set(fault, -ERANGE, CHUNK_OFF_NBYTES,
                         "chunk is larger than the room for it");

    n = chunk_open(&header, stored->bytes, stored->items, &chunk, fault);
    if (n < 0)
        return n;
    n = decode_all(chunk, stored->bytes, dst, decoder, fault);
    chunk_close(chunk);
    return n;
}
