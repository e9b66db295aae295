/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_IDLE_H
#define FUSE_IDLE_H

#include <stdint.h>

#include "base/ticker.h"

struct fs;

/*
 * A thread that unmounts a mount which nobody has used for some time: the
 * kernel has sent no request, and nothing is open.  The kernel refuses to
 * unmount if a program works in a directory of the mount; then the mount
 * stays.
 */
struct idle {
    struct fs *fs;
    const char *mountpoint;
    uint64_t dev;     /* of the mount */
    unsigned seconds; /* without use */
    unsigned seen;    /* requests that the kernel had sent at the last look */
    unsigned nquiet;  /* looks in a row that found it unused */
    struct ticker ticker;
};

/*
 * Start the thread.
 *
 *  mountpoint  as the kernel knows it; stays the caller's, who keeps it until
 *              idle_stop()
 *  dev         device number of the mount
 *  seconds     without use; 0: start no thread
 *
 * Returns 0 or a negative errno.
 */
int idle_start(struct idle *idle, struct fs *fs, const char *mountpoint,
               uint64_t dev, unsigned seconds);

/* Does nothing if the thread was never started. */
void idle_stop(struct idle *idle);

#endif
