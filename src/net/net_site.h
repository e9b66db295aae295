/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_SITE_H
#define NET_NET_SITE_H

#include <pthread.h>

#include "net/net_transfer.h"

/* The facts about a bucket. */
struct net_bucket {
    struct net_bucket *next;
    enum net_conditions conditions;
    char name[];
};

/* The site of a loop, for URLs with s3.  It is made when the first request
   needs it, and stays as long as the loop.  `lock` is held over reading the
   files of profiles. */
struct net_site {
    const struct fetcher *fetcher; /* constant */
    pthread_mutex_t lock;
    struct s3_site *site; /* NULL: none so far */
    struct net_bucket *buckets;
};

/* Begin without a site; free it.  The fetcher outlives it. */
void net_site_init(struct net_site *site, const struct fetcher *fetcher);
void net_site_fini(struct net_site *site);

/*
 * Find where a request goes whose URL has s3.
 *
 *  from  receives the site; NULL, and `out` is left alone, if the URL has
 *        another protocol
 *
 * Returns 0, or an error of s3_site_new(), which is reported, or of
 * s3_site_map().
 */
int net_site_map(struct net_site *site, const struct net_options *options,
                 const struct url *url, struct s3_site **from, struct url *out);

/* See net_get_conditions() and net_set_conditions(). */
enum net_conditions net_site_get_conditions(struct net_site *site,
                                            const char *bucket);
void net_site_set_conditions(struct net_site *site, const char *bucket,
                             enum net_conditions conditions);

#endif
