/* SPDX-License-Identifier: BSD-3-Clause */
#include "array/array_extent.h"

#include "base/size.h"

/* Item counts, padding included, and chunks, by the sizes in the frame's
   header. */
struct counts {
    uint32_t typesize;
    uint64_t block; /* in a block */
    uint64_t chunk; /* in a chunk */
    uint64_t nchunks;
};

static uint64_t grid_of(const struct layout_shape *shape, unsigned i)
{
    return shape->chunk[i] > 0 ? size_pieces(shape->items[i], shape->chunk[i])
                               : 0;
}

/* Extent of a chunk along a dimension, padded to whole blocks. */
static uint64_t padded_of(const struct layout_shape *shape, unsigned i)
{
    uint64_t block = shape->block[i];

    return block > 0 ? size_pieces(shape->chunk[i], block) * block : 0;
}

static uint64_t block_of(const struct layout_shape *shape, unsigned i)
{
    return shape->block[i];
}

/*
 * Find the factor for dimension `dim` with which the product of `term` over all
 * dimensions is `total`; 0 if there is none.
 */
static uint64_t factor_of(const struct layout_shape *shape, unsigned dim,
                          uint64_t (*term)(const struct layout_shape *shape,
                                           unsigned i),
                          uint64_t total)
{
    uint64_t others = 1;

    for (unsigned i = 0; i < shape->ndim; i++)
        if (i != dim && !size_mul(others, term(shape, i), &others))
            return 0;
    return others > 0 && total % others == 0 ? total / others : 0;
}

/* Find the extent of blocks along a dimension from the extents along the
   others. */
static bool find_block(struct layout_shape *shape, unsigned dim,
                       const struct counts *counts)
{
    uint64_t block = factor_of(shape, dim, block_of, counts->block);

    if (block == 0 || block > INT32_MAX || block == shape->block[dim])
        return false;
    shape->block[dim] = (uint32_t)block;
    return true;
}

/*
 * Find the extent of chunks along a dimension.  This works only if exactly one
 * extent gives the known number of blocks in a chunk and of chunks in the
 * array.
 */
static bool find_chunk(struct layout_shape *shape, unsigned dim,
                       const struct counts *counts)
{
    uint64_t padded = factor_of(shape, dim, padded_of, counts->chunk);
    uint64_t grid = factor_of(shape, dim, grid_of, counts->nchunks);
    uint64_t block = shape->block[dim];
    uint64_t items = shape->items[dim];
    uint64_t least;
    uint64_t most = padded;

    if (padded == 0 || padded > INT32_MAX || grid == 0 || block == 0 ||
        padded % block != 0 || items == 0)
        return false;
    least = padded - block + 1;
    if (least < size_pieces(items, grid))
        least = size_pieces(items, grid);
    if (grid > 1 && most > (items - 1) / (grid - 1))
        most = (items - 1) / (grid - 1);
    if (least != most || least == shape->chunk[dim])
        return false;
    shape->chunk[dim] = (uint32_t)least;
    return true;
}

static bool fits(const struct layout_shape *shape, const struct counts *counts)
{
    struct layout layout;
    struct fault ignored;

    return layout_init(&layout, shape, counts->typesize, &ignored) == 0 &&
           layout.block_nitems == counts->block &&
           layout.chunk_nitems == counts->chunk &&
           layout.nchunks == counts->nchunks;
}

bool array_find_extent(struct layout_shape *shape,
                       const struct frame_info *info)
{
    uint64_t chunksize = info->chunksize > 0 ? info->chunksize : 1;
    const struct counts counts = {
        .typesize = info->typesize,
        .block = info->blocksize / info->typesize,
        .chunk = info->chunksize / info->typesize,
        .nchunks = info->nbytes / chunksize,
    };
    struct layout_shape found = { 0 };
    unsigned nfound = 0;

    for (unsigned i = 0; i < 2 * shape->ndim; i++) {
        struct layout_shape other = *shape;
        bool is = i % 2 == 0 ? find_block(&other, i / 2, &counts)
                             : find_chunk(&other, i / 2, &counts);

        if (!is || !fits(&other, &counts))
            continue;
        found = other;
        nfound++;
    }
    if (nfound == 1)
        *shape = found;
    return nfound == 1;
}
