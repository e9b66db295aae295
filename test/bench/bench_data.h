/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_DATA_H
#define BENCH_DATA_H

#include <stddef.h>
#include <stdint.h>

enum {
    BENCH_TYPESIZE = 8
};

/*
 * Fill `dst` with float64 values on a random walk, like those of a sensor of
 * limited resolution.  After shuffle, lz4 compresses them about 2.8 : 1.
 *
 *  seed  selects the walk, for example the number of the chunk
 */
void bench_walk(uint64_t seed, uint8_t *dst, size_t len);

#endif
