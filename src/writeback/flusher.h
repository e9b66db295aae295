/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_FLUSHER_H
#define WRITEBACK_FLUSHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct cache;
struct file;

/*
 * Threads that commit files: some time after a write, and when the cache fills
 * up.  One thread at a time commits a file, and few threads work on one file
 * system, so that a file system that hangs does not stop the others.
 */
struct flusher;

/* The flusher's record of a file. */
struct flush_entry {
    struct file *file;           /* constant */
    struct flush_domain *domain; /* constant; NULL if the file is only read */

    /* Read without the lock of the flusher. */
    atomic_bool listed;
    atomic_uint noperations;     /* operations in progress that may change the
                                    file */
    atomic_int_fast64_t touched; /* when an operation last began or ended, in
                                    milliseconds */

    /* Guarded by the lock of the flusher. */
    struct list node;   /* in flusher.files, or alone */
    int64_t since;      /* when it was listed */
    int64_t retry_at;   /* earliest next try, unless a writer waits */
    unsigned nfailures; /* failures in a row */
    bool flushing;
};

/*
 * Make a flusher.  It starts threads when the first file is added.
 *
 *  seconds  longest time that a write waits for a commit; 0: until the cache
 *           fills up
 *
 * Returns 0 or -ENOMEM.
 */
int flusher_new(struct cache *cache, unsigned seconds, struct flusher **out);

/* Stop all threads.  All files have been removed.  Accepts NULL. */
void flusher_free(struct flusher *flusher);

/*
 * Let the flusher commit a file from now on.
 *
 *  dev  device number of the file system of the frame
 *
 * Returns 0 or a negative errno.
 */
int flusher_add(struct flusher *flusher, struct file *file, uint64_t dev);

/* Stop committing a file, and wait until no thread works on it.  Does nothing
   if the file was never added. */
void flusher_remove(struct flusher *flusher, struct file *file);

/* Drop the file's reference to its domain.  The cache holds nothing of the file
   any more. */
void flusher_leave(struct flusher *flusher, struct file *file);

/* Note that an operation that may change the file begins, or ends. */
void flusher_begin(struct flusher *flusher, struct file *file);
void flusher_end(struct flusher *flusher, struct file *file);

/* Note that a commit of a file has succeeded, in whichever thread.  Failed
   commits on the same file system are worth another try then. */
void flusher_succeeded(struct flusher *flusher, struct file *file);

#endif
