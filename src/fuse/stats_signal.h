/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_STATS_SIGNAL_H
#define FUSE_STATS_SIGNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct fs;

/* A thread that waits for SIGUSR1 and then logs the statistics of a mount. */
struct stats_signal {
    struct fs *fs;
    pthread_t thread;
    bool started;
    atomic_bool stopping;
};

/* Start the thread.  The caller must have no other threads yet that could
   receive signals: they must block this one.  Returns 0 or a negative errno. */
int stats_signal_start(struct stats_signal *stats, struct fs *fs);

/* Does nothing if the thread was never started. */
void stats_signal_stop(struct stats_signal *stats);

#endif
