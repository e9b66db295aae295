/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_OPEN_ATTR_H
#define OPEN_OPEN_ATTR_H

#include <sys/stat.h>

#include "tree/fs.h"

/* Get the attributes of a node, whether it is open or not.  Returns 0 or a
   negative errno. */
int open_attr_get(struct fs *fs, struct node *node, struct stat *out);

/*
 * Turn the attributes of the stored file into those that programs see.
 *
 *  place     where the caller has just found the node
 *  nwritten  `nwritten` of `fs` before that
 *  st        attributes from backing_stat()
 *
 * If the node is open and its file has changed, this opens the new state.  A
 * damaged frame is reported, and gets the size that its header claims.
 *
 * Returns 0 or a negative errno: -ESTALE if the node is left to the programs
 * that have it open, see open_file_refresh().
 */
int open_attr_complete(struct fs *fs, struct node *node,
                       const struct backing_place *place, unsigned nwritten,
                       struct stat *st);

#endif
