/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_STOP_SIGNAL_H
#define FUSE_STOP_SIGNAL_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tree/fs.h"

/*
 * A thread that makes SIGTERM, SIGINT and SIGHUP end the session.  libfuse does
 * so at once: requests that come in are not answered any more, and who tells
 * the kernel something may wait for them for ever.
 */
struct stop_signal {
    struct fs *fs;
    pthread_t thread;
    pthread_t loop; /* the thread that runs the session's loop */
    sigset_t wanted;
    bool started;
    atomic_bool stopping;
};

/*
 * Start the thread.  To be called by the one that runs the session's loop then,
 * once the session handles these signals: not those that are ignored.  Returns
 * 0 or a negative errno.
 */
int stop_signal_start(struct stop_signal *stop, struct fs *fs);

/* The loop is over.  Does nothing if the thread was never started. */
void stop_signal_stop(struct stop_signal *stop);

#endif
