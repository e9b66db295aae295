/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_GAUGE_H
#define NET_NET_GAUGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "net/net.h"

/*
 * Measures the speed of servers.  It keeps the best values, which fade, because
 * what disturbs a measurement makes it worse: a reader that is slow, or other
 * requests.  The loop notes, and any thread reads, without a lock.
 */
struct net_gauge {
    atomic_uint_fast64_t rtt_us;
    atomic_uint_fast64_t single;
    atomic_uint_fast64_t all;
    atomic_uint_fast64_t nreplies;

    uint64_t nbytes; /* that have come; used by the loop only */
};

/* A request on its way, which only the loop uses. */
struct net_flight {
    int64_t began_ns;
    uint64_t nbytes; /* that had come before */
};

/* Some bytes of a reply came. */
void net_gauge_receive(struct net_gauge *gauge, size_t nbytes);

/* A request is sent now. */
void net_gauge_begin(const struct net_gauge *gauge, struct net_flight *out);

/*
 * Note a reply that ended now.
 *
 *  flight    of its request
 *  nbytes    in its body
 *  first_us  time to its first byte, > 0
 *  body_us   time from there to its end
 */
void net_gauge_note(struct net_gauge *gauge, const struct net_flight *flight,
                    uint64_t nbytes, int64_t first_us, int64_t body_us);

/* Read all values, which are zero until there were some replies. */
void net_gauge_get(const struct net_gauge *gauge, struct net_speed *out);

#endif
