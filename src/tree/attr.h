/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TREE_ATTR_H
#define TREE_ATTR_H

#include <stdint.h>
#include <sys/stat.h>

#include "frame/frame.h"
#include "tree/fs.h"

/*
 * Attributes that programs see, computed from the stored files.  An open file
 * may be ahead of the stored one; open_attr.h has the attributes of any node,
 * open or not.
 */

/*
 * Turn the attributes of a frame's file into those of the file that it shows.
 *
 *  size   bytes that show
 *  dirty  bytes that are still to be written out
 */
void attr_show_frame(const struct fs *fs, const struct frame_info *info,
                     uint64_t size, uint64_t dirty, struct stat *st);

/* Do the same for a chunk that shows as a file of `size` bytes. */
void attr_show_chunk(uint64_t size, struct stat *st);

/*
 * Turn the stored attributes of a frame or chunk that is not open into those
 * that show, except for the inode number.
 *
 *  place  where the node was just seen
 *  again  the attributes may be out of date
 *  st     attributes as backing_stat() gave them
 *
 * If a frame is damaged or cannot be read, this function gives it the size that
 * its header claims, or else the size of its file, but at least one byte.  A
 * damaged chunk gets size 0.  Both are reported, unless the reason is that
 * permissions keep the daemon from reading a frame.  Returns 0 or a negative
 * errno.
 */
int attr_complete_closed(struct fs *fs, struct node *node,
                         const struct backing_place *place, bool again,
                         struct stat *st);

/* Report a frame that shows as a plain file because its header is damaged. */
void attr_report_raw(struct fs *fs, struct node *node,
                     const struct backing_place *place, const struct stat *st);

/* Get the attributes of a node that shows as a directory.  Returns 0 or a
   negative errno. */
int attr_get_folder(struct fs *fs, struct node *node, struct stat *out);

#endif
