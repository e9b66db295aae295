/* SPDX-License-Identifier: BSD-3-Clause */
#include <framefs-codec.h>

/*
 * A filter that turns the order of the bytes of each item, as an example of a
 * plug-in: filter 201.  What does not fill an item stays as it is.
 *
 *     cc -shared -fPIC -O2 -o filter-201.so filter_turn.c
 */
static void turn(const struct framefs_block *block, uint32_t meta, size_t len,
                 const uint8_t *src, uint8_t *dst)
{
    size_t size = meta > 0 ? meta : block->typesize;
    size_t whole = len / size * size;

    for (size_t i = 0; i < whole; i++)
        dst[i] = src[i / size * size + size - 1 - i % size];
    for (size_t i = whole; i < len; i++)
        dst[i] = src[i];
}

const struct framefs_filter framefs_filter = {
    .abi = FRAMEFS_CODEC_ABI,
    .name = "turn",
    .undo = turn,
    .apply = turn,
};
