/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_COUNTS_H
#define NET_NET_COUNTS_H

#include <stdatomic.h>

#include "net/net.h"

enum {
    NET_NTIMES = 128 /* classes of times, each a fifth longer than the one
                        before */
};

/* Counters of a loop.  The loop counts, and any thread reads, without a
   lock. */
struct net_counts {
    atomic_uint_fast64_t gets;
    atomic_uint_fast64_t heads;
    atomic_uint_fast64_t puts;
    atomic_uint_fast64_t redirects;
    atomic_uint_fast64_t retries[NET_NCAUSES];
    atomic_uint_fast64_t failed;
    atomic_uint_fast64_t received;
    atomic_uint_fast64_t used;
    atomic_uint_fast64_t running;
    atomic_uint_fast64_t times[NET_NTIMES]; /* number of replies */
};

/* Count a request that is sent. */
void net_counts_send(struct net_counts *counts, enum net_method method);

/* Count a reply: the bytes that were stored, and the time to its first byte in
   microseconds, 0 if none came. */
void net_counts_receive(struct net_counts *counts, uint64_t nbytes,
                        int64_t first_us);

/* Count bytes of replies that somebody has read. */
void net_counts_use(struct net_counts *counts, uint64_t nbytes);

/* Count a redirect; a request that is to be tried again; one that failed. */
void net_counts_redirect(struct net_counts *counts);
void net_counts_retry(struct net_counts *counts, enum net_cause cause);
void net_counts_fail(struct net_counts *counts);

/* Set the number of requests in flight. */
void net_counts_running(struct net_counts *counts, unsigned n);

/* Read all counters. */
void net_counts_get(struct net_counts *counts, struct net_stats *out);

#endif
