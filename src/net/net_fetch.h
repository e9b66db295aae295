/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_FETCH_H
#define NET_NET_FETCH_H

#include <pthread.h>

#include "net/fetch.h"
#include "net/net.h"

/*
 * Makes requests by loops of its own, each with a thread for as long as the
 * request takes.  So the thread that waits for the answer must not be that of a
 * loop.  Only one thread at a time may make requests.
 */
struct net_fetcher {
    struct fetcher fetcher;
    const struct net_options *options; /* for the certificates */

    /* A leaf, except that net_submit() and net_cancel() are called with it. */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool stopped;
    bool running; /* `request` is in the hands of `net` */
    struct net *net;
    struct net_request *request;
};

/* Set up a fetcher; the options outlive it. */
void net_fetch_init(struct net_fetcher *fetcher,
                    const struct net_options *options);

/* Cancel the request that runs, and all that others try to make from now on. */
void net_fetch_stop(struct net_fetcher *fetcher);

/* Release a fetcher that nobody uses. */
void net_fetch_fini(struct net_fetcher *fetcher);

#endif
