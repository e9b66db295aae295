/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/http_list.h"
#include "store/store_http_private.h"

static int s3_list_after(struct store *base, const char *after,
                         int (*visit)(void *context, const char *name),
                         void *context)
{
    struct http_store *store = (struct http_store *)base;

    return http_list(store->context->net, http_store_url(store), after, visit,
                     context);
}

static int s3_list(struct store *base,
                   int (*visit)(void *context, const char *name), void *context)
{
    return s3_list_after(base, NULL, visit, context);
}

static const struct store_ops http_ops = {
    .directory = false,
    .open = http_open_object,
    .close = http_close,
    .expect = http_expect,
    .ahead = http_ahead,
};

static const struct store_ops http_dir_ops = {
    .directory = true,
    .open = http_open_object,
    .close = http_close,
    .stat = http_dir_stat,
    .expect = http_expect,
    .ahead = http_ahead,
};

static const struct store_ops s3_dir_ops = {
    .directory = true,
    .names_once = true,
    .open = http_open_object,
    .close = http_close,
    .stat = http_dir_stat,
    .create = s3_create,
    .draft = s3_draft,
    .check_place = s3_check_place,
    .publish = s3_publish,
    .discard = s3_discard,
    .remove = s3_remove,
    .remove_unused = s3_remove_unused,
    .nwriters = s3_nwriters,
    .sync_name = s3_sync_name,
    .expect = http_expect,
    .ahead = http_ahead,
    .list = s3_list,
    .list_after = s3_list_after,
    .known_size = http_known_size,
};

/* The operations of a directory. */
static const struct store_ops *dir_ops(const struct url *url)
{
    return url->scheme == URL_S3 ? &s3_dir_ops : &http_dir_ops;
}

static int new_store(const struct store_ops *ops, struct net *net,
                     const struct url *url, struct http_store **out)
{
    struct http_store *store = calloc(1, sizeof(*store));
    struct http_place *place = NULL;
    int r;

    if (!store)
        return -ENOMEM;
    r = http_place_new(url, &place);
    if (r == 0) {
        store->context = http_context_new(net);
        r = store->context ? 0 : -ENOMEM;
    }
    if (r < 0) {
        http_place_free(place);
        free(store);
        return r;
    }
    atomic_init(&store->place, place);
    net_get(net);
    store_init(&store->store, ops);
    pthread_mutex_init(&store->lock, NULL);
    list_init(&store->chunks);
    s3_write_init(store);
    *out = store;
    return 0;
}

int store_http_open(struct net *net, const struct url *url, struct store **out)
{
    struct http_remote *remote;
    struct http_store *store;
    int r = new_store(&http_ops, net, url, &store);

    if (r < 0)
        return r;
    r = http_store_load(store, "", true, &remote);
    if (r < 0) {
        http_close(&store->store);
        return r;
    }
    http_remote_put(remote);
    *out = &store->store;
    return 0;
}

int store_http_open_start(struct net *net, const struct url *url,
                          bool directory, const struct store_http_start *start,
                          struct store **out)
{
    struct http_remote *remote = NULL;
    struct http_store *store;
    int r = new_store(directory ? dir_ops(url) : &http_ops, net, url, &store);

    if (r < 0)
        return r;
    r = http_store_remote(store, start->name, &remote);
    if (r == 0)
        r = http_remote_begin(remote, start);
    if (r == 0) {
        http_store_set_current(store, start->name, remote);
        *out = &store->store;
    }
    http_remote_put(remote);
    if (r < 0)
        http_close(&store->store);
    return r;
}

int store_http_open_dir(struct net *net, const struct url *url,
                        struct store **out)
{
    struct http_store *store;
    int r = new_store(dir_ops(url), net, url, &store);

    if (r == 0)
        *out = &store->store;
    return r;
}

bool http_store_is(const struct store *store)
{
    return store->ops == &http_ops || store->ops == &http_dir_ops ||
           store->ops == &s3_dir_ops;
}

int store_http_get_tag(struct store *store, struct store_http_tag *out)
{
    struct http_store *http = (struct http_store *)store;
    struct http_remote *current = NULL;
    struct http_state state;
    int r = -ESTALE;

    if (http_store_is(store))
        current = http_store_current(http, http->name);
    if (current)
        r = http_remote_state(current, &state);
    http_remote_put(current);
    if (r < 0)
        return r;
    *out = (struct store_http_tag){ state.size, state.modified, "" };
    strcpy(out->etag, state.etag);
    return 0;
}

void store_http_set_final(struct store *store, bool final)
{
    if (store && http_store_is(store))
        ((struct http_store *)store)->final = final;
}
