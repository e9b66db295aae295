/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "chunk/filters.h"

/*
 * Both filters cut the block of an array into cells, and store one cell after
 * the other, so that items lie together that are close in all dimensions.
 *
 * Format: The filters NDCELL and NDMEAN.  The numbers below are its sections.
 */
enum {
    NDIM_MAX = 8 /* 1 */
};

/* A walk through the rows of all cells, in stored order.  Counts are items. */
struct walk {
    unsigned ndim;
    uint32_t side; /* of a cell; those at the end of a dimension are shorter */
    uint32_t extents[NDIM_MAX];
    size_t strides[NDIM_MAX];
    uint32_t start[NDIM_MAX]; /* of the cell */
    uint32_t at[NDIM_MAX];    /* of the row in the cell */
    size_t off;               /* of the row in the block */
};

static struct walk walk_begin(const struct block_shape *shape, uint32_t side)
{
    struct walk walk = { .ndim = shape->ndim, .side = side };
    size_t stride = 1;

    for (unsigned i = shape->ndim; i-- > 0;) {
        walk.extents[i] = shape->extents[i];
        walk.strides[i] = stride;
        stride *= shape->extents[i];
    }
    return walk;
}

/* Return the extent of the cell in one dimension. */
static uint32_t cell_extent(const struct walk *walk, unsigned dim)
{
    uint32_t rest = walk->extents[dim] - walk->start[dim];

    return rest < walk->side ? rest : walk->side;
}

static size_t row_nitems(const struct walk *walk)
{
    return cell_extent(walk, walk->ndim - 1);
}

static size_t cell_nitems(const struct walk *walk)
{
    size_t n = 1;

    for (unsigned i = 0; i < walk->ndim; i++)
        n *= cell_extent(walk, i);
    return n;
}

/* Go to the next row of the cell.  Returns false, and goes back to the first
   one, if there is none. */
static bool next_row(struct walk *walk)
{
    for (unsigned i = walk->ndim - 1; i-- > 0;) {
        walk->off += walk->strides[i];
        if (++walk->at[i] < cell_extent(walk, i))
            return true;
        walk->off -= walk->at[i] * walk->strides[i];
        walk->at[i] = 0;
    }
    return false;
}

/* Go from the first row of a cell to that of the next one. */
static bool next_cell(struct walk *walk)
{
    for (unsigned i = walk->ndim; i-- > 0;) {
        uint32_t extent = cell_extent(walk, i);

        walk->start[i] += extent;
        walk->off += extent * walk->strides[i];
        if (walk->start[i] < walk->extents[i])
            return true;
        walk->off -= walk->extents[i] * walk->strides[i];
        walk->start[i] = 0;
    }
    return false;
}

static void cells_apply(const struct filter *self __attribute__((unused)),
                        const struct filter_block *block, uint8_t meta,
                        const uint8_t *src, uint8_t *dst)
{
    size_t size = block->items->size;
    struct walk walk = walk_begin(&block->items->block, meta);

    do {
        do {
            size_t len = row_nitems(&walk) * size;

            memcpy(dst, src + walk.off * size, len);
            dst += len;
        } while (next_row(&walk));
    } while (next_cell(&walk));
}

static void cells_undo(const struct filter *self __attribute__((unused)),
                       const struct filter_block *block, uint8_t meta,
                       const uint8_t *src, uint8_t *dst)
{
    size_t size = block->items->size;
    struct walk walk = walk_begin(&block->items->block, meta);

    do {
        do {
            size_t len = row_nitems(&walk) * size;

            memcpy(dst + walk.off * size, src, len);
            src += len;
        } while (next_row(&walk));
    } while (next_cell(&walk));
}

/* Replace items by their mean. */
static void average_floats(uint8_t *bytes, size_t n)
{
    uint32_t bits;
    float item;
    float sum = 0;

    for (size_t i = 0; i < n; i++) {
        bits = load_le32(bytes + 4 * i);
        memcpy(&item, &bits, sizeof(item));
        sum += item;
    }
    sum /= (float)n;
    memcpy(&bits, &sum, sizeof(bits));
    for (size_t i = 0; i < n; i++)
        store_le32(bytes + 4 * i, bits);
}

