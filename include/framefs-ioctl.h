/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAMEFS_IOCTL_H
#define FRAMEFS_IOCTL_H

#include <linux/ioctl.h>
#include <stdint.h>

/*
 * Operations on the chunks of a mounted frame, by ioctl() on a descriptor that
 * is open for writing.  Earlier writes to the file are committed together with
 * the change, which is durable when ioctl() returns.
 *
 * The kernel does not learn that the file's size has changed: call ftruncate()
 * with the new size before doing anything else with the file.
 *
 * Errors
 *  EBADF   the descriptor is not open for writing
 *  ENOTTY  the file is not a frame, or is on another file system
 *  EPERM   the file shows an array, whose chunks have a place
 *  ERANGE  there is no such chunk
 *  EINVAL  the size does not go with the frame's chunksize; the order is not a
 *          permutation
 *  others  as write()
 *
 * The numbers and structs of these requests stay as they are.
 */

/* Insert a chunk of zeros, which the program may then write to; or delete a
   chunk. */
struct framefs_ioctl_chunk {
    uint64_t chunk_no; /* insert before this chunk; or delete this chunk */
    uint64_t nbytes;   /* in: decoded size of the new chunk, 0: the chunksize;
                          out: new size of the file */
};

enum {
    FRAMEFS_IOCTL_ORDER_MAX = 4000
};

/* Change the order of chunks that follow one another. */
struct framefs_ioctl_order {
    uint64_t first;   /* number of the first of these chunks */
    uint64_t nchunks; /* number of chunks, at most FRAMEFS_IOCTL_ORDER_MAX */
    uint32_t order[FRAMEFS_IOCTL_ORDER_MAX]; /* for each place, the chunk that
                                                moves there, counted from
                                                `first` */
};

#define FRAMEFS_IOCTL_INSERT  _IOWR(0xb2, 1, struct framefs_ioctl_chunk)
#define FRAMEFS_IOCTL_DELETE  _IOWR(0xb2, 2, struct framefs_ioctl_chunk)
#define FRAMEFS_IOCTL_REORDER _IOW(0xb2, 3, struct framefs_ioctl_order)

#endif
