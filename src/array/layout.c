/* SPDX-License-Identifier: BSD-3-Clause */
#include "array/layout.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/size.h"

static int refuse(struct fault *fault, const char *what)
{
    return fault_set(fault, -EBADMSG, 0, what);
}

/* Check the extents.  That of a chunk may be 0 only if that of the array is,
   and that of a block only if that of the chunk is. */
static int check_extents(const struct layout_shape *shape, bool *empty,
                         struct fault *fault)
{
    *empty = false;
    for (unsigned i = 0; i < shape->ndim; i++) {
        *empty |= shape->items[i] == 0;
        if (shape->chunk[i] > INT32_MAX)
            return refuse(fault, "an extent of an array's chunks is negative");
        if (shape->chunk[i] == 0 && shape->items[i] > 0)
            return refuse(fault, "chunks of an array have no items");
        if (shape->block[i] == 0 && shape->chunk[i] > 0)
            return refuse(fault, "blocks of an array have no items");
        if (shape->block[i] > shape->chunk[i])
            return refuse(fault, "blocks of an array are larger than chunks");
    }
    return 0;
}

/* Multiply a number of items.  Returns false if their size passes a limit. */
static bool multiply(uint64_t *nitems, uint64_t by, uint32_t itemsize,
                     uint64_t nbytes_max)
{
    uint64_t nbytes;

    return size_mul(*nitems, by, nitems) &&
           size_mul(*nitems, itemsize, &nbytes) && nbytes <= nbytes_max;
}

static struct layout_dim dim_of(uint64_t nitems, uint32_t chunk, uint32_t block)
{
    return (struct layout_dim){
        .nitems = nitems,
        .chunk = chunk,
        .block = block,
        .nchunks = chunk > 0 ? size_pieces(nitems, chunk) : 0,
        .nblocks = block > 0 ? (uint32_t)size_pieces(chunk, block) : 0,
    };
}

/*
 * Count the items and chunks of the array, and the items in a chunk and a
 * block.  An empty array has no items and no chunks, whatever its other extents
 * are.
 */
static int count(struct layout *layout, const struct layout_shape *shape,
                 bool empty, struct fault *fault)
{
    uint64_t nitems = empty ? 0 : 1;
    uint64_t nchunks = nitems;
    uint64_t chunk = 1;
    uint64_t block = 1;

    for (unsigned i = 0; i < shape->ndim; i++) {
        struct layout_dim dim =
            dim_of(shape->items[i], shape->chunk[i], shape->block[i]);

        if (!multiply(&nitems, dim.nitems, layout->itemsize, INT64_MAX))
            return refuse(fault, "an array has more than 2^63 bytes");
        if (!multiply(&chunk, (uint64_t)dim.nblocks * dim.block,
                      layout->itemsize, INT32_MAX))
            return refuse(fault,
                          "chunks of an array have more than 2^31 bytes");
        block *= dim.block;     /* at most the items in a chunk */
        nchunks *= dim.nchunks; /* at most the items in the array */
    }
    layout->nitems = nitems;
    layout->nbytes = nitems * layout->itemsize;
    layout->nchunks = nchunks;
    layout->chunk_nitems = (uint32_t)chunk;
    layout->block_nitems = (uint32_t)block;
    return 0;
}

/* Do one chunk and one block cover the array along a dimension? */
static bool is_whole(const struct layout_dim *dim)
{
    return dim->nitems == dim->chunk && dim->chunk == dim->block;
}

/* Add a dimension, or merge it into the previous one. */
static void add_dim(struct layout *layout, const struct layout_dim *dim)
{
    struct layout_dim *last =
        layout->ndim > 0 ? &layout->dims[layout->ndim - 1] : NULL;

    if (last && (is_whole(dim) || (is_whole(last) && last->nitems == 1)))
        *last = dim_of(last->nitems * dim->nitems, last->chunk * dim->chunk,
                       last->block * dim->block);
    else
        layout->dims[layout->ndim++] = *dim;
}

struct block_shape layout_block_shape(const struct layout_shape *shape)
{
    struct block_shape block = { .ndim = shape->ndim };

