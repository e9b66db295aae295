/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_RETIRED_H
#define BACKING_RETIRED_H

#include <stdint.h>
#include <sys/stat.h>

#include "store/store.h"

/*
 * Sparse frames that were removed while they were open: they leave their place
 * for a private directory, where they have a name of their own.
 */

/* The name of such a frame. */
struct retired_name {
    char text[sizeof(STORE_TEMPORARY "18446744073709551615")];
};

/* Make the name of the frame whose directory has an inode number. */
struct retired_name retired_name(uint64_t ino);

/*
 * Remove a sparse frame that has left its place.
 *
 *  anchor  the frame's directory
 *  st      what backing_stat() said of it
 */
void retired_remove(int anchor, const struct stat *st);

#endif
