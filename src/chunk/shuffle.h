/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_SHUFFLE_H
#define CHUNK_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

enum {
    SHUFFLE_PLANES_MAX = 8 /* largest typesize of unshuffle_planes() */
};

/*
 * The kernels of the filters, for one instruction set.
 *
 * The first four transpose a block of items, by bytes or by bits:
 *
 *  typesize  bytes per item, 1 to 255
 *  len       bytes in the block; need not be a multiple of typesize
 *  src, dst  `len` bytes each, of any alignment; they must not overlap
 *
 * Bytes that do not fill a whole item (bitshuffle: a group of eight items) are
 * copied to the same place.
 *
 * Format: Filters of Blosc2 chunks, 2 and 3.
 */
struct shuffle_ops {
    unsigned cpu; /* mask of cpu_feature that the kernels need */
    const char *name;
    void (*shuffle)(size_t typesize, size_t len, const uint8_t *src,
                    uint8_t *dst);
    void (*unshuffle)(size_t typesize, size_t len, const uint8_t *src,
                      uint8_t *dst);
    void (*bitshuffle)(size_t typesize, size_t len, const uint8_t *src,
                       uint8_t *dst);
    void (*bitunshuffle)(size_t typesize, size_t len, const uint8_t *src,
                         uint8_t *dst);

    /*
     * Unshuffle planes that lie apart: plane j has byte j of each item.  NULL
     * if joining the planes and unshuffle() are as fast.
     *
     *  typesize  2 to SHUFFLE_PLANES_MAX
     *  planes    `nitems` bytes each
     *  dst       nitems * typesize bytes, which overlap no plane
     */
    void (*unshuffle_planes)(size_t typesize, size_t nitems,
                             const uint8_t *const planes[], uint8_t *dst);

    /* Replace each byte by the sum, modulo 256, of all bytes up to it. */
    void (*prefix_sum)(size_t len, uint8_t *bytes);
};

/* The portable kernels.  They define the correct results. */
extern const struct shuffle_ops shuffle_portable;

/* All kernels of this build, the fastest first, the portable ones last; NULL
   ends the list. */
extern const struct shuffle_ops *const shuffle_kernels[];

/* Return the fastest kernels that need only the CPU features in `cpu`. */
const struct shuffle_ops *shuffle_select(unsigned cpu);

#endif
