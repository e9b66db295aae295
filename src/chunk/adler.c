/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/adler.h"

#include "base/bytes.h"

enum {
    MODULUS = 65521,
    WORD = 8,
    STEP = 8 * WORD, /* bytes whose sums fit into lanes of 16 bits */
    RUN = 86 * STEP, /* bytes after which the sums still fit into 32 bits */
};

struct sums {
    uint32_t bytes;    /* 1 plus the sum of all bytes */
    uint32_t prefixes; /* the sum of `bytes` after each byte */
};

/* Return the sum of four 16-bit lanes, which must fit into one lane. */
static inline uint32_t sum_narrow(uint64_t lanes)
{
    return (uint32_t)(lanes * 0x0001000100010001 >> 48);
}

static inline uint32_t sum_wide(uint64_t lanes)
{
    uint64_t pairs =
        (lanes & 0x0000ffff0000ffff) + (lanes >> 16 & 0x0000ffff0000ffff);

    return (uint32_t)(pairs + (pairs >> 32));
}

/* Return the sum of four lanes, each multiplied by its number, 0 to 3. */
static inline uint32_t sum_numbered(uint64_t lanes)
{
    return (uint32_t)(lanes * 0x0000000100020003 >> 48);
}

/*
 * Add STEP bytes.  The even and the odd bytes of a word are added up in lanes
 * of their own.  A byte counts for the prefixes once for each byte from itself
 * to the end of the step.  The loop counts it as often as if it came first in
 * its word; the last lines subtract its position in the word.
 */
static inline void add_step(struct sums *sums, const uint8_t *bytes)
{
    const uint64_t mask = 0x00ff00ff00ff00ff;
    uint64_t even = 0;
    uint64_t odd = 0;
    uint64_t prefixes = 0;

    for (size_t i = 0; i < STEP; i += WORD) {
        uint64_t word = load_le64(bytes + i);

        even += word & mask;
        odd += word >> 8 & mask;
        prefixes += even + odd;
    }
    sums->prefixes += STEP * sums->bytes + WORD * sum_wide(prefixes) -
                      2 * sum_numbered(even + odd) - sum_narrow(odd);
    sums->bytes += sum_narrow(even + odd);
}

static void reduce(struct sums *sums)
{
    sums->bytes %= MODULUS;
    sums->prefixes %= MODULUS;
}

uint32_t adler_sum(const uint8_t *bytes, size_t len)
{
    struct sums sums = { .bytes = 1 };

    while (len >= STEP) {
        size_t run = len < RUN ? len - len % STEP : RUN;

        for (size_t i = 0; i < run; i += STEP)
            add_step(&sums, bytes + i);
        reduce(&sums);
        bytes += run;
        len -= run;
    }
    for (size_t i = 0; i < len; i++) {
        sums.bytes += bytes[i];
        sums.prefixes += sums.bytes;
    }
    reduce(&sums);
    return sums.prefixes << 16 | sums.bytes;
}
