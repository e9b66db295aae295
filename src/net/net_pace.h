/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_PACE_H
#define NET_NET_PACE_H

#include <stdint.h>

/* How many requests may be in flight.  A server that is busy halves the number;
   good replies raise it by one for each such number of them. */
struct net_pace {
    double window;
    unsigned max;
    int64_t halved_ns; /* when it was last halved, by the monotonic clock */
};

/* Begin with the highest number. */
void net_pace_init(struct net_pace *pace, unsigned max);

/* The number of requests that may be in flight, at least 1. */
unsigned net_pace_window(const struct net_pace *pace);

/* Take note of a good reply. */
void net_pace_good(struct net_pace *pace);

/* Take note of a reply that says that the server is busy.  Requests that were
   sent before the number was last halved do not halve it again. */
void net_pace_busy(struct net_pace *pace, int64_t sent_ns, int64_t now_ns);

/*
 * Choose a pause before the next try, in nanoseconds: random, up to 50 ms after
 * the first try, twice as long after each further one, up to 10 s.
 *
 *  ntries  tries so far, at least 1
 *  seed    of rand_r()
 */
int64_t net_pace_pause(unsigned ntries, unsigned *seed);

#endif
