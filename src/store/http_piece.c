/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/killed.h"
#include "base/size.h"
#include "store/http_remote_private.h"

static struct http_piece *piece_of(struct list *node)
{
    return list_entry(node, struct http_piece, mine);
}

struct http_piece *http_piece_find_locked(struct http_remote *remote,
                                          uint64_t off)
{
    list_for_each(node, &remote->pieces) {
        struct http_piece *piece = piece_of(node);

        if (off >= piece->off && off - piece->off < piece->len &&
            !(piece->ready && piece->error < 0))
            return piece;
    }
    return NULL;
}

size_t http_piece_cut_locked(struct http_remote *remote, uint64_t off,
                             size_t len)
{
    list_for_each(node, &remote->pieces) {
        const struct http_piece *piece = piece_of(node);

        if (piece->off > off && piece->off - off < len)
            len = (size_t)(piece->off - off);
    }
    return len;
}

void http_piece_release_locked(struct http_piece *piece)
{
    if (--piece->nusers > 0)
        return;
    if (!piece->ready && !piece->request.ahead)
        net_cancel(piece->remote->context->net, &piece->request);
    if (piece->ready && piece->error < 0)
        http_piece_free_locked(piece);
}

/* A piece that came makes the state of its remote known. */
static void fill_locked(struct http_piece *piece)
{
    const struct net_request *request = &piece->request;
    struct http_remote *remote = piece->remote;

    piece->error = request->error;
    if (piece->error == -ESTALE)
        http_remote_set_stale_locked(remote);
    if (piece->error == -EIO)
        http_remote_quiet_locked(remote->context);
    if (piece->error == 0)
        piece->error = http_remote_note_locked(remote, &request->reply);
    if (piece->error == 0) {
        http_piece_fill_locked(piece, request->reply.off, request->reply.len);
        piece->unkept = remote->cached.keyed;
    }
    if (piece->first) {
        remote->first = false;
        remote->first_error = piece->error;
    }
    piece->ready = true;
    piece->ready_ns = clock_monotonic_ns();
}

/* Take all waiters off a piece. */
static void take_waits_locked(struct http_piece *piece, struct list *out)
{
    list_init(out);
    list_for_each_safe(node, &piece->waits) {
        list_remove(node);
        list_append(out, node);
    }
}

static void wake_waiters(struct list *waits, int error)
{
    list_for_each_safe(node, waits) {
        struct http_wait *wait = list_entry(node, struct http_wait, node);

        store_waiter_done(wait->waiter, error);
        free(wait);
    }
}

/* Called by the loop of net. */
static void take_reply(struct net_request *request)
{
    struct http_piece *piece = request->context;
    struct http_remote *remote = piece->remote;
    struct http_memory *memory = remote->context->memory;
    struct list waits;
    int error;
    bool last;

    pthread_mutex_lock(&memory->lock);
    fill_locked(piece);
    error = piece->error;
    take_waits_locked(piece, &waits);
    pthread_cond_broadcast(&piece->came);
    if (piece->first)
        pthread_cond_broadcast(&remote->context->changed);
    if (piece->nusers == 0 && piece->error < 0)
        http_piece_free_locked(piece);
    remote->nrunning--;
    last = http_remote_put_locked(remote);
    http_memory_unlock(memory);
    wake_waiters(&waits, error);
    if (last)
        http_remote_free(remote);
}

/* A reader may have waited for an answer about the state before, see
   http_remote_check(). */
static unsigned time_left_locked(const struct http_context *context)
{
    unsigned timeout = net_get_options(context->net)->timeout;
    unsigned spent = http_remote_check_time(timeout);

    if (clock_monotonic_ns() >= context->quiet_ns || spent >= timeout)
        return timeout;
    return timeout - spent;
}

void http_piece_start_locked(struct http_piece *piece, bool ahead)
{
    struct http_remote *remote = piece->remote;

    remote->nrefs++;
    remote->nrunning++;
    piece->request = (struct net_request){
        .url = &remote->url,
        .off = piece->off,
        .len = piece->len,
        .buf = piece->bytes,
        .if_match = remote->known ? remote->etag : NULL,
        .timeout = time_left_locked(remote->context),
        .ahead = ahead,
        .done = take_reply,
        .context = piece,
    };
}

void http_piece_submit(struct http_piece *piece)
{
    int r = net_submit(piece->remote->context->net, &piece->request);

    if (r < 0) {
        piece->request.error = r;
        take_reply(&piece->request);
    }
}

int http_piece_await_locked(struct http_piece *piece)
{
    int r = 0;

    while (!piece->ready && r == 0)
        r = killed_wait(&piece->came, &piece->remote->context->memory->lock);
    return piece->ready ? 0 : r;
}

/* The thread that was to fetch the first piece has no need, or cannot. */
static void skip_first_locked(struct http_remote *remote, int error)
{
    remote->first = false;
    remote->first_error = error;
    pthread_cond_broadcast(&remote->context->changed);
}

/* Fetch the start of an object whose state is not known.  This thread has said
   that it does. */
