/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_JUDGE_H
#define NET_NET_JUDGE_H

#include "net/net_transfer.h"

/* The next step after a try. */
enum net_verdict {
    NET_FINISH,
    NET_RETRY,
    NET_FOLLOW, /* try at once, at `target` */
    NET_RENEW,  /* sign again, with other credentials */
};

/* The end of a try. */
struct net_result {
    enum net_verdict verdict;
    int error;            /* for NET_FINISH, and NET_RETRY if no try is left */
    enum net_cause cause; /* for NET_RETRY */
    int64_t pause_ns;     /* at least so long, because the server asks for it */
    const char *why;      /* static text, for -EIO */
    int64_t first_us; /* time to the first byte of the reply; 0: none came */
    int64_t body_us;  /* time from there to the end */
};

/* Judge a try that has ended, and fill in the reply of the request. */
void net_judge(struct net_transfer *transfer, CURLcode code,
               struct net_result *out);

#endif
