/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_data.h"

#include <math.h>
#include <string.h>

/* A step is at most 1, and a multiple of the resolution. */
enum {
    RESOLUTION_BITS = 14,
    STEP_BITS = 15
};

/* The xorshift generator of Marsaglia. */
static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

void bench_walk(uint64_t seed, uint8_t *dst, size_t len)
{
    uint64_t state = (seed + 1) * 0x9e3779b97f4a7c15u;
    double value = 1000;

    for (size_t off = 0; off < len; off += sizeof(value)) {
        int step =
            (int)(draw(&state) >> (64 - STEP_BITS)) - (1 << RESOLUTION_BITS);
        size_t left = len - off;

        value += ldexp(step, -RESOLUTION_BITS);
        memcpy(dst + off, &value, left < sizeof(value) ? left : sizeof(value));
    }
}
