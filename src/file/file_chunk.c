/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/file_chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "frame/frame_pattern.h"
#include "state/chunk_shape.h"
#include "state/file_private.h"

/* Take a reference to the newest state.  Sets `*zeros` if the chunk is zeros
   that this state does not have, and `*lost` if it may have had bytes that no
   state has. */
static struct file_state *find_source(struct file *file, uint64_t chunk_no,
                                      bool *zeros, bool *lost)
{
    struct file_state *state;

    pthread_mutex_lock(&file->gate.lock);
    state = file->states.newest;
    state->nrefs++;
    *zeros = ranges_have(&file->states.zeros, chunk_no) ||
             ranges_have(&file->states.applied, chunk_no) ||
             (file->states.chunksize > 0 &&
              chunk_no >= frame_get_info(state->frame)->nchunks);
    *lost =
        chunk_no >= file->states.lost_first && chunk_no < file->states.lost_end;
    pthread_mutex_unlock(&file->gate.lock);
    return state;
}

/* Look up how a chunk is stored. */
static int open_chunk(struct file *file, uint64_t chunk_no,
                      struct file_chunk *chunk, struct fault *fault)
{
    bool zeros;
    bool lost;
    struct file_state *state = find_source(file, chunk_no, &zeros, &lost);
    int r = 0;

    chunk->chunk_no = chunk_no;
    chunk->epoch = state->epoch;
    if (lost) {
        r = fault_set(fault, -EIO, 0,
                      "written bytes that conflict with those "
                      "of another program are lost");
    } else if (zeros) {
        chunk->off = chunk_no * file->states.chunksize;
        chunk->pattern = frame_pattern_zeros;
        chunk->pattern_len = FRAME_PATTERN_LEN;
    } else {
        r = frame_chunk_open_unchecked(state->frame, chunk_no, &chunk->stored,
                                       fault);
        if (r == 0) {
            chunk->unchecked = chunk->stored->unchecked;
            chunk->off = chunk->stored->span.off;
            chunk->pattern = chunk->stored->pattern;
            chunk->pattern_len = chunk->stored->pattern_len;
        }
    }
    file_state_put(file, state);
    return r;
}

/* Return the parameters for encoding chunks, as far as they are known. */
static struct chunk_params get_params(struct file *file)
{
    struct chunk_params params;

    pthread_mutex_lock(&file->gate.lock);
    params = file->states.params;
    pthread_mutex_unlock(&file->gate.lock);
    if (params.typesize == 0)
        params.typesize = 1;
    return params;
}

static uint32_t size_to_write(const struct file *file,
                              const struct file_chunk *chunk)
{
    return file->states.chunksize > 0 ? file->states.chunksize
                                      : chunk->stored->span.nbytes;
}

static void forget(void *arg)
{
    struct file_chunk *chunk = arg;

    frame_chunk_close(chunk->stored);
    free(chunk);
}

static void count_mismatch(const struct file_fill *fill)
{
    if (fill->fault->mismatch)
        counter_add(&fill->file->constant.context->counters.mismatches, 1);
}

static int describe(void *context, uint64_t chunk_no, bool writing,
                    struct cache_shape *shape)
{
    const struct file_fill *fill = context;
    struct file_chunk *chunk = calloc(1, sizeof(*chunk));
    int r;

    if (!chunk)
        return fault_set(fill->fault, -ENOMEM, 0, NULL);
    list_init(&chunk->encoded.node);
    r = open_chunk(fill->file, chunk_no, chunk, fill->fault);
    if (r < 0) {
        count_mismatch(fill);
        forget(chunk);
        return r;
    }
    *shape = chunk_shape_to_read(fill->file, chunk);
    if (fill->file->states.begun) {
        struct chunk_params params = get_params(fill->file);

        if (writing && !shape->writable)
            *shape = chunk_shape_to_write(size_to_write(fill->file, chunk),
                                          &params, chunk);
        if (shape->writable)
            shape->encode = chunk_shape_encode_size(&params, shape);
    }
    shape->chunk = chunk;
    shape->footprint += sizeof(*chunk);
    return 0;
}

/* A chunk from which bytes are decoded, and the means to do so. */
struct part {
    struct frame *frame;
    const struct frame_chunk *chunk;
    struct chunk_decoder *decoder;
    struct fault *fault;
};

