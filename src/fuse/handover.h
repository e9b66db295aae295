/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_HANDOVER_H
#define FUSE_HANDOVER_H

#include <pthread.h>
#include <stdbool.h>

#include "tree/fs.h"

/*
 * A thread that makes the kernel hand over what programs have written: left to
 * itself it keeps dirty pages for half a minute, and what we have never seen
 * we cannot commit.
 *
 * syncfs(2) of the mount does that.  A descriptor would make the mount busy for
 * who unmounts it, so a copy of it is opened that is nowhere in the tree.  That
 * takes a privilege; without it the kernel is told to drop the pages of each
 * file that is open for writing, before which it writes the dirty ones.
 */
struct handover {
    struct fs *fs;
    const char *mountpoint;
    uint64_t dev;     /* of the mount */
    unsigned seconds; /* from one time to the next */
    pthread_t thread;
    bool started;

    pthread_mutex_t lock;
    pthread_cond_t stop;
    bool stopping; /* guarded by `lock` */
};

/*
 * Start the thread, if the kernel keeps what is written.
 *
 *  mountpoint  as the kernel knows it; it stays the caller's
 *  seconds     0: programs ask for it themselves
 *
 * Returns 0 or a negative errno.
 */
int handover_start(struct handover *handover, struct fs *fs,
                   const char *mountpoint, uint64_t dev, unsigned seconds);

/* Does nothing if the thread was never started. */
void handover_stop(struct handover *handover);

#endif
