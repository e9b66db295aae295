/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net_fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIES = 3,         /* after the first one */
    ANSWER_MAX = 65536 /* bytes */
};

/* Answers have no ranges, so their length is not known before. */
static int run(struct net *net, const struct fetch *fetch,
               const struct url *url, struct secret *out)
{
    struct net_request request = {
        .method = fetch->put    ? NET_PUT
                  : fetch->body ? NET_POST
                                : NET_GET,
        .url = url,
        .whole = true,
        .direct = fetch->near,
        .body = fetch->body,
        .lines = fetch->lines,
        .len = ANSWER_MAX,
    };

    request.buf = malloc(ANSWER_MAX);
    if (!request.buf)
        return -ENOMEM;
    net_run(net, &request, 1);
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
    const struct net_options *options =
        ((const struct net_fetcher *)fetcher)->options;
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
        r = run(net, fetch, &url, out);
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
    fetcher->fetcher.get = get;
    fetcher->options = options;
}
