/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_STOP_SIGNAL_H
#define FUSE_STOP_SIGNAL_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tree/fs.h"

/*
 * A thread that makes SIGTERM, SIGINT and SIGHUP end the session after the
 * pending notifications were sent.  libfuse alone would end it at once: it
 * would answer no more requests, and a thread that notifies the kernel might
 * wait for them for ever.
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
 * Start the thread.  Must be called by the thread that will run the session's
 * loop, after the session has set its handlers for these signals.  Signals that
 * are ignored stay ignored.  Returns 0 or a negative errno.
 */
int stop_signal_start(struct stop_signal *stop, struct fs *fs);

/* Stop the thread after the loop is over.  Does nothing if the thread was never
   started. */
void stop_signal_stop(struct stop_signal *stop);

#endif
