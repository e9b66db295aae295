/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/http_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "store/http_disk.h"
#include "store/http_remote_private.h"

enum {
    LIMIT = 64 << 20,    /* bytes in all pieces, if no owner says otherwise */
    KEPT_MAX = 16 << 20, /* bytes in all pieces beyond which none is kept that
                            was read */
    KEPT_PART = 4,       /* but at most this part of the limit */
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

/* Free pieces of a list that nobody uses and that came before a time, until no
   more than `most` bytes are used. */
static void evict_list_locked(struct http_memory *memory, struct list *list,
                              size_t most, int64_t before_ns)
{
    list_for_each_safe(node, list) {
        struct http_piece *piece = list_entry(node, struct http_piece, node);

        if (memory->used <= most)
            return;
        if (piece->nusers == 0 && piece->ready && piece->ready_ns < before_ns)
            http_piece_free_locked(piece);
    }
}

void http_memory_evict_locked(struct http_memory *memory)
{
    size_t most = memory->owner.limit / KEPT_PART;

    evict_list_locked(memory, &memory->kept, most < KEPT_MAX ? most : KEPT_MAX,
                      INT64_MAX);
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

    evict_list_locked(memory, &memory->kept, most, INT64_MAX);
    evict_list_locked(memory, &memory->wanted, most,
                      clock_monotonic_ns() - STALE_S * CLOCK_SECOND_NS);
    return len <= limit && memory->used <= most;
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
        .len = len,
        .nusers = 1,
    };
    list_init(&piece->batch);
    list_init(&piece->waits);
    list_append(&remote->pieces, &piece->mine);
    list_append(&memory->kept, &piece->node);
    memory->used += len;
    http_memory_evict_locked(memory);
    return piece;
}

void http_piece_free_locked(struct http_piece *piece)
{
    piece->remote->context->memory->used -= piece->len;
    list_remove(&piece->node);
    list_remove(&piece->mine);
    free(piece);
}

static void move_locked(struct http_piece *piece, struct list *list)
{
    if (piece->pinned)
        return;
    list_remove(&piece->node);
    list_append(list, &piece->node);
}

void http_piece_touch_locked(struct http_piece *piece)
{
    move_locked(piece, &piece->remote->context->memory->kept);
}

void http_piece_want_locked(struct http_piece *piece)
{
    move_locked(piece, &piece->remote->context->memory->wanted);
}

void http_piece_fill_locked(struct http_piece *piece, uint64_t off, size_t len)
{
    struct http_memory *memory = piece->remote->context->memory;

    memory->used -= piece->len;
    memory->used += len;
    piece->off = off;
    piece->len = len;
}
