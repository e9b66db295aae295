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
 *  user.b2frame.usermeta     the nameless one of frames before 2021
 *
 * and for the root that of stats.h.
 *
 * Functions write bytes that the caller frees to `out`.  They return 0, an
 * error of the store or the frame, -E2BIG for more than the system can hand
 * on, or
 *  -ENODATA  there is no such attribute
 */

/* The value of an attribute. */
int xattr_get(struct fs *fs, struct node *node, const char *name, char **out,
              size_t *len);

/*
 * Set or remove one.  Also return
 *  -EPERM    it tells what the frame or mount is, and is not set
 *  -EINVAL   a metalayer keeps its length, and none is added
 *  -EEXIST   it is there, and `flags` has XATTR_CREATE
 */
int xattr_set(struct fs *fs, struct node *node, const char *name,
              const void *value, size_t size, int flags);
int xattr_remove(struct fs *fs, struct node *node, const char *name);

/* The names of all, each ended by a NUL. */
int xattr_list(struct fs *fs, struct node *node, char **out, size_t *len);

#endif