static int fetch_first(struct http_remote *remote)
{
    struct http_context *context = remote->context;
    struct http_piece *piece = NULL;
    bool found = http_cached_know(remote);
    int r = found ? 0 : -ENOMEM;

    pthread_mutex_lock(&context->memory->lock);
    if (!found)
        piece = http_piece_new_locked(remote, 0, http_piece_len(context, 0));
    if (piece) {
        piece->first = true;
        http_piece_start_locked(piece, false);
    } else {
        skip_first_locked(remote, r);
    }
    http_memory_unlock(context->memory);
    if (!piece)
        return r;
    http_piece_submit(piece);
    pthread_mutex_lock(&context->memory->lock);
    r = http_piece_await_locked(piece);
    if (r == 0)
        r = piece->error;
    http_piece_release_locked(piece);
    http_memory_unlock(context->memory);
    return r;
}

/* Wait until the state is known, or become the thread that fetches it. */
int http_remote_know(struct http_remote *remote)
{
    struct http_context *context = remote->context;
    bool waited = false;
    bool known;
    int r = 0;

    pthread_mutex_lock(&context->memory->lock);
    while (!remote->known && remote->first && r == 0) {
        r = killed_wait(&context->changed, &context->memory->lock);
        waited = true;
    }
    known = remote->known;
    if (r == 0 || known)
        r = known ? 0 : remote->first_error;
    if (waited && !known && r == -ECANCELED)
        waited = false; /* the thread that was to fetch it has given up */
    if (!known && !waited)
        remote->first = true;
    http_memory_unlock(context->memory);
    /* A thread that has waited gets the error, because it has waited as long as
       a request may take. */
    return known || waited ? r : fetch_first(remote);
}

/* The end of the bytes to fetch from `off` on for a range and those behind it
   that are near. */
static uint64_t near_end(const struct http_context *context,
                         const struct store_range *ranges, size_t nranges,
                         uint64_t off)
{
    size_t gap = http_piece_gap(context);
    uint64_t end = ranges[0].off + ranges[0].len;

    for (size_t i = 1; i < nranges && end - off < HTTP_PIECE_MAX; i++) {
        if (ranges[i].off < off || ranges[i].off > end + gap)
            break;
        if (ranges[i].off + ranges[i].len > end)
            end = ranges[i].off + ranges[i].len;
    }
    return end;
}

/* Make a piece that begins at `off`, for these ranges. */
static struct http_piece *add_piece_locked(struct http_remote *remote,
                                           const struct store_range *ranges,
                                           size_t nranges, uint64_t off)
{
    uint64_t wanted = near_end(remote->context, ranges, nranges, off) - off;
    size_t len = http_piece_len(remote->context, wanted < HTTP_PIECE_MAX
                                                     ? (size_t)wanted
                                                     : HTTP_PIECE_MAX);
    uint64_t end = remote->size - off < len ? remote->size : off + len;
    uint64_t start = off;
    struct http_piece *piece;

    end = off + http_piece_cut_locked(remote, off, (size_t)(end - off));
    http_cached_align_locked(remote, &start, &end);
    piece = http_piece_new_locked(remote, start, (size_t)(end - start));
    if (piece)
        http_piece_start_locked(piece, false);
    return piece;
}

/* Make a piece for a byte that is in no other: of what the disk has, or to be
   fetched.  The lock is dropped while the disk is read. */
static struct http_piece *make_piece_locked(struct http_remote *remote,
                                            const struct store_range *ranges,
                                            size_t nranges, uint64_t off)
{
    struct http_context *context = remote->context;
    struct http_piece *piece = NULL;

    if (remote->cached.keyed) {
        http_memory_unlock(context->memory);
        piece = http_cached_piece(remote, off,
                                  near_end(context, ranges, nranges, off));
        pthread_mutex_lock(&context->memory->lock);
    }
    return piece ? piece : add_piece_locked(remote, ranges, nranges, off);
}

/* Begin to fetch all bytes of the ranges that are neither there nor coming, and
   list the pieces in `batch`. */
static int fetch_missing(struct http_remote *remote,
                         const struct store_range *ranges, size_t nranges,
                         struct list *batch)
{
    struct http_context *context = remote->context;
    int r = 0;

    pthread_mutex_lock(&context->memory->lock);
    for (size_t i = 0; i < nranges && r == 0; i++) {
        uint64_t end = ranges[i].off + ranges[i].len;
        uint64_t off = ranges[i].off;

        while (off < end && r == 0) {
            struct http_piece *piece = http_piece_find_locked(remote, off);

            if (!piece) {
                piece = make_piece_locked(remote, ranges + i, nranges - i, off);
                if (piece)
                    list_append(batch, &piece->batch);
            }
            r = piece ? 0 : -ENOMEM;
            off = piece ? piece->off + piece->len : end;
        }
    }
    http_memory_unlock(context->memory);
    list_for_each(node, batch) {
        struct http_piece *piece = list_entry(node, struct http_piece, batch);

        if (!piece->from_disk)
            http_piece_submit(piece);
    }
    return r;
}

