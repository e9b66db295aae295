/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_READAHEAD_H
#define FILE_READAHEAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file;
struct file_reader;

/*
 * Read-ahead: the pool decodes chunks ahead of the sequential readers of one
 * file.  If its store is far away, the stored bytes of more chunks are fetched,
 * which needs no thread, and tasks get into the pool when their bytes are
 * there.
 *
 * Locking.  `lock` is a leaf and guards all fields below it.
 */
struct readahead {
    size_t limit; /* longest window, in bytes; 0: no read-ahead */
    size_t least; /* shortest window, in bytes */
    bool fetches; /* stored bytes come from far away, so they are fetched ahead
                     of those that are decoded */
    pthread_mutex_t lock;
    unsigned nrefs;          /* of the file, and of tasks */
    pthread_cond_t finished; /* `ntasks` has come down to 0 */
    size_t ntasks;           /* tasks that wait in the pool or run */
    bool stopping;           /* tasks must end as soon as they can */
};

/* Make the read-ahead of a file, with windows of `least` to `limit` bytes.
   Returns 0 or -ENOMEM. */
int readahead_new(struct file *file, size_t limit, size_t least);

/* Stop read-ahead, and wait for the tasks to end.  Tasks that wait for a store
   are left to themselves, as they no longer use the file. */
void readahead_free(struct file *file);

/*
 * Note a read of `len` bytes at `off`, and decode ahead of the reader if it
 * looks sequential.  Reads may come slightly out of order, because several
 * threads serve them.
 */
void readahead_follow(struct file *file, struct file_reader *reader,
                      uint64_t off, size_t len);

#endif
