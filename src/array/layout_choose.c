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

void layout_choose_parts(struct layout_shape *shape, uint32_t itemsize,
                         uint32_t chunksize, uint32_t blocksize)
{
    uint64_t chunk[ARRAY_NDIM_MAX];

    layout_choose(shape->items, shape->ndim, itemsize, chunksize, shape->chunk);
    for (unsigned i = 0; i < shape->ndim; i++)
        chunk[i] = shape->chunk[i];
    layout_choose(chunk, shape->ndim, itemsize,
                  blocksize > 0 ? blocksize : LAYOUT_AUTO_BLOCK, shape->block);
}
