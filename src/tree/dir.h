/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TREE_DIR_H
#define TREE_DIR_H

#include <sys/types.h>

#include "tree/fs.h"

/*
 * A directory that a program is listing.
 *
 * Entries of a mirrored directory come straight from the backing directory,
 * with its offsets.  So the listing never disagrees with that directory, and
 * takes no memory, whatever its size.  A listing keeps the names in a folder of
 * a store; with `-o chunks` it keeps the names in all directories, because more
 * entries show than are there.  Chunks of a frame are numbered.  One thread at
 * a time uses a listing.
 */
struct dir;

/* Returns 0 or a negative errno. */
int dir_open(struct fs *fs, struct node *node, struct dir **out);

/* Accepts NULL. */
void dir_close(struct dir *dir);

/* One entry as it shows. */
struct dir_entry {
    const char *shown;    /* valid until the next call */
    const char *name;     /* in the backing directory; valid likewise */
    enum entry_kind kind; /* ENTRY_NONE for "." and ".." */
    struct stat st;       /* only inode number and type are set; the type may be
                             0, which is unknown */
    off_t next;           /* offset of the next entry */
};

/*
 * Read the entry at an offset, or the first one after it that shows.
 *
 *  off  0, or `next` of an earlier entry
 *
 * Returns 1; 0 at the end; or a negative errno.
 */
int dir_read(struct dir *dir, off_t off, struct dir_entry *out);

/* Like fsync() of the directory.  Does nothing for one that is not mirrored. */
int dir_sync(struct dir *dir);

/* Make an anchor of a mirrored directory that a program has open.  Returns
   -ESTALE if no program has it open. */
int dir_anchor(struct fs *fs, const struct node *node,
               struct backing_anchor *out);

/* The directory, for looking up the entries that were read from it. */
const struct backing_dir *dir_backing(const struct dir *dir);

#endif
