/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_HOLE_H
#define FILE_HOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "state/file_private.h"

/* Which chunks of a file are holes. */

/* A look for a hole, or for data. */
struct hole_search {
    struct file *file;
    struct file_state *state;
    uint64_t off; /* where to start */
    bool hole;    /* whether to look for a hole */
    struct fault *fault;
};

/*
 * Is a chunk a hole?  A dirty chunk is not.  A clean chunk is one if it was
 * made zeros, if the frame does not have it yet, or if the frame stores it as a
 * special value other than NaN.
 */
int hole_is(const struct hole_search *search, uint64_t chunk_no, bool *hole);

/* Find the next chunk that is not a hole; `nchunks` if there is none. */
int hole_next_data(const struct hole_search *search, uint64_t chunk_no,
                   uint64_t nchunks, uint64_t *out);

#endif
