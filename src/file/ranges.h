/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_RANGES_H
#define FILE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A set of chunk numbers, as ranges in order with gaps between them.  Starts
   zeroed.  The caller locks it. */
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

/* Is a chunk in one of them? */
bool ranges_have(const struct ranges *ranges, uint64_t chunk_no);

#endif
