/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_SYNC_H
#define OPS_SYNC_H

/*
 * Making durable what changes under SOURCE.
 *
 * A commit syncs its frame.  Names, attributes, and files that are passed
 * through are synced when a program asks for it, and when the mount ends.
 * Other file systems may be mounted below SOURCE; those that were written to
 * are noted for sync_all().
 */

struct fs;
struct node;
struct open_file;

/* A program changes a node, or a directory by its entries.  `node` may not be
   noted if memory is short; then SOURCE's file system alone is synced. */
void sync_note(struct fs *fs, struct node *node);

/*
 * Sync an open file as fsync(2) does, whether the handle is for writing or not:
 * what was written, and the attributes.
 *
 * Returns 0 or an error as file_sync().
 */
int sync_open_file(struct fs *fs, struct open_file *open);

#endif
