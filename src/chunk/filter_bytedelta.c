/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "chunk/filters.h"

/* Format: Filters of Blosc2 chunks, 6 "BYTEDELTA". */
static size_t nchannels(const struct filter_block *block, uint8_t meta)
{
    if (meta)
        return meta;
    return block->items->size ? block->items->size : block->typesize;
}

static void bytedelta_apply(const struct filter *self __attribute__((unused)),
                            const struct filter_block *block, uint8_t meta,
                            const uint8_t *src, uint8_t *dst)
{
    size_t n = nchannels(block, meta);
    size_t len = block->len / n;

    memcpy(dst, src, block->len);
    for (size_t start = 0; start < n * len; start += len) {
        for (size_t i = start + 1; i < start + len; i++)
            dst[i] = (uint8_t)(src[i] - src[i - 1]);
    }
}

static void bytedelta_undo(const struct filter *self __attribute__((unused)),
                           const struct filter_block *block, uint8_t meta,
                           uint8_t *bytes)
{
    size_t n = nchannels(block, meta);
    size_t len = block->len / n;

    for (size_t k = 0; k < n && len > 0; k++)
        block->shuffle->prefix_sum(len, bytes + k * len);
}

/*
 * The first version of the filter started again from zero in the rest of each
 * channel that does not fill a vector of 16 bytes.
 */
static void bytedelta_old_undo(const struct filter *self
                               __attribute__((unused)),
                               const struct filter_block *block, uint8_t meta,
                               uint8_t *bytes)
{
    size_t n = nchannels(block, meta);
    size_t len = block->len / n;
    size_t rest = len % 16;

    for (size_t k = 0; k < n && len > 0; k++) {
        block->shuffle->prefix_sum(len - rest, bytes);
        block->shuffle->prefix_sum(rest, bytes + len - rest);
        bytes += len;
    }
}

const struct filter filter_bytedelta = {
    .id = FILTER_BYTEDELTA,
    .name = "bytedelta",
    .apply = bytedelta_apply,
    .undo_in_place = bytedelta_undo,
};

const struct filter filter_bytedelta34 = {
    .id = FILTER_BYTEDELTA_OLD,
    .name = "bytedelta34",
    .undo_in_place = bytedelta_old_undo,
};
