/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_REMOVE_H
#define OPS_REMOVE_H

#include "tree/fs.h"

/*
 * Removing files and directories.
 *
 * A sparse frame leaves its place in one step, for a private directory in
 * SOURCE; if that is on another file system, or cannot be made, it gets a
 * temporary name where it is.  There it is removed, at once or when it is closed.
 * Either is locked while its daemon needs it, see private_dir.h.  A frame in whose
 * directory anything else lies is not removed: -ENOTEMPTY.
 *
 * Functions return 0 or a negative errno.
 */

/* unlink() */
int remove_file(struct fs *fs, struct node *parent, const char *shown);

/* rmdir(); what killed programs have left there, see private_dir.h, goes, too. */
int remove_directory(struct fs *fs, struct node *parent, const char *shown);

/*
 * Remove an entry that nothing shows any more as what it was.
 *
 *  node     its node with a reference, or NULL if it is not known
 *  checked  the program that the thread serves may do that; else that is found out
 */
int remove_entry(struct fs *fs, const struct node *node, int dirfd,
                 const char *name, enum entry_kind kind, bool checked);

/*
 * Is an entry the only name of its file?
 *
 *  st  what backing_stat() said
 */
bool remove_is_last(const struct fs_entry *entry, const struct stat *st);

/*
 * Remove a sparse frame that has left its place, after closer_drop(), unless
 * somebody still has it open: who was just closing it for good when it went may
 * not have seen that.
 *
 *  at  the directory that it was in
 */
void remove_left(struct fs *fs, const struct node *node, int at,
                 const struct stat *st);

/* Remove what daemons that are gone left behind. */
void remove_leftovers(struct fs *fs);

/* Remove the private directory of this daemon, if there is one. */
void remove_trash(struct fs *fs);

#endif
