/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_STATS_SIGNAL_H
#define FUSE_STATS_SIGNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct fs;

/* Logs the figures of a mount at SIGUSR1, by a thread that waits for it. */
struct stats_signal {
    struct fs *fs;
    pthread_t thread;
    bool started;
    atomic_bool stopping;
};

/* Called before there are threads that take signals, for they must not take
   this one.  Returns 0 or a negative errno. */
int stats_signal_start(struct stats_signal *stats, struct fs *fs);

/* Accepts what was never started. */
void stats_signal_stop(struct stats_signal *stats);

#endif
