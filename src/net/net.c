/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/core_dump.h"
#include "base/list.h"
#include "net/net_counts.h"
#include "net/net_fetch.h"
#include "net/net_judge.h"
#include "net/net_pace.h"
#include "net/net_report.h"
#include "net/net_site.h"
#include "net/net_slot.h"
#include "net/sha256.h"

enum {
    NEW_TRIES = 3, /* of a server that has never answered: its name is probably
                      wrong */
    NS_PER_MS = 1000 * 1000,
    SIGN_MS = 10, /* between looks whether a request can be signed */
    IDLE_MS = 60 * 1000,
};

/* Locking.  `lock` is a leaf; the loop drops it before it calls `done`. */
struct net {
    /* Constant once net_new() returns. */
    struct net_options options;
    CURLM *multi; /* only the loop uses it, except for curl_multi_wakeup() */
    pthread_t thread;

    atomic_uint nshared; /* references besides the first one */
    struct net_counts counts;
    struct net_fetcher fetcher;
    struct net_site site;
    struct net_slot slot;

    /* Guarded by `lock`, as is the member `transfer` of each request. */
    pthread_mutex_t lock;
    struct list incoming; /* transfers that the loop has not seen */
    bool stopping;

    /* Used by the loop only. */
    struct list queue;   /* to be sent as soon as the pace allows */
    struct list delayed; /* to be tried again at their time */
    struct list running;
    unsigned nrunning;
    struct net_pace pace;
    unsigned seed;
    bool answered; /* a reply has come, so there is a server */
};

bool net_is_supported(void)
{
    return curl_load() && sha256_load();
}

static struct net_transfer *transfer_of(struct list *node)
{
    return list_entry(node, struct net_transfer, node);
}

/* End a transfer, which is in no list or can be removed from it. */
static void finish(struct net *net, struct net_transfer *transfer, int error)
{
    struct net_request *request = transfer->request;

    list_remove(&transfer->node);
    pthread_mutex_lock(&net->lock);
    request->transfer = NULL;
    pthread_mutex_unlock(&net->lock);
    request->error = error;
    net_transfer_free(transfer);
    request->done(request);
}

static void fail(struct net *net, struct net_transfer *transfer,
                 const char *why)
{
    net_counts_fail(&net->counts);
    net_report(&net->options, transfer, why);
    finish(net, transfer, -EIO);
}

/* Take a transfer that is running off its connection. */
static void stop(struct net *net, struct net_transfer *transfer)
{
    libcurl.curl_multi_remove_handle(net->multi, transfer->easy);
    net_transfer_end(transfer);
    list_remove(&transfer->node);
    net->nrunning--;
    net_counts_running(&net->counts, net->nrunning);
}

/* End a request that cannot be sent, or wait until it can be signed. */
static void hold_back(struct net *net, struct net_transfer *transfer, int error,
                      const char *why)
{
    if (error == -EAGAIN) {
        transfer->next_ns = clock_monotonic_ns() + (int64_t)SIGN_MS * NS_PER_MS;
        list_append(&net->delayed, &transfer->node);
        return;
    }
    if (why[0] != '\0')
        net_report(&net->options, transfer, why);
    finish(net, transfer, error);
}

static void start(struct net *net, struct net_transfer *transfer)
{
    char why[AWS_WHY_MAX];
    int r;

    list_remove(&transfer->node);
    transfer->sent_ns = clock_monotonic_ns();
    r = net_transfer_begin(transfer, why);
    if (r < 0) {
        hold_back(net, transfer, r, why);
        return;
    }
    if (libcurl.curl_multi_add_handle(net->multi, transfer->easy) != CURLM_OK) {
        net_transfer_end(transfer);
        finish(net, transfer, -ENOMEM);
        return;
    }
    list_append(&net->running, &transfer->node);
    net->nrunning++;
    net_counts_send(&net->counts, transfer->request->method);
    net_counts_running(&net->counts, net->nrunning);
}

static unsigned tries_left(const struct net *net,
                           const struct net_transfer *transfer)
{
    unsigned most = net->options.retries + 1;

    if (!net->answered && most > NEW_TRIES)
        most = NEW_TRIES;
    return transfer->ntries < most ? most - transfer->ntries : 0;
}

