/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/http_remote_private.h"
#include "store/store_http_private.h"

/* Bytes of an object. */
struct span {
    uint8_t *bytes; /* NULL: none */
    size_t len;
};

struct store_http_saved {
    struct url url;
    bool directory;
    char name[HTTP_NAME_MAX];
    struct net_reply reply;
    int64_t known_ns;
    struct span head;
    struct span tail;
};

static int copy_span(const struct http_piece *piece, struct span *out)
{
    if (out->bytes)
        return 0;
    out->bytes = malloc(piece->len);
    if (!out->bytes)
        return -ENOMEM;
    memcpy(out->bytes, piece->bytes, piece->len);
    out->len = piece->len;
    return 0;
}

/* Copy the start and the end of an object, which stay in memory. */
static int copy_ends_locked(const struct http_remote *remote,
                            struct store_http_saved *saved)
{
    int r = 0;

    list_for_each(node, &remote->pieces) {
        struct http_piece *piece = list_entry(node, struct http_piece, mine);

        if (!piece->pinned || piece->len == 0 || r < 0)
            continue;
        if (piece->off == 0)
            r = copy_span(piece, &saved->head);
        else if (piece->off + piece->len == remote->size)
            r = copy_span(piece, &saved->tail);
    }
    return r == 0 && !saved->head.bytes ? -ENODATA : r;
}

/* When the server was last asked, for which the time of the next question
   stands. */
static int64_t known_ns(const struct http_remote *remote)
{
    unsigned revalidate = net_get_options(remote->context->net)->revalidate;

    if (revalidate == NET_FOREVER)
        return clock_monotonic_ns();
    return remote->due_ns - (int64_t)revalidate * CLOCK_SECOND_NS;
}

static int save_locked(const struct http_remote *remote,
                       struct store_http_saved *saved)
{
    if (!remote->known || remote->stale || remote->context->memory->disk)
        return -ENODATA;
    saved->known_ns = known_ns(remote);
    saved->reply.size = remote->size;
    saved->reply.modified = remote->modified;
    saved->reply.date = remote->seen;
    memcpy(saved->reply.etag, remote->etag, sizeof(saved->reply.etag));
    memcpy(saved->reply.put_id, remote->put_id, sizeof(saved->reply.put_id));
    return copy_ends_locked(remote, saved);
}

static int save(struct http_store *store, struct store_http_saved *saved)
{
    struct http_memory *memory = store->context->memory;
    struct http_remote *current;
    int r = url_copy(http_store_url(store), &saved->url);

    if (r < 0)
        return r;
    saved->directory = store_is_directory(&store->store);
    strcpy(saved->name, store->name);
    current = http_store_current(store, store->name);
    if (!current)
        return -ENODATA;
    pthread_mutex_lock(&memory->lock);
    r = save_locked(current, saved);
    http_memory_unlock(memory);
    http_remote_put(current);
    return r;
}

struct store_http_saved *store_http_save(struct store *store)
{
    struct store_http_saved *saved =
        http_store_is(store) ? calloc(1, sizeof(*saved)) : NULL;

    if (!saved || save((struct http_store *)store, saved) == 0)
        return saved;
    store_http_saved_free(saved);
    return NULL;
}

int store_http_open_saved(struct net *net, const struct store_http_saved *saved,
                          struct store **out)
{
    const struct store_http_start start = {
        .name = saved->name,
        .reply = &saved->reply,
        .known_ns = saved->known_ns,
        .bytes = saved->head.bytes,
        .len = saved->head.len,
        .tail = saved->tail.bytes,
        .tail_len = saved->tail.len,
    };

    return store_http_open_start(net, &saved->url, saved->directory, &start,
                                 out);
}

void store_http_saved_free(struct store_http_saved *saved)
{
    if (!saved)
        return;
    url_fini(&saved->url);
    free(saved->head.bytes);
    free(saved->tail.bytes);
    free(saved);
}
