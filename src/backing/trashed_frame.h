/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_TRASHED_FRAME_H
#define BACKING_TRASHED_FRAME_H

#include <stdint.h>
#include <sys/stat.h>

#include "store/store_local.h"

/*
 * Sparse frames that were removed while they were open.  They move to a private
 * directory, where each has a name of its own.
 */

/* The name of such a frame. */
struct trashed_frame_name {
    char text[sizeof(STORE_TEMPORARY "18446744073709551615")];
};

/* Make the name of a frame from the inode number of its directory. */
struct trashed_frame_name trashed_frame_name(uint64_t ino);

/*
 * Remove a sparse frame that was moved to a private directory.
 *
 *  anchor  the frame's directory
 *  st      its attributes from backing_stat()
 */
void trashed_frame_remove(int anchor, const struct stat *st);

#endif
