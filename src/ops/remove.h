/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_REMOVE_H
#define OPS_REMOVE_H

#include "tree/fs.h"

/*
 * Removing files and directories.
 *
 * A sparse frame leaves its place in one step: it is renamed to a private
 * directory in SOURCE.  If that is on another file system, or cannot be made,
 * the frame gets a temporary name where it is.  There it is removed, at once or
 * when it is closed.  The directory in either place is locked while its daemon
 * needs it, see private_dir.h.  A frame is not removed if anything else lies in
 * its directory: -ENOTEMPTY.
 *
 * Functions return 0 or a negative errno.
 */

/* unlink() */
int remove_file(struct fs *fs, struct node *parent, const char *shown);

/* rmdir(); this also removes the private directories that killed programs have
   left there, see private_dir.h. */
int remove_directory(struct fs *fs, struct node *parent, const char *shown);

/*
 * Remove an entry that no longer shows under its old meaning.
 *
 *  node     its node with a reference, or NULL if it has none
 *  checked  the caller has checked that the program which the thread serves may
 *           do this; else this function checks
 */
int remove_entry(struct fs *fs, const struct node *node, int dirfd,
                 const char *name, enum entry_kind kind, bool checked);

/*
 * Is an entry the only name of its file?
 *
 *  st  from backing_stat()
 */
bool remove_is_last(const struct fs_entry *entry, const struct stat *st);

/*
 * Remove a sparse frame that has left its place, after closer_drop(), unless a
 * program still has it open.  A thread that was just closing the frame for good
 * when it was removed may have missed that.
 *
 *  at  the directory that the frame was in
 */
void remove_left(struct fs *fs, const struct node *node, int at,
                 const struct stat *st);

/* Remove the files that dead daemons have left behind. */
void remove_leftovers(struct fs *fs);

#endif
