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
 * file.
 *
 * Locking.  `lock` is a leaf and guards all fields below it.
 */
struct readahead {
    size_t limit; /* longest window, in bytes; 0: no read-ahead */
    size_t least; /* shortest window, in bytes */
    pthread_mutex_t lock;
    pthread_cond_t finished; /* `ntasks` has come down to 0 */
    size_t ntasks;           /* tasks that wait or run */
    bool stopping;           /* tasks must end as soon as they can */
    uint64_t passed;         /* end of the chunks that were released last */
};

/* Set up read-ahead with windows of `least` to `limit` bytes. */
void readahead_init(struct readahead *ahead, size_t limit, size_t least);

/* Stop read-ahead, and wait for the tasks to end. */
void readahead_fini(struct file *file);

/*
 * Note a read of `len` bytes at `off`, and decode ahead of the reader if it
 * looks sequential.  Reads may come slightly out of order, because several
 * threads serve them.
 */
void readahead_follow(struct file *file, struct file_reader *reader,
                      uint64_t off, size_t len);

#endif
