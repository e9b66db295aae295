/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_RECORD_DISK_H
#define TEST_RECORD_DISK_H

#include <pthread.h>

#include "disk_image.h"

/* The disk of record_store.h, for the stores on it. */

/* `lock` is held from disk_begin() to disk_end() of each call. */
struct disk {
    pthread_mutex_t lock;
    struct image now;
    size_t start_files; /* files that existed at the start */
    struct image_bytes start;
    struct disk_op *ops;
    size_t nops;
    size_t ncalls;
    size_t fail_first;
    size_t fail_n;
    int fail_error;
    bool forgets; /* see disk_forget() */
    bool rots;    /* see disk_rot(); uses rotten_off */
    uint64_t rotten_off;
    void (*watch)(void *context, enum disk_call call);
    void *watcher;
};

/* Call the watcher. */
void disk_tell(struct disk *disk, enum disk_call call);

/* Take the lock and count the call.  Returns its error if it must fail. */
int disk_begin(struct disk *disk);

/* Release the lock.  Returns `r`. */
int disk_end(struct disk *disk, int r);

/* Record an operation, and apply it. */
void disk_record(struct disk *disk, const struct disk_op *op);

/* A failed sync drops the data that it should have written, as kernels do. */
void disk_lose_writes(struct disk *disk, size_t file);

#endif