static int decode_blocks(const struct part *part, uint32_t first, uint32_t n,
                         uint8_t *dst)
{
    const struct blocks_run run = { .first = first, .n = n, .dst = dst };

    return frame_chunk_decode(part->frame, part->chunk, &run, part->decoder,
                              part->fault);
}

/* Decode a range of bytes that may start and end inside blocks. */
static int decode_bytes(const struct part *part, uint32_t off, uint32_t len,
                        uint8_t *dst)
{
    uint32_t blocksize = part->chunk->blocksize;
    uint32_t first = off / blocksize;
    uint32_t end = (uint32_t)size_pieces((uint64_t)off + len, blocksize);
    uint8_t *blocks = malloc((size_t)(end - first) * blocksize);
    int r;

    if (!blocks)
        return fault_set(part->fault, -ENOMEM, 0, NULL);
    r = decode_blocks(part, first, end - first, blocks);
    if (r == 0)
        memcpy(dst, blocks + (off - (size_t)first * blocksize), len);
    free(blocks);
    return r;
}

static void copy_pattern(const struct frame_chunk *chunk, uint32_t off,
                         uint8_t *dst, size_t len)
{
    while (len > 0) {
        size_t start = off % chunk->pattern_len;
        size_t n = chunk->pattern_len - start;

        if (n > len)
            n = len;
        memcpy(dst, chunk->pattern + start, n);
        dst += n;
        off += (uint32_t)n;
        len -= n;
    }
}

/* Decode the part of a range that the stored chunk has.  The bytes behind it
   are zeros. */
static int decode_range(const struct part *part, uint32_t off, uint32_t len,
                        uint32_t blocksize, uint8_t *dst)
{
    const struct frame_chunk *chunk = part->chunk;
    uint32_t nbytes = chunk ? chunk->span.nbytes : 0;
    uint32_t have = off >= nbytes ? 0 : nbytes - off;

    if (have > len)
        have = len;
    memset(dst + have, 0, len - have);
    if (have == 0)
        return 0;
    if (chunk->nblocks == 0) {
        copy_pattern(chunk, off, dst, have);
        return 0;
    }
    if (chunk->blocksize == blocksize)
        return decode_blocks(part, off / blocksize,
                             (uint32_t)size_pieces(have, blocksize), dst);
    return decode_bytes(part, off, have, dst);
}

/* Open the chunk as it is stored now, which the caller closes; or return NULL
   if the cache's description of it is still right. */
static int open_newest(const struct file_state *state,
                       const struct file_chunk *chunk, struct frame_chunk **out,
                       struct fault *fault)
{
    *out = NULL;
    if (!chunk->stale && chunk->epoch == state->epoch)
        return 0;
    if (chunk->chunk_no >= frame_get_info(state->frame)->nchunks)
        return 0;
    return frame_chunk_open(state->frame, chunk->chunk_no, out, fault);
}

static int decode_newest(const struct file_fill *fill,
                         const struct cache_shape *shape,
                         const struct cache_run *run,
                         struct chunk_decoder *decoder)
{
    const struct file_chunk *chunk = shape->chunk;
    struct file *file = fill->file;
    struct file_state *state = file_state_get(file);
    struct part part = { state->frame, chunk->stored, decoder, fill->fault };
    uint64_t off = (uint64_t)run->first * shape->blocksize;
    uint64_t end = off + (uint64_t)run->n * shape->blocksize;
    struct frame_chunk *newest;
    int r;

    if (end > shape->nbytes)
        end = shape->nbytes;
    r = open_newest(state, chunk, &newest, fill->fault);
    if (r == 0) {
        if (newest)
            part.chunk = newest;
        r = decode_range(&part, (uint32_t)off, (uint32_t)(end - off),
                         shape->blocksize, run->dst);
        frame_chunk_close(newest);
    }
    file_state_put(file, state);
    return r;
}

static void count_decoded(struct counters *counters,
                          const struct cache_shape *shape,
                          const struct cache_run *run)
{
    const struct file_chunk *chunk = shape->chunk;
    uint64_t rest = shape->nbytes - (uint64_t)run->first * shape->blocksize;
    uint64_t nbytes = (uint64_t)run->n * shape->blocksize;

    if (!chunk->stored)
        return;
    if (nbytes > rest)
        nbytes = rest;
    counter_add(&counters->decoded, nbytes);
    counter_add(&counters->decoded_from,
                nbytes * chunk->stored->cbytes / shape->nbytes);
}

