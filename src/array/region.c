/* SPDX-License-Identifier: BSD-3-Clause */
#include "array/region.h"

#include <errno.h>
#include <string.h>

#include "base/size.h"

int region_set_c_order(struct region *region, const struct array *array)
{
    uint64_t stride = array->layout.itemsize;
    bool empty = false;

    for (unsigned i = 0; i < array->shape.ndim; i++)
        empty |= region->count[i] == 0;
    for (unsigned i = array->shape.ndim; i-- > 0;) {
        region->stride[i] = (int64_t)stride;
        if (!empty && (!size_mul(stride, region->count[i], &stride) ||
                       stride > INT64_MAX))
            return -EFBIG;
    }
    return 0;
}

static struct layout_dim dim_of(const struct layout_shape *shape, unsigned i)
{
    struct layout_dim dim = { .nitems = shape->items[i],
                              .chunk = shape->chunk[i],
                              .block = shape->block[i] };

    if (dim.chunk > 0)
        dim.nchunks = size_pieces(dim.nitems, dim.chunk);
    if (dim.block > 0)
        dim.nblocks = (uint32_t)size_pieces(dim.chunk, dim.block);
    return dim;
}

int region_plan_init(struct region_plan *plan, const struct array *array,
                     const struct region *region, bool padded)
{
    const struct layout *layout = &array->layout;

    *plan = (struct region_plan){
        .ndim = array->shape.ndim,
        .itemsize = layout->itemsize,
        .block_nbytes = layout->block_nitems * layout->itemsize,
        .nchunks = 1,
        .region = *region,
    };
    for (unsigned i = 0; i < plan->ndim; i++) {
        struct layout_dim *dim = &plan->dims[i];
        uint64_t start = region->start[i];
        uint64_t count = region->count[i];

        *dim = dim_of(&array->shape, i);
        if (!size_within(start, count,
                         padded ? dim->nchunks * dim->chunk : dim->nitems))
            return -ERANGE;
        if (count == 0)
            plan->nchunks = 0;
        else /* at most the number of chunks of the array */
            plan->nchunks *=
                (start + count - 1) / dim->chunk - start / dim->chunk + 1;
    }
    return 0;
}

static uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

/* Find the part along one dimension; `chunk` is the chunk's place in it. */
static void find_range(const struct region_plan *plan, unsigned i,
                       uint64_t chunk, struct region_chunk *out)
{
    const struct layout_dim *dim = &plan->dims[i];
    uint64_t origin = chunk * dim->chunk;
    uint64_t start = plan->region.start[i];
    uint64_t end = start + plan->region.count[i];
    uint64_t from = start > origin ? start : origin;

    out->start[i] = (uint32_t)(from - origin);
    out->count[i] = least(end - from, dim->chunk - (from - origin));
    out->items[i] =
        origin < dim->nitems ? least(dim->nitems - origin, dim->chunk) : 0;
    out->first[i] = out->start[i] / dim->block;
    out->extents[i] =
        (out->start[i] + out->count[i] - 1) / dim->block - out->first[i] + 1;
    out->nblocks *= out->extents[i];
    out->mem_off += (int64_t)(from - start) * plan->region.stride[i];
}

void region_find_chunk(const struct region_plan *plan, uint64_t i,
                       struct region_chunk *out)
{
    uint64_t step = 1; /* chunks in one step along the dimension */

    out->chunk_no = 0;
    out->nblocks = 1;
    out->mem_off = 0;
    for (unsigned d = plan->ndim; d-- > 0;) {
        const struct layout_dim *dim = &plan->dims[d];
        uint64_t first = plan->region.start[d] / dim->chunk;
        uint64_t last =
            (plan->region.start[d] + plan->region.count[d] - 1) / dim->chunk;
        uint64_t at = first + i % (last - first + 1);

        i /= last - first + 1;
        find_range(plan, d, at, out);
        out->chunk_no += at * step;
        step *= dim->nchunks;
    }
}

/* Drop dimensions with one item, and merge those whose items follow one another
   both in the block and in memory. */
static void merge(struct region_block *part)
{
    unsigned n = 0;

    for (unsigned i = 0; i < part->ndim; i++) {
        if (part->count[i] == 1)
            continue;
        if (n > 0 &&
            part->stride[n - 1] == (uint64_t)part->count[i] * part->stride[i] &&
            part->mem_stride[n - 1] ==
                (int64_t)part->count[i] * part->mem_stride[i]) {
            part->count[n - 1] *= part->count[i];
        } else {
            part->count[n] = part->count[i];
            n++;
        }
        part->stride[n - 1] = part->stride[i];
        part->mem_stride[n - 1] = part->mem_stride[i];
    }
    part->ndim = n;
}

uint32_t region_block_no(const struct region_plan *plan,
                         const struct region_chunk *chunk, uint64_t i)
{
    uint32_t block_no = 0;
    uint32_t step = 1; /* blocks in one step along the dimension */

    for (unsigned d = plan->ndim; d-- > 0;) {
        block_no +=
            (chunk->first[d] + (uint32_t)(i % chunk->extents[d])) * step;
        i /= chunk->extents[d];
        step *= plan->dims[d].nblocks;
    }
    return block_no;
}

/* Find the part along one dimension, whose stride is known.  `block` is the
   block's place in the chunk. */
