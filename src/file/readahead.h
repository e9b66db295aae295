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
 * Decoding ahead of the sequential readers of one file, by the pool.
 *
 * Locking.  `lock` is a leaf.  It guards all below it.
 */
struct readahead {
    size_t limit; /* the longest window, in bytes; 0: none */
    size_t least; /* the shortest */
    pthread_mutex_t lock;
    pthread_cond_t finished; /* `ntasks` has come down to 0 */
    size_t ntasks;           /* waiting or running */
    bool stopping;           /* tasks are to end as soon as they can */
    uint64_t passed;         /* up to where chunks were let go of last */
};

/* Begin, with windows of `least` to `limit` bytes. */
void readahead_init(struct readahead *ahead, size_t limit, size_t least);

/* Stop, and wait for what is being decoded. */
void readahead_fini(struct file *file);

/*
 * Take note of a read of `len` bytes at `off`, and decode ahead of the reader
 * if it looks sequential.  Reads may come somewhat out of order, as several
 * threads serve them.
 */
void readahead_follow(struct file *file, struct file_reader *reader,
                      uint64_t off, size_t len);

#endif
