/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_OPEN_FILE_H
#define FUSE_OPEN_FILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "file/file.h"
#include "fuse/fs.h"

/*
 * One state of a file on disk, open.  It lives until the last read from it is
 * answered, even if a newer state was opened meanwhile.  Constant.
 */
struct snapshot {
    atomic_uint nrefs;
    uint64_t stamp;    /* as backing_stamp(), or 0 if it may still change
                          without that changing */
    struct stat st;    /* as backing_stat() gave it */
    struct file *file; /* a frame; or NULL, and */
    int fd;            /* a file that is passed through; else -1 */
};

/*
 * What all handles of a node share.
 *
 * Locking.  `lock` is a leaf.  One thread at a time opens a new state, marked
 * `busy`, with the lock dropped; the others wait on `idle`.
 */
struct open_file {
    struct node *node; /* constant; a reference */
    unsigned nrefs;    /* guarded by the lock of the node table */

    pthread_mutex_t lock;
    pthread_cond_t idle;
    bool busy;
    struct snapshot *current; /* the newest state; NULL if none was opened */
};

/*
 * Open a node, or take a reference if it is open, and see to it that its state
 * is the newest.
 *
 * Returns 0; -ESTALE if it is no longer there; or an error of the store or the
 * frame, which is reported if it says something of the file.
 */
int open_file_get(struct fs *fs, struct node *node, struct open_file **out);

/* See to it that the state of an open node is the newest.  Errors as
   open_file_get(). */
int open_file_renew(struct fs *fs, struct open_file *open);

/* Take a reference if the node is open; else NULL. */
struct open_file *open_file_find(struct fs *fs, struct node *node);

/* Drop a reference.  Accepts NULL. */
void open_file_put(struct fs *fs, struct open_file *open);

/*
 * Open the state of the file that was just seen, unless it is open.
 *
 *  place, st  where, and what backing_stat() said
 *
 * If that fails while an older state is open, that one stays: another program
 * may be writing, and the next try may succeed.  Returns 0 if any state is
 * open, or an error as open_file_get().
 */
int open_file_refresh(struct fs *fs, struct open_file *open,
                      const struct backing_place *place, const struct stat *st);

/* The newest state that is open, with a reference; NULL if there is none. */
struct snapshot *open_file_snapshot(struct open_file *open);

/* Accepts NULL. */
void snapshot_put(struct snapshot *snapshot);

/*
 * Note down which state of a file the kernel caches from now on.  Returns true
 * if it was that before, so what the kernel has cached is right.
 */
bool open_file_cached(struct fs *fs, struct node *node,
                      const struct snapshot *snapshot);

#endif
