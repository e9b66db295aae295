/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_MOUNTED_H
#define TOOLS_MOUNTED_H

#include <stdint.h>

/*
 * A frame that is changed through the file that a mount shows of it.  The mount
 * has it open, so nothing else may write to what is stored.
 *
 * Functions report their errors, and return 0 or a negative errno.  What they
 * did is durable.
 */
struct mounted {
    const char *path;
    int fd;
    uint64_t nchunks;
    uint64_t chunksize; /* 0: chunks differ in size, or there are none */
};

/*
 * Open what a user named to be changed, if it is such a file.  Interrupts are
 * caught from here on, and others who do the same wait until it is closed.
 *
 * Returns 1 if it is, 0 if it is none: a frame, or something else; or a
 * negative errno, which was reported.
 */
int mounted_open(const char *path, struct mounted *out);

/* If there was an interrupt, the program ends. */
void mounted_close(struct mounted *mounted);

/* Add what comes from a file, or from standard input as "-", at the end. */
int mounted_append(struct mounted *mounted, const char *input);

/* Insert such bytes as a chunk before another one; or put them in its place. */
int mounted_insert(struct mounted *mounted, uint64_t chunk_no,
                   const char *input);
int mounted_update(struct mounted *mounted, uint64_t chunk_no,
                   const char *input);

/* Delete a chunk. */
int mounted_delete(struct mounted *mounted, uint64_t chunk_no);

/*
 * Change the order of the chunks.
 *
 *  order  number of the chunk that comes to each place, of all there are; those
 *         that change places are few enough for one ioctl()
 *
 * Returns -EINVAL, which was not reported, if that is no permutation, or a
 * shorter chunk does not stay last.
 */
int mounted_reorder(struct mounted *mounted, const uint64_t *order);

/* Make the file `size` bytes long, and sync it. */
int mounted_truncate(struct mounted *mounted, uint64_t size);

#endif
