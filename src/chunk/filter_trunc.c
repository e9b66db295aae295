/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "base/bytes.h"
#include "chunk/filters.h"

/*
 * Return how many low bits of an item of `nbits` bits are cleared.  A parameter
 * >= 0 says how many bits are kept, a negative one how many are cleared.  The
 * result is outside 0 to nbits - 1 if the parameter makes no sense.
 *
 * Format: Filters of Blosc2 chunks, 4 "TRUNC_PREC" and 4b "INT_TRUNC".
 */
static int bits_cleared(uint8_t meta, int nbits)
{
    int bits = (int8_t)meta;

    return bits < 0 ? -bits : nbits - bits;
}

/* Return the mantissa bits of a floating-point number of `typesize` bytes, or 0
   if there is none of that size. */
static int mantissa_bits(unsigned typesize)
{
    switch (typesize) {
    case 4:
        return 23;
    case 8:
        return 52;
    default:
        return 0;
    }
}

static int integer_bits(unsigned typesize)
{
    switch (typesize) {
    case 1:
    case 2:
    case 4:
    case 8:
        return 8 * (int)typesize;
    default:
        return 0;
    }
}

static int check(uint8_t meta, int nbits)
{
    int cleared = bits_cleared(meta, nbits);

    return cleared >= 0 && cleared < nbits ? 0 : -EINVAL;
}

static int trunc_prec_check(const struct filter_block *block, uint8_t meta)
{
    return check(meta, mantissa_bits(block->typesize));
}

static int int_trunc_check(const struct filter_block *block, uint8_t meta)
{
    return check(meta, integer_bits(block->typesize));
}

/* Clear the low bits of all whole items, whose size divides 8. */
static void clear_bits(const struct filter_block *block, int nbits,
                       const uint8_t *src, uint8_t *dst)
{
    size_t whole = block->len - block->len % block->typesize;
    uint64_t low = ((uint64_t)1 << nbits) - 1;
    uint8_t mask[8];

    for (size_t i = 0; i < sizeof(mask); i++)
        mask[i] = (uint8_t) ~(low >> 8 * (i % block->typesize));
    for (size_t i = 0; i < whole; i++)
        dst[i] = src[i] & mask[i % 8];
    memcpy(dst + whole, src + whole, block->len - whole);
}

static void trunc_prec_apply(const struct filter *self __attribute__((unused)),
                             const struct filter_block *block, uint8_t meta,
                             const uint8_t *src, uint8_t *dst)
{
    int nbits = bits_cleared(meta, mantissa_bits(block->typesize));

    clear_bits(block, nbits, src, dst);
}

static void int_trunc_apply(const struct filter *self __attribute__((unused)),
                            const struct filter_block *block, uint8_t meta,
                            const uint8_t *src, uint8_t *dst)
{
    int nbits = bits_cleared(meta, integer_bits(block->typesize));

    clear_bits(block, nbits, src, dst);
}

const struct filter filter_trunc_prec = {
    .id = FILTER_TRUNC_PREC,
    .name = "trunc_prec",
    .is_lossy = true,
    .keeps_items = true,
    .meta_is_signed = true,
    .check = trunc_prec_check,
    .apply = trunc_prec_apply,
};

const struct filter filter_int_trunc = {
    .id = FILTER_INT_TRUNC,
    .name = "int_trunc",
    .is_lossy = true,
    .keeps_items = true,
    .meta_is_signed = true,
    .check = int_trunc_check,
    .apply = int_trunc_apply,
};
