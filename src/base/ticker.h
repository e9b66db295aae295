/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_TICKER_H
#define BASE_TICKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A thread that does something again and again, until it is stopped. */
struct ticker {
    bool (*tick)(void *arg); /* returns false to end the thread */
    void *arg;
    uint64_t interval_ns; /* between two calls, and before the first one */
    pthread_t thread;
    bool started;

    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t stop;
    bool stopping; /* guarded by `lock` */
};

/* Start the thread; `ticker` is zeroed but for `tick`, `arg` and `interval_ns`.
   Returns 0 or a negative errno. */
int ticker_start(struct ticker *ticker);

/* Wait until the call that runs has ended, and stop the thread.  Does nothing
   if it was never started. */
void ticker_stop(struct ticker *ticker);

#endif
