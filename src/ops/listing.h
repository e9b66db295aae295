/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_LISTING_H
#define OPS_LISTING_H

#include <fuse_lowlevel.h>

#include "tree/dir.h"

/* For how long the kernel believes what it was told of a name, in seconds. */
#define ENTRY_TIMEOUT 1.0

/* The same of attributes: not at all if others may change frames at any time,
   who lock them for that. */
double attr_timeout(const struct fs *fs);

/* What the kernel is told of an entry that it looked up. */
struct fuse_entry_param entry_param(const struct fs *fs,
                                    const struct node *node,
                                    const struct stat *st);

/* Some entries of a directory, as the kernel wants them. */
struct listing {
    fuse_req_t req;
    struct fs *fs;
    struct node *parent;
    struct dir *dir;
    bool plus; /* entries come with attributes, and count as looked up */
    char *buf;
    size_t size; /* of `buf`, in bytes */
    size_t len;  /* of what is in it */
};

/*
 * Put entries into a listing, from an offset of the directory on, while there
 * is room.  Returns 0, or a negative errno if there is not even one.
 */
int listing_fill(struct listing *list, off_t off);

#endif
