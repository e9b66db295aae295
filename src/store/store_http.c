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
#include "store/store_http_private.h"

enum {
    CHUNKS_MAX = 1024, /* chunk objects that are remembered */
};

static const char chunk_suffix[] = ".chunk";

/* A chunk object that was opened lately.  Its size and ETag stay known, so that
   reads of different moments get bytes of one state. */
struct chunk {
    struct list node;
    char name[HTTP_NAME_MAX];
    struct http_remote *remote; /* a reference */
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

/* An object is not the one that was there, so the index may be another one,
   too; or it is the index. */
static void tell_stale(struct http_store *store, int error)
{
    struct store_http_listener *listener = http_store_listener(store);

    if ((error == -ESTALE || error == -ENOENT) && listener)
        listener->stale(listener);
}

/*
 * May a chunk object be newer than the index?  Times are whole seconds.  If
 * both are of one second, an object that another program has put may have been
 * overwritten later in that second, unless the index was seen after it.  Where
 * the server does not tell its time, that cannot be found out.
 */
static bool may_be_newer(const struct http_state *chunk,
                         const struct http_state *index)
{
    if (chunk->modified != index->modified)
        return chunk->modified > index->modified;
    return !chunk->own && index->seen > 0 && index->seen <= index->modified;
}

/* Is this chunk object news: newer than the index, and than all others so
   far? */
static bool is_news(struct http_store *store, const struct http_state *chunk)
{
    struct http_remote *index = NULL;
    struct http_state state = { 0 };
    bool news = false;
    bool newest;

    pthread_mutex_lock(&store->lock);
    newest = chunk->modified > store->newest;
    if (newest)
        store->newest = chunk->modified;
    if (store->current)
        index = http_remote_get(store->current);
    pthread_mutex_unlock(&store->lock);
    if (index && http_remote_state(index, &state) == 0)
        news = (newest || chunk->modified == state.modified) &&
               may_be_newer(chunk, &state);
    http_remote_put(index);
    return news;
}

struct store_stat http_store_stat(const struct http_store *store,
                                  const struct http_state *state)
{
    return (struct store_stat){
        .version = { .ino = state->id,
                     .size = state->size,
                     .mtime = state->time,
                     .ctime = state->time,
                     .settled = true },
        .allocated = state->size,
        .uid = getuid(),
        .gid = getgid(),
        .mode = store->writable ? 0644 : 0444,
    };
}

/* Ask for changes when it is time to.  Returns as http_remote_check(). */
static int check(const struct http_store *store, struct http_remote *remote)
{
    if (!store->final)
        return http_remote_check(remote);
    return http_remote_is_stale(remote) ? -ESTALE : 0;
}

int http_object_stat(struct store_object *store_object, struct store_stat *out)
{
    struct http_object *object = (struct http_object *)store_object;
    struct http_state state;
    int r = object->chunk ? 0 : check(object->store, object->remote);

    if (r == 0)
        r = http_remote_state(object->remote, &state);
    if (object->chunk &&
        (r == -ENOENT || (r == 0 && is_news(object->store, &state))))
        expire_index(object->store, r < 0);
    tell_stale(object->store, r);
    if (r < 0)
        return r;
    *out = http_store_stat(object->store, &state);
    return 0;
}

int http_object_read(struct store_object *store_object,
                     const struct store_range *ranges, size_t nranges)
{
    struct http_object *object = (struct http_object *)store_object;
    int r = http_remote_read(object->remote, ranges, nranges);

    if (object->chunk && (r == -ESTALE || r == -ENOENT)) {
        forget_chunk(object);
        expire_index(object->store, true);
    }
    tell_stale(object->store, r);
    return r;
}

static bool http_prefetch(struct store_object *store_object, uint64_t off,
                          uint64_t len, struct store_waiter *waiter)
{
    struct http_object *object = (struct http_object *)store_object;

    return http_remote_prefetch(object->remote, off, len, waiter);
}

void http_object_close(struct store_object *store_object)
{
    struct http_object *object = (struct http_object *)store_object;

    http_remote_put(object->remote);
    store_close(&object->store->store);
    free(object);
}

void http_object_doubt(struct store_object *store_object)
{
    struct http_object *object = (struct http_object *)store_object;

    if (object->remote)
        http_remote_expire(object->remote, true);
}

static const struct store_object_ops http_object_ops = {
    .stat = http_object_stat,
    .read = http_object_read,
    .prefetch = http_prefetch,
    .doubt = http_object_doubt,
    .close = http_object_close,
};

int http_store_remote(struct http_store *store, const char *name,
                      struct http_remote **out)
{
    struct url url;
    int r;

