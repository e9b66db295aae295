/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/operation.h"
#include "net/net_private.h"
#include "net/net_transfer.h"

struct net *net_get(struct net *net)
{
    atomic_fetch_add(&net->nshared, 1);
    return net;
}

const struct net_options *net_get_options(const struct net *net)
{
    return &net->options;
}

enum net_conditions net_get_conditions(struct net *net, const char *bucket)
{
    return net_site_get_conditions(&net->site, bucket);
}

void net_set_conditions(struct net *net, const char *bucket,
                        enum net_conditions conditions)
{
    net_site_set_conditions(&net->site, bucket, conditions);
}

int64_t net_until_ns(struct net *net, const struct net_transfer *transfer)
{
    int64_t since = atomic_load(&net->changed_ns);
    int64_t until;

    if (transfer->operation_ns == 0)
        return transfer->until_ns;
    if (since < transfer->operation_ns)
        since = transfer->operation_ns;
    until = since + net->options.timeout * CLOCK_SECOND_NS;
    return until < transfer->until_ns ? until : transfer->until_ns;
}

/* Set the times of a transfer.  Returns 0, or -EIO if it comes too late. */
static int set_times(struct net *net, struct net_transfer *transfer)
{
    unsigned timeout = transfer->request->timeout > 0
                           ? transfer->request->timeout
                           : net->options.timeout;

    transfer->began_ns = clock_monotonic_ns();
    transfer->until_ns = transfer->began_ns + timeout * CLOCK_SECOND_NS;
    transfer->operation_ns = operation_began_ns();
    return net_until_ns(net, transfer) > transfer->began_ns ? 0 : -EIO;
}

int net_submit(struct net *net, struct net_request *request)
{
    struct net_transfer *transfer = calloc(1, sizeof(*transfer));
    int r;

    if (!transfer)
        return -ENOMEM;
    transfer->request = request;
    transfer->options = &net->options;
    r = set_times(net, transfer);
    if (r == 0)
        r = net_site_map(&net->site, &net->options, request->url,
                         &transfer->site, &transfer->mapped);
    if (r == 0)
        r = net_transfer_hash(transfer);
    if (r < 0) {
        net_transfer_free(transfer);
        return r;
    }
    transfer->gauge = &net->gauge;
    atomic_init(&transfer->cancelled, false);
    atomic_init(&transfer->wanted, !request->ahead);
    list_init(&transfer->node);
    pthread_mutex_lock(&net->lock);
    request->transfer = transfer;
    list_append(&net->incoming, &transfer->node);
    pthread_mutex_unlock(&net->lock);
    libcurl.curl_multi_wakeup(net->multi);
    return 0;
}

void net_end(struct net *net)
{
    atomic_store(&net->ending, true);
}

void net_cancel(struct net *net, struct net_request *request)
{
    pthread_mutex_lock(&net->lock);
    if (request->transfer)
        atomic_store(&request->transfer->cancelled, true);
    pthread_mutex_unlock(&net->lock);
    libcurl.curl_multi_wakeup(net->multi);
}

void net_want(struct net *net, struct net_request *request)
{
    pthread_mutex_lock(&net->lock);
    if (request->transfer)
        atomic_store(&request->transfer->wanted, true);
    pthread_mutex_unlock(&net->lock);
    libcurl.curl_multi_wakeup(net->multi);
}

int net_map(struct net *net, const struct url *url, struct url *out)
{
    struct s3_site *site;
    int r = net_site_map(&net->site, &net->options, url, &site, out);

    return r < 0 || site ? r : url_copy(url, out);
}

struct net_extra *net_get_extra(
    struct net *net,
    struct net_extra *(*make)(const struct net_options *options))
{
    return net_slot_get(&net->slot, &net->options, make);
}

void net_count_used(struct net *net, uint64_t nbytes)
{
    net_counts_use(&net->counts, nbytes);
}

void net_get_speed(struct net *net, struct net_speed *out)
{
    net_gauge_get(&net->gauge, out);
}

void net_get_stats(struct net *net, struct net_stats *out)
{
    net_counts_get(&net->counts, out);
}
