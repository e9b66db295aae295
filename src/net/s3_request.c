/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/s3_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/percent.h"
#include "net/xml.h"

/* Write the query of a list.  The caller frees it; NULL: there is no memory. */
static char *list_query(const struct url *url, const char *token)
{
    const char *key = url->path + 1; /* behind the first '/' */
    size_t len = strlen(key);
    struct secret query = { 0 };

    secret_add(&query, "list-type=2&encoding-type=url&delimiter=%2F&prefix=");
    percent_recode(key, len, PERCENT_KEEP_NONE, &query);
    if (len > 0 && key[len - 1] != '/')
        secret_add(&query, "%2F");
    if (token) {
        secret_add(&query, "&continuation-token=");
        percent_encode(token, strlen(token), PERCENT_KEEP_NONE, &query);
    }
    return secret_take(&query);
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
    return r == -EBADMSG ? -EIO : r;
}

int s3_request_list(struct net *net, const struct url *url, const char *token,
                    struct s3_list *out)
{
    static char root[] = "/";
    struct url list = { .scheme = url->scheme,
                        .host = url->host,
                        .port = url->port,
                        .path = root };
    uint8_t *buf = malloc(XML_LEN_MAX);
    int r = -ENOMEM;

    list.query = list_query(url, token);
    if (buf && list.query)
        r = get_list(net, &list, buf, out);
    free(list.query);
    free(buf);
    return r;
}
