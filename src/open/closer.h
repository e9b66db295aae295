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
 * Frames that no program holds open any more, on their way to the disk.
 *
 * A program that closes a file does not wait for it to be written out.  Threads
 * of the closer do that a moment later, so that a file which is removed at once
 * costs nothing; several side by side, so that the file system syncs many files
 * in one go; and without delay if many files wait.  A file that is opened again
 * meanwhile goes on as it is.
 *
 * A file that cannot be written out is logged and kept in memory.  It is tried
 * again when another one could be, and when the file system is unmounted.  One
 * of which bytes are lost is kept, too, for programs are to be told of it until
 * they are written again.
 *
 * Everything but the pool is guarded by the lock of the node table.
 */
struct closer {
    struct pool *pool; /* constant until it stops; NULL: read-only */
    size_t nwaiting;
    bool stopping;
    pthread_cond_t hurry;  /* nothing is to wait any longer */
    pthread_cond_t closed; /* a file was closed for good, or goes on */
    struct list unsaved;   /* struct open_file that could not be written out */
    struct list lost;      /* likewise, but nothing is left to be written: of
                              these bytes are lost, which is kept in mind */
};

/* The closer's part of an open file. */
struct closing {
    struct pool_task task;
    bool waiting;        /* the task is with the pool */
    struct timespec due; /* when it is to be done, by CLOCK_MONOTONIC */
    bool busy;           /* who closes files has the only reference, or had;
                            wait for `closed` */
    bool final;          /* nobody gets another one: wait for `closed` */
    bool over;           /* it is closed, and freed by the task */
    int told;            /* the error that was logged last, or 0; used by who
                            closes the file */
    struct list unsaved; /* in one of these lists, and nobody holds it open */
    struct fs *fs;       /* for the task */
};

/* Make one without threads, which closer_start() starts; NULL if there is no
   memory. */
struct closer *closer_new(void);

/* Start the threads.  Returns 0 or a negative errno. */
int closer_start(struct closer *closer);

/* Write out all that waits, and stop.  What cannot be written out is lost, and
   logged; then this returns an error, else 0. */
int closer_stop(struct fs *fs);

/* Free a closer that has stopped, or was never started.  Accepts NULL. */
void closer_free(struct closer *closer);

/*
 * Drop a reference to an open file.  With the last one, what was written goes
 * the way that is told above; if too many files wait, or nothing can have been
 * written, the file is closed before this returns.
 */
void closer_put(struct fs *fs, struct open_file *open);

/*
 * A node was removed, see node_removed(), or others have changed its file: if
 * nobody holds it open, it is closed when this returns, and what a removed one
 * takes up has been given back.
 */
void closer_drop(struct fs *fs, struct node *node);

#endif
