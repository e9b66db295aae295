/* SPDX-License-Identifier: BSD-3-Clause */
#include "state/chunk_shape.h"

#include <errno.h>

#include "base/size.h"
#include "chunk/chunk_encode.h"
#include "chunk/chunk_typesize.h"
#include "state/file_private.h"

enum {
    LARGE_BLOCK = 256 * 1024, /* blocks of this size or more: count the memory
                                 for decoding */
    BLOCK_MIN = 4096,         /* smallest block of chunks to write */
    FRESH_BLOCKS = 1 << 20,   /* bytes, see fresh_block() */
    STORED_MIN = 8192,        /* estimate of the memory that describes a stored
                                 chunk: this many bytes, and */
    STORED_PART = 16,         /* one more for this many bytes of the chunk */
};

/*
 * The cache counts the memory that decoding a large block takes: one more
 * buffer for the filters, and one for the stored bytes, at most twice the
 * block.
 */
static size_t scratch_of(const struct frame_chunk *chunk)
{
    uint64_t stored = 2 * (uint64_t)chunk->blocksize;

    if (chunk->blocksize < LARGE_BLOCK)
        return 0;
    if (stored > chunk->cbytes)
        stored = chunk->cbytes;
    return chunk->blocksize + (size_t)stored;
}

struct cache_shape chunk_shape_to_read(const struct file *file,
                                       struct file_chunk *chunk)
{
    const struct frame_chunk *stored = chunk->stored;
    bool writable;

    if (!stored)
        return (struct cache_shape){ .nbytes = file->states.chunksize };

    writable = file->states.begun && stored->nblocks > 0 &&
               (file->states.chunksize == 0 ||
                stored->span.nbytes == file->states.chunksize);
    return (struct cache_shape){
        .nbytes = stored->span.nbytes,
        .blocksize = stored->blocksize,
        .nblocks = stored->nblocks,
        .needs_first = !writable && stored->nblocks > 1 &&
                       chunk_needs_first_block(stored->chunk),
        .writable = writable,
        .scratch = scratch_of(stored),
        .footprint = stored->footprint,
    };
}

size_t chunk_shape_encode_size(const struct chunk_params *params,
                               const struct cache_shape *shape)
{
    size_t size = (size_t)shape->nbytes + CHUNK_OVERHEAD_MAX;
    uint32_t blocksize = chunk_params_blocksize(params, shape->nbytes);

    if (params->use_dict || blocksize >= LARGE_BLOCK)
        size += chunk_encode_scratch(
            params, shape->nbytes,
            blocksize > shape->blocksize ? blocksize : shape->blocksize);
    return size;
}

/*
 * Choose the block size for caching a chunk that is not stored yet.  Single
 * pages are best because the kernel writes pages, and a page that is written
 * whole need not be filled with zeros first.  But if the buffers that pages
 * share would not hold whole blocks, the encoder would have to copy the blocks,
 * so the chunk is cached by the block then.
 */
static uint32_t fresh_block(uint32_t blocksize)
{
    return FRESH_BLOCKS % blocksize == 0 ? BLOCK_MIN : blocksize;
}

struct cache_shape chunk_shape_to_write(uint32_t nbytes,
                                        const struct chunk_params *params,
                                        struct file_chunk *chunk)
{
    struct cache_shape shape = {
        .nbytes = nbytes,
        .writable = true,
        .scratch = chunk->stored ? scratch_of(chunk->stored) : 0,
        .footprint = chunk->stored ? chunk->stored->footprint : 0,
    };

    shape.blocksize = chunk_params_blocksize(params, shape.nbytes);
    if (shape.blocksize < BLOCK_MIN)
        shape.blocksize = shape.nbytes < BLOCK_MIN ? shape.nbytes : BLOCK_MIN;
    else if (!chunk->stored)
        shape.blocksize = fresh_block(shape.blocksize);
    shape.nblocks = (uint32_t)size_pieces(shape.nbytes, shape.blocksize);
    return shape;
}

/* Least cache for chunks with these parameters, whose typesize is known.  The
   stored chunks may have another block size. */
static size_t least_for(const struct chunk_params *params, uint32_t chunksize,
                        uint32_t blocksize)
{
    struct frame_chunk stored = { .blocksize = blocksize,
                                  .cbytes = chunksize + CHUNK_OVERHEAD_MAX };
    struct file_chunk chunk = { .stored = &stored };
    struct cache_shape shape;

    if (blocksize < chunk_params_blocksize(params, chunksize))
        stored.blocksize = chunk_params_blocksize(params, chunksize);
    shape = chunk_shape_to_write(chunksize, params, &chunk);
    shape.encode = chunk_shape_encode_size(params, &shape);
    shape.footprint = STORED_MIN + chunksize / STORED_PART;
    return cache_least(&shape);
}

size_t file_least_cache(const struct chunk_params *params, uint32_t chunksize,
                        uint32_t blocksize)
{
    struct chunk_params known = *params;
    size_t most;
    size_t least;

    if (params->typesize > 0)
        return least_for(params, chunksize, blocksize);
    known.typesize = CHUNK_TYPESIZE_AUTO_MAX;
    most = least_for(&known, chunksize, blocksize);
    known.typesize = 1;
    least = least_for(&known, chunksize, blocksize);
    return most > least ? most : least;
}

int file_check_cache(const struct file_context *context,
                     const struct chunk_params *params, uint32_t chunksize,
                     uint32_t blocksize, struct fault *fault)
{
    if (file_least_cache(params, chunksize, blocksize) <= context->cache_size)
        return 0;
    return fault_set_limit(fault, "chunks are too large to be written",
                           chunksize, "a cache", context->cache_size);
}
