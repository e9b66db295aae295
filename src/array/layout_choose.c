/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>

#include "array/layout.h"
#include "base/size.h"

/* Do the items with these extents fit into `nbytes`? */
static bool fits(const uint64_t *extents, unsigned ndim, uint32_t itemsize,
                 uint32_t nbytes)
{
    uint64_t total = itemsize;

    for (unsigned i = 0; i < ndim; i++)
        if (!size_mul(total, extents[i], &total))
            return false;
    return total <= nbytes;
}

/* Index of the largest extent; the first one of equals, so that rows stay
   long. */
static unsigned largest(const uint64_t *extents, unsigned ndim)
{
    unsigned at = 0;

    for (unsigned i = 1; i < ndim; i++)
        if (extents[i] > extents[at])
            at = i;
    return at;
}

void layout_choose(const uint64_t *whole, unsigned ndim, uint32_t itemsize,
                   uint32_t nbytes, uint32_t *extents)
{
    uint64_t chosen[ARRAY_NDIM_MAX];

    /* An extent of an empty array counts as one item. */
    for (unsigned i = 0; i < ndim; i++)
        chosen[i] = whole[i] > 0 ? whole[i] : 1;
    while (ndim > 0 && !fits(chosen, ndim, itemsize, nbytes)) {
        unsigned at = largest(chosen, ndim);

        if (chosen[at] == 1)
            break;
        chosen[at] = (chosen[at] + 1) / 2;
    }
    for (unsigned i = 0; i < ndim; i++)
        extents[i] = (uint32_t)chosen[i];
}

/* Bytes of the items behind dimension `i`; UINT64_MAX beyond 64 bits. */
static uint64_t nbytes_behind(const struct layout_shape *shape, unsigned i,
                              uint32_t itemsize)
{
    uint64_t total = itemsize;

    while (++i < shape->ndim)
        if (!size_mul(total, shape->items[i] > 0 ? shape->items[i] : 1, &total))
            return UINT64_MAX;
    return total;
}

/* Cut the extents down so far that a row of chunks of this part of the array
   has at most `max` bytes. */
static void cut_rows(const struct layout_shape *shape, uint32_t itemsize,
                     uint64_t max, uint64_t *extents)
{
    for (unsigned i = 0; i < shape->ndim; i++) {
        uint64_t behind = nbytes_behind(shape, i, itemsize);
        uint64_t most = max / behind;

        extents[i] = shape->items[i];
        if (extents[i] > most && i + 1 < shape->ndim)
            extents[i] = most > 0 ? most : 1;
        if (most > 0)
            break;
    }
}

void layout_choose_parts(struct layout_shape *shape, uint32_t itemsize,
                         const struct layout_sizes *sizes)
{
    uint64_t extents[ARRAY_NDIM_MAX];

    for (unsigned i = 0; i < shape->ndim; i++)
        extents[i] = shape->items[i];
    cut_rows(shape, itemsize, sizes->row, extents);
    layout_choose(extents, shape->ndim, itemsize, sizes->chunk, shape->chunk);
    for (unsigned i = 0; i < shape->ndim; i++)
        extents[i] = shape->chunk[i];
    layout_choose(extents, shape->ndim, itemsize,
                  sizes->block > 0 ? sizes->block : LAYOUT_AUTO_BLOCK,
                  shape->block);
}
