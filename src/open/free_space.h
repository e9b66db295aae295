/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_FREE_SPACE_H
#define OPEN_FREE_SPACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct fs;
struct open_file;
struct snapshot;

/*
 * The mount accepts only bytes that it can probably store.
 *
 * A file system is short of space if it has less free than the mount may have to
 * write there: the dirty data of the daemon, and the pages that the kernel may
 * hold back of the whole mount.  Files that are opened then bypass the kernel's
 * cache.  So each write() comes to the daemon at once, and the daemon refuses it
 * if a commit may find no room.  A quota shows only when a commit fails, so a
 * file system also counts as short for a while after a commit there has failed
 * for want of space.  Files on other file systems are not affected.
 */

enum {
    FREE_SPACE_NREFUSALS = 16,
};

/* File systems on which a commit has failed for want of space, or a quota. */
struct free_space {
    uint64_t kernel_max; /* bytes of a mount that the kernel may hold back;
                            constant */

    /* A leaf.  Guards: */
    pthread_mutex_t lock;
    struct {
        uint64_t dev;
        time_t until; /* by CLOCK_MONOTONIC */
    } refusals[FREE_SPACE_NREFUSALS];
};

/* Returns NULL if there is no memory. */
struct free_space *free_space_new(void);

/* Free it when no thread uses it any more.  Accepts NULL. */
void free_space_free(struct free_space *space);

/* Is the kernel to hand over each write() to a file that is being opened? */
bool free_space_wants_direct(struct fs *fs, struct open_file *open);

/* Note the result of writing out a file: 0 or a negative errno. */
void free_space_note(struct fs *fs, struct open_file *open, int r);

/*
 * Before a write() of `len` bytes at `off` is accepted: see that a commit of it
 * will find room, even if nothing of it shrinks.  If that is in doubt, the file
 * is committed first.
 *
 * Returns 0; -ENOSPC; or why the file cannot be committed.
 */
int free_space_check(struct fs *fs, struct open_file *open,
                     struct snapshot *snapshot, uint64_t off, size_t len);

/* Would `bytes` more find room that do not shrink?  If that cannot be found out,
   yes. */
bool free_space_is_enough(struct fs *fs, const struct snapshot *snapshot,
                          uint64_t bytes);

/* Commit a file on a file system that is short of space when much of it is dirty.
   To be called after pages were accepted that the kernel had held back: their
   write() has succeeded, so an error has to reach the next fsync() early. */
void free_space_write_out(struct fs *fs, struct open_file *open,
                          struct snapshot *snapshot);

#endif
