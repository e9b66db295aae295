/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TREE_DIR_H
#define TREE_DIR_H

#include <sys/types.h>

#include "tree/fs.h"

/*
 * A directory that is being listed.
 *
 * Entries come straight from the backing directory, with its offsets, so a
 * listing is in step with it and takes no memory, whatever its size.  The names
 * in a folder of a store are kept, and with `-o chunks`, when what shows is
 * more than is there, those in all directories; chunks of a frame are numbered.
 * One thread at a time uses a listing.
 */
struct dir;

/* Returns 0 or a negative errno. */
int dir_open(struct fs *fs, struct node *node, struct dir **out);

/* Accepts NULL. */
void dir_close(struct dir *dir);

/* One entry as it shows. */
struct dir_entry {
    const char *shown;    /* good until the next call */
    const char *name;     /* in the backing directory; good likewise */
    enum entry_kind kind; /* ENTRY_NONE for "." and ".." */
    struct stat st;       /* of which the inode number and type are set */
    off_t next;           /* offset of the entry that follows */
};

/*
 * Read the entry at an offset.
 *
 *  off  0, or `next` of an entry before
 *
 * Returns 1; 0 at the end; or a negative errno.
 */
int dir_read(struct dir *dir, off_t off, struct dir_entry *out);

/* fsync() */
int dir_sync(struct dir *dir);

/* A descriptor of a mirrored directory that a program has open, for the caller
   to close; -ESTALE if none has. */
int dir_anchor(struct fs *fs, const struct node *node);

/* The directory, to enter what was read from it. */
const struct backing_dir *dir_backing(const struct dir *dir);

#endif
