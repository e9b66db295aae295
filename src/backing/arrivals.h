/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_ARRIVALS_H
#define BACKING_ARRIVALS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Directories into which the files of a sparse frame are being copied, one by one,
 * which programs can do where names are kept.  Such a directory shows as one until
 * the frame is whole, for the copy goes on in it.
 *
 * Only a directory whose index file came through this mount is known here.  If its
 * frame never gets whole it stays a directory while the mount lasts, unless a
 * great many others come after it.
 */

enum {
    ARRIVALS_MAX = 256
};

struct arrival {
    uint64_t dev; /* of the directory */
    uint64_t ino;
    uint64_t nwhole; /* chunks from the first that are all there */
};

struct arrivals {
    pthread_mutex_t lock; /* a leaf */
    size_t n;
    struct arrival list[ARRIVALS_MAX]; /* the oldest first */
};

void arrivals_init(struct arrivals *arrivals);
void arrivals_fini(struct arrivals *arrivals);

/* An index file is about to get its name in an open directory. */
void arrivals_add(struct arrivals *arrivals, int dirfd);

/* Is the frame in an open directory still to become whole?  Once it is, its
   directory is forgotten. */
bool arrivals_is_incomplete(struct arrivals *arrivals, int dirfd);

#endif
