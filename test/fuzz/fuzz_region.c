/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Regions of arrays.  The input is a byte each of: ndim, itemsize, then for
 * each dimension the extents of array, chunks and blocks, and start, count and
 * direction of the region in memory.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array/region.h"
#include "fuzz.h"

enum {
    NDIM_MAX = 8,
    NITEMS_MAX = 4096, /* in the array, and in all chunks */
};

static void insist(bool what)
{
    if (!what)
        abort();
}

/* The input, as far as it is not used yet. */
struct input {
    const uint8_t *bytes;
    size_t len;
};

static uint8_t take(struct input *input)
{
    if (input->len == 0)
        return 0;
    input->len--;
    return *input->bytes++;
}

/* An array whose items are their numbers in C order, from 1 on. */
struct sample {
    struct array array;
    struct region region;
    uint8_t *chunks; /* one after another */
    uint8_t *memory;
    uint64_t nitems; /* of the region */
};

static void put_number(uint8_t *item, uint32_t itemsize, uint64_t number)
{
    memset(item, 0, itemsize);
    memcpy(item, &number, itemsize < 2 ? itemsize : 2);
}

static uint64_t get_number(const uint8_t *item, uint32_t itemsize)
{
    uint64_t number = 0;

    memcpy(&number, item, itemsize < 2 ? itemsize : 2);
    return number;
}

static void fill_chunks(struct sample *sample)
{
    const struct layout *layout = &sample->array.layout;

    for (uint64_t i = 0; i < layout->nitems; i++) {
        struct layout_place place;

        layout_locate(layout, i, 1, &place);
        put_number(sample->chunks +
                       (place.chunk_no * layout->chunk_nitems + place.item) *
                           layout->itemsize,
                   layout->itemsize, i + 1);
    }
}

/* Choose the place of items in memory: dimensions in either order, each
   forwards or backwards.  Returns the offset of the first item. */
static uint64_t place_items(struct sample *sample, uint8_t directions)
{
    struct region *region = &sample->region;
    unsigned ndim = sample->array.shape.ndim;
    int64_t stride = sample->array.layout.itemsize;
    uint64_t first = 0;

    for (unsigned i = 0; i < ndim; i++) {
        unsigned dim = directions & 1 ? i : ndim - 1 - i;
        int64_t count = (int64_t)region->count[dim];

        region->stride[dim] = stride;
        if (directions >> (dim % 7 + 1) & 1 && count > 0) {
            region->stride[dim] = -stride;
            first += (uint64_t)((count - 1) * stride);
        }
        stride *= count;
    }
    return first;
}

/* Check one item that was read: its number follows from its place. */
static void check_items(const struct sample *sample, const uint8_t *memory)
{
    const struct layout_shape *shape = &sample->array.shape;
    const struct region *region = &sample->region;
    uint32_t itemsize = sample->array.layout.itemsize;

    for (uint64_t i = 0; i < sample->nitems; i++) {
        uint64_t rest = i;
        uint64_t number = 0;
        uint64_t step = 1;
        int64_t off = 0;
        uint8_t wanted[2] = { 0 };

        for (unsigned d = shape->ndim; d-- > 0;) {
            uint64_t at = rest % region->count[d];

            rest /= region->count[d];
            number += (region->start[d] + at) * step;
            step *= shape->items[d];
            off += (int64_t)at * region->stride[d];
        }
        put_number(wanted, itemsize < 2 ? itemsize : 2, number + 1);
        insist(get_number(memory + off, itemsize) ==
               get_number(wanted, itemsize));
    }
}

