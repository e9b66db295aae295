/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net_site.h"

void net_site_init(struct net_site *site, const struct fetcher *fetcher)
{
    site->fetcher = fetcher;
    pthread_mutex_init(&site->lock, NULL);
    site->site = NULL;
}

void net_site_fini(struct net_site *site)
{
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
