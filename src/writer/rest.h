/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_REST_H
#define WRITER_REST_H

#include <stdbool.h>

#include "writer/space.h"

/*
 * Freed space that rests before it is reused, so that readers of an older state
 * of the frame, in any process, have time to notice that there is a newer one.
 * First in, first out.  Starts zeroed.
 */
struct rest {
    struct rest_extent *extents; /* a ring of `room` entries; `n` in use from
                                    `first` */
    size_t room;
    size_t first;
    size_t n;
    uint64_t len; /* total length of all extents */
};

/* One extent that rests. */
struct rest_extent {
    struct space_extent extent;
    int64_t until; /* nanoseconds, by the caller's clock */
};

/* Free the list.  It is empty then, and may be used again. */
void rest_fini(struct rest *rest);

/* Add an extent.  Returns 0 or -ENOMEM. */
int rest_add(struct rest *rest, const struct space_extent *extent,
             int64_t until);

/* Would rest_take() return an extent? */
bool rest_is_due(const struct rest *rest, int64_t now, uint64_t max);

/*
 * Remove the oldest extent if its rest ends at `now` or earlier, or if all
 * together are longer than `max`.  Returns false if it stays, or if there is
 * none.
 */
bool rest_take(struct rest *rest, int64_t now, uint64_t max,
               struct space_extent *out);

#endif
