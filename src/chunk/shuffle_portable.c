/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/shuffle_portable.h"

#include <string.h>

#include "chunk/shuffle.h"

/* Items, or groups of eight, at a time: a cache line of each plane or row. */
enum {
    TILE = 64
};

static void shuffle_tile(size_t typesize, size_t nitems, size_t start,
                         size_t end, const uint8_t *src, uint8_t *dst)
{
    for (size_t j = 0; j < typesize; j++) {
        for (size_t i = start; i < end; i++)
            dst[j * nitems + i] = src[i * typesize + j];
    }
}

static void unshuffle_tile(size_t typesize, size_t nitems, size_t start,
                           size_t end, const uint8_t *src, uint8_t *dst)
{
    for (size_t j = 0; j < typesize; j++) {
        for (size_t i = start; i < end; i++)
            dst[i * typesize + j] = src[j * nitems + i];
    }
}

void shuffle_rest(size_t typesize, size_t len, size_t done, const uint8_t *src,
                  uint8_t *dst)
{
    size_t nitems = len / typesize;
    size_t whole = nitems * typesize;

    for (; nitems - done > TILE; done += TILE)
        shuffle_tile(typesize, nitems, done, done + TILE, src, dst);
    shuffle_tile(typesize, nitems, done, nitems, src, dst);
    memcpy(dst + whole, src + whole, len - whole);
}

void unshuffle_rest(size_t typesize, size_t len, size_t done,
                    const uint8_t *src, uint8_t *dst)
{
    size_t nitems = len / typesize;
    size_t whole = nitems * typesize;

    for (; nitems - done > TILE; done += TILE)
        unshuffle_tile(typesize, nitems, done, done + TILE, src, dst);
    unshuffle_tile(typesize, nitems, done, nitems, src, dst);
    memcpy(dst + whole, src + whole, len - whole);
}

void unshuffle_planes_portable(size_t typesize, size_t nitems,
                               const uint8_t *const planes[], uint8_t *dst)
{
    for (size_t j = 0; j < typesize; j++) {
        for (size_t i = 0; i < nitems; i++)
            dst[i * typesize + j] = planes[j][i];
    }
}

/* Transpose 8x8 bits: bit k of byte b becomes bit b of byte k. */
static uint64_t transpose_bits(uint64_t x)
{
    uint64_t t;

    t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aa;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000cccc0000cccc;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0;
    return x ^ t ^ (t << 28);
}

/* Load eight bytes that are `step` apart, the first one lowest. */
static uint64_t gather(const uint8_t *bytes, size_t step)
{
    uint64_t x = 0;

    for (unsigned b = 0; b < 8; b++)
        x |= (uint64_t)bytes[b * step] << 8 * b;
    return x;
}

static void scatter(uint64_t x, uint8_t *bytes, size_t step)
{
    for (unsigned b = 0; b < 8; b++)
        bytes[b * step] = (uint8_t)(x >> 8 * b);
}

static void bitshuffle_tile(size_t typesize, size_t row, size_t start,
                            size_t end, const uint8_t *src, uint8_t *dst)
{
    for (size_t j = 0; j < typesize; j++) {
        for (size_t i = start; i < end; i++) {
            uint64_t x = gather(src + i * 8 * typesize + j, typesize);

            scatter(transpose_bits(x), dst + j * 8 * row + i, row);
        }
    }
}

static void bitunshuffle_tile(size_t typesize, size_t row, size_t start,
                              size_t end, const uint8_t *src, uint8_t *dst)
{
    for (size_t j = 0; j < typesize; j++) {
        for (size_t i = start; i < end; i++) {
            uint64_t x = gather(src + j * 8 * row + i, row);

            scatter(transpose_bits(x), dst + i * 8 * typesize + j, typesize);
        }
    }
}

void bitshuffle_rest(size_t typesize, size_t len, size_t done,
                     const uint8_t *src, uint8_t *dst)
{
    size_t row = len / typesize / 8;
    size_t whole = row * 8 * typesize;

    for (; row - done > TILE; done += TILE)
        bitshuffle_tile(typesize, row, done, done + TILE, src, dst);
    bitshuffle_tile(typesize, row, done, row, src, dst);
    memcpy(dst + whole, src + whole, len - whole);
}

void bitunshuffle_rest(size_t typesize, size_t len, size_t done,
                       const uint8_t *src, uint8_t *dst)
{
    size_t row = len / typesize / 8;
    size_t whole = row * 8 * typesize;

    for (; row - done > TILE; done += TILE)
        bitunshuffle_tile(typesize, row, done, done + TILE, src, dst);
    bitunshuffle_tile(typesize, row, done, row, src, dst);
    memcpy(dst + whole, src + whole, len - whole);
}

static void shuffle(size_t typesize, size_t len, const uint8_t *src,
                    uint8_t *dst)
{
    shuffle_rest(typesize, len, 0, src, dst);
}

static void unshuffle(size_t typesize, size_t len, const uint8_t *src,
                      uint8_t *dst)
{
    unshuffle_rest(typesize, len, 0, src, dst);
}

static void bitshuffle(size_t typesize, size_t len, const uint8_t *src,
                       uint8_t *dst)
{
    bitshuffle_rest(typesize, len, 0, src, dst);
}

static void bitunshuffle(size_t typesize, size_t len, const uint8_t *src,
                         uint8_t *dst)
{
    bitunshuffle_rest(typesize, len, 0, src, dst);
}

static void prefix_sum(size_t len, uint8_t *bytes)
{
    uint8_t sum = 0;

    for (size_t i = 0; i < len; i++) {
        sum = (uint8_t)(sum + bytes[i]);
        bytes[i] = sum;
    }
}

const struct shuffle_ops shuffle_portable = {
    .name = "portable",
    .shuffle = shuffle,
    .unshuffle = unshuffle,
    .bitshuffle = bitshuffle,
    .bitunshuffle = bitunshuffle,
    .prefix_sum = prefix_sum,
};
