/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_OPEN_ATTR_H
#define OPEN_OPEN_ATTR_H

#include <sys/stat.h>

#include "tree/fs.h"

/* Get the attributes of a node, which may be open.  Returns 0 or a negative
   errno. */
int open_attr_get(struct fs *fs, struct node *node, struct stat *out);

/*
 * Turn the attributes of what is stored into those of what shows.
 *
 *  place  where the node was just seen
 *  st     attributes as backing_stat() gave them
 *
 * If the node is open and its file has changed, the new state is opened.  A
 * frame that is damaged is reported, and has the size that its header claims.
 */
int open_attr_complete(struct fs *fs, struct node *node,
                       const struct backing_place *place, struct stat *st);

#endif
