/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/store_http.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/retry.h"
#include "store/http_cached.h"
#include "store/http_list.h"
#include "store/http_remote.h"
#include "store/store_backend.h"

enum {
    NAME_MAX_LEN = 32, /* of an object, with its NUL */
    CHUNKS_MAX = 1024, /* chunk objects that are remembered */
};

static const char chunk_suffix[] = ".chunk";

/* A chunk object that was opened lately.  Its size and ETag stay known, so that
   reads of different moments get bytes of one state. */
struct chunk {
    struct list node;
    char name[NAME_MAX_LEN];
    struct http_remote *remote; /* a reference */
};

/* Locking.  `lock` is held over no request.  http_memory.lock may be taken
   while it is held. */
struct http_store {
    struct store store;
    struct http_context *context; /* constant; a reference */
    struct url url;               /* constant */

    pthread_mutex_t lock;
    struct http_remote *current; /* newest state of "" or of the index; NULL:
                                    none was opened */
    char name[NAME_MAX_LEN];     /* of that object */
    time_t newest;               /* newest chunk object that was seen */
    struct list chunks;          /* the one used longest ago first */
    size_t nchunks;
};

struct http_object {
    struct store_object object;
    struct http_store *store;   /* a reference */
    struct http_remote *remote; /* a reference */
    char name[NAME_MAX_LEN];
    bool chunk;
};

static bool is_chunk(const char *name)
{
    size_t len = strlen(name);
    size_t suffix = strlen(chunk_suffix);

    return len > suffix && strcmp(name + len - suffix, chunk_suffix) == 0;
}

static void free_chunk_locked(struct http_store *store, struct chunk *chunk)
{
    list_remove(&chunk->node);
    store->nchunks--;
    http_remote_put(chunk->remote);
    free(chunk);
}

static struct chunk *chunk_of(struct list *node)
{
    return list_entry(node, struct chunk, node);
}

static void free_chunks_locked(struct http_store *store)
{
    list_for_each_safe(node, &store->chunks)
        free_chunk_locked(store, chunk_of(node));
}

static struct chunk *find_chunk_locked(struct http_store *store,
                                       const char *name)
{
    list_for_each(node, &store->chunks)
        if (strcmp(chunk_of(node)->name, name) == 0)
            return chunk_of(node);
    return NULL;
}

/* Forget a chunk object, unless another remote has taken its place. */
static void forget_chunk(struct http_object *object)
{
    struct http_store *store = object->store;
    struct chunk *chunk;

    pthread_mutex_lock(&store->lock);
    chunk = find_chunk_locked(store, object->name);
    if (chunk && chunk->remote == object->remote)
        free_chunk_locked(store, chunk);
    pthread_mutex_unlock(&store->lock);
}

/* The index may have changed: ask when its state is needed next.  It must have
   changed if it names a chunk that is missing. */
static void expire_index(struct http_store *store, bool missing)
{
    pthread_mutex_lock(&store->lock);
    if (store->current)
        http_remote_expire(store->current, missing);
    pthread_mutex_unlock(&store->lock);
}

/* Is this chunk object newer than the index, and than all others so far? */
static bool is_news(struct http_store *store, time_t modified)
{
    struct http_remote *index = NULL;
    struct http_state state = { 0 };
    bool news = false;

    pthread_mutex_lock(&store->lock);
    if (store->current && modified > store->newest) {
        store->newest = modified;
        index = http_remote_get(store->current);
    }
    pthread_mutex_unlock(&store->lock);
    if (index)
        news =
            http_remote_state(index, &state) == 0 && modified > state.modified;
    http_remote_put(index);
    return news;
}

static int http_stat(struct store_object *store_object, struct store_stat *out)
{
    struct http_object *object = (struct http_object *)store_object;
    struct http_state state;
    int r = object->chunk ? 0 : http_remote_check(object->remote);

    if (r == 0)
        r = http_remote_state(object->remote, &state);
    if (object->chunk &&
        (r == -ENOENT || (r == 0 && is_news(object->store, state.modified))))
        expire_index(object->store, r < 0);
    if (r < 0)
        return r;
    *out = (struct store_stat){
        .version = { .ino = state.id,
                     .size = state.size,
                     .mtime = { .tv_sec = state.modified },
                     .ctime = { .tv_sec = state.modified },
                     .settled = true },
        .allocated = state.size,
        .uid = getuid(),
        .gid = getgid(),
        .mode = 0444,
    };
    return 0;
}

