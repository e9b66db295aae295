/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_SYNC_H
#define OPS_SYNC_H

/*
 * Making changes under SOURCE durable.
 *
 * A commit syncs its frame.  Names, attributes, and files that are passed
 * through are synced when a program asks for it, and when the mount ends.
 * Other file systems may be mounted below SOURCE; this notes those that were
 * written to for sync_all().
 */

struct fs;
struct node;
struct open_file;

/* Record that a program changes a node, or the entries of a directory.  If
   memory is short, this may not record it; then only SOURCE's file system is
   synced. */
void sync_note(struct fs *fs, struct node *node);

/*
 * Sync an open file as fsync(2) does, whether the handle is for writing or not:
 * its data and its attributes.
 *
 * Returns 0 or an error as open_file_sync(), or one of syncing the stored file.
 */
int sync_open_file(struct fs *fs, struct open_file *open);

#endif