    if (store->store.ops->directory)
        r = url_join(http_store_url(store), name, &url);
    else
        r = url_copy(http_store_url(store), &url);
    return r < 0 ? r : http_remote_new(store->context, &url, out);
}

struct http_remote *http_store_current(struct http_store *store,
                                       const char *name)
{
    struct http_remote *current = NULL;

    pthread_mutex_lock(&store->lock);
    if (store->current && strcmp(store->name, name) == 0)
        current = http_remote_get(store->current);
    pthread_mutex_unlock(&store->lock);
    return current;
}

static void set_current_locked(struct http_store *store, const char *name,
                               struct http_remote *remote)
{
    struct http_remote *old = store->current;

    store->current = http_remote_get(remote);
    store->newest = 0;
    strcpy(store->name, name);
    free_chunks_locked(store);
    http_remote_put(old);
}

void http_store_set_current(struct http_store *store, const char *name,
                            struct http_remote *remote)
{
    pthread_mutex_lock(&store->lock);
    set_current_locked(store, name, remote);
    pthread_mutex_unlock(&store->lock);
}

void http_store_move(struct http_store *store, struct http_place *place)
{
    struct http_remote *old;

    pthread_mutex_lock(&store->lock);
    place->older = atomic_load(&store->place);
    atomic_store(&store->place, place);
    old = store->current;
    store->current = NULL;
    store->newest = 0;
    store->own[0] = '\0';
    free_chunks_locked(store);
    pthread_mutex_unlock(&store->lock);
    http_remote_put(old);
}

int http_store_load(struct http_store *store, const char *name, bool cached,
                    struct http_remote **out)
{
    const struct http_place *place = atomic_load(&store->place);
    struct http_remote *remote;
    int r = http_store_remote(store, name, &remote);

    if (r < 0)
        return r;
    r = http_remote_load(remote, !store->store.ops->directory, cached);
    if (r == 0) {
        pthread_mutex_lock(&store->lock);
        if (place == atomic_load(&store->place))
            set_current_locked(store, name, remote);
        else
            r = -ESTALE;
        pthread_mutex_unlock(&store->lock);
    }
    if (r < 0)
        http_remote_put(remote);
    else
        *out = remote;
    return r;
}

/* Get a reference to the newest state of "" or of an index. */
static int open_newest(struct http_store *store, const char *name,
                       struct http_remote **out)
{
    struct http_remote *current = http_store_current(store, name);
    int r;

    if (!current)
        return http_store_load(store, name, !store->writable, out);
    r = check(store, current);
    if (r == 0) {
        *out = current;
        return 0;
    }
    http_remote_put(current);
    return r == -ESTALE ? http_store_load(store, name, false, out) : r;
}

static int add_chunk_locked(struct http_store *store, const char *name,
                            struct chunk **out)
{
    struct chunk *chunk = calloc(1, sizeof(*chunk));
    int r;

    if (!chunk)
        return -ENOMEM;
    r = http_store_remote(store, name, &chunk->remote);
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

bool http_store_is_name(const struct http_store *store, const char *name)
{
    if (!store->store.ops->directory)
        return name[0] == '\0';
    return name[0] != '\0' && !strchr(name, '/') &&
           strlen(name) < HTTP_NAME_MAX;
}

int http_open_object(struct store *base, const char *name,
                     struct store_object **out)
{
    struct http_store *store = (struct http_store *)base;
    struct http_object *object;
    bool chunk = base->ops->directory && is_chunk(name);
    int r;

    if (!http_store_is_name(store, name))
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
int http_dir_stat(struct store *base, const char *name, struct store_stat *out)
{
    struct http_store *store = (struct http_store *)base;
    struct retry retry = RETRY_REPLACED_REMOTE;
    char index[HTTP_NAME_MAX];
    int r;

    pthread_mutex_lock(&store->lock);
    strcpy(index, store->name);
    pthread_mutex_unlock(&store->lock);
    do
        r = stat_once(base, name[0] == '\0' ? index : name, out);
    while (r == -ESTALE && retry_wait(&retry));
    return r;
}

void http_expect(struct store *base, uint64_t unit)
{
    struct http_store *store = (struct http_store *)base;

    http_context_expect(store->context, unit);
}

uint64_t http_ahead(struct store *base)
{
    return http_context_ahead(((struct http_store *)base)->context);
}

uint64_t http_known_size(struct store *base, const char *name)
{
    struct http_store *store = (struct http_store *)base;
    struct chunk *chunk;
    uint64_t size = 0;

    pthread_mutex_lock(&store->lock);
    chunk = find_chunk_locked(store, name);
    if (chunk)
        size = http_remote_known_size(chunk->remote);
    pthread_mutex_unlock(&store->lock);
    return size;
}

void http_close(struct store *base)
{
    struct http_store *store = (struct http_store *)base;
    struct net *net = store->context->net;

    s3_write_fini(store);
    http_remote_put(store->current);
    free_chunks_locked(store);
    http_context_put(store->context);
    pthread_mutex_destroy(&store->lock);
    http_place_free(atomic_load(&store->place));
    free(store);
    net_put(net);
}
