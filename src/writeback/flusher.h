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
 * Threads that commit files: some time after they were written to, and when the
 * cache fills.  Each file is committed by one thread at a time, and the files of
 * one file system by few, so that one that hangs does not stop the others.
 */
struct flusher;

/* What the flusher knows of a file. */
struct flush_entry {
    struct file *file;           /* constant */
    struct flush_domain *domain; /* constant; NULL if it is only read */

    /* Read without the lock of the flusher. */
    atomic_bool listed;
    atomic_uint noperations;     /* that may change the file, under way */
    atomic_int_fast64_t touched; /* when the last one ended: milliseconds */

    /* Guarded by that lock. */
    struct list node;   /* in its list, or alone */
    int64_t since;      /* when it came there */
    int64_t retry_at;   /* not before, unless it is asked for */
    unsigned nfailures; /* in a row */
    bool flushing;
};

/*
 * Make a flusher; threads start with the first file.
 *
 *  seconds  for which what was written may wait for a commit; 0: until the cache
 *           fills
 *
 * Returns 0 or -ENOMEM.
 */
int flusher_new(struct cache *cache, unsigned seconds, struct flusher **out);

/* There are no files any more.  Accepts NULL. */
void flusher_free(struct flusher *flusher);

/*
 * Commit a file from now on.
 *
 *  dev  the file system that it lies on
 *
 * Returns 0 or a negative errno.
 */
int flusher_add(struct flusher *flusher, struct file *file, uint64_t dev);

/* No longer; waits until no thread works on the file.  It need not have been
   added. */
void flusher_remove(struct flusher *flusher, struct file *file);

/* The file has nothing in the cache any more. */
void flusher_leave(struct flusher *flusher, struct file *file);

/* An operation that may change a file begins, or ends. */
void flusher_begin(struct flusher *flusher, struct file *file);
void flusher_end(struct flusher *flusher, struct file *file);

/* A commit of a file went well, whoever ran it: what could not be written on its
   file system is worth another try. */
void flusher_succeeded(struct flusher *flusher, struct file *file);

#endif
