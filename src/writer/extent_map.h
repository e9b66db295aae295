/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_EXTENT_MAP_H
#define WRITER_EXTENT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The free space of a file, in bytes, or of chunk files, in ids.  It starts at
   0 and has no end; at first all is free.  Not safe for threads. */
struct extent_map {
    struct extent *free; /* sorted, with used space between any two; the last
                            one extends to the end */
    size_t nfree;
    size_t capacity; /* capacity of `free` */
};

/* A range of the file, in bytes. */
struct extent {
    uint64_t off;
    uint64_t len;
};

/* Returns 0 or -ENOMEM. */
int extent_map_init(struct extent_map *map);

/* Accepts a zeroed map. */
void extent_map_fini(struct extent_map *map);

/* Is the byte or id at `off` free? */
bool extent_map_is_free(const struct extent_map *map, uint64_t off);

/*
 * Allocate an extent that must be free.
 *
 * Returns 0, -EEXIST if part of it is not free, or -ENOMEM.
 */
int extent_map_alloc_at(struct extent_map *map, uint64_t off, uint64_t len);

/* Allocate all free parts of a range.  Returns 0 or -ENOMEM. */
int extent_map_alloc_all(struct extent_map *map, uint64_t off, uint64_t len);

/* Allocate the first free part of [off, end) that does not lie behind all used
   space.  Returns false if there is none, or no memory. */
bool extent_map_alloc_next(struct extent_map *map, uint64_t off, uint64_t end,
                           struct extent *out);

/*
 * Allocate the lowest free extent of `len` > 0 at or behind `from`.
 *
 * Returns 0 or -ENOMEM.
 */
int extent_map_alloc(struct extent_map *map, uint64_t from, uint64_t len,
                     uint64_t *out);

/*
 * Allocate the lowest free extent of `len` > 0 that ends at or before `end`,
 * which is used or the end of used space.
 *
 * Returns 0, -ENOSPC if there is none, or -ENOMEM.
 */
int extent_map_alloc_before(struct extent_map *map, uint64_t end, uint64_t len,
                            uint64_t *out);

/* Free an extent that was allocated, or part of one. If there is no memory to
   record that, it stays allocated. */
void extent_map_free(struct extent_map *map, uint64_t off, uint64_t len);

/*
 * Allocate the free space right before and behind an allocated extent, at most
 * `most` on each side, but not the space behind all used space.  Returns the
 * wider extent.
 */
struct extent extent_map_widen(struct extent_map *map, uint64_t off,
                               uint64_t len, uint64_t most);

/* The end of all used space. */
uint64_t extent_map_end(const struct extent_map *map);

#endif
