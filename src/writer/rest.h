/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_REST_H
#define WRITER_REST_H

#include <stdbool.h>

#include "writer/space.h"

/*
 * Freed space that rests before it is used again, so that those who read an
 * older state of the frame, in whatever process, have time to notice that there
 * is a newer one.  First in, first out.  Starts zeroed.
 */
struct rest {
    struct rest_extent *extents; /* a ring of `room`, `n` in use from `first` */
    size_t room;
    size_t first;
    size_t n;
    uint64_t len; /* of all of them */
};

struct rest_extent {
    struct space_extent extent;
    int64_t until; /* nanoseconds, of whatever clock the caller uses */
};

void rest_fini(struct rest *rest);

/* Add an extent.  Returns 0 or -ENOMEM. */
int rest_add(struct rest *rest, const struct space_extent *extent,
             int64_t until);

/* Would rest_take() take one out? */
bool rest_is_due(const struct rest *rest, int64_t now, uint64_t max);

/*
 * Take out the oldest extent if it has rested until `now`, or if all together
 * are longer than `max`.  Returns false if there is none.
 */
bool rest_take(struct rest *rest, int64_t now, uint64_t max,
               struct space_extent *out);

#endif
