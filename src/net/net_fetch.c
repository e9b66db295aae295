/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net_fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIES = 3,         /* after the first one */
    ANSWER_MAX = 65536 /* bytes */
};

static struct net_fetcher *fetcher_of(const struct fetcher *fetcher)
{
    /* Drop the const: users of a fetcher see only its function. */
    return (struct net_fetcher *)(uintptr_t)fetcher;
}

static void note_end(struct net_request *request)
{
    struct net_fetcher *fetcher = request->context;

    pthread_mutex_lock(&fetcher->lock);
    fetcher->running = false;
    pthread_cond_broadcast(&fetcher->ended);
    pthread_mutex_unlock(&fetcher->lock);
}

/* Make a request, as net_run(), that net_fetch_stop() can cancel. */
static void run_request(struct net_fetcher *fetcher, struct net *net,
                        struct net_request *request)
{
    int r;

    request->done = note_end;
    request->context = fetcher;
    pthread_mutex_lock(&fetcher->lock);
    r = fetcher->stopped ? -ECANCELED : net_submit(net, request);
    if (r == 0) {
        fetcher->running = true;
        fetcher->net = net;
        fetcher->request = request;
        while (fetcher->running)
            pthread_cond_wait(&fetcher->ended, &fetcher->lock);
    } else {
        request->error = r;
    }
    pthread_mutex_unlock(&fetcher->lock);
}

/* Answers have no ranges, so their length is not known before. */
static int run(struct net_fetcher *fetcher, struct net *net,
               const struct fetch *fetch, const struct url *url,
               struct secret *out)
{
    struct net_request request = {
        .method = fetch->put    ? NET_PUT
                  : fetch->body ? NET_POST
                                : NET_GET,
        .url = url,
        .whole = true,
        .direct = fetch->near,
        .body = fetch->body,
        .body_len = fetch->body ? strlen(fetch->body) : 0,
        .lines = fetch->lines,
        .len = ANSWER_MAX,
    };

    request.buf = malloc(ANSWER_MAX);
    if (!request.buf)
        return -ENOMEM;
    run_request(fetcher, net, &request);
    if (request.error == 0)
        secret_add_bytes(out, request.buf, request.reply.len);
    explicit_bzero(request.buf, ANSWER_MAX);
    free(request.buf);
    if (request.error == 0 && out->failed)
        return -ENOMEM;
    return request.error;
}

static int get(const struct fetcher *fetcher, const struct fetch *fetch,
               struct secret *out)
{
    const struct net_options *options = fetcher_of(fetcher)->options;
    struct net_options own = net_default_options;
    const char *why;
    struct net *net;
    struct url url;
    int r;

    memcpy(own.cacert, options->cacert, sizeof(own.cacert));
    own.timeout = fetch->seconds;
    own.retries = fetch->near ? 0 : TRIES;
    own.connections = 1;
    *out = (struct secret){ 0 };
    r = url_parse(fetch->url, &url, &why);
    if (r < 0)
        return r;
    r = url.scheme == URL_S3 ? -EINVAL : net_new(&own, &net);
    if (r == 0) {
        r = run(fetcher_of(fetcher), net, fetch, &url, out);
        net_put(net);
    }
    url_fini(&url);
    if (r < 0)
        secret_fini(out);
    return r;
}

void net_fetch_init(struct net_fetcher *fetcher,
                    const struct net_options *options)
{
    *fetcher = (struct net_fetcher){
        .fetcher.get = get,
        .options = options,
    };
    pthread_mutex_init(&fetcher->lock, NULL);
    pthread_cond_init(&fetcher->ended, NULL);
}

void net_fetch_stop(struct net_fetcher *fetcher)
{
    pthread_mutex_lock(&fetcher->lock);
    fetcher->stopped = true;
    if (fetcher->running)
        net_cancel(fetcher->net, fetcher->request);
    pthread_mutex_unlock(&fetcher->lock);
}

void net_fetch_fini(struct net_fetcher *fetcher)
{
    pthread_cond_destroy(&fetcher->ended);
    pthread_mutex_destroy(&fetcher->lock);
}