static void try_again(struct net *net, struct net_transfer *transfer,
                      const struct net_result *result)
{
    int64_t now = clock_monotonic_ns();
    int64_t pause = net_pace_pause(transfer->ntries, &net->seed);

    if (result->cause == NET_BUSY)
        net_pace_busy(&net->pace, transfer->sent_ns, now);
    if (pause < result->pause_ns)
        pause = result->pause_ns;
    if (tries_left(net, transfer) == 0 || pause >= transfer->until_ns - now) {
        fail(net, transfer, result->why);
        return;
    }
    net_counts_retry(&net->counts, result->cause);
    /* A server that is busy answers on the same connection. */
    transfer->fresh = result->cause != NET_BUSY;
    transfer->next_ns = now + pause;
    url_fini(&transfer->target);
    transfer->nredirects = 0;
    list_append(&net->delayed, &transfer->node);
}

static void end_try(struct net *net, struct net_transfer *transfer,
                    CURLcode code)
{
    struct net_result result;

    net_judge(transfer, code, &result);
    stop(net, transfer);
    net_counts_receive(&net->counts, transfer->nstored, result.first_us);
    if (transfer->headers.status > 0)
        net->answered = true;
    switch (result.verdict) {
    case NET_RETRY:
        try_again(net, transfer, &result);
        return;
    case NET_FOLLOW:
        net_counts_redirect(&net->counts);
        transfer->ntries--; /* it is a step of the same try */
        start(net, transfer);
        return;
    case NET_RENEW:
        transfer->renewed = true;
        start(net, transfer);
        return;
    case NET_FINISH:
        break;
    }
    /* A server that may not tell whether an object exists denies access; all
       else is a mistake that the user should know of. */
    if (result.error == -EACCES && transfer->code[0] != '\0' &&
        strcmp(transfer->code, "AccessDenied") != 0)
        net_report(&net->options, transfer, "the server refuses the request");
    if (result.error == -EIO) {
        fail(net, transfer, result.why);
        return;
    }
    net_pace_good(&net->pace);
    finish(net, transfer, result.error);
}

static void take_messages(struct net *net)
{
    struct CURLMsg *message;
    int nleft;

    while ((message = libcurl.curl_multi_info_read(net->multi, &nleft))) {
        CURLcode code = message->data.result;
        struct net_transfer *transfer;
        char *context;

        if (message->msg != CURLMSG_DONE)
            continue;
        libcurl.curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE,
                                  &context);
        transfer = (struct net_transfer *)(void *)context;
        end_try(net, transfer, code);
    }
}

/* Move the transfers that other threads have submitted into the queue. */
static bool take_incoming(struct net *net)
{
    bool stopping;

    pthread_mutex_lock(&net->lock);
    list_for_each_safe(node, &net->incoming) {
        list_remove(node);
        list_append(&net->queue, node);
    }
    stopping = net->stopping;
    pthread_mutex_unlock(&net->lock);
    return !stopping;
}

/* End the transfers of a list that were cancelled or are past their deadline. */
static void check_list(struct net *net, const struct list *list)
{
    int64_t now = clock_monotonic_ns();

    list_for_each_safe(node, list) {
        struct net_transfer *transfer = transfer_of(node);
        bool cancelled = atomic_load(&transfer->cancelled);

        if (!cancelled && transfer->until_ns > now)
            continue;
        if (list == &net->running)
            stop(net, transfer);
        if (cancelled)
            finish(net, transfer, -ECANCELED);
        else
            fail(net, transfer,
                 transfer->ntries > 0 ? "no reply in time"
                                      : "could not be sent in time");
    }
}

static void queue_delayed(struct net *net)
{
    int64_t now = clock_monotonic_ns();

    list_for_each_safe(node, &net->delayed) {
        if (transfer_of(node)->next_ns > now)
            continue;
        list_remove(node);
        list_append(&net->queue, node);
    }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The next time at which there is something to do, whatever comes in. */
static int64_t next_time(const struct net *net)
{
    int64_t next = clock_monotonic_ns() + (int64_t)IDLE_MS * NS_PER_MS;

    list_for_each(node, &net->delayed) {
        next = earlier(next, transfer_of(node)->next_ns);
        next = earlier(next, transfer_of(node)->until_ns);
    }
    list_for_each(node, &net->queue)
        next = earlier(next, transfer_of(node)->until_ns);
    list_for_each(node, &net->running)
        next = earlier(next, transfer_of(node)->until_ns);
    return next;
}

/* Wait for a connection, another thread, or the next time. */
static void wait_for_work(struct net *net)
{
    int64_t ns = next_time(net) - clock_monotonic_ns() + NS_PER_MS - 1;

    libcurl.curl_multi_poll(net->multi, NULL, 0,
                            ns > 0 ? (int)(ns / NS_PER_MS) : 0, NULL);
}

static bool can_start(const struct net *net)
{
    return !list_empty(&net->queue) &&
           net->nrunning < net_pace_window(&net->pace);
}

static void *run_loop(void *arg)
{
    struct net *net = arg;
    int nrunning;

    while (take_incoming(net)) {
        queue_delayed(net);
        check_list(net, &net->queue);
        check_list(net, &net->delayed);
        check_list(net, &net->running);
        while (can_start(net))
            start(net, transfer_of(net->queue.next));
        libcurl.curl_multi_perform(net->multi, &nrunning);
        take_messages(net);
        if (!can_start(net))
            wait_for_work(net);
    }
    return NULL;
}

/* Start the loop with all signals blocked, as in base/pool.c. */
static int start_loop(struct net *net)
{
    sigset_t all;
    sigset_t old;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&net->thread, NULL, run_loop, net);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -error;
}

