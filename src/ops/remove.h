/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_REMOVE_H
#define OPS_REMOVE_H

#include "backing/backing_change.h"
#include "tree/fs.h"

/*
 * Removing files and directories.
 *
 * A sparse frame that is open leaves its place, and is removed when it is
 * closed.
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
 *  entry    where it is
 *  kind     its kind, if another entry showed there before
 *  checked  the caller has checked that the program which the thread serves may
 *           do this; else this function checks
 */
int remove_entry(struct fs *fs, const struct node *node,
                 const struct backing_entry *entry, enum entry_kind kind,
                 bool checked);

/*
 * Is an entry the only name of its file?
 *
 *  st  from backing_stat()
 */
bool remove_is_last(const struct backing_entry *entry, const struct stat *st);

/*
 * Remove a file that has left its place, after deferred_close_now(), unless a
 * program still has it open.  A thread that was just closing the file for good
 * when it was removed may have missed that.
 *
 *  dir, kind, st  the directory that it was in, its kind, and backing_stat()
 */
void remove_finish(struct fs *fs, const struct node *node,
                   const struct backing_dir *dir, enum entry_kind kind,
                   const struct stat *st);

#endif
