/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_SIZE_H
#define BASE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Sums and products of sizes that came from a frame.  Each function returns
 * false, and leaves `out` alone, when the result does not fit 64 bits.
 */

static inline bool size_add(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

static inline bool size_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t product;

    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

/* Number of pieces of `piece` bytes, not 0, that hold `total` bytes. */
static inline uint64_t size_pieces(uint64_t total, uint64_t piece)
{
    return total / piece + (total % piece != 0);
}

/* Is [off, off + len) inside [0, end)? */
static inline bool size_within(uint64_t off, uint64_t len, uint64_t end)
{
    return off <= end && len <= end - off;
}

/*
 * Parse a size as a user types it: a decimal number of bytes, optionally with a
 * suffix, in either case: K, M, G, T or P, or one of these with iB, for powers
 * of 1024; or one of these with B, for powers of 1000.
 *
 * Returns false, and leaves `out` alone, if the text is not a size or the size
 * does not fit 64 bits.
 */
bool size_parse(const char *text, uint64_t *out);

/* Parse a number of that form from `min` to `max`.  Returns 0 or -EINVAL. */
int size_parse_number(const char *text, unsigned min, unsigned max,
                      unsigned *out);

#endif
