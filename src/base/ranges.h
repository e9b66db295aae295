/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_RANGES_H
#define BASE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A set of numbers, of chunks or bytes, kept as sorted ranges with gaps between
   them.  Starts zeroed.  The caller locks it. */
struct ranges {
    struct range {
        uint64_t first;
        uint64_t end;
    } * list;
    size_t n;
    size_t capacity;
};

/* Accepts an empty set. */
void ranges_fini(struct ranges *ranges);

/* Reserve memory for `more` additional ranges.  Returns 0 or -ENOMEM. */
int ranges_reserve(struct ranges *ranges, size_t more);

/* Add `first` to `end` - 1.  The caller has reserved one range. */
void ranges_add(struct ranges *ranges, uint64_t first, uint64_t end);

/* Remove `first` to `end` - 1.  The caller has reserved one range, because this
   can split a range in two. */
void ranges_remove(struct ranges *ranges, uint64_t first, uint64_t end);

/* Merge the two neighbouring ranges that have the smallest gap between them,
   and add the gap to the set.  The set has at least two ranges.  This looks at
   all of them. */
void ranges_merge_closest(struct ranges *ranges);

/* Add `first` to `end` - 1, and the gap to the closer neighbour unless they
   touch a range, so that there are no more ranges than before.  The set has at
   least one. */
void ranges_add_near(struct ranges *ranges, uint64_t first, uint64_t end);

/* Is a number in the set? */
bool ranges_have(const struct ranges *ranges, uint64_t number);

/* Return the first range that ends after a number; NULL if there is none. */
const struct range *ranges_next(const struct ranges *ranges, uint64_t number);

#endif
