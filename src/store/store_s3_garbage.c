/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "net/s3_put.h"
#include "store/http_list.h"
#include "store/store_http_private.h"

enum {
    DELETES_MAX = 32, /* requests at a time */
    SWEEP_MAX = 256   /* objects at a time */
};

/* An object that nothing refers to. */
struct garbage {
    struct list node;
    int64_t due_ns; /* when it may be deleted */
    bool unused;    /* no index has ever named it */
    char name[HTTP_NAME_MAX];
};

static struct garbage *garbage_of(struct list *node)
{
    return list_entry(node, struct garbage, node);
}

int store_s3_list_old(struct store *base,
                      int (*visit)(void *context, const char *name),
                      void *context)
{
    struct http_store *store = (struct http_store *)base;

    if (!store_names_once(base))
        return -ENOTSUP;
    return http_list_old(store->context->net, http_store_url(store),
                         net_get_options(store->context->net)->grace, visit,
                         context);
}

/* If the reply was lost, ask whether the object is gone.  Do not send the
   request again: by now, another writer may have put an object of this name.
   An object that is left is garbage. */
static int ask_gone(struct http_store *store, const struct net_request *request)
{
    struct s3_found found;

    if (request->error == -EIO &&
        s3_find(store->context->net, request->url, &found) == -ENOENT)
        return 0;
    return request->error == -ENOENT ? 0 : request->error;
}

/* Delete up to DELETES_MAX objects. */
static int delete_some(struct http_store *store, char *const *names, size_t n)
{
    struct net_request requests[DELETES_MAX];
    struct url urls[DELETES_MAX];
    size_t nurls = 0;
    int r = 0;

    for (; nurls < n && r == 0; nurls += r == 0) {
        r = url_join(http_store_url(store), names[nurls], &urls[nurls]);
        requests[nurls] = (struct net_request){
            .method = NET_DELETE,
            .url = &urls[nurls],
            .whole = true,
            .once = true,
        };
    }
    if (r == 0)
        net_run(store->context->net, requests, n);
    for (size_t i = 0; i < nurls; i++) {
        if (r == 0)
            r = ask_gone(store, &requests[i]);
        url_fini(&urls[i]);
    }
    return r;
}

int store_s3_delete(struct store *base, char *const *names, size_t n)
{
    struct http_store *store = (struct http_store *)base;
    int r = store_names_once(base) && store->writable ? 0 : -EROFS;

    for (size_t i = 0; i < n && r == 0; i += DELETES_MAX)
        r = delete_some(store, names + i,
                        n - i < DELETES_MAX ? n - i : DELETES_MAX);
    return r;
}

int store_s3_find(struct store *base, const char *name,
                  struct store_http_tag *out)
{
    struct http_store *store = (struct http_store *)base;
    struct s3_found found = { 0 };
    struct url url;
    int r = url_join(http_store_url(store), name, &url);

    if (r < 0)
        return r;
    r = s3_find(store->context->net, &url, &found);
    url_fini(&url);
    *out = (struct store_http_tag){ .modified = found.modified };
    memcpy(out->etag, found.etag, sizeof(out->etag));
    return r;
}

int store_s3_delete_index(struct store *base, const char *name,
                          const struct store_http_tag *expected)
{
    struct http_store *store = (struct http_store *)base;
    struct url url;
    int r = store_names_once(base) && store->writable ? 0 : -EROFS;

    if (r == 0)
        r = url_join(http_store_url(store), name, &url);
    if (r < 0)
        return r;
    r = s3_delete_once(store->context->net, &url,
                       expected ? expected->etag : NULL);
    url_fini(&url);
    return r;
}

/* Take the garbage that may be deleted off the list, up to a number; all of it,
   or what no index has ever named. */
static size_t take_garbage(struct http_store *store, bool unused, size_t max,
                           struct garbage **out)
{
    int64_t now = clock_monotonic_ns();
    size_t n = 0;

    pthread_mutex_lock(&store->lock);
    list_for_each_safe(node, &store->garbage) {
        if (n == max || garbage_of(node)->due_ns > now)
            break;
        if (unused && !garbage_of(node)->unused)
            continue;
        list_remove(node);
        out[n++] = garbage_of(node);
    }
    pthread_mutex_unlock(&store->lock);
    return n;
}

/* Delete objects.  If that fails, they stay as garbage. */
static int delete_garbage(struct http_store *store, struct garbage **garbage,
                          size_t n)
{
    char *names[SWEEP_MAX];
    int r;

    for (size_t i = 0; i < n; i++)
        names[i] = garbage[i]->name;
    r = store_s3_delete(&store->store, names, n);
    for (size_t i = 0; i < n; i++)
        free(garbage[i]);
    return r;
}

/* Delete the garbage that is old enough, until that fails. */
static void sweep(struct http_store *store, bool unused)
{
    struct garbage *garbage[SWEEP_MAX];
    size_t n;
    int r = 0;

    while (r == 0 && (n = take_garbage(store, unused, SWEEP_MAX, garbage)) > 0)
        r = delete_garbage(store, garbage, n);
}

void s3_sweep(struct http_store *store)
{
    sweep(store, false);
}

/* Does the server still have the index that this store has put last? */
static bool has_own_index(struct http_store *store)
{
    struct s3_found found;
    struct url url;
    bool own;

    if (store->own[0] == '\0' ||
        url_join(http_store_url(store), store->name, &url) < 0)
        return false;
    own = s3_find(store->context->net, &url, &found) == 0 &&
          strcmp(found.etag, store->own) == 0;
    url_fini(&url);
    return own;
}

void s3_sweep_last(struct http_store *store)
{
    sweep(store, true);
    if (!list_empty(&store->garbage) &&
        garbage_of(store->garbage.next)->due_ns <= clock_monotonic_ns() &&
        has_own_index(store))
        sweep(store, false);
}

void s3_free_garbage(struct http_store *store)
{
    list_for_each_safe(node, &store->garbage) {
        list_remove(node);
        free(garbage_of(node));
    }
}

/* Note an object that may be deleted after some seconds.  If there is no memory
   for that, the object stays. */
static int note_garbage(struct http_store *store, const char *name,
                        int64_t seconds, bool unused)
{
    struct garbage *garbage;

    if (!store->writable)
        return -EROFS;
    if (!http_store_is_name(store, name))
        return -ENOENT;
    garbage = calloc(1, sizeof(*garbage));
    if (!garbage)
        return -ENOMEM;
    strcpy(garbage->name, name);
    garbage->due_ns = clock_monotonic_ns() + seconds * CLOCK_SECOND_NS;
    garbage->unused = unused;
    pthread_mutex_lock(&store->lock);
    if (seconds > 0)
        list_append(&store->garbage, &garbage->node);
    else
        list_prepend(&store->garbage, &garbage->node);
    pthread_mutex_unlock(&store->lock);
    return 0;
}

int s3_remove(struct store *base, const char *name)
{
    struct http_store *store = (struct http_store *)base;

    return note_garbage(store, name,
                        net_get_options(store->context->net)->grace, false);
}

int s3_remove_unused(struct store *base, const char *name)
{
    return note_garbage((struct http_store *)base, name, 0, true);
}
