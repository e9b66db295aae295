/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_LAYOUT_NAIVE_H
#define TEST_LAYOUT_NAIVE_H

#include "array/layout.h"

/* The place of an item, found with the formulas of the format document. */
struct naive {
    uint64_t chunk_no;
    uint64_t item; /* within the chunk */
};

static inline struct naive find_naively(const struct layout_shape *shape,
                                        uint64_t item_no)
{
    struct naive place = { 0, 0 };
    uint64_t x[ARRAY_NDIM_MAX];
    uint64_t block = 0;
    uint64_t item = 0;
    uint64_t block_nitems = 1;

    for (unsigned i = shape->ndim; i-- > 0;) {
        x[i] = item_no % shape->items[i];
        item_no /= shape->items[i];
        block_nitems *= shape->block[i];
    }
    for (unsigned i = 0; i < shape->ndim; i++) {
        uint64_t grid =
            (shape->items[i] + shape->chunk[i] - 1) / shape->chunk[i];
        uint64_t bgrid =
            (shape->chunk[i] + shape->block[i] - 1) / shape->block[i];
        uint64_t r = x[i] % shape->chunk[i];

        place.chunk_no = place.chunk_no * grid + x[i] / shape->chunk[i];
        block = block * bgrid + r / shape->block[i];
        item = item * shape->block[i] + r % shape->block[i];
    }
    place.item = block * block_nitems + item;
    return place;
}

#endif
