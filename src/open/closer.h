/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_CLOSER_H
#define OPEN_CLOSER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/list.h"
#include "base/pool.h"

struct fs;
struct node;
struct open_file;

/*
 * Deferred closing: frames that no program holds open any more, on their way to
 * the disk.
 *
 * A program that closes a file does not wait until the file is written out.
 * The closer's threads write it out a moment later, so a file that is removed
 * right after it was closed costs nothing.  Several threads work side by side
 * so that the file system syncs many files at once.  When many files wait, the
 * threads do not delay.  A file that is opened again meanwhile stays open.
 *
 * A file that cannot be written out is logged and kept in memory.  The closer
 * tries it again after another such file has been saved, and when the mount
 * ends.  It also keeps a file that has lost bytes, because programs must get
 * errors for those bytes until they write them again.
 *
 * The lock of the node table guards everything but the pool.
 */
struct closer {
    struct pool *pool; /* constant until it stops; NULL: read-only */
    size_t nwaiting;
    bool stopping;
    pthread_cond_t hurry;  /* no file is to wait any longer */
    pthread_cond_t closed; /* a file was closed for good, or stays open */
    struct list unsaved;   /* struct open_file that could not be written out */
    struct list lost;      /* struct open_file with nothing left to write out,
                              kept because some of its bytes are lost */
};

/* The closer's part of an open file. */
struct closing {
    struct pool_task task;
    bool waiting;        /* the pool has the task */
    struct timespec due; /* when the task is due, by CLOCK_MONOTONIC */
    bool busy;           /* a closing thread has a reference, or has just
                            dropped one; wait for `closed` */
    bool final;          /* no thread may take another reference: wait for
                            `closed` */
    bool over;           /* the file is closed; the task frees it */
    int told;            /* last result of writing the file out, so that the
                            same error is logged once; only the closing thread
                            uses it */
    struct list unsaved; /* its link in one of the closer's lists, which hold
                            only files that nobody has open */
    struct fs *fs;       /* for the task */
};

/* Allocate a closer without threads; closer_start() starts them.  Returns NULL
   if there is no memory. */
struct closer *closer_new(void);

/* Start the threads.  Returns 0 or a negative errno. */
int closer_start(struct closer *closer);

/* Write out all waiting files and stop.  Files that cannot be written out are
   lost and logged, and then this returns an error; else 0. */
int closer_stop(struct fs *fs);

/* Free a closer that has stopped or was never started.  Accepts NULL. */
void closer_free(struct closer *closer);

/*
 * Drop a reference to an open file.  If it was the last one, the file is queued
 * to be written out and closed, as described above.  The file is closed before
 * this returns if its node was removed, if it cannot have been written to, if
 * too many files wait, or if the closer has no threads or is stopping.
 */
void closer_put(struct fs *fs, struct open_file *open);

/*
 * Close a node's file now if nobody holds it open: the node was removed (see
 * node_removed()), or other programs have changed its file.  When this returns,
 * the space of a removed file has been given back.
 */
void closer_drop(struct fs *fs, struct node *node);

#endif
