/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_XATTR_PRIVATE_H
#define OPS_XATTR_PRIVATE_H

#include <stdio.h>

#include "ops/xattr.h"

/* Attributes by their holders, for the files of xattr.h. */

/* How the names of attributes that a frame holds begin. */
#define XATTR_OURS "user.b2frame."

/* The holder of an attribute. */
enum xattr_holder {
    XATTR_HOLDER_NONE,    /* nothing can */
    XATTR_HOLDER_FRAME,   /* the frame, as a metalayer */
    XATTR_HOLDER_BACKING, /* the file or directory under SOURCE */
};

/* The holder of an attribute of a node. */
enum xattr_holder xattr_holder_of(const struct node *node, const char *name);

/*
 * Attributes that a frame holds: xattr_frame.c.  Functions return errors as
 * those of xattr.h.  xattr_frame_list() writes the names, each ended by a NUL,
 * and returns -EAGAIN if another program wrote to the frame meanwhile.
 */
int xattr_frame_get(struct fs *fs, struct node *node, const char *name,
                    char **out, size_t *len);
int xattr_frame_list(struct fs *fs, struct node *node, FILE *out);
int xattr_frame_set(struct fs *fs, struct node *node,
                    const struct xattr_new *attr);
int xattr_frame_remove(struct fs *fs, struct node *node, const char *name);

/*
 * Attributes of the file or directory under SOURCE: xattr_backing.c.  Functions
 * return errors as those of xattr.h.  xattr_backing_list() writes the names,
 * each ended by a NUL.  xattr_backing_change() sets an attribute, or removes it
 * if `attr->value` is NULL.
 */
int xattr_backing_get(struct fs *fs, struct node *node, const char *name,
                      char **out, size_t *len);
int xattr_backing_list(struct fs *fs, struct node *node, FILE *out);
int xattr_backing_change(struct fs *fs, struct node *node,
                         const struct xattr_new *attr);

#endif
