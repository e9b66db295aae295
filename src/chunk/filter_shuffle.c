/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "chunk/filters.h"

/* Format: Filters of Blosc2 chunks, 2 "SHUFFLE". */
static size_t group_size(const struct filter_block *block, uint8_t meta)
{
    return meta ? meta : block->typesize;
}

static void shuffle_apply(const struct filter *self __attribute__((unused)),
                          const struct filter_block *block, uint8_t meta,
                          const uint8_t *src, uint8_t *dst)
{
    block->shuffle->shuffle(group_size(block, meta), block->len, src, dst);
}

static void shuffle_undo(const struct filter *self __attribute__((unused)),
                         const struct filter_block *block, uint8_t meta,
                         const uint8_t *src, uint8_t *dst)
{
    block->shuffle->unshuffle(group_size(block, meta), block->len, src, dst);
}

/*
 * Blosc 1 shuffled the bits of a block only if it held a multiple of eight
 * items.
 *
 * Format: Filters of Blosc2 chunks, 3 "Version differences".
 */
static bool is_left_alone(const struct filter_block *block)
{
    return (block->chunk_version == 1 || block->chunk_version == 2) &&
           block->len / block->typesize % 8 != 0;
}

static void bitshuffle_apply(const struct filter *self __attribute__((unused)),
                             const struct filter_block *block, uint8_t meta,
                             const uint8_t *src, uint8_t *dst)
{
    (void)meta;
    if (is_left_alone(block))
        memcpy(dst, src, block->len);
    else
        block->shuffle->bitshuffle(block->typesize, block->len, src, dst);
}

static void bitshuffle_undo(const struct filter *self __attribute__((unused)),
                            const struct filter_block *block, uint8_t meta,
                            const uint8_t *src, uint8_t *dst)
{
    (void)meta;
    if (is_left_alone(block))
        memcpy(dst, src, block->len);
    else
        block->shuffle->bitunshuffle(block->typesize, block->len, src, dst);
}

const struct filter filter_shuffle = {
    .id = FILTER_SHUFFLE,
    .name = "shuffle",
    .apply = shuffle_apply,
    .undo = shuffle_undo,
};

const struct filter filter_bitshuffle = {
    .id = FILTER_BITSHUFFLE,
    .name = "bitshuffle",
    .apply = bitshuffle_apply,
    .undo = bitshuffle_undo,
};
