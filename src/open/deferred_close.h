/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_DEFERRED_CLOSE_H
#define OPEN_DEFERRED_CLOSE_H

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
 * Threads of this module write it out a moment later, so a file that is removed
 * right after it was closed costs nothing.  Several threads work side by side
 * so that the file system syncs many files at once.  When many files wait, the
 * threads do not delay.  A file that is opened again meanwhile stays open.
 *
 * A file that cannot be written out is logged and kept in memory.  It is tried
 * again after another such file has been saved, and when the mount ends.  A
 * file that has lost bytes is kept, too, because programs must get errors for
 * those bytes until they write them again.
 *
 * The lock of the node table guards everything but the pool.
 */
struct deferred_close {
    struct pool *pool; /* constant until it stops; NULL: read-only */
    size_t nwaiting;
    bool hurrying; /* too many files wait */
    bool stopping;
    pthread_cond_t hurry;  /* no file is to wait any longer */
    pthread_cond_t closed; /* a file was closed for good, or stays open */
    struct list unsaved;   /* struct open_file that could not be written out */
    struct list lost;      /* struct open_file with nothing left to write out,
                              kept because some of its bytes are lost */
};

/* The part of an open file that belongs to deferred closing. */
struct closing {
    struct pool_task task;
    bool waiting;        /* the pool has the task */
    struct timespec due; /* when the task is due, by CLOCK_MONOTONIC */
    bool busy;           /* a closing thread has a reference, or has just
                            dropped one; wait for `closed` */
    bool final;          /* no thread may take another reference: wait for
                            `closed` */
    bool over;           /* the file is closed; the task frees it */
    int logged;          /* last result of writing the file out, so that the
                            same error is logged once; only the closing thread
                            uses it */
    struct list unsaved; /* its link in one of the lists above, which hold only
                            files that nobody has open */
    struct fs *fs;       /* for the task */
};

/* Allocate the struct, without threads; deferred_close_start() starts them.
   Returns NULL if there is no memory. */
struct deferred_close *deferred_close_new(void);

/* Start the threads.  Returns 0 or a negative errno. */
int deferred_close_start(struct deferred_close *deferred);

/* Write out all waiting files and stop.  Files that cannot be written out are
   lost and logged, and then this returns an error; else 0. */
int deferred_close_stop(struct fs *fs);

/* Free it after it has stopped, or if it was never started.  Accepts NULL. */
void deferred_close_free(struct deferred_close *deferred);

/*
 * Drop a reference to an open file.  If it was the last one, the file is queued
 * to be written out and closed, as described above.  The file is closed before
 * this returns if its node was removed, if it cannot have been written to, if
 * too many files wait, or if there are no threads or they are stopping.
 */
void deferred_close_put(struct fs *fs, struct open_file *open);

/*
 * Close a node's file now if nobody holds it open: the node was removed (see
 * node_removed()), or other programs have changed its file.  When this returns,
 * the space of a removed file has been given back.  A commit of a removed file
 * that encodes chunks meanwhile stops, so that a program which removes a file
 * does not wait for that.
 */
void deferred_close_now(struct fs *fs, struct node *node);

#endif
