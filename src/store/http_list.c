/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/http_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/s3_request.h"

/* A list that is being read. */
struct listing {
    const struct url *url;
    char *prefix;      /* of all keys */
    const char *after; /* name; NULL: list all */
    bool old;          /* list only objects that are at least `age` old, */
    time_t age;        /* in seconds */
    int (*visit)(void *context, const char *name);
    int (*visit_tag)(void *context, const char *name, const char *etag);
    void *context;
};

/* Visit a name, unless it is none of a directory.  A server may list names that
   it was not asked for. */
static int visit(const struct listing *listing, char *key, const char *etag)
{
    size_t len = strlen(listing->prefix);
    size_t end;

    if (strncmp(key, listing->prefix, len) != 0)
        return 0;
    key += len;
    end = strlen(key);
    if (end > 0 && key[end - 1] == '/')
        key[end - 1] = '\0';
    if (key[0] == '\0' || strchr(key, '/'))
        return 0;
    return listing->visit_tag ? listing->visit_tag(listing->context, key, etag)
                              : listing->visit(listing->context, key);
}

static bool is_wanted(const struct listing *listing, time_t now,
                      const struct s3_object *object)
{
    return !listing->old ||
           (object->modified > 0 && object->modified <= now - listing->age);
}

static int visit_page(const struct listing *listing, struct s3_list *page)
{
    int r = listing->old && page->date == 0 ? -EIO : 0;

    for (size_t i = 0; r == 0 && i < page->nobjects; i++)
        if (is_wanted(listing, page->date, &page->objects[i]))
            r = visit(listing, page->objects[i].key, page->objects[i].etag);
    for (size_t i = 0; r == 0 && !listing->old && i < page->nprefixes; i++)
        r = visit(listing, page->prefixes[i], NULL);
    return r;
}

/* Get the page that a token stands for, and then put that of the next page into
   its place.  A list that leads back to the same page would never end. */
static int visit_next(const struct listing *listing, struct net *net,
                      char **token)
{
    const struct s3_list_wanted wanted = { .url = listing->url,
                                           .after = listing->after,
                                           .token = *token };
    struct s3_list page;
    int r = s3_request_list(net, &wanted, &page);

    if (r < 0)
        return r;
    r = visit_page(listing, &page);
    if (r == 0 && *token && page.next && strcmp(*token, page.next) == 0)
        r = -EIO;
    free(*token);
    *token = page.next;
    page.next = NULL;
    s3_list_fini(&page);
    return r;
}

static int visit_pages(const struct listing *listing, struct net *net)
{
    char *token = NULL;
    int r;

    do
        r = visit_next(listing, net, &token);
    while (r == 0 && token);
    free(token);
    return r;
}

static int list(struct listing *listing, struct net *net)
{
    int r;

    if (listing->url->scheme != URL_S3)
        return -ENOTSUP;
    listing->prefix = s3_key_prefix(listing->url);
    if (!listing->prefix)
        return -ENOMEM;
    r = visit_pages(listing, net);
    free(listing->prefix);
    return r;
}

int http_list(struct net *net, const struct url *url, const char *after,
              int (*visit_)(void *context, const char *name), void *context)
{
    struct listing listing = {
        .url = url,
        .after = after,
        .visit = visit_,
        .context = context,
    };

    return list(&listing, net);
}

int http_list_old(struct net *net, const struct url *url, unsigned seconds,
                  int (*visit_)(void *context, const char *name), void *context)
{
    struct listing listing = {
        .url = url,
        .old = true,
        .age = seconds,
        .visit = visit_,
        .context = context,
    };

    return list(&listing, net);
}

int http_list_tags(struct net *net, const struct url *url,
                   int (*visit_)(void *context, const char *name,
                                 const char *etag),
                   void *context)
{
    struct listing listing = {
        .url = url,
        .visit_tag = visit_,
        .context = context,
    };

    return list(&listing, net);
}