static void average_doubles(uint8_t *bytes, size_t n)
{
    uint64_t bits;
    double item;
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        bits = load_le64(bytes + 8 * i);
        memcpy(&item, &bits, sizeof(item));
        sum += item;
    }
    sum /= (double)n;
    memcpy(&bits, &sum, sizeof(bits));
    bits = htole64(bits);
    for (size_t i = 0; i < n; i++)
        memcpy(bytes + 8 * i, &bits, sizeof(bits));
}

static void ndmean_apply(const struct filter *self __attribute__((unused)),
                         const struct filter_block *block, uint8_t meta,
                         const uint8_t *src, uint8_t *dst)
{
    size_t size = block->items->size;
    struct walk walk = walk_begin(&block->items->block, meta);

    cells_apply(self, block, meta, src, dst);
    do {
        size_t n = cell_nitems(&walk);

        if (size == 4)
            average_floats(dst, n);
        else
            average_doubles(dst, n);
        dst += n * size;
    } while (next_cell(&walk));
}

/* 1 and 5. */
static const char *refuse_block(const struct filter_block *block)
{
    const struct chunk_items *items = block->items;

    if (items->block.ndim == 0)
        return "a filter needs the shape of blocks, which the frame lacks";
    if (items->block.ndim > NDIM_MAX)
        return "a filter cannot be used with more than 8 dimensions";
    if (!chunk_items_fill(items, items->size, block->len))
        return "a filter needs blocks of another size";
    return NULL;
}

static const char *ndcell_refuse(const struct filter_block *block, uint8_t meta)
{
    const char *why = refuse_block(block);
    uint64_t nitems;
    uint64_t n = 1;

    if (why)
        return why;
    nitems = chunk_items_per_block(block->items);
    for (unsigned i = 0; i < block->items->block.ndim && n <= nitems; i++)
        n *= meta;
    return n == 0 || n > nitems ? "filter ndcell has cells of a wrong size"
                                : NULL;
}

/*
 * The reference library confuses the sides of cells if those in the first
 * dimension are shorter than the others, and has no right content for such
 * blocks.  Format: 3.
 */
static bool sides_differ(const struct block_shape *shape, uint8_t meta)
{
    for (unsigned i = 1; i < shape->ndim; i++)
        if (shape->extents[i] > meta && shape->extents[0] < meta)
            return true;
    return false;
}

static const char *ndmean_refuse(const struct filter_block *block, uint8_t meta)
{
    const char *why = refuse_block(block);

    if (why)
        return why;
    if (meta == 0 || meta > INT8_MAX ||
        sides_differ(&block->items->block, meta))
        return "filter ndmean has cells of a wrong size";
    return NULL;
}

/* The typesize of a chunk has a byte, and the reference library uses it here.
 */
static int ndcell_check(const struct filter_block *block, uint8_t meta)
{
    return block->items->size > UINT8_MAX || ndcell_refuse(block, meta)
               ? -EINVAL
               : 0;
}

static int ndmean_check(const struct filter_block *block, uint8_t meta)
{
    uint32_t size = block->items->size;

    return (size != 4 && size != 8) || ndmean_refuse(block, meta) ? -EINVAL : 0;
}

const struct filter filter_ndcell = {
    .id = FILTER_NDCELL,
    .name = "ndcell",
    .keeps_items = true,
    .uses_shape = true,
    .check = ndcell_check,
    .refuse = ndcell_refuse,
    .apply = cells_apply,
    .undo = cells_undo,
};

/* The filter of cells, after each item was replaced by the mean of its cell. */
const struct filter filter_ndmean = {
    .id = FILTER_NDMEAN,
    .name = "ndmean",
    .is_lossy = true,
    .mixes_items = true,
    .keeps_items = true,
    .uses_shape = true,
    .check = ndmean_check,
    .refuse = ndmean_refuse,
    .apply = ndmean_apply,
    .undo = cells_undo,
};
