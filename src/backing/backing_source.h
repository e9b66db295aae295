/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_SOURCE_H
#define BACKING_BACKING_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "backing/arrivals.h"
#include "backing/names.h"
#include "backing/shelf.h"
#include "backing/trash.h"

struct backing_ops;

/* SOURCE: how its entries are to show, and the state that its directories
   share. */
struct backing_source {
    /* Constant while mounted. */
    const struct backing_ops *ops; /* of the root */
    int fd;                        /* the directory that SOURCE is, or is in */
    bool pinned; /* SOURCE, a frame, is mounted upon itself; `fd` is SOURCE,
                        because its name leads to the mount */
    bool writable;
    bool keep_names; /* show names unchanged */
    bool npy;        /* show arrays as .npy files */
    bool noatime;    /* reads do not update access times */
    uint64_t base;   /* byte of the file at which the frame SOURCE starts */
    char *only;      /* the entry to show if SOURCE is a frame, else NULL */
    enum entry_kind only_kind;
    bool only_is_array;
    char *mounted; /* the entry that the mount hides, if it is in SOURCE; else
                      NULL */
    struct stat mounted_in; /* attributes of the directory that `mounted` is
                               in */

    /* These have locks of their own. */
    struct arrivals arrivals;
    struct shelf shelf;
    struct trash trash;
};

/* Set up a zeroed struct with nothing open. */
void backing_source_init(struct backing_source *source);

/* Remove the files that dead daemons have left behind, unless SOURCE is a
   frame. */
void backing_source_tidy_up(const struct backing_source *source);

/* Close and free everything, after trash_remove(). */
void backing_source_fini(struct backing_source *source);

#endif
