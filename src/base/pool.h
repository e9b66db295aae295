/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stddef.h>

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

#endif
