/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_MOUNTED_H
#define TOOLS_MOUNTED_H

#include <stdint.h>

/*
 * A frame that is changed through the file by which a mount shows it.  Nothing
 * else may write to the stored frame, because the mount has it open.
 *
 * Functions report their errors, and return 0 or a negative errno.  When they
 * return 0, the change is durable.
 */
struct mounted {
    const char *path;
    int fd;
    uint64_t nbytes;
    uint64_t nchunks;
    uint64_t chunksize; /* 0: chunks differ in size, or it is not decided yet */
};

/*
 * Open a file that a user named, if a mount shows a frame by it.  If so,
 * interrupts are caught from here on, and other processes that do the same wait
 * until this one closes the file.
 *
 * Returns 1 if it is such a file; 0 if it is anything else, such as a frame; or
 * a negative errno, which was reported.
 */
int mounted_open(const char *path, struct mounted *out);

/* Close the file.  If the user has interrupted the program, this ends it. */
void mounted_close(struct mounted *mounted);

/* Append the bytes of a file, or of standard input for "-". */
int mounted_append(struct mounted *mounted, const char *input);

/* Insert the bytes of a file, or of standard input for "-", as a chunk before
   `chunk_no`; or replace that chunk by them. */
int mounted_insert(struct mounted *mounted, uint64_t chunk_no,
                   const char *input);
int mounted_update(struct mounted *mounted, uint64_t chunk_no,
                   const char *input);

/* Delete a chunk. */
int mounted_delete(struct mounted *mounted, uint64_t chunk_no);

/*
 * Change the order of the chunks.
 *
 *  order  for each place, the number of the chunk that moves there; -E2BIG if
 *         there are more than FRAMEFS_IOCTL_ORDER_MAX from the first chunk that
 *         moves to the last, because a single ioctl() moves them
 *
 * Returns -EINVAL, without reporting it, if that is not a permutation, or if a
 * shorter chunk would not stay last.
 */
int mounted_reorder(struct mounted *mounted, const uint64_t *order);

/* Make the file `size` bytes long, and sync it. */
int mounted_truncate(struct mounted *mounted, uint64_t size);

#endif
