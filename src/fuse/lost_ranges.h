/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_LOST_RANGES_H
#define FUSE_LOST_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "file/ranges.h"

/*
 * Bytes of a file that are lost.
 *
 * A program writes to the kernel's cache, and is told that this succeeded.  If
 * the daemon then refuses the pages, the kernel drops them for good and reports
 * that once, at the next fsync() or close().  So the daemon keeps in mind which
 * bytes are lost, until they are written again or cut off.
 *
 * Memory is bounded: of too many ranges those that are closest to each other
 * become one.  So bytes may count as lost that are not, but none that are lost
 * are forgotten.
 *
 * The caller locks it.
 */
struct lost_ranges {
    struct ranges ranges;
    int error;   /* why the first ones were refused; a negative errno */
    bool logged; /* that these are lost */
};

/* Returns 0 or -ENOMEM. */
int lost_ranges_init(struct lost_ranges *lost);
void lost_ranges_fini(struct lost_ranges *lost);

/* Bytes `off` to `end` - 1 are lost; `error` says why. */
void lost_ranges_add(struct lost_ranges *lost, uint64_t off, uint64_t end,
                     int error);

/* These are as a program wants them. */
void lost_ranges_remove(struct lost_ranges *lost, uint64_t off, uint64_t end);

/* Is any of these bytes lost? */
bool lost_ranges_overlap(const struct lost_ranges *lost, uint64_t off,
                         uint64_t end);

/* From the first lost byte to behind the last.  Returns false if none is. */
bool lost_ranges_hull(const struct lost_ranges *lost, uint64_t *off,
                      uint64_t *end);

/* Why bytes are lost; 0 if none are. */
int lost_ranges_error(const struct lost_ranges *lost);

#endif
