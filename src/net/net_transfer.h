/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_TRANSFER_H
#define NET_NET_TRANSFER_H

#include <stdatomic.h>

#include "base/list.h"
#include "net/curl.h"
#include "net/net_gauge.h"
#include "net/net_headers.h"
#include "net/s3_site.h"

enum {
    NET_ERROR_MAX = 2048 /* bytes of an error's body that are kept */
};

/* A request, from net_submit() to its end.  Only the loop uses it, except for
   `cancelled`. */
struct net_transfer {
    struct list node; /* in one of the lists of the loop */
    struct net_request *request;
    const struct net_options *options;
    struct net_gauge *gauge;
    atomic_bool cancelled;
    atomic_bool wanted; /* somebody waits for it */

    struct s3_site *site; /* that signs; NULL: the URL is not one of s3 */
    struct url mapped;    /* the URL at the site; of zeros without one */
    bool renewed;         /* it was signed again with other credentials */
    char payload[SIGV4_HASH_SIZE]; /* hash of the body, if there is a site */

    int64_t began_ns;
    int64_t until_ns; /* deadline, by the monotonic clock; see net_until_ns() */
    int64_t operation_ns; /* when the operation has begun; 0: there is none */
    int64_t next_ns;      /* when the next try may begin */
    unsigned ntries;
    unsigned nredirects;
    struct url target;   /* where the last reply has redirected to; of zeros:
                          nowhere */
    bool new_connection; /* the next try takes a new connection */

    /* Of this try. */
    struct net_flight flight;
    CURL *easy; /* NULL between tries */
    struct curl_slist *lines;
    struct net_headers headers;
    struct net_span span; /* once `found` */
    bool found;
    bool sent;      /* the server may have got the request */
    size_t nsent;   /* bytes of the body of the request */
    uint64_t nseen; /* bytes of the body */
    size_t nstored;
    int wrong; /* error of net_headers_find(), or 0 */
    struct s3_signed signed_;
    char error[NET_ERROR_MAX]; /* body of an error of a site */
    size_t error_len;
    char code[NET_ID_MAX]; /* of that error; "": none */
    bool satisfied; /* all wanted bytes are there, the rest is not read */
};

/*
 * Begin a try: make the handle, which the caller adds to the multi handle.
 *
 *  why  receives a text if the request cannot be signed, or ""
 *
 * Returns 0, -ENOMEM, or an error of s3_site_sign(); with -EAGAIN it was no
 * try.
 */
int net_transfer_begin(struct net_transfer *transfer, char why[AWS_WHY_MAX]);

/* Hash the body of the request, if it will be signed.  Returns 0 or -ENOMEM. */
int net_transfer_hash(struct net_transfer *transfer);

/* Free the members of this try.  The caller has removed the handle from the
   multi handle. */
void net_transfer_end(struct net_transfer *transfer);

/* Free the transfer, between tries. */
void net_transfer_free(struct net_transfer *transfer);

/* The URL of this try; and the one that the user has named, as it is asked
   for. */
const struct url *net_transfer_url(const struct net_transfer *transfer);
const struct url *net_transfer_own_url(const struct net_transfer *transfer);

/* Is a reply coming that is to be stored as a whole? */
bool net_transfer_is_whole(const struct net_transfer *transfer);

/* Does a reply of this status tell about the object? */
bool net_transfer_has_object(unsigned status);

/* Find out which bytes of the body are wanted, once all headers are there. */
void net_transfer_find(struct net_transfer *transfer);

#endif
