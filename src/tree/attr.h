/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TREE_ATTR_H
#define TREE_ATTR_H

#include <stdint.h>
#include <sys/stat.h>

#include "frame/frame.h"
#include "tree/fs.h"

/*
 * Attributes that show, by what is stored.  See open_attr.h for those of any
 * node, which may be open, and then be ahead of what is stored.
 */

/*
 * Make the attributes of a frame's file those of the file that it shows.
 *
 *  size   bytes that show
 *  dirty  bytes that are still to be written out
 */
void attr_show_frame(const struct fs *fs, const struct frame_info *info,
                     uint64_t size, uint64_t dirty, struct stat *st);

/* The same for a chunk that shows as a file of `size` bytes. */
void attr_show_chunk(uint64_t size, struct stat *st);

/*
 * Turn the attributes of what is stored of a frame or chunk that is not open
 * into those that show, but for the inode number.
 *
 *  place  where the node was just seen
 *  st     attributes as backing_stat() gave them
 *
 * A frame that is damaged is reported, and has the size that its header claims;
 * a chunk has none then.  Returns 0 or a negative errno.
 */
int attr_complete_closed(struct fs *fs, struct node *node,
                         const struct backing_place *place, struct stat *st);

/* Report a frame that is passed through because its header is damaged. */
void attr_report_raw(struct fs *fs, struct node *node,
                     const struct backing_place *place, const struct stat *st);

/* The attributes of a node that shows as a directory.  Returns 0 or a negative
   errno. */
int attr_get_folder(struct fs *fs, struct node *node, struct stat *out);

#endif
