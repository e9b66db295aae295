/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_QUARANTINE_H
#define WRITER_QUARANTINE_H

#include <stdbool.h>

#include "writer/extent_map.h"

/*
 * Freed space that is not reused yet, so that readers of an older state of the
 * frame, in any process, have time to notice that there is a newer one.  First
 * in, first out.  Starts zeroed.
 */
struct quarantine {
    struct quarantined_extent
        *extents; /* a ring of `capacity` entries; `n` in use from `first` */
    size_t capacity;
    size_t first;
    size_t n;
    uint64_t len; /* total length of all extents */
};

/* One extent in quarantine. */
struct quarantined_extent {
    struct extent extent;
    int64_t until; /* nanoseconds, by the caller's clock */
};

/* Free the list.  It is empty then, and may be used again. */
void quarantine_fini(struct quarantine *quarantine);

/* Add an extent.  Returns 0 or -ENOMEM. */
int quarantine_add(struct quarantine *quarantine, const struct extent *extent,
                   int64_t until);

/* Would quarantine_take() return an extent? */
bool quarantine_is_due(const struct quarantine *quarantine, int64_t now,
                       uint64_t max);

/*
 * Remove the oldest extent if its quarantine ends at `now` or earlier, or if
 * all together are longer than `max`.  Returns false if it stays, or if there
 * is none.
 */
bool quarantine_take(struct quarantine *quarantine, int64_t now, uint64_t max,
                     struct extent *out);

#endif
