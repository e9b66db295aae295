/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/bytes.h"
#include "chunk/filters.h"

/*
 * Return the bytes per word.  Each word is XORed with its reference; a rest
 * that fills no word is left alone.
 *
 * Format: Filters of Blosc2 chunks, 5 "DELTA".
 */
static size_t word_size(unsigned typesize)
{
    if (typesize == 2 || typesize == 4)
        return typesize;
    return typesize % 8 == 0 ? 8 : 1;
}

static size_t whole_words(const struct filter_block *block)
{
    return block->len - block->len % word_size(block->typesize);
}

static void delta_apply(const struct filter *self __attribute__((unused)),
                        const struct filter_block *block, uint8_t meta,
                        const uint8_t *src, uint8_t *dst)
{
    size_t len = whole_words(block);
    size_t word = word_size(block->typesize);

    (void)meta;
    memcpy(dst, src, block->len);
    if (block->first) {
        for (size_t i = 0; i < len; i++)
            dst[i] = src[i] ^ block->first[i];
    } else {
        for (size_t i = word; i < len; i++)
            dst[i] = src[i] ^ src[i - word];
    }
}

/*
 * Replace each word by the XOR of all words up to it, eight bytes at a time:
 * first the words within the eight bytes, then with the last word before them.
 */
static void running_xor(size_t word, size_t len, uint8_t *bytes)
{
    uint64_t spread = UINT64_MAX / (UINT64_MAX >> (64 - 8 * word));
    uint64_t last = 0;
    size_t i;

    for (i = 0; i + 8 <= len; i += 8) {
        uint64_t x = load_le64(bytes + i);

        for (size_t shift = 8 * word; shift < 64; shift *= 2)
            x ^= x << shift;
        x ^= last * spread;
        last = x >> (64 - 8 * word);
        x = htole64(x);
        memcpy(bytes + i, &x, sizeof(x));
    }
    for (i = i > word ? i : word; i < len; i++)
        bytes[i] ^= bytes[i - word];
}

static void delta_undo(const struct filter *self __attribute__((unused)),
                       const struct filter_block *block, uint8_t meta,
                       uint8_t *bytes)
{
    size_t len = whole_words(block);

    (void)meta;
    if (!block->first) {
        running_xor(word_size(block->typesize), len, bytes);
        return;
    }
    for (size_t i = 0; i < len; i++)
        bytes[i] ^= block->first[i];
}

const struct filter filter_delta = {
    .id = FILTER_DELTA,
    .name = "delta",
    .apply = delta_apply,
    .undo_in_place = delta_undo,
};
