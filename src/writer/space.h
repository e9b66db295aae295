/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_SPACE_H
#define WRITER_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which places are free: bytes of a file, or numbers of chunk files.  They go
 * from 0 up without end; at first all are free.  Not safe for threads.
 */
struct space {
    struct space_extent *free; /* in order, with something used between any
                                  two; the last one reaches to the end */
    size_t nfree;
    size_t room; /* in `free` */
};

struct space_extent {
    uint64_t off;
    uint64_t len;
};

/* Returns 0 or -ENOMEM. */
int space_init(struct space *space);

/* Accepts a zeroed space. */
void space_fini(struct space *space);

/* Is nothing at this place? */
bool space_is_free(const struct space *space, uint64_t off);

/*
 * Take a place that must be free.
 *
 * Returns 0, -EEXIST if part of it is not free, or -ENOMEM.
 */
int space_take(struct space *space, uint64_t off, uint64_t len);

/* Take all that is free in a range.  Returns 0 or -ENOMEM. */
int space_fill(struct space *space, uint64_t off, uint64_t len);

/*
 * Take the first free part of [off, end) that is not behind all that is used.
 * Returns false if there is none, or no memory.
 */
bool space_take_free(struct space *space, uint64_t off, uint64_t end,
                     struct space_extent *out);

/*
 * Take the lowest free place of `len` > 0 at or behind `from`.
 *
 * Returns 0 or -ENOMEM.
 */
int space_alloc(struct space *space, uint64_t from, uint64_t len,
                uint64_t *out);

/*
 * Take the lowest free place of `len` > 0 that ends at or before `end`, which
 * is used.
 *
 * Returns 0, -ENOSPC if there is none, or -ENOMEM.
 */
int space_alloc_before(struct space *space, uint64_t end, uint64_t len,
                       uint64_t *out);

/*
 * Give back a place that was taken, or part of one.  Where there is no memory
 * to note it, it stays taken.
 */
void space_give(struct space *space, uint64_t off, uint64_t len);

/*
 * Take what is free right before and behind a place that is taken, at most
 * `most` on each side.  The end of all that is used is not passed.  Returns
 * the wider place.
 */
struct space_extent space_widen(struct space *space, uint64_t off, uint64_t len,
                                uint64_t most);

/* The end of all that is used. */
uint64_t space_end(const struct space *space);

#endif
