/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/s3_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/percent.h"
#include "net/xml.h"

char *s3_key_prefix(const struct url *url)
{
    const char *key = url->path + 1; /* behind the first '/' */
    size_t len = strlen(key);
    struct secret prefix = { 0 };

    percent_decode(key, len, &prefix);
    if (len > 0 && key[len - 1] != '/')
        secret_add(&prefix, "/");
    return secret_take(&prefix);
}

/* Write the query of a list.  The caller frees it; NULL: there is no memory. */
static char *list_query(const struct s3_list_wanted *wanted)
{
    const char *key = wanted->url->path + 1; /* behind the first '/' */
    size_t len = strlen(key);
    struct secret query = { 0 };

    secret_add(&query, "list-type=2&encoding-type=url&delimiter=%2F&prefix=");
    percent_recode(key, len, PERCENT_KEEP_NONE, &query);
    if (len > 0 && key[len - 1] != '/')
        secret_add(&query, "%2F");
    if (wanted->stem)
        percent_encode(wanted->stem, strlen(wanted->stem), PERCENT_KEEP_NONE,
                       &query);
    if (wanted->after) {
        secret_add(&query, "&start-after=");
        percent_recode(key, len, PERCENT_KEEP_NONE, &query);
        if (len > 0 && key[len - 1] != '/')
            secret_add(&query, "%2F");
        percent_encode(wanted->after, strlen(wanted->after), PERCENT_KEEP_NONE,
                       &query);
    }
    if (wanted->token) {
        secret_add(&query, "&continuation-token=");
        percent_encode(wanted->token, strlen(wanted->token), PERCENT_KEEP_NONE,
                       &query);
    }
    return secret_take(&query);
}

static void report(struct net *net, const struct url *url,
                   const struct fault *fault)
{
    const struct net_options *options = net_get_options(net);
    char *name = options->report ? url_name(url) : NULL;
    char *line;

    if (name && asprintf(&line, "%s: list of keys at byte %" PRIu64 ": %s",
                         name, fault->off, fault->what) >= 0) {
        options->report(line);
        free(line);
    }
    free(name);
}

static int get_list(struct net *net, const struct url *url, uint8_t *buf,
                    struct s3_list *out)
{
    struct net_request request = {
        .method = NET_GET,
        .url = url,
        .whole = true,
        .buf = buf,
        .len = XML_LEN_MAX,
    };
    struct fault fault;
    int r;

    net_run(net, &request, 1);
    if (request.error < 0)
        return request.error;
    r = s3_list_parse((const char *)buf, request.reply.len, out, &fault);
    if (r == 0)
        out->date = request.reply.date;
    if (r != -EBADMSG)
        return r;
    report(net, url, &fault);
    return -EIO;
}

int s3_request_list(struct net *net, const struct s3_list_wanted *wanted,
                    struct s3_list *out)
{
    static char root[] = "/";
    const struct url *url = wanted->url;
    struct url list = { .scheme = url->scheme,
                        .host = url->host,
                        .port = url->port,
                        .path = root };
    uint8_t *buf = malloc(XML_LEN_MAX);
    int r = -ENOMEM;

    list.query = list_query(wanted);
    if (buf && list.query)
        r = get_list(net, &list, buf, out);
    free(list.query);
    free(buf);
    return r;
}
