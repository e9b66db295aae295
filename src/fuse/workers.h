/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_WORKERS_H
#define FUSE_WORKERS_H

#include <fuse_lowlevel.h>

/*
 * The threads that take requests from the kernel and serve them.
 *
 * A request may wait for a disk, for cache space or for another program, and
 * occupies a thread meanwhile, so there are as many threads as requests.  The
 * kernel gives a request to the thread that has waited for longest.  If many
 * waited, they would take turns, on processors that sleep and with cold caches;
 * so only a few threads wait for requests at a time, and the others are parked.
 * The thread that was parked last is the first to go on.
 *
 * libfuse's own loop ends threads that are too many at once.  On a processor
 * that is busy, it makes and ends one for each tenth request or so.
 */

/*
 * Serve the requests of a session until it ends.  fuse_session_exit() ends it,
 * but the calling thread, which does not serve requests, must also get a signal
 * that it handles.
 *
 *  nthreads_max  threads that serve requests, at most
 *
 * Returns 0 or a negative errno if requests could not be received any longer,
 * or if no thread could be started.
 */
int workers_run(struct fuse_session *session, unsigned nthreads_max);

#endif