static void find_items(const struct region_plan *plan,
                       const struct region_chunk *chunk, unsigned i,
                       uint32_t block, struct region_block *out)
{
    uint32_t extent = plan->dims[i].block;
    uint32_t origin = block * extent;
    uint32_t start = chunk->start[i];
    uint32_t from = start > origin ? start : origin;
    uint32_t have =
        chunk->items[i] > origin ? least(chunk->items[i] - origin, extent) : 0;

    out->count[i] =
        least(start + chunk->count[i] - from, extent - (from - origin));
    out->mem_stride[i] = plan->region.stride[i];
    out->off += (from - origin) * out->stride[i];
    out->mem_off += (int64_t)(from - start) * plan->region.stride[i];
    out->whole &= from == origin && out->count[i] >= have;
    out->full &= have == extent;
}

void region_find_block(const struct region_plan *plan,
                       const struct region_chunk *chunk, uint64_t i,
                       struct region_block *out)
{
    uint32_t step = plan->itemsize;

    out->block_no = region_block_no(plan, chunk, i);
    out->whole = true;
    out->full = true;
    out->off = 0;
    out->mem_off = chunk->mem_off;
    out->ndim = plan->ndim;
    out->itemsize = plan->itemsize;
    for (unsigned d = plan->ndim; d-- > 0;) {
        uint32_t at = chunk->first[d] + (uint32_t)(i % chunk->extents[d]);

        i /= chunk->extents[d];
        out->stride[d] = step;
        find_items(plan, chunk, d, at, out);
        step *= plan->dims[d].block;
    }
    merge(out);
}

/* Copy items of a size that the compiler knows. */
#define COPY_ITEMS(nbytes)             \
    for (uint64_t i = 0; i < n; i++) { \
        memcpy(to, from, nbytes);      \
        from += items->from_stride;    \
        to += items->to_stride;        \
    }                                  \
    break

void region_copy_items(const struct region_items *items)
{
    const uint8_t *from = items->from;
    uint8_t *to = items->to;
    uint64_t n = items->n;

    if (items->from_stride == items->size && items->to_stride == items->size) {
        memcpy(to, from, n * items->size);
        return;
    }
    switch (items->size) {
    case 1:
        COPY_ITEMS(1);
    case 2:
        COPY_ITEMS(2);
    case 4:
        COPY_ITEMS(4);
    case 8:
        COPY_ITEMS(8);
    case 16:
        COPY_ITEMS(16);
    default:
        COPY_ITEMS(items->size);
    }
}

static void load_dim(const struct region_block *part, unsigned i,
                     const uint8_t *from, uint8_t *to)
{
    if (i + 1 >= part->ndim) {
        region_copy_items(&(struct region_items){
            .from = from,
            .from_stride = part->ndim > 0 ? part->stride[i] : 0,
            .to = to,
            .to_stride = part->ndim > 0 ? part->mem_stride[i] : 0,
            .n = part->ndim > 0 ? part->count[i] : 1,
            .size = part->itemsize });
        return;
    }
    for (uint32_t k = 0; k < part->count[i]; k++) {
        load_dim(part, i + 1, from, to);
        from += part->stride[i];
        to += part->mem_stride[i];
    }
}

void region_load(const struct region_block *part, const uint8_t *block,
                 uint8_t *memory)
{
    load_dim(part, 0, block + part->off, memory + part->mem_off);
}

/* Where to store runs of items. */
struct storing {
    const uint8_t *memory;
    uint8_t *block;
    uint32_t itemsize;
};

static int store_run(void *context, const struct region_run *run)
{
    const struct storing *storing = context;

    region_copy_items(
        &(struct region_items){ .from = storing->memory + run->mem_off,
                                .from_stride = run->item_stride,
                                .to = storing->block + run->off,
                                .to_stride = storing->itemsize,
                                .n = run->nitems,
                                .size = storing->itemsize });
    return 0;
}

void region_store(const struct region_block *part, const uint8_t *memory,
                  uint8_t *block)
{
    struct storing storing = { memory, block, part->itemsize };

    region_each_run(part, store_run, &storing);
}

/* A walk over the runs of a part. */
struct walk {
    const struct region_block *part;
    unsigned nouter; /* dimensions outside of a run */
    int (*run)(void *context, const struct region_run *run);
    void *context;
};

static int walk_dim(const struct walk *walk, unsigned i,
                    const struct region_run *first)
{
    const struct region_block *part = walk->part;
    struct region_run run = *first;
    int r = 0;

    if (i == walk->nouter)
        return walk->run(walk->context, first);
    for (uint32_t k = 0; k < part->count[i] && r == 0; k++) {
        r = walk_dim(walk, i + 1, &run);
        run.off += part->stride[i];
        run.mem_off += part->mem_stride[i];
    }
    return r;
}

int region_each_run(const struct region_block *part,
                    int (*run)(void *context, const struct region_run *run),
                    void *context)
{
    struct walk walk = { part, part->ndim, run, context };
    struct region_run first = { .off = part->off,
                                .nitems = 1,
                                .mem_off = part->mem_off,
                                .item_stride = part->itemsize };

    if (part->ndim > 0 && part->stride[part->ndim - 1] == part->itemsize) {
        walk.nouter--;
        first.nitems = part->count[walk.nouter];
        first.item_stride = part->mem_stride[walk.nouter];
    }
    return walk_dim(&walk, 0, &first);
}
