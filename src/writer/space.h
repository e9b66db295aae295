/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_SPACE_H
#define WRITER_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The free space of a file, in bytes, or of chunk files, in ids.  It starts at
   0 and has no end; at first all is free.  Not safe for threads. */
struct space {
    struct space_extent *free; /* sorted, with used space between any two; the
                                  last one extends to the end */
    size_t nfree;
    size_t room; /* capacity of `free` */
};

/* A range of the file, in bytes. */
struct space_extent {
    uint64_t off;
    uint64_t len;
};

/* Returns 0 or -ENOMEM. */
int space_init(struct space *space);

/* Accepts a zeroed space. */
void space_fini(struct space *space);

/* Is the byte or id at `off` free? */
bool space_is_free(const struct space *space, uint64_t off);

/*
 * Take an extent that must be free.
 *
 * Returns 0, -EEXIST if part of it is not free, or -ENOMEM.
 */
int space_take(struct space *space, uint64_t off, uint64_t len);

/* Take all free parts of a range.  Returns 0 or -ENOMEM. */
int space_fill(struct space *space, uint64_t off, uint64_t len);

/* Take the first free part of [off, end) that does not lie behind all used
   space.  Returns false if there is none, or no memory. */
bool space_take_free(struct space *space, uint64_t off, uint64_t end,
                     struct space_extent *out);

/*
 * Take the lowest free extent of `len` > 0 at or behind `from`.
 *
 * Returns 0 or -ENOMEM.
 */
int space_alloc(struct space *space, uint64_t from, uint64_t len,
                uint64_t *out);

/*
 * Take the lowest free extent of `len` > 0 that ends at or before `end`, which
 * is used or the end of used space.
 *
 * Returns 0, -ENOSPC if there is none, or -ENOMEM.
 */
int space_alloc_before(struct space *space, uint64_t end, uint64_t len,
                       uint64_t *out);

/* Free an extent that was taken, or part of one.  If there is no memory to
   record that, it stays taken. */
void space_give(struct space *space, uint64_t off, uint64_t len);

/*
 * Take the free space right before and behind a taken extent, at most `most` on
 * each side, but not the space behind all used space.  Returns the wider
 * extent.
 */
struct space_extent space_widen(struct space *space, uint64_t off, uint64_t len,
                                uint64_t most);

/* The end of all used space. */
uint64_t space_end(const struct space *space);

#endif
