/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_SHUFFLE_PORTABLE_H
#define CHUNK_SHUFFLE_PORTABLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The portable kernels from a given place on, for the rest of a block that
 * fills no more vectors.  See struct shuffle_ops for the arguments.
 *
 *  done  items (bitshuffle: groups of eight items) that are finished already
 */
void shuffle_rest(size_t typesize, size_t len, size_t done, const uint8_t *src,
                  uint8_t *dst);
void unshuffle_rest(size_t typesize, size_t len, size_t done,
                    const uint8_t *src, uint8_t *dst);
void bitshuffle_rest(size_t typesize, size_t len, size_t done,
                     const uint8_t *src, uint8_t *dst);
void bitunshuffle_rest(size_t typesize, size_t len, size_t done,
                       const uint8_t *src, uint8_t *dst);

/* See unshuffle_planes() in struct shuffle_ops.  Use it for few items. */
void unshuffle_planes_portable(size_t typesize, size_t nitems,
                               const uint8_t *const planes[], uint8_t *dst);

#endif
