/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_SYNC_H
#define FUSE_SYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Making durable what changes under SOURCE.
 *
 * A commit syncs its frame.  Names, attributes, and files that are passed
 * through are synced when a program asks for it, and when the mount ends.
 * Other file systems may be mounted below SOURCE; those that were written to
 * are noted, because syncfs(2) reaches one alone.
 */

struct fs;
struct node;
struct open_file;

/* The file systems below SOURCE, other than its own, that were written to.
   Guarded by the lock of the node table. */
struct sync_set {
    dev_t *devs;
    size_t ndevs;
};

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

/* Sync every file system that was written to.  Returns 0, or an error, which
   was logged. */
int sync_all(struct fs *fs);

/* Free the list of file systems.  Accepts a zeroed set. */
void sync_set_fini(struct sync_set *set);

#endif