    memcpy(block.extents, shape->block, shape->ndim * sizeof(shape->block[0]));
    return block;
}

int layout_init(struct layout *layout, const struct layout_shape *shape,
                uint32_t itemsize, struct fault *fault)
{
    struct layout_dim one = dim_of(1, 1, 1);
    bool empty;
    int r;

    assert(itemsize > 0 && shape->ndim <= ARRAY_NDIM_MAX);
    *layout = (struct layout){ .itemsize = itemsize };
    r = check_extents(shape, &empty, fault);
    if (r == 0)
        r = count(layout, shape, empty, fault);
    if (r < 0 || empty)
        return r;

    for (unsigned i = 0; i < shape->ndim; i++) {
        struct layout_dim dim =
            dim_of(shape->items[i], shape->chunk[i], shape->block[i]);

        add_dim(layout, &dim);
    }
    if (shape->ndim == 0)
        add_dim(layout, &one);
    return 0;
}

static uint32_t least(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t min = a < b ? a : b;

    return (uint32_t)(min < c ? min : c);
}

/* The first dimension along which a chunk holds several rows. */
static unsigned row_dim(const struct layout *layout)
{
    unsigned first = 0;

    while (first < layout->ndim - 1 && layout->dims[first].chunk == 1)
        first++;
    return first;
}

uint64_t layout_row_nbytes(const struct layout *layout)
{
    uint64_t nbytes = (uint64_t)layout->chunk_nitems * layout->itemsize;

    if (layout->ndim == 0)
        return 0;
    for (unsigned i = row_dim(layout) + 1; i < layout->ndim; i++) {
        if (!size_mul(nbytes, layout->dims[i].nchunks, &nbytes))
            return UINT64_MAX;
    }
    return nbytes;
}

uint64_t layout_passed(const struct layout *layout, uint64_t item_no)
{
    uint64_t nitems = 1;  /* in one step along `first` */
    uint64_t nchunks = 1; /* in one row of the grid */
    unsigned first;

    if (layout->ndim == 0)
        return 0;
    first = row_dim(layout);
    for (unsigned i = first + 1; i < layout->ndim; i++) {
        nitems *= layout->dims[i].nitems;
        nchunks *= layout->dims[i].nchunks;
    }

    const struct layout_dim *dim = &layout->dims[first];
    uint64_t nlines = item_no / nitems; /* steps of one item along `first` */

    return (nlines / dim->nitems * dim->nchunks +
            nlines % dim->nitems / dim->chunk) *
           nchunks;
}

void layout_locate(const struct layout *layout, uint64_t item_no, uint64_t max,
                   struct layout_place *out)
{
    const struct layout_dim *last = &layout->dims[layout->ndim - 1];
    uint64_t index = item_no % last->nitems; /* along the last dimension */
    uint32_t in_chunk = (uint32_t)(index % last->chunk);
    uint32_t in_block = in_chunk % last->block;
    uint64_t chunk_no = index / last->chunk;
    uint32_t block = in_chunk / last->block;
    uint32_t item = in_block;
    uint64_t chunks = last->nchunks; /* in one step along the next dimension */
    uint32_t blocks = last->nblocks;
    uint32_t items = last->block;
    uint64_t rest = item_no / last->nitems;

    for (unsigned i = layout->ndim - 1; i-- > 0;) {
        const struct layout_dim *dim = &layout->dims[i];
        uint64_t x = rest % dim->nitems;
        uint32_t r = (uint32_t)(x % dim->chunk);

        rest /= dim->nitems;
        chunk_no += x / dim->chunk * chunks;
        block += r / dim->block * blocks;
        item += r % dim->block * items;
        chunks *= dim->nchunks;
        blocks *= dim->nblocks;
        items *= dim->block;
    }

    out->chunk_no = chunk_no;
    out->item = block * layout->block_nitems + item;
    out->row = least(last->nitems - index, last->chunk - in_chunk, max);
    out->run = least(out->row, last->block - in_block, max);
    out->span =
        ((in_block + out->row - 1) / last->block + 1) * layout->block_nitems -
        item;
}
