/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_FETCH_H
#define NET_NET_FETCH_H

#include "net/fetch.h"
#include "net/net.h"

/* Makes requests by loops of its own, each with a thread for as long as the
   request takes.  So the thread that waits for the answer must not be that of a
   loop. */
struct net_fetcher {
    struct fetcher fetcher;
    const struct net_options *options; /* for the certificates */
};

/* Set up a fetcher; the options outlive it. */
void net_fetch_init(struct net_fetcher *fetcher,
                    const struct net_options *options);

#endif
