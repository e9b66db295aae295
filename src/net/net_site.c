/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net_site.h"

#include <stdlib.h>
#include <string.h>

void net_site_init(struct net_site *site, const struct fetcher *fetcher)
{
    site->fetcher = fetcher;
    pthread_mutex_init(&site->lock, NULL);
    site->site = NULL;
    site->buckets = NULL;
}

void net_site_fini(struct net_site *site)
{
    struct net_bucket *next;

    for (struct net_bucket *bucket = site->buckets; bucket; bucket = next) {
        next = bucket->next;
        free(bucket);
    }
    s3_site_free(site->site);
    pthread_mutex_destroy(&site->lock);
}

static const char *set_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

static int make_site(const struct net_options *options, struct net_site *site)
{
    const struct s3_options s3 = {
        .aws = { .profile = set_or_null(options->profile),
                 .region = set_or_null(options->region),
                 .endpoint = set_or_null(options->endpoint) },
        .anonymous = options->anonymous,
        .fetcher = site->fetcher,
    };
    char why[AWS_WHY_MAX];
    int r = s3_site_new(&s3, &site->site, why);

    if (r < 0 && options->report)
        options->report(why);
    return r;
}

static int get_site(struct net_site *site, const struct net_options *options,
                    struct s3_site **out)
{
    int r = 0;

    pthread_mutex_lock(&site->lock);
    if (!site->site)
        r = make_site(options, site);
    *out = site->site;
    pthread_mutex_unlock(&site->lock);
    return r;
}

int net_site_map(struct net_site *site, const struct net_options *options,
                 const struct url *url, struct s3_site **from, struct url *out)
{
    int r;

    *from = NULL;
    if (url->scheme != URL_S3)
        return 0;
    r = get_site(site, options, from);
    return r < 0 ? r : s3_site_map(*from, url, out);
}

static struct net_bucket *find_bucket_locked(struct net_site *site,
                                             const char *name)
{
    struct net_bucket *bucket = site->buckets;

    while (bucket && strcmp(bucket->name, name) != 0)
        bucket = bucket->next;
    return bucket;
}

enum net_conditions net_site_get_conditions(struct net_site *site,
                                            const char *bucket)
{
    enum net_conditions conditions = NET_CONDITIONS_UNKNOWN;
    const struct net_bucket *found;

    pthread_mutex_lock(&site->lock);
    found = find_bucket_locked(site, bucket);
    if (found)
        conditions = found->conditions;
    pthread_mutex_unlock(&site->lock);
    return conditions;
}

/* If there is no memory, the server is asked again. */
void net_site_set_conditions(struct net_site *site, const char *bucket,
                             enum net_conditions conditions)
{
    size_t size = strlen(bucket) + 1;
    struct net_bucket *found;

    pthread_mutex_lock(&site->lock);
    found = find_bucket_locked(site, bucket);
    if (!found) {
        found = calloc(1, sizeof(*found) + size);
        if (found) {
            memcpy(found->name, bucket, size);
            found->next = site->buckets;
            site->buckets = found;
        }
    }
    if (found)
        found->conditions = conditions;
    pthread_mutex_unlock(&site->lock);
}
