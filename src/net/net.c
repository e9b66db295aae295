/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/core_dump.h"
#include "base/list.h"
#include "base/thread.h"
#include "net/net_judge.h"
#include "net/net_private.h"
#include "net/net_report.h"
#include "net/secret.h"
#include "net/sha256.h"

enum {
    NEW_TRIES = 3, /* of a server that has never answered: its name is probably
                      wrong */
    NS_PER_MS = 1000 * 1000,
    SIGN_MS = 10, /* between looks whether a request can be signed */
    IDLE_MS = 60 * 1000,
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
    request->ntries = transfer->ntries;
    net_transfer_free(transfer);
    request->done(request);
}

static void fail(struct net *net, struct net_transfer *transfer,
                 const char *why)
{
    net_counts_fail(&net->counts);
    /* A change whose reply was lost may have been made: its caller asks. */
    if (transfer->wanted && !(transfer->request->once && transfer->sent))
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
        list_append(&net->lists[DELAYED], &transfer->node);
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
    net_gauge_begin(&net->gauge, &transfer->flight);
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
    list_append(&net->lists[RUNNING], &transfer->node);
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
        net_pace_busy(&net->pace, transfer->flight.began_ns, now);
    if (pause < result->pause_ns)
        pause = result->pause_ns;
    if (tries_left(net, transfer) == 0 ||
        pause >= net_until_ns(net, transfer) - now) {
        fail(net, transfer, result->why);
        return;
    }
    net_counts_retry(&net->counts, result->cause);
    /* A server that is busy answers on the same connection. */
    transfer->new_connection = result->cause != NET_BUSY;
    transfer->next_ns = now + pause;
    url_fini(&transfer->target);
    transfer->nredirects = 0;
    list_append(&net->lists[DELAYED], &transfer->node);
}

/* Take note of a reply, unless the server only says that it fails. */
static void note_reply(struct net *net, const struct net_transfer *transfer)
{
    enum net_method method = transfer->request->method;
    bool changes = method != NET_GET && method != NET_HEAD;

    if (transfer->headers.status == 0)
        return;
    net->answered = true;
    net->heard_ns = clock_monotonic_ns();
    net->silent = false;
    if (changes && transfer->headers.status < 500)
        atomic_store(&net->changed_ns, net->heard_ns);
}

static void end_try(struct net *net, struct net_transfer *transfer,
                    CURLcode code)
{
    struct net_result result;

    net_judge(transfer, code, &result);
    stop(net, transfer);
    net_counts_receive(&net->counts, transfer->nstored, result.first_us);
    if (result.first_us > 0)
        net_gauge_note(&net->gauge, &transfer->flight, transfer->nstored,
                       result.first_us, result.body_us);
    note_reply(net, transfer);
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
    if (result.error == -EACCES)
        net_report_refusal(&net->options, transfer);
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

static void enqueue(struct net *net, struct net_transfer *transfer)
{
    list_remove(&transfer->node);
    list_append(&net->lists[transfer->wanted ? QUEUED : AHEAD],
                &transfer->node);
}

/* Move the transfers that other threads have submitted into the queues. */
static bool take_incoming(struct net *net)
{
    bool stopping;

    pthread_mutex_lock(&net->lock);
    list_for_each_safe(node, &net->incoming)
        enqueue(net, transfer_of(node));
    stopping = net->stopping;
    pthread_mutex_unlock(&net->lock);
    return !stopping;
}

/* End a transfer that is past its deadline.  If no reply has come all the time,
   to no request, the server is silent. */
static void expire(struct net *net, struct net_transfer *transfer)
{
    net->silent = net->silent || net->heard_ns < transfer->began_ns;
    fail(net, transfer,
         transfer->ntries > 0 ? "no reply in time"
                              : "could not be sent in time");
}

/* Does nobody wait any longer for a server that is silent? */
static bool gives_up(const struct net *net)
{
    return net->silent && atomic_load(&net->ending);
}

/* End the transfers of a list that were cancelled or are past their
   deadline. */
static void check_list(struct net *net, const struct list *list)
{
    int64_t now = clock_monotonic_ns();

    list_for_each_safe(node, list) {
        struct net_transfer *transfer = transfer_of(node);
        bool cancelled = atomic_load(&transfer->cancelled);

        if (!cancelled && net_until_ns(net, transfer) > now && !gives_up(net))
            continue;
        if (list == &net->lists[RUNNING])
            stop(net, transfer);
        if (cancelled)
            finish(net, transfer, -ECANCELED);
        else
            expire(net, transfer);
    }
}

/* Queue what is to be tried again now, and what somebody waits for now. */
static void queue_all(struct net *net)
{
    int64_t now = clock_monotonic_ns();

    list_for_each_safe(node, &net->lists[DELAYED])
        if (transfer_of(node)->next_ns <= now)
            enqueue(net, transfer_of(node));
    list_for_each_safe(node, &net->lists[AHEAD])
        if (transfer_of(node)->wanted)
            enqueue(net, transfer_of(node));
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The next time at which there is something to do, whatever comes in. */
static int64_t next_time(struct net *net)
{
    int64_t next = clock_monotonic_ns() + (int64_t)IDLE_MS * NS_PER_MS;

    list_for_each(node, &net->lists[DELAYED])
        next = earlier(next, transfer_of(node)->next_ns);
    for (int i = 0; i < NLISTS; i++)
        list_for_each(node, &net->lists[i])
            next = earlier(next, net_until_ns(net, transfer_of(node)));
    return next;
}

/* Wait for a connection, another thread, or the next time. */
static void wait_for_work(struct net *net)
{
    int64_t ns = next_time(net) - clock_monotonic_ns() + NS_PER_MS - 1;

    libcurl.curl_multi_poll(net->multi, NULL, 0,
                            ns > 0 ? (int)(ns / NS_PER_MS) : 0, NULL);
}

/* The transfer to send next, or NULL. */
static struct net_transfer *next_to_start(const struct net *net)
{
    if (net->nrunning >= net_pace_window(&net->pace))
        return NULL;
    if (!list_empty(&net->lists[QUEUED]))
        return transfer_of(net->lists[QUEUED].next);
    return list_empty(&net->lists[AHEAD]) ? NULL
                                          : transfer_of(net->lists[AHEAD].next);
}

static void cancel_all(struct net *net)
{
    for (int i = 0; i < NLISTS; i++)
        list_for_each_safe(node, &net->lists[i]) {
            if (i == RUNNING)
                stop(net, transfer_of(node));
            finish(net, transfer_of(node), -ECANCELED);
        }
}

static void *run_loop(void *arg)
{
    struct net *net = arg;
    struct net_transfer *next;
    int nrunning;

    while (take_incoming(net)) {
        queue_all(net);
        for (int i = 0; i < NLISTS; i++)
            check_list(net, &net->lists[i]);
        while ((next = next_to_start(net)))
            start(net, next);
        libcurl.curl_multi_perform(net->multi, &nrunning);
        take_messages(net);
        if (!next_to_start(net))
            wait_for_work(net);
    }
    cancel_all(net);
    secret_wipe_stack();
    return NULL;
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
    for (int i = 0; i < NLISTS; i++)
        list_init(&net->lists[i]);
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
        r = thread_start(&net->thread, run_loop, net);
    if (r < 0) {
        free_net(net);
        return r;
    }
    *out = net;
    return 0;
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
