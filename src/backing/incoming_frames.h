/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_INCOMING_FRAMES_H
#define BACKING_INCOMING_FRAMES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "store/store_version.h"

/*
 * Directories into which a program is copying the files of a sparse frame, one
 * by one.  Programs can do that on a mount that keeps names as they are.  The
 * mount shows such a directory as a directory until the frame is complete,
 * because the copy still has to create files in it.
 *
 * The list has only directories whose index file was created through this
 * mount.  If the frame in one is never completed, it stays a directory until
 * the mount ends, or until INCOMING_FRAMES_MAX directories were added after it.
 */

enum {
    INCOMING_FRAMES_MAX = 256
};

struct incoming_frame {
    struct store_version version; /* of the directory when it was added */
    uint64_t nwhole; /* number of leading chunks that are complete */
};

struct incoming_frames {
    pthread_mutex_t lock; /* a leaf */
    size_t n;
    struct incoming_frame list[INCOMING_FRAMES_MAX]; /* oldest first */
};

void incoming_frames_init(struct incoming_frames *incoming);
void incoming_frames_fini(struct incoming_frames *incoming);

/* Add a directory, given by its attributes, in which an index file is about to
   get its name. */
void incoming_frames_add(struct incoming_frames *incoming,
                         const struct stat *dir);

/* Is the frame in an open directory still incomplete?  Once the frame is
   complete, this function removes its directory from the list. */
bool incoming_frames_is_incomplete(struct incoming_frames *incoming, int dirfd);

#endif
