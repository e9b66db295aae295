/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_TRANSFER_H
#define NET_NET_TRANSFER_H

#include <curl/curl.h>
#include <stdatomic.h>

#include "base/list.h"
#include "net/net_headers.h"

/* A request, from net_submit() to its end.  Only the loop uses it, except for
   `cancelled`. */
struct net_transfer {
    struct list node; /* in one of the lists of the loop */
    struct net_request *request;
    const struct net_options *options;
    atomic_bool cancelled;

    int64_t until_ns; /* deadline, by the monotonic clock */
    int64_t next_ns;  /* when the next try may begin */
    int64_t sent_ns;  /* when this try began */
    unsigned ntries;
    unsigned nredirects;
    struct url target; /* where the last reply has redirected to; of zeros: the
                          request's own URL */
    bool fresh;        /* the next try takes a new connection */

    /* Of this try. */
    CURL *easy; /* NULL between tries */
    struct curl_slist *lines;
    struct net_headers headers;
    struct net_span span; /* once `found` */
    bool found;
    uint64_t nseen; /* bytes of the body */
    size_t nstored;
    int wrong;      /* error of net_headers_find(), or 0 */
    bool satisfied; /* all wanted bytes are there, the rest is not read */
};

/* What to do after a try. */
enum net_verdict {
    NET_FINISH,
    NET_RETRY,
    NET_FOLLOW, /* try at once, at `target` */
};

/* The end of a try. */
struct net_result {
    enum net_verdict verdict;
    int error;            /* for NET_FINISH, and NET_RETRY if no try is left */
    enum net_cause cause; /* for NET_RETRY */
    int64_t pause_ns;     /* at least so long, because the server asks for it */
    const char *why;      /* static text, for -EIO */
    int64_t first_us; /* time to the first byte of the reply; 0: none came */
};

/* Begin a try: make the handle, which the caller adds to the multi handle.
   Returns 0 or -ENOMEM. */
int net_transfer_begin(struct net_transfer *transfer);

/* Judge a try that has ended, and fill in the reply of the request. */
void net_transfer_judge(struct net_transfer *transfer, CURLcode code,
                        struct net_result *out);

/* Free what belongs to this try.  The caller has removed the handle from the
   multi handle. */
void net_transfer_end(struct net_transfer *transfer);

/* The URL of this try. */
const struct url *net_transfer_url(const struct net_transfer *transfer);

#endif
