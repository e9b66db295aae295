/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/s3_abort.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/percent.h"
#include "net/s3_reply.h"
#include "net/secret.h"
#include "net/xml.h"

struct listing {
    struct net *net;
    const struct url *url;
    const struct s3_abort *how;
    char *key;     /* of the object */
    uint8_t *buf;  /* XML_LEN_MAX bytes */
    time_t before; /* uploads that were begun later are young */
};

static void add(struct secret *query, const char *name, const char *value)
{
    secret_add(query, name);
    percent_encode(value, strlen(value), PERCENT_KEEP_NONE, query);
}

/* Get the page behind another one, or the first, and the time of the reply. */
static int get_page(struct listing *listing, const struct s3_uploads *last,
                    struct s3_uploads *out)
{
    static char root[] = "/";
    struct secret query = { 0 };
    struct url url = *listing->url;
    struct net_request request = {
        .method = NET_GET,
        .url = &url,
        .whole = true,
        .buf = listing->buf,
        .len = XML_LEN_MAX,
    };
    struct fault fault;
    int r;

    add(&query, "uploads=&encoding-type=url&prefix=", listing->key);
    if (last->next_key) {
        add(&query, "&key-marker=", last->next_key);
        add(&query, "&upload-id-marker=", last->next_id);
    }
    url.path = root;
    url.query = secret_take(&query);
    if (!url.query)
        return -ENOMEM;
    net_run(listing->net, &request, 1);
    free(url.query);
    if (request.error < 0)
        return request.error;
    listing->before =
        request.reply.date - (time_t)net_get_options(listing->net)->grace;
    if (request.reply.date == 0)
        return -EIO;
    r = s3_uploads_parse((const char *)listing->buf, request.reply.len, out,
                         &fault);
    return r == -EBADMSG ? -EIO : r;
}

/* An upload that is gone was finished, or aborted by another program. */
static int abort_upload(const struct listing *listing, const char *id)
{
    struct secret query = { 0 };
    struct url url = *listing->url;
    struct net_request request = {
        .method = NET_DELETE,
        .url = &url,
        .whole = true,
    };

    add(&query, "uploadId=", id);
    url.query = secret_take(&query);
    if (!url.query)
        return -ENOMEM;
    net_run(listing->net, &request, 1);
    free(url.query);
    return request.error == -ENOENT ? 0 : request.error;
}

static int visit(const struct listing *listing, const struct s3_pending *upload)
{
    int r = 0;

    if (strcmp(upload->key, listing->key) != 0 || upload->begun == 0 ||
        upload->begun > listing->before)
        return 0;
    if (!listing->how->dry_run)
        r = abort_upload(listing, upload->id);
    return r < 0 ? r : listing->how->visit(listing->how->context, upload->id);
}

static bool is_same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static int visit_all(struct listing *listing)
{
    struct s3_uploads last = { 0 };
    int r;

    do {
        struct s3_uploads page = { 0 };

        r = get_page(listing, &last, &page);
        if (r == -ENOENT || r == -EACCES || r == -ENOTSUP) {
            r = 0; /* the server shows no list to this user */
            break;
        }
        for (size_t i = 0; r == 0 && i < page.n; i++)
            r = visit(listing, &page.uploads[i]);
        /* A list that leads back to the same page would never end. */
        if (r == 0 && is_same(page.next_key, last.next_key) &&
            is_same(page.next_id, last.next_id))
            r = -EIO;
        s3_uploads_fini(&last);
        last = page;
    } while (r == 0 && last.next_key);
    s3_uploads_fini(&last);
    return r;
}

int s3_abort_old(struct net *net, const struct url *url,
                 const struct s3_abort *how)
{
    struct secret key = { 0 };
    struct listing listing = { .net = net, .url = url, .how = how };
    int r;

    percent_decode(url->path + 1, strlen(url->path + 1), &key);
    listing.key = secret_take(&key);
    listing.buf = malloc(XML_LEN_MAX);
    r = listing.key && listing.buf ? visit_all(&listing) : -ENOMEM;
    free(listing.key);
    free(listing.buf);
    return r;
}
