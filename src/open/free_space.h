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
struct open_version;

/*
 * The mount accepts only bytes that it can probably store.
 *
 * A file system is short of space if it has less free space than the mount may
 * have to write there: the daemon's dirty data, plus the dirty pages that the
 * kernel may keep for the whole mount.  Files that are opened then bypass the
 * kernel's cache.  So each write() reaches the daemon at once, and the daemon
 * refuses it if a commit may find no space.  A quota shows only when a commit
 * fails.  So a file system also counts as short for a while after a commit
 * there has failed for lack of space.  Files on other file systems are not
 * affected.
 */

enum {
    FREE_SPACE_NREFUSALS = 16,
};

/* File systems on which a commit has failed because of lack of space or a
   quota. */
struct free_space {
    uint64_t kernel_max; /* bytes that the kernel may keep dirty for a mount;
                            constant */

    /* A leaf.  Guards the fields below. */
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

/* Must the kernel pass on each write() to a file that is being opened? */
bool free_space_wants_direct(struct fs *fs, struct open_file *open);

/* Record the result of writing out a file: 0 or a negative errno. */
void free_space_note(struct fs *fs, struct open_file *open, int r);

/*
 * Check, before a write() of `len` bytes at `off` is accepted, that a commit
 * will find space for them even if they do not compress.  If that is in doubt,
 * this commits the file first and checks again.
 *
 * Returns 0; -ENOSPC; or the error for which the file cannot be committed.
 */
int free_space_check(struct fs *fs, struct open_file *open,
                     struct open_version *version, uint64_t off, size_t len);

/* Is there space for `bytes` more that do not compress?  Returns true if that
   cannot be found out. */
bool free_space_is_enough(struct fs *fs, const struct open_version *version,
                          uint64_t bytes);

/* Commit a file if its file system is short of space and much of the file is
   dirty.  The caller calls this after it has accepted pages from the kernel's
   cache: because their write() has already succeeded, an error must reach the
   next fsync() early. */
void free_space_write_out(struct fs *fs, struct open_file *open,
                          struct open_version *version);

#endif
