/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/ticker.h"

#include <errno.h>
#include <time.h>

#include "base/thread.h"

enum {
    NANOSECONDS = 1000 * 1000 * 1000
};

/* Wait for the interval.  Returns whether the thread is to end. */
static bool is_stopped(struct ticker *ticker)
{
    uint64_t ns = ticker->interval_ns;
    struct timespec due;
    bool stopped;
    int r = 0;

    clock_gettime(CLOCK_MONOTONIC, &due);
    ns += (uint64_t)due.tv_nsec;
    due.tv_sec += (time_t)(ns / NANOSECONDS);
    due.tv_nsec = (long)(ns % NANOSECONDS);
    pthread_mutex_lock(&ticker->lock);
    while (!ticker->stopping && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&ticker->stop, &ticker->lock, &due);
    stopped = ticker->stopping;
    pthread_mutex_unlock(&ticker->lock);
    return stopped;
}

static void *run(void *arg)
{
    struct ticker *ticker = arg;

    while (!is_stopped(ticker) && ticker->tick(ticker->arg))
        ;
    return NULL;
}

int ticker_start(struct ticker *ticker)
{
    pthread_condattr_t attr;
    int r;

    pthread_mutex_init(&ticker->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&ticker->stop, &attr);
    pthread_condattr_destroy(&attr);
    r = thread_start(&ticker->thread, run, ticker);
    ticker->started = r == 0;
    return r;
}

void ticker_stop(struct ticker *ticker)
{
    if (!ticker->started)
        return;
    pthread_mutex_lock(&ticker->lock);
    ticker->stopping = true;
    pthread_cond_signal(&ticker->stop);
    pthread_mutex_unlock(&ticker->lock);
    pthread_join(ticker->thread, NULL);
}
