/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_XATTR_H
#define OPS_XATTR_H

#include <stddef.h>

#include "tree/fs.h"

/*
 * Extended attributes: those of the file, and for a frame
 *
 *  user.b2frame.info         geometry, codec, filters and sizes, as JSON
 *  user.b2frame.meta.NAME    a metalayer
 *  user.b2frame.vlmeta.NAME  a vlmetalayer
 *  user.b2frame.usermeta     the nameless metalayer of frames before 2021
 *
 * and for the root that of stats.h.
 *
 * Functions that read write to `out` a buffer that the caller frees.  All
 * return 0, an error of the store or the frame, -E2BIG if the result is longer
 * than the system can pass on, or
 *  -ENODATA  there is no such attribute
 */

/* Get the value of an attribute. */
int xattr_get(struct fs *fs, struct node *node, const char *name, char **out,
              size_t *len);

/* An attribute to be set: the arguments of setxattr(). */
struct xattr_new {
    const char *name;
    const void *value;
    size_t size;
    int flags; /* XATTR_CREATE or XATTR_REPLACE, or 0 */
};

/*
 * Set or remove an attribute.  These also return
 *  -EPERM    the attribute describes the frame or the mount, and cannot be set
 *  -EINVAL   the length of a metalayer cannot change, and none can be added
 *  -EEXIST   the attribute exists, and `attr->flags` has XATTR_CREATE
 *  -ENOTSUP  the file is a frame, and frames show no attribute of this name
 *  -EROFS    a folder of a store is read-only
 */
int xattr_set(struct fs *fs, struct node *node, const struct xattr_new *attr);
int xattr_remove(struct fs *fs, struct node *node, const char *name);

/* Get the names of all attributes, each ended by a NUL. */
int xattr_list(struct fs *fs, struct node *node, char **out, size_t *len);

#endif
