/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "base/size.h"
#include "store/http_remote_private.h"

enum {
    PIECE_LEN = 1 << 20, /* bytes of one request, */
    FIRST_MAX = 8 << 20, /* but for that to an object of unknown size */
    FIRST_MIN = 64 << 10,
    AHEAD_MIN = 8 << 20, /* until the speed is known */
    AHEAD_RTTS = 2,
    AHEAD_PART = 2, /* one reader may use this part of the memory */
    US_PER_S = 1000000,
};

/* The replies that come while a reader waits for one more must keep the line
   busy.  What has come so far tells how many that are, so this doubles until it
   is. */
uint64_t http_context_ahead(struct http_context *context)
{
    struct net_speed speed;
    uint64_t most;
    double bytes;

    net_get_speed(context->net, &speed);
    bytes = AHEAD_RTTS * (double)speed.rtt_us * (double)speed.all / US_PER_S;
    pthread_mutex_lock(&context->memory->lock);
    most = context->memory->owner.limit / AHEAD_PART;
    http_memory_unlock(context->memory);
    if (bytes < AHEAD_MIN)
        bytes = AHEAD_MIN;
    return bytes < (double)most ? (uint64_t)bytes : most;
}

static bool wait_locked(struct http_piece *piece, struct store_waiter *waiter)
{
    struct http_wait *wait;

    if (!waiter || piece->ready || piece->from_disk)
        return true;
    wait = malloc(sizeof(*wait));
    if (!wait)
        return false;
    wait->waiter = waiter;
    store_waiter_add(waiter);
    list_append(&piece->waits, &wait->node);
    return true;
}

/* Make a piece, unless there is no room.  It has no user yet. */
static struct http_piece *add_piece_locked(struct http_remote *remote,
                                           uint64_t off, uint64_t end,
                                           struct list *batch)
{
    struct http_piece *piece = NULL;
    size_t len;

    if (remote->known)
        http_cached_align_locked(remote, &off, &end);
    len = (size_t)(end - off);
    if (http_memory_has_room_locked(remote->context->memory, len))
        piece = http_piece_new_locked(remote, off, len);
    if (!piece)
        return NULL;
    piece->nusers = 0;
    http_piece_start_locked(piece, true);
    list_append(batch, &piece->batch);
    return piece;
}

/* Fetch the start of an object by which it gets known, or wait for it. */
static bool fetch_first_locked(struct http_remote *remote,
                               struct store_waiter *waiter, struct list *batch)
{
    uint64_t len = remote->context->unit + remote->context->unit / 4;
    struct http_piece *piece = http_piece_find_locked(remote, 0);

    if (!piece && remote->first)
        return true; /* a thread is about to fetch it */
    if (!piece) {
        if (len < FIRST_MIN)
            len = FIRST_MIN;
        piece = add_piece_locked(remote, 0, len < FIRST_MAX ? len : FIRST_MAX,
                                 batch);
        if (!piece)
            return false;
        piece->first = remote->first = true;
    }
    return wait_locked(piece, waiter);
}

static bool fetch_locked(struct http_remote *remote, uint64_t off, uint64_t end,
                         struct store_waiter *waiter, struct list *batch)
{
    while (off < end) {
        struct http_piece *piece = http_piece_find_locked(remote, off);
        uint64_t len = end - off < PIECE_LEN ? end - off : PIECE_LEN;

        if (!piece) {
            len = http_piece_cut_locked(remote, off, (size_t)len);
            piece = add_piece_locked(remote, off, off + len, batch);
        }
        if (!piece || !wait_locked(piece, waiter))
            return false;
        off = piece->off + piece->len;
    }
    return true;
}

/* Pieces on the disk are read when they are decoded. */
static bool is_on_disk(struct http_remote *remote, uint64_t off)
{
    struct http_memory *memory = remote->context->memory;
    bool keyed;

    pthread_mutex_lock(&memory->lock);
    keyed = remote->cached.keyed;
    http_memory_unlock(memory);
    return keyed && http_cached_has(remote, off);
}

bool http_remote_prefetch(struct http_remote *remote, uint64_t off,
                          uint64_t len, struct store_waiter *waiter)
{
    struct http_memory *memory = remote->context->memory;
    struct list batch;
    uint64_t end;
    bool done = true;

    if (is_on_disk(remote, off))
        return true;
    list_init(&batch);
    pthread_mutex_lock(&memory->lock);
    if (!remote->known) {
        done = fetch_first_locked(remote, waiter, &batch);
    } else {
        if (!size_add(off, len, &end) || end > remote->size)
            end = remote->size;
        done = fetch_locked(remote, off, end, waiter, &batch);
    }
    http_memory_unlock(memory);
    list_for_each_safe(node, &batch) {
        list_remove(node);
        http_piece_submit(list_entry(node, struct http_piece, batch));
    }
    return done;
}
