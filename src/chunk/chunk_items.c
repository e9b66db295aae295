/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/chunk_items.h"

uint32_t chunk_items_per_block(const struct chunk_items *items)
{
    uint64_t n = items->block.ndim > 0;

    for (unsigned i = 0; i < items->block.ndim && n <= UINT32_MAX; i++)
        n *= items->block.extents[i];
    return n <= UINT32_MAX ? (uint32_t)n : 0;
}

bool chunk_items_fill(const struct chunk_items *items, uint32_t item_size,
                      size_t len)
{
    uint64_t n = chunk_items_per_block(items);

    return n > 0 && n * item_size == len;
}
