/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_LISTING_H
#define OPS_LISTING_H

#include <fuse_lowlevel.h>

#include "tree/dir.h"

/* Reply with the attributes of a file. */
void reply_attr(const struct fs *fs, fuse_req_t req, const struct stat *st);

/* The reply to a lookup of an entry. */
struct fuse_entry_param entry_param(struct fs *fs, const struct node *node,
                                    const struct stat *st);

/* Part of a directory, in the kernel's format. */
struct listing {
    fuse_req_t req;
    struct fs *fs;
    struct node *parent;
    struct dir *dir;
    bool plus; /* add attributes to each entry, and count it as looked up */
    char *buf;
    size_t size; /* of `buf`, in bytes */
    size_t len;  /* bytes used in it */
};

/*
 * Add entries to a listing, from an offset of the directory on, while they fit.
 * Returns 0, or a negative errno if an error comes before the first entry.
 */
int listing_fill(struct listing *list, off_t off);

#endif