/* Count the bytes that are read for the first time, and those beside them. */
static void note_used_locked(struct http_piece *piece, size_t at, size_t len)
{
    const size_t nbits = 64;
    uint64_t first = (uint64_t)at * nbits / piece->len;
    uint64_t last = (uint64_t)(at + len - 1) * nbits / piece->len;
    uint64_t bits = UINT64_MAX << first & UINT64_MAX >> (nbits - 1 - last);
    int n = __builtin_popcountll(bits & ~piece->used);

    piece->used |= bits;
    if (n > 0 && !piece->from_disk)
        net_count_used(piece->remote->context->net,
                       (uint64_t)n * piece->len / nbits);
}

/* Find the piece with a byte, and wait for it.  Returns 0, and NULL if there is
   none; or -EINTR. */
static int use_piece(struct http_remote *remote, uint64_t off,
                     struct http_piece **out)
{
    struct http_context *context = remote->context;
    struct http_piece *piece;
    bool keep = false;
    int r = 0;

    pthread_mutex_lock(&context->memory->lock);
    piece = http_piece_find_locked(remote, off);
    if (piece) {
        piece->nusers++;
        if (!piece->ready && piece->request.ahead)
            net_want(context->net, &piece->request);
        r = http_piece_await_locked(piece);
    }
    if (piece && r == 0) {
        http_piece_touch_locked(piece);
        keep = piece->unkept;
        piece->unkept = false;
    } else if (piece) {
        http_piece_release_locked(piece);
    }
    http_memory_unlock(context->memory);
    if (keep)
        http_cached_keep(piece);
    *out = piece;
    return r;
}

/* Wait for the piece with a byte, and copy what it has of a range.  Returns the
   number of bytes, 0 if there is no such piece any more, or an error. */
static ssize_t copy_some(struct http_remote *remote,
                         const struct store_range *range, size_t done)
{
    struct http_memory *memory = remote->context->memory;
    uint64_t off = range->off + done;
    struct http_piece *piece;
    ssize_t n = use_piece(remote, off, &piece);

    if (n < 0 || !piece)
        return n;
    if (piece->error < 0) {
        /* If its reader was killed, it is asked for again. */
        n = piece->error == -EAGAIN || piece->error == -ECANCELED
                ? 0
                : piece->error;
    } else {
        size_t at = (size_t)(off - piece->off);
        size_t len = piece->len - at;

        if (len > range->len - done)
            len = range->len - done;
        memcpy(range->buf + done, piece->bytes + at, len);
        n = (ssize_t)len;
    }
    pthread_mutex_lock(&memory->lock);
    if (n > 0)
        note_used_locked(piece, (size_t)(off - piece->off), (size_t)n);
    http_piece_release_locked(piece);
    http_memory_unlock(memory);
    return n;
}

/* End the use of the pieces that this thread has fetched. */
static void release_batch(struct http_remote *remote, struct list *batch)
{
    struct http_memory *memory = remote->context->memory;

    pthread_mutex_lock(&memory->lock);
    list_for_each_safe(node, batch) {
        struct http_piece *piece = list_entry(node, struct http_piece, batch);

        list_remove(node);
        http_piece_release_locked(piece);
    }
    http_memory_evict_locked(memory);
    http_memory_unlock(memory);
}

static int copy_range(struct http_remote *remote,
                      const struct store_range *range)
{
    size_t done = 0;

    while (done < range->len) {
        const struct store_range rest = {
            .off = range->off + done,
            .len = range->len - done,
        };
        ssize_t n = copy_some(remote, range, done);
        struct list batch;
        int r = 0;

        if (n < 0)
            return (int)n;
        done += (size_t)n;
        if (n > 0)
            continue;
        /* It was evicted meanwhile. */
        list_init(&batch);
        r = fetch_missing(remote, &rest, 1, &batch);
        n = r == 0 ? copy_some(remote, range, done) : r;
        release_batch(remote, &batch);
        if (n < 0)
            return (int)n;
        done += (size_t)n;
    }
    return 0;
}

static int check_ranges(const struct http_remote *remote,
                        const struct store_range *ranges, size_t nranges)
{
    for (size_t i = 0; i < nranges; i++)
        if (ranges[i].len > 0 &&
            !size_within(ranges[i].off, ranges[i].len, remote->size))
            return -ENODATA;
    return 0;
}

int http_remote_read(struct http_remote *remote,
                     const struct store_range *ranges, size_t nranges)
{
    struct list batch;
    int r = http_remote_know(remote);

    if (r == 0)
        r = check_ranges(remote, ranges, nranges);
    if (r < 0)
        return r;
    list_init(&batch);
    r = fetch_missing(remote, ranges, nranges, &batch);
    for (size_t i = 0; i < nranges && r == 0; i++)
        r = copy_range(remote, &ranges[i]);
    release_batch(remote, &batch);
    if (r == -ESTALE || r == -ENOENT)
        http_cached_forget(remote);
    return r;
}