static void free_net(struct net *net)
{
    if (net->multi)
        libcurl.curl_multi_cleanup(net->multi);
    net_fetch_stop(&net->fetcher);
    net_site_fini(&net->site);
    net_fetch_fini(&net->fetcher);
    net_slot_fini(&net->slot);
    pthread_mutex_destroy(&net->lock);
    free(net);
}

static void set_up(struct net *net, const struct net_options *options)
{
    net->options = *options;
    atomic_init(&net->nshared, 0);
    pthread_mutex_init(&net->lock, NULL);
    net_slot_init(&net->slot);
    net_fetch_init(&net->fetcher, &net->options);
    net_site_init(&net->site, &net->fetcher.fetcher);
    list_init(&net->incoming);
    list_init(&net->queue);
    list_init(&net->delayed);
    list_init(&net->running);
    net_pace_init(&net->pace, options->connections);
    net->seed = (unsigned)(clock_monotonic_ns() ^ getpid());
}

/* libcurl counts these calls, and locks them itself. */
static int start_curl(struct net *net)
{
    if (libcurl.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return -ENOMEM;
    net->multi = libcurl.curl_multi_init();
    if (!net->multi)
        return -ENOMEM;
    libcurl.curl_multi_setopt(net->multi, CURLMOPT_MAXCONNECTS,
                              (long)net->options.connections);
    return 0;
}

int net_new(const struct net_options *options, struct net **out)
{
    struct net *net;
    int r;

    if (!net_is_supported())
        return -EPROTONOSUPPORT;
    net = calloc(1, sizeof(*net));
    if (!net)
        return -ENOMEM;
    if (options->no_core)
        core_dump_forbid();
    set_up(net, options);
    r = start_curl(net);
    if (r == 0)
        r = start_loop(net);
    if (r < 0) {
        free_net(net);
        return r;
    }
    *out = net;
    return 0;
}

struct net *net_get(struct net *net)
{
    atomic_fetch_add(&net->nshared, 1);
    return net;
}

void net_put(struct net *net)
{
    if (!net || atomic_fetch_sub(&net->nshared, 1) > 0)
        return;
    pthread_mutex_lock(&net->lock);
    net->stopping = true;
    pthread_mutex_unlock(&net->lock);
    libcurl.curl_multi_wakeup(net->multi);
    pthread_join(net->thread, NULL);
    free_net(net);
}

const struct net_options *net_get_options(const struct net *net)
{
    return &net->options;
}

int net_submit(struct net *net, struct net_request *request)
{
    struct net_transfer *transfer = calloc(1, sizeof(*transfer));
    unsigned timeout =
        request->timeout > 0 ? request->timeout : net->options.timeout;
    int r;

    if (!transfer)
        return -ENOMEM;
    transfer->request = request;
    r = net_site_map(&net->site, &net->options, request->url, &transfer->site,
                     &transfer->mapped);
    if (r < 0) {
        net_transfer_free(transfer);
        return r;
    }
    transfer->options = &net->options;
    transfer->until_ns =
        clock_monotonic_ns() + (int64_t)timeout * 1000 * NS_PER_MS;
    atomic_init(&transfer->cancelled, false);
    list_init(&transfer->node);
    pthread_mutex_lock(&net->lock);
    request->transfer = transfer;
    list_append(&net->incoming, &transfer->node);
    pthread_mutex_unlock(&net->lock);
    libcurl.curl_multi_wakeup(net->multi);
    return 0;
}

void net_cancel(struct net *net, struct net_request *request)
{
    pthread_mutex_lock(&net->lock);
    if (request->transfer)
        atomic_store(&request->transfer->cancelled, true);
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

void net_get_stats(struct net *net, struct net_stats *out)
{
    net_counts_get(&net->counts, out);
}
