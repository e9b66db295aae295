/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_LOST_RANGES_H
#define OPEN_LOST_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ranges.h"

/*
 * The bytes of a file that are lost.
 *
 * write() into the kernel's cache succeeds before the daemon sees the bytes.
 * If the daemon refuses the pages later, the kernel drops them for good and
 * reports that once, at the next fsync() or close().  So the daemon remembers
 * these bytes until they are written again, cut off or zeroed.
 *
 * Memory is bounded: when there are too many ranges, or no memory for another
 * one, the two that are closest to each other become one.  So a byte may count
 * as lost that is not, but no lost byte is forgotten.
 *
 * The caller does the locking.
 */
struct lost_ranges {
    struct ranges ranges;
    int error;   /* with which the first bytes were refused; a negative errno */
    bool logged; /* the log names all of the ranges */
};

/* Returns 0 or -ENOMEM. */
int lost_ranges_init(struct lost_ranges *lost);
void lost_ranges_fini(struct lost_ranges *lost);

/* Record that bytes `off` to `end` - 1 are lost; `error` says why. */
void lost_ranges_add(struct lost_ranges *lost, uint64_t off, uint64_t end,
                     int error);

/* Record that bytes `off` to `end` - 1 are again as a program wants them. */
void lost_ranges_remove(struct lost_ranges *lost, uint64_t off, uint64_t end);

/* Is any of these bytes lost? */
bool lost_ranges_overlap(const struct lost_ranges *lost, uint64_t off,
                         uint64_t end);

/* Return the end of the last lost byte among `off` to `end` - 1; 0 if none of
   them is lost. */
uint64_t lost_ranges_end(const struct lost_ranges *lost, uint64_t off,
                         uint64_t end);

/* Get the range from the first lost byte to the end of the last.  Returns false
   if no byte is lost. */
bool lost_ranges_hull(const struct lost_ranges *lost, uint64_t *off,
                      uint64_t *end);

/* The error with which the first bytes were refused; 0 if no byte is lost. */
int lost_ranges_error(const struct lost_ranges *lost);

#endif
