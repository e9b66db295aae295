/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_RANGES_H
#define STATE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A set of numbers, of chunks or bytes, as ranges in order with gaps between
   them.  Starts zeroed.  The caller locks it. */
struct ranges {
    struct range {
        uint64_t first;
        uint64_t end;
    } * list;
    size_t n;
    size_t room;
};

/* Accepts an empty set. */
void ranges_fini(struct ranges *ranges);

/* See to it that one more range can be added.  Returns 0 or -ENOMEM. */
int ranges_reserve(struct ranges *ranges, size_t more);

/* Add `first` to `end` - 1, for which there is room. */
void ranges_add(struct ranges *ranges, uint64_t first, uint64_t end);

/* Remove `first` to `end` - 1.  That can split a range: there is room for one
   more. */
void ranges_remove(struct ranges *ranges, uint64_t first, uint64_t end);

/* Make one range of the two that are closest to each other, of at least two,
   with what lies between them. */
void ranges_merge_closest(struct ranges *ranges);

/* Is a number in one of them? */
bool ranges_have(const struct ranges *ranges, uint64_t number);

/* The first range that ends behind a number; NULL if none does. */
const struct range *ranges_next(const struct ranges *ranges, uint64_t number);

#endif