static int http_read(struct store_object *store_object,
                     const struct store_range *ranges, size_t nranges)
{
    struct http_object *object = (struct http_object *)store_object;
    int r = http_remote_read(object->remote, ranges, nranges);

    if (object->chunk && (r == -ESTALE || r == -ENOENT)) {
        forget_chunk(object);
        expire_index(object->store, true);
    }
    return r;
}

static bool http_prefetch(struct store_object *store_object, uint64_t off,
                          uint64_t len, struct store_waiter *waiter)
{
    struct http_object *object = (struct http_object *)store_object;

    return http_remote_prefetch(object->remote, off, len, waiter);
}

static void http_object_close(struct store_object *store_object)
{
    struct http_object *object = (struct http_object *)store_object;

    http_remote_put(object->remote);
    store_close(&object->store->store);
    free(object);
}

static const struct store_object_ops http_object_ops = {
    .stat = http_stat,
    .read = http_read,
    .prefetch = http_prefetch,
    .close = http_object_close,
};

/* Make a remote of an object of the store. */
static int new_remote(struct http_store *store, const char *name,
                      struct http_remote **out)
{
    struct url url;
    int r;

    if (store->store.ops->directory)
        r = url_join(&store->url, name, &url);
    else
        r = url_copy(&store->url, &url);
    return r < 0 ? r : http_remote_new(store->context, &url, out);
}

static struct http_remote *get_current(struct http_store *store,
                                       const char *name)
{
    struct http_remote *current = NULL;

    pthread_mutex_lock(&store->lock);
    if (store->current && strcmp(store->name, name) == 0)
        current = http_remote_get(store->current);
    pthread_mutex_unlock(&store->lock);
    return current;
}

/* Make this the newest state.  Chunk objects may be others now. */
static void set_current(struct http_store *store, const char *name,
                        struct http_remote *remote)
{
    struct http_remote *old;

    pthread_mutex_lock(&store->lock);
    old = store->current;
    store->current = http_remote_get(remote);
    store->newest = 0;
    strcpy(store->name, name);
    free_chunks_locked(store);
    pthread_mutex_unlock(&store->lock);
    http_remote_put(old);
}

/* Get the state that the server has; or one that is kept on disk and still
   counts, if `cached`. */
static int load_newest(struct http_store *store, const char *name, bool cached,
                       struct http_remote **out)
{
    struct http_remote *remote;
    int r = new_remote(store, name, &remote);

    if (r < 0)
        return r;
    r = http_remote_load(remote, !store->store.ops->directory, cached);
    if (r < 0) {
        http_remote_put(remote);
        return r;
    }
    set_current(store, name, remote);
    *out = remote;
    return 0;
}

/* Get a reference to the newest state of "" or of an index. */
static int open_newest(struct http_store *store, const char *name,
                       struct http_remote **out)
{
    struct http_remote *current = get_current(store, name);
    int r;

    if (!current)
        return load_newest(store, name, true, out);
    r = http_remote_check(current);
    if (r == 0) {
        *out = current;
        return 0;
    }
    http_remote_put(current);
    return r == -ESTALE ? load_newest(store, name, false, out) : r;
}

static int add_chunk_locked(struct http_store *store, const char *name,
                            struct chunk **out)
{
    struct chunk *chunk = calloc(1, sizeof(*chunk));
    int r;

    if (!chunk)
        return -ENOMEM;
    r = new_remote(store, name, &chunk->remote);
    if (r < 0) {
        free(chunk);
        return r;
    }
    http_cached_set_chunk(chunk->remote, name, store->current);
    strcpy(chunk->name, name);
    list_append(&store->chunks, &chunk->node);
    if (++store->nchunks > CHUNKS_MAX)
        free_chunk_locked(store, chunk_of(store->chunks.next));
    *out = chunk;
    return 0;
}

static int open_chunk(struct http_store *store, const char *name,
                      struct http_remote **out)
{
    struct chunk *chunk;
    int r = 0;

    pthread_mutex_lock(&store->lock);
    chunk = find_chunk_locked(store, name);
    if (chunk) {
        list_remove(&chunk->node);
        list_append(&store->chunks, &chunk->node);
    } else {
        r = add_chunk_locked(store, name, &chunk);
    }
    if (r == 0)
        *out = http_remote_get(chunk->remote);
    pthread_mutex_unlock(&store->lock);
    return r;
}