static int decode_stored(const struct file_fill *fill,
                         const struct cache_shape *shape,
                         const struct cache_run *run,
                         struct chunk_decoder *decoder)
{
    const struct file_chunk *chunk = shape->chunk;
    const struct blocks_run blocks = {
        .first = run->first,
        .n = run->n,
        .dst = run->dst,
        .first_block = run->first_block,
    };

    return frame_chunk_decode(fill->file->states.newest->frame, chunk->stored,
                              &blocks, decoder, fill->fault);
}

static int decode(void *context, const struct cache_shape *shape,
                  const struct cache_run *run)
{
    const struct file_fill *fill = context;
    struct codec_pool *codec_pool = &fill->file->constant.context->codec_pool;
    struct chunk_decoder *decoder;
    int r;

    r = codec_pool_get_decoder(codec_pool, &decoder);
    if (r < 0)
        return r;
    r = fill->file->constant.writable
            ? decode_newest(fill, shape, run, decoder)
            : decode_stored(fill, shape, run, decoder);
    codec_pool_put_decoder(codec_pool, decoder);
    if (r == 0)
        count_decoded(&fill->file->constant.context->counters, shape, run);
    else
        count_mismatch(fill);
    return r;
}

static void mark_stale(void *arg)
{
    struct file_chunk *chunk = arg;

    chunk->stale = true;
}

const struct cache_ops file_chunk_ops = {
    .describe = describe,
    .decode = decode,
    .mark_stale = mark_stale,
    .forget = forget,
};

/* Report the size of a block that the cache cannot hold. */
static int refuse_block(struct file *file, uint64_t chunk_no,
                        struct fault *fault)
{
    struct file_state *state = file_state_get(file);
    struct frame_chunk *chunk;
    int r = frame_chunk_open(state->frame, chunk_no, &chunk, fault);

    if (r == 0) {
        r = fault_set_limit(fault, "block is too large to be read",
                            chunk->blocksize, "a cache",
                            file->constant.context->cache_size);
        frame_chunk_close(chunk);
    }
    file_state_put(file, state);
    return r;
}

static int pin(struct file *file, const struct view_piece *piece,
               enum cache_wait wait, struct cache_pin *out, struct fault *fault)
{
    struct file_fill fill = { .file = file, .fault = fault };
    struct cache_range range = { .file = &file->chunks,
                                 .chunk_no = piece->chunk_no,
                                 .off = piece->off,
                                 .len = piece->span,
                                 .once = piece->once };
    int r;

    *fault = FAULT_NONE;
    r = cache_pin(file->constant.context->cache, &range, wait, &fill, out);
    if (r == -ENOTSUP && !fault->what)
        r = refuse_block(file, piece->chunk_no, fault);
    if (r == -ERANGE)
        r = fault_set(fault, -EBADMSG, 0, "the frame was changed meanwhile");
    if (r < 0 && fault->chunk_no < 0)
        fault->chunk_no = (int64_t)piece->chunk_no;
    return r;
}

int file_check_chunk(struct file *file, struct file_chunk *chunk,
                     struct fault *fault)
{
    struct file_state *state;
    int r;

    if (!chunk->unchecked)
        return 0;
    state = file_state_get(file);
    r = frame_check_read(state->frame, fault);
    file_state_put(file, state);
    if (r == 0)
        chunk->unchecked = false;
    return r;
}

/* Pin, and try once more after -ESTALE: a state from which the chunk was looked
   up may be lost when the file is emptied, but a lookup after that uses the new
   state. */
int file_pin_unchecked(struct file *file, const struct view_piece *piece,
                       enum cache_wait wait, struct cache_pin *out,
                       struct fault *fault)
{
    int r = pin(file, piece, wait, out, fault);

    return r == -ESTALE ? pin(file, piece, wait, out, fault) : r;
}

int file_pin(struct file *file, const struct view_piece *piece,
             enum cache_wait wait, struct cache_pin *out, struct fault *fault)
{
    int r = file_pin_unchecked(file, piece, wait, out, fault);

    if (r < 0)
        return r;
    r = file_check_chunk(file, out->chunk, fault);
    if (r < 0)
        cache_unpin(file->constant.context->cache, out, 1);
    return r;
}
