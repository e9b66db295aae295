/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_PRIVATE_H
#define NET_NET_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "net/curl.h"
#include "net/net_counts.h"
#include "net/net_fetch.h"
#include "net/net_gauge.h"
#include "net/net_pace.h"
#include "net/net_site.h"
#include "net/net_slot.h"

/* What net.c, the loop, and net_submit.c, the side of the callers, share. */

/* Where the transfers are that the loop has seen. */
enum {
    QUEUED,  /* to be sent as soon as the pace allows, */
    AHEAD,   /* and these after all of the others */
    DELAYED, /* to be tried again at their time */
    RUNNING,
    NLISTS
};

/* Locking.  `lock` is a leaf; the loop drops it before it calls `done`. */
struct net {
    /* Constant once net_new() returns. */
    struct net_options options;
    CURLM *multi; /* only the loop uses it, except for curl_multi_wakeup() */
    pthread_t thread;

    atomic_uint nshared; /* references besides the first one */
    struct net_counts counts;
    struct net_gauge gauge;
    struct net_fetcher fetcher;
    struct net_site site;
    struct net_slot slot;
    atomic_bool ending;             /* see net_end() */
    atomic_int_fast64_t changed_ns; /* when the last reply to a request for a
                                       change came; 0: none has */

    /* Guarded by `lock`, as is the member `transfer` of each request. */
    pthread_mutex_t lock;
    struct list incoming; /* transfers that the loop has not seen */
    bool stopping;

    /* Used by the loop only. */
    struct list lists[NLISTS];
    unsigned nrunning;
    struct net_pace pace;
    unsigned seed;
    bool answered;    /* a reply has come, so there is a server */
    int64_t heard_ns; /* when the last one came; 0: none has */
    bool silent;      /* none has come in the whole time of a request */
};

/* The deadline of a transfer, by the monotonic clock, as far as it is known. */
int64_t net_until_ns(struct net *net, const struct net_transfer *transfer);

#endif
