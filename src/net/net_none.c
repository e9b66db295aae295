/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "net/net.h"
#include "net/sha256.h"

/* A build without libcurl has no loop, so the other functions are never
   called. */

bool net_is_supported(void)
{
    return false;
}

int net_new(const struct net_options *options, struct net **out)
{
    (void)options;
    (void)out;
    return -EPROTONOSUPPORT;
}

struct net *net_get(struct net *net)
{
    return net;
}

void net_put(struct net *net)
{
    (void)net;
}

const struct net_options *net_get_options(const struct net *net)
{
    (void)net;
    return &net_default_options;
}

enum net_conditions net_get_conditions(struct net *net, const char *bucket)
{
    (void)net;
    (void)bucket;
    return NET_CONDITIONS_IGNORED;
}

void net_set_conditions(struct net *net, const char *bucket,
                        enum net_conditions conditions)
{
    (void)net;
    (void)bucket;
    (void)conditions;
}

int net_submit(struct net *net, struct net_request *request)
{
    (void)net;
    (void)request;
    return -EPROTONOSUPPORT;
}

void net_end(struct net *net)
{
    (void)net;
}

int net_map(struct net *net, const struct url *url, struct url *out)
{
    (void)net;
    (void)url;
    (void)out;
    return -EPROTONOSUPPORT;
}

struct net_extra *net_get_extra(
    struct net *net,
    struct net_extra *(*make)(const struct net_options *options))
{
    (void)net;
    (void)make;
    return NULL;
}

int sha256(const void *bytes, size_t len, uint8_t out[SHA256_LEN])
{
    (void)bytes;
    (void)len;
    (void)out;
    return -EPROTONOSUPPORT;
}

void net_cancel(struct net *net, struct net_request *request)
{
    (void)net;
    (void)request;
}

void net_count_used(struct net *net, uint64_t nbytes)
{
    (void)net;
    (void)nbytes;
}

void net_want(struct net *net, struct net_request *request)
{
    (void)net;
    (void)request;
}

void net_get_speed(struct net *net, struct net_speed *out)
{
    (void)net;
    *out = (struct net_speed){ 0 };
}

void net_get_stats(struct net *net, struct net_stats *out)
{
    (void)net;
    *out = (struct net_stats){ 0 };
}
