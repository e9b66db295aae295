/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_SETATTR_H
#define OPS_SETATTR_H

#include <sys/stat.h>

#include "open/open_file.h"

/*
 * Change attributes of a node.
 *
 *  st   the new values
 *  set  which of them to set: FUSE_SET_ATTR_*
 *
 * Returns 0 or a negative errno.
 */
int setattr_apply(struct fs *fs, struct node *node, const struct stat *st,
                  int set);

/* Set the size of one state of an open file.  Returns as above. */
int setattr_size(struct fs *fs, struct open_file *open,
                 struct open_version *version, off_t size);

#endif
