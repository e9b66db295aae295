/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TREE_ATTR_HEADER_H
#define TREE_ATTR_HEADER_H

#include "tree/fs.h"

/*
 * Find the values in the header of a frame that is not open, and the size of
 * the file that shows it.  If the node has them of this very version of the
 * file, the header is not read.
 *
 *  st  attributes of the file, from just before this call
 *
 * A frame that is damaged, or that cannot be read, is reported, and shows the
 * size that its header claims, or that of its file.  Returns 0, -ESTALE if
 * another file is at the place, or an error that is no fault of the frame.
 */
int attr_read_header(struct fs *fs, struct node *node,
                     const struct backing_place *place, const struct stat *st,
                     struct file_peek *out);

#endif
