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
    struct list node;  /* the pool's, while the task waits */
};

/*
 * Start `nthreads` worker threads, at least one, with all signals blocked in
 * them.  Returns 0, or a negative errno.
 */
int pool_new(unsigned nthreads, struct pool **out);

/* Run what is still waiting, stop the threads and free the pool.  Accepts
   NULL. */
void pool_free(struct pool *pool);

/*
 * Queue a task; workers take tasks in the order they came.  `run` may free the
 * task.  Any thread may call this, also a task.
 */
void pool_submit(struct pool *pool, struct pool_task *task);

/*
 * Take the tasks of an owner out of the queue, so that they are not run: all
 * threads may hang in a disk that none of these needs.
 *
 *  out  an empty list, which receives them by their `node`
 *
 * Returns their number.
 */
size_t pool_withdraw(struct pool *pool, const void *owner, struct list *out);

#endif
