/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/size.h"
#include "net/net.h"

enum {
    SECONDS_MAX = 86400,
    GRACE_MAX = 365 * 86400,
    RETRIES_MAX = 1000,
    CONNECTIONS_MAX = 1024,
};

/* Of the directory for what was fetched; a smaller one would hold too little of
   a frame. */
static const uint64_t netcache_min = UINT64_C(16) << 20;

const struct net_options net_default_options = NET_DEFAULT_OPTIONS;

static int set_revalidate(const char *value, unsigned *out)
{
    if (strcmp(value, "inf") != 0)
        return size_parse_number(value, 0, SECONDS_MAX, out);
    *out = NET_FOREVER;
    return 0;
}

static int set_text(const char *value, char *out, size_t size)
{
    if (value[0] == '\0' || strlen(value) >= size)
        return -EINVAL;
    strcpy(out, value);
    return 0;
}

static int set_flag(const char *value, bool *out)
{
    if (value[0] != '\0')
        return -EINVAL;
    *out = true;
    return 0;
}

static int set_size(const char *value, uint64_t min, uint64_t *out)
{
    uint64_t size;

    if (!size_parse(value, &size) || size < min)
        return -EINVAL;
    *out = size;
    return 0;
}

static int set_ticket(const char *value, bool *out)
{
    *out = strcmp(value, "newest") == 0;
    return *out || strcmp(value, "same") == 0 ? 0 : -EINVAL;
}

/* Set an option that is for URLs with s3. */
static int set_s3(struct net_options *options, const char *name,
                  const char *value)
{
    if (strcmp(name, "endpoint") == 0)
        return set_text(value, options->endpoint, sizeof(options->endpoint));
    if (strcmp(name, "region") == 0)
        return set_text(value, options->region, sizeof(options->region));
    if (strcmp(name, "profile") == 0)
        return set_text(value, options->profile, sizeof(options->profile));
    if (strcmp(name, "anonymous") == 0)
        return set_flag(value, &options->anonymous);
    if (strcmp(name, "grace") == 0)
        return size_parse_number(value, 0, GRACE_MAX, &options->grace);
    if (strcmp(name, "single_writer") == 0)
        return set_flag(value, &options->single_writer);
    return -ENOENT;
}

int net_options_set(struct net_options *options, const char *name,
                    const char *value)
{
    if (strcmp(name, "timeout") == 0)
        return size_parse_number(value, 1, SECONDS_MAX, &options->timeout);
    if (strcmp(name, "retries") == 0)
        return size_parse_number(value, 0, RETRIES_MAX, &options->retries);
    if (strcmp(name, "connections") == 0)
        return size_parse_number(value, 1, CONNECTIONS_MAX,
                                 &options->connections);
    if (strcmp(name, "revalidate") == 0)
        return set_revalidate(value, &options->revalidate);
    if (strcmp(name, "ticket") == 0)
        return set_ticket(value, &options->newest_tickets);
    if (strcmp(name, "cacert") == 0)
        return set_text(value, options->cacert, sizeof(options->cacert));
    if (strcmp(name, "netcache") == 0)
        return set_text(value, options->netcache, sizeof(options->netcache));
    if (strcmp(name, "netcache_size") == 0)
        return set_size(value, netcache_min, &options->netcache_size);
    return set_s3(options, name, value);
}
