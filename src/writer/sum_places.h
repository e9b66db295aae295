/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_SUM_PLACES_H
#define WRITER_SUM_PLACES_H

#include <stdbool.h>

#include "frame/frame_sums.h"

/* The places of the chunks of a frame that have no sums; all others have.  What
   is free may count as either.  Not safe for threads. */
struct sum_places {
    struct ranges unsummed;
};

/* No more ranges are kept than these.  If there would be more, one is extended,
   and the chunks that it then covers count as having no sums. */
enum {
    SUM_PLACES_MAX = 1 << 16
};

/*
 * Record whether the chunk at a place has sums.
 *
 *  off, len  as in the index, in bytes or ids
 *
 * Returns 0 or -ENOMEM.
 */
int sum_places_set(struct sum_places *places, uint64_t off, uint64_t len,
                   bool summed);

/* Has the chunk at a place sums? */
bool sum_places_have(const struct sum_places *places, uint64_t off);

/* Take over the places from a frame that has sums in force.  Returns 0 or
   -ENOMEM. */
int sum_places_load(struct sum_places *places, const struct frame_sums *sums);

/* Accepts a zeroed struct. */
void sum_places_free(struct sum_places *places);

#endif
