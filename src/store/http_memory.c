/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/http_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/killed.h"
#include "store/http_disk.h"
#include "store/http_remote_private.h"

enum {
    LIMIT = 64 << 20,    /* bytes in all pieces, if no owner says otherwise */
    KEPT_MAX = 32 << 20, /* bytes in pieces that were read: of each, a thread
                            may have read the start, and need the rest; */
    KEPT_PART = 2,       /* but at most this part of the limit */
    STALE_S = 10,        /* time after which a piece that was fetched ahead will
                            probably not be read */
};

static const struct store_http_owner no_owner = { .limit = LIMIT };

static void free_memory(struct net_extra *extra)
{
    struct http_memory *memory = (struct http_memory *)extra;

    http_disk_free(memory->disk);
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}

static struct net_extra *make_memory(const struct net_options *options)
{
    struct http_memory *memory = calloc(1, sizeof(*memory));

    if (!memory)
        return NULL;
    memory->extra.free = free_memory;
    memory->disk = http_disk_new(options);
    pthread_mutex_init(&memory->lock, NULL);
    list_init(&memory->kept);
    list_init(&memory->wanted);
    memory->owner = no_owner;
    return &memory->extra;
}

struct http_memory *http_memory_of(struct net *net)
{
    return (struct http_memory *)net_get_extra(net, make_memory);
}

int store_http_set_owner(struct net *net, const struct store_http_owner *owner)
{
    struct http_memory *memory = http_memory_of(net);

    if (!memory)
        return -ENOMEM;
    pthread_mutex_lock(&memory->lock);
    memory->owner = owner ? *owner : no_owner;
    memory->counted = 0;
    http_memory_unlock(memory);
    return 0;
}

void http_memory_unlock(struct http_memory *memory)
{
    const struct store_http_owner *owner = &memory->owner;
    size_t change = memory->used - memory->counted;

    if (owner->count && change != 0) {
        owner->count(owner->context, (ptrdiff_t)change);
        memory->counted = memory->used;
    }
    pthread_mutex_unlock(&memory->lock);
}

static void evict_locked(struct http_piece *piece, int64_t before_ns)
{
    if (piece->nusers == 0 && piece->ready && piece->ready_ns < before_ns)
        http_piece_free_locked(piece);
}

/* Free pieces that were read until they use no more than `kept` bytes, and all
   pieces together `most`. */
static void evict_kept_locked(struct http_memory *memory, size_t kept,
                              size_t most)
{
    list_for_each_safe(node, &memory->kept) {
        if (memory->kept_used <= kept && memory->used <= most)
            return;
        evict_locked(list_entry(node, struct http_piece, node), INT64_MAX);
    }
}

/* Free pieces that came some time ago and were not read, until all pieces use
   no more than `most` bytes. */
static void evict_stale_locked(struct http_memory *memory, size_t most)
{
    int64_t before_ns = clock_monotonic_ns() - STALE_S * CLOCK_SECOND_NS;

    list_for_each_safe(node, &memory->wanted) {
        if (memory->used <= most)
            return;
        evict_locked(list_entry(node, struct http_piece, node), before_ns);
    }
}

void http_memory_evict_locked(struct http_memory *memory)
{
    size_t kept = memory->owner.limit / KEPT_PART;

    evict_kept_locked(memory, kept < KEPT_MAX ? kept : KEPT_MAX,
                      memory->owner.limit);
    evict_stale_locked(memory, memory->owner.limit);
}

void http_memory_count(struct http_memory *memory, ptrdiff_t change)
{
    pthread_mutex_lock(&memory->lock);
    memory->used += (size_t)change;
    http_memory_unlock(memory);
}

bool http_memory_has_room_locked(struct http_memory *memory, size_t len)
{
    size_t limit = memory->owner.limit;
    size_t most = limit > len ? limit - len : 0;

    evict_kept_locked(memory, SIZE_MAX, most);
    evict_stale_locked(memory, most);
    return len <= limit && memory->used <= most;
}

/* Count a piece whose length changes. */
static void count_locked(struct http_piece *piece, size_t len)
{
    struct http_memory *memory = piece->remote->context->memory;

    memory->used += len - piece->len;
    if (piece->kept)
        memory->kept_used += len - piece->len;
    piece->len = len;
}

struct http_piece *http_piece_new_locked(struct http_remote *remote,
                                         uint64_t off, size_t len)
{
    struct http_memory *memory = remote->context->memory;
    struct http_piece *piece = malloc(sizeof(*piece) + len);

    if (!piece)
        return NULL;
    *piece = (struct http_piece){
        .remote = remote,
        .off = off,
        .nusers = 1,
    };
    killed_cond_init(&piece->came);
    list_init(&piece->batch);
    list_init(&piece->waits);
    list_append(&remote->pieces, &piece->mine);
    list_append(&memory->wanted, &piece->node);
    count_locked(piece, len);
    http_memory_evict_locked(memory);
    return piece;
}

void http_piece_free_locked(struct http_piece *piece)
{
    count_locked(piece, 0);
    list_remove(&piece->node);
    list_remove(&piece->mine);
    pthread_cond_destroy(&piece->came);
    free(piece);
}

void http_piece_touch_locked(struct http_piece *piece)
{
    struct http_memory *memory = piece->remote->context->memory;

    if (piece->pinned)
        return;
    if (!piece->kept)
        memory->kept_used += piece->len;
    piece->kept = true;
    list_remove(&piece->node);
    list_append(&memory->kept, &piece->node);
}

void http_piece_fill_locked(struct http_piece *piece, uint64_t off, size_t len)
{
    count_locked(piece, len);
    piece->off = off;
}