static bool is_name(const struct http_store *store, const char *name)
{
    if (!store->store.ops->directory)
        return name[0] == '\0';
    return name[0] != '\0' && !strchr(name, '/') && strlen(name) < NAME_MAX_LEN;
}

static int http_open_object(struct store *base, const char *name,
                            struct store_object **out)
{
    struct http_store *store = (struct http_store *)base;
    struct http_object *object;
    bool chunk = base->ops->directory && is_chunk(name);
    int r;

    if (!is_name(store, name))
        return -ENOENT;
    object = calloc(1, sizeof(*object));
    if (!object)
        return -ENOMEM;
    r = chunk ? open_chunk(store, name, &object->remote)
              : open_newest(store, name, &object->remote);
    if (r < 0) {
        free(object);
        return r;
    }
    object->object = (struct store_object){ .ops = &http_object_ops };
    object->store = (struct http_store *)store_get(base);
    object->chunk = chunk;
    strcpy(object->name, name);
    *out = &object->object;
    return 0;
}

static int stat_once(struct store *base, const char *name,
                     struct store_stat *out)
{
    struct store_object *object;
    int r = http_open_object(base, name, &object);

    if (r < 0)
        return r;
    r = store_object_stat(object, out);
    store_object_close(object);
    return r;
}

/* Stat an object by its name; "" is the store itself, and stands for its
   index.  An object that changes after it was opened is opened again. */
static int http_dir_stat(struct store *base, const char *name,
                         struct store_stat *out)
{
    struct http_store *store = (struct http_store *)base;
    struct retry retry = RETRY_REPLACED_REMOTE;
    char index[NAME_MAX_LEN];
    int r;

    pthread_mutex_lock(&store->lock);
    strcpy(index, store->name);
    pthread_mutex_unlock(&store->lock);
    do
        r = stat_once(base, name[0] == '\0' ? index : name, out);
    while (r == -ESTALE && retry_wait(&retry));
    return r;
}

static void http_expect(struct store *base, uint64_t unit)
{
    struct http_store *store = (struct http_store *)base;

    http_context_expect(store->context, unit);
}

static uint64_t http_ahead(struct store *base)
{
    return http_context_ahead(((struct http_store *)base)->context);
}

static int http_list_dir(struct store *base,
                         int (*visit)(void *context, const char *name),
                         void *context)
{
    struct http_store *store = (struct http_store *)base;

    return http_list(store->context->net, &store->url, visit, context);
}

static void http_close(struct store *base)
{
    struct http_store *store = (struct http_store *)base;
    struct net *net = store->context->net;

    http_remote_put(store->current);
    free_chunks_locked(store);
    http_context_put(store->context);
    pthread_mutex_destroy(&store->lock);
    url_fini(&store->url);
    free(store);
    net_put(net);
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
    .list = http_list_dir,
};

static int new_store(const struct store_ops *ops, struct net *net,
                     const struct url *url, struct http_store **out)
{
    struct http_store *store = calloc(1, sizeof(*store));
    int r;

    if (!store)
        return -ENOMEM;
    r = url_copy(url, &store->url);
    if (r == 0) {
        store->context = http_context_new(net);
        r = store->context ? 0 : -ENOMEM;
    }
    if (r < 0) {
        url_fini(&store->url);
        free(store);
        return r;
    }
    net_get(net);
    store_init(&store->store, ops);
    pthread_mutex_init(&store->lock, NULL);
    list_init(&store->chunks);
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
    r = load_newest(store, "", true, &remote);
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
    int r = new_store(directory ? &http_dir_ops : &http_ops, net, url, &store);

    if (r < 0)
        return r;
    r = new_remote(store, start->name, &remote);
    if (r == 0)
        r = http_remote_begin(remote, start);
    if (r == 0) {
        set_current(store, start->name, remote);
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
    int r = new_store(&http_dir_ops, net, url, &store);

    if (r == 0)
        *out = &store->store;
    return r;
}

int store_http_get_tag(struct store *store, struct store_http_tag *out)
{
    struct http_store *http = (struct http_store *)store;
    struct http_remote *current = NULL;
    struct http_state state;
    int r = -ESTALE;

    if (store->ops == &http_ops || store->ops == &http_dir_ops)
        current = get_current(http, http->name);
    if (current)
        r = http_remote_state(current, &state);
    http_remote_put(current);
    if (r < 0)
        return r;
    *out = (struct store_http_tag){ state.size, state.modified, "" };
    strcpy(out->etag, state.etag);
    return 0;
}
