/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct pool;

/* One piece of work.  The caller owns it and keeps it until `run` is called. */
struct pool_task {
    void (*run)(struct pool_task *task);
    const void *owner; /* see pool_withdraw() */
    struct list node;  /* used by the pool while the task waits */
};

/*
 * Start `nthreads` worker threads, at least one, with all signals blocked.
 * Returns 0 or a negative errno.
 */
int pool_new(unsigned nthreads, struct pool **out);

/* Run the tasks that still wait, stop the threads and free the pool.  Accepts
   NULL. */
void pool_free(struct pool *pool);

/*
 * Queue a task.  Workers take tasks in the order in which they came.  `run` may
 * free the task.  Any thread may call this, including a task.
 */
void pool_submit(struct pool *pool, struct pool_task *task);

/*
 * Take all tasks of an owner out of the queue, so that the pool does not run
 * them.  The owner then need not wait for them: all workers may hang in a disk
 * that these tasks do not need.
 *
 *  out  an empty list, which receives the tasks by their `node`
 *
 * Returns the number of tasks.
 */
size_t pool_withdraw(struct pool *pool, const void *owner, struct list *out);

/* Work that several threads share; part of a larger struct, which has the rest
   of it. */
struct pool_job {
    /* Does work until there is no more.  `no` is 0 in the thread that has
       called pool_run(), and 1 and more in the others. */
    void (*run)(struct pool_job *job, unsigned no);

    /* A leaf.  The work may guard fields of its own by it. */
    pthread_mutex_t lock;
    pthread_cond_t finished;
    unsigned ntasks;  /* that are not done */
    int64_t began_ns; /* of the operation of that thread, see operation.h */
};

/*
 * Run a job in this thread and, at the same time, in up to `ntasks` threads of
 * a pool.  When this thread finds no more work, it withdraws the tasks that
 * have not started, because all workers may hang in a disk, and waits for the
 * others.
 *
 * Returns 0, or -ENOMEM with nothing done.
 */
int pool_run(struct pool *pool, struct pool_job *job, unsigned ntasks);

#endif
