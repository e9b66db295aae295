/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/s3_copy.h"
#include "net/s3_put.h"
#include "store/http_list.h"
#include "store/store_http_private.h"

static struct http_store *store_of(struct store *base)
{
    return (struct http_store *)base;
}

int store_s3_list_tags(struct store *base,
                       int (*visit)(void *context, const char *name,
                                    const char *etag),
                       void *context)
{
    struct http_store *store = store_of(base);

    if (!store_names_once(base))
        return -ENOTSUP;
    return http_list_tags(store->context->net, http_store_url(store), visit,
                          context);
}

static int make_copy(const struct http_store *from, const struct http_store *to,
                     const struct store_s3_tagged *object, struct s3_copy *out)
{
    int r = url_join(http_store_url(from), object->name, &out->from);

    if (r < 0)
        return r;
    r = url_join(http_store_url(to), object->name, &out->to);
    if (r < 0)
        url_fini(&out->from);
    else
        strncat(out->etag, object->etag, sizeof(out->etag) - 1);
    return r;
}

int store_s3_copy(struct store *from, struct store *to,
                  const struct store_s3_tagged *objects, size_t n)
{
    struct s3_copy *copies = calloc(n > 0 ? n : 1, sizeof(*copies));
    size_t nmade = 0;
    int r = copies ? s3_check_place(to) : -ENOMEM;

    for (; nmade < n && r == 0; nmade += r == 0)
        r = make_copy(store_of(from), store_of(to), &objects[nmade],
                      &copies[nmade]);
    if (r == 0)
        r = s3_copy_all(store_of(to)->context->net, copies, n);
    for (size_t i = 0; i < nmade; i++) {
        url_fini(&copies[i].from);
        url_fini(&copies[i].to);
    }
    free(copies);
    return r;
}

int store_s3_retire(struct store *base, const char *name,
                    struct store_http_tag *tag)
{
    struct http_store *store = store_of(base);
    struct net *net = store->context->net;
    char id[NET_ID_MAX];
    struct s3_found found;
    struct url url;
    const struct s3_put put = {
        .url = &url,
        .body = s3_marker,
        .len = strlen(s3_marker),
        .id = id,
        .conditions = net_get_conditions(net, http_store_url(store)->host),
        .expected = tag->etag,
    };
    struct http_remote *current;
    int r = s3_marker_id(id);

    if (r == 0)
        r = url_join(http_store_url(store), name, &url);
    if (r < 0)
        return r;
    r = s3_put(net, &put, &found);
    url_fini(&url);
    current = http_store_current(store, name);
    if (current)
        http_remote_set_stale(current);
    http_remote_put(current);
    if (r < 0)
        return r == -ENOENT ? -ESTALE : r;
    *tag =
        (struct store_http_tag){ .size = put.len, .modified = found.modified };
    memcpy(tag->etag, found.etag, sizeof(tag->etag));
    return 0;
}

int store_s3_delete_marker(struct store *base, const char *name)
{
    struct http_store *store = store_of(base);
    struct s3_found found;
    struct url url;
    int r =
        store->writable ? url_join(http_store_url(store), name, &url) : -EROFS;

    if (r < 0)
        return r;
    r = s3_find(store->context->net, &url, &found);
    if (r == 0 && s3_is_marker(found.id)) {
        s3_check_place(base); /* finds out what the server does of conditions */
        r = s3_delete_once(store->context->net, &url, found.etag);
        r = r == 0 ? 1 : r;
    }
    url_fini(&url);
    return r == -ENOENT || r == -ESTALE || r == -EEXIST ? 0 : r;
}

int store_s3_follow(struct store *base, const struct store *to,
                    struct store_http_listener *listener)
{
    struct http_store *store = store_of(base);
    struct http_place *place;
    int r =
        http_place_new(http_store_url((const struct http_store *)to), &place);

    if (r < 0)
        return r;
    s3_free_garbage(store); /* what is left at the older place goes with it */
    place->listener = listener;
    http_store_move(store, place);
    return 0;
}