/* Visit all parts: copy them to memory, or from there to the chunks. */
static void visit(const struct sample *sample, const struct region_plan *plan,
                  uint8_t *memory, bool store)
{
    const struct layout *layout = &sample->array.layout;
    uint64_t before = 0; /* the chunk and block before, plus 1 */

    for (uint64_t i = 0; i < plan->nchunks; i++) {
        struct region_chunk chunk;

        region_find_chunk(plan, i, &chunk);
        insist(chunk.chunk_no < layout->nchunks && chunk.nblocks > 0);
        for (uint64_t k = 0; k < chunk.nblocks; k++) {
            struct region_block part;
            uint64_t item;

            region_find_block(plan, &chunk, k, &part);
            item = chunk.chunk_no * layout->chunk_nitems +
                   (uint64_t)part.block_no * layout->block_nitems;
            insist(part.block_no < layout->chunk_nitems / layout->block_nitems);
            insist(item + 1 > before);
            before = item + 1;
            if (store)
                region_store(&part, memory,
                             sample->chunks + item * layout->itemsize);
            else
                region_load(&part, sample->chunks + item * layout->itemsize,
                            memory);
        }
    }
}

static void exercise(struct sample *sample, uint8_t directions)
{
    struct layout *layout = &sample->array.layout;
    size_t nbytes = (size_t)sample->nitems * layout->itemsize;
    size_t total =
        (size_t)layout->nchunks * layout->chunk_nitems * layout->itemsize;
    uint64_t first = place_items(sample, directions);
    struct region_plan plan;

    insist(region_plan_init(&plan, &sample->array, &sample->region, false) ==
           0);
    sample->chunks = calloc(1, total + 1);
    sample->memory = calloc(1, nbytes + 1);
    insist(sample->chunks && sample->memory);
    fill_chunks(sample);
    visit(sample, &plan, sample->memory + first, false);
    check_items(sample, sample->memory + first);
    memset(sample->chunks, 0, total);
    visit(sample, &plan, sample->memory + first, true);
    memset(sample->memory, 0, nbytes);
    visit(sample, &plan, sample->memory + first, false);
    check_items(sample, sample->memory + first);
    free(sample->chunks);
    free(sample->memory);
}

/* Take the extents.  Returns false if the array is too large to be tried. */
static bool take_shape(struct input *input, struct sample *sample)
{
    struct layout_shape *shape = &sample->array.shape;
    uint64_t all = 1;

    for (unsigned i = 0; i < shape->ndim; i++) {
        shape->items[i] = take(input) % 65;
        shape->chunk[i] = take(input) % 65;
        shape->block[i] = take(input) % 65;
        if (shape->chunk[i] > 0)
            all *= (shape->items[i] + shape->chunk[i]) * 2;
        if (all > NITEMS_MAX * 64)
            return false;
    }
    return true;
}

/* Take a region, which is refused first if it leaves the array. */
static void take_region(struct input *input, struct sample *sample)
{
    const struct layout_shape *shape = &sample->array.shape;
    struct region *region = &sample->region;
    struct region_plan plan;
    bool inside = true;

    for (unsigned i = 0; i < shape->ndim; i++) {
        region->start[i] = take(input);
        region->count[i] = take(input);
        inside &= region->start[i] + region->count[i] <= shape->items[i];
    }
    insist((region_plan_init(&plan, &sample->array, region, false) == 0) ==
           inside);
    for (unsigned i = 0; i < shape->ndim; i++) {
        region->start[i] %= shape->items[i] + 1;
        region->count[i] %= shape->items[i] - region->start[i] + 1;
        sample->nitems *= region->count[i];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { data, size };
    struct fault fault = FAULT_NONE;
    struct sample sample = { .nitems = 1 };
    uint8_t directions;
    uint32_t itemsize;

    sample.array.shape.ndim = take(&input) % (NDIM_MAX + 1);
    itemsize = take(&input) % 18 + 1;
    directions = take(&input);
    if (!take_shape(&input, &sample) ||
        layout_init(&sample.array.layout, &sample.array.shape, itemsize,
                    &fault) < 0 ||
        sample.array.layout.nchunks * sample.array.layout.chunk_nitems >
            NITEMS_MAX * 8)
        return 0;
    take_region(&input, &sample);
    exercise(&sample, directions);
    return 0;
}
