/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "store/http_remote_private.h"

enum {
    PIECE_MIN = 64 << 10, /* fewer bytes take hardly less time */
    PIECE_MAX = 2 << 20,  /* more bytes are fetched by several requests */
    UNIT_MAX = 1 << 20,   /* larger units are not fetched whole */
    GAP_MAX = 64 << 10,   /* bytes between two ranges that are read over */
    KEPT_MAX = 16 << 20, /* bytes in all pieces; more only if they are in use */
};

void http_piece_free_locked(struct http_piece *piece)
{
    piece->remote->context->used -= piece->len;
    list_remove(&piece->node);
    list_remove(&piece->mine);
    free(piece);
}

static struct http_piece *piece_of(struct list *node)
{
    return list_entry(node, struct http_piece, mine);
}

static void touch_locked(struct http_piece *piece)
{
    if (piece->pinned)
        return;
    list_remove(&piece->node);
    list_append(&piece->remote->context->pieces, &piece->node);
}

/* Find a piece that has, or will have, this byte. */
static struct http_piece *find_locked(struct http_remote *remote, uint64_t off)
{
    list_for_each(node, &remote->pieces) {
        struct http_piece *piece = piece_of(node);

        if (off >= piece->off && off - piece->off < piece->len &&
            !(piece->ready && piece->error < 0))
            return piece;
    }
    return NULL;
}

/* Cut a run of bytes before the next piece that is there. */
static size_t cut_locked(struct http_remote *remote, uint64_t off, size_t len)
{
    list_for_each(node, &remote->pieces) {
        const struct http_piece *piece = piece_of(node);

        if (piece->off > off && piece->off - off < len)
            len = (size_t)(piece->off - off);
    }
    return len;
}

static void evict_locked(struct http_context *context)
{
    list_for_each_safe(node, &context->pieces) {
        struct http_piece *piece = list_entry(node, struct http_piece, node);

        if (context->used <= KEPT_MAX)
            return;
        if (piece->nusers == 0)
            http_piece_free_locked(piece);
    }
}

void http_piece_release_locked(struct http_piece *piece)
{
    if (--piece->nusers == 0 && piece->error < 0)
        http_piece_free_locked(piece);
}

/* Called by the loop of net. */
static void take_reply(struct net_request *request)
{
    struct http_piece *piece = request->context;
    struct http_remote *remote = piece->remote;
    struct http_context *context = remote->context;

    pthread_mutex_lock(&context->lock);
    piece->error = request->error;
    if (piece->error == -ESTALE)
        http_remote_set_stale_locked(remote);
    if (piece->error == -EIO)
        http_remote_quiet_locked(context);
    if (piece->error == 0)
        piece->error = http_remote_note_locked(remote, &request->reply);
    if (piece->error == 0) {
        context->used -= piece->len - request->reply.len;
        piece->off = request->reply.off;
        piece->len = request->reply.len;
        piece->unkept = remote->cached.keyed;
    }
    piece->ready = true;
    pthread_cond_broadcast(&context->changed);
    pthread_mutex_unlock(&context->lock);
}

/* Make a piece, used by the caller, who submits it. */
struct http_piece *http_piece_new_locked(struct http_remote *remote,
                                         uint64_t off, size_t len)
{
    struct http_context *context = remote->context;
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
    list_append(&remote->pieces, &piece->mine);
    list_append(&context->pieces, &piece->node);
    context->used += len;
    evict_locked(context);
    return piece;
}

static void submit(struct http_piece *piece)
{
    struct http_remote *remote = piece->remote;
    struct net_request *request = &piece->request;
    int r;

    *request = (struct net_request){
        .url = &remote->url,
        .off = piece->off,
        .len = piece->len,
        .buf = piece->bytes,
        .if_match = remote->known ? remote->etag : NULL,
        .done = take_reply,
        .context = piece,
    };
    r = net_submit(remote->context->net, request);
    if (r < 0) {
        request->error = r;
        take_reply(request);
    }
}

static void await_locked(const struct http_piece *piece)
{
    struct http_context *context = piece->remote->context;

    while (!piece->ready)
        pthread_cond_wait(&context->changed, &context->lock);
}

/* Units differ in size, so fetch somewhat more than the usual one. */
void http_context_expect(struct http_context *context, uint64_t unit)
{
    pthread_mutex_lock(&context->lock);
    context->unit = unit <= UNIT_MAX ? (size_t)(unit + unit / 4) : 0;
    pthread_mutex_unlock(&context->lock);
}

/* Bytes to fetch for somebody who wants `len` of them. */
static size_t fetch_len(const struct http_context *context, size_t len)
{
    if (len < context->unit)
        len = context->unit;
    if (len < PIECE_MIN)
        len = PIECE_MIN;
    return len < PIECE_MAX ? len : PIECE_MAX;
}

/* Fetch the start of an object whose state is not known. */
static int fetch_first(struct http_remote *remote)
{
    struct http_context *context = remote->context;
    struct http_piece *piece = NULL;
    bool found = http_cached_know(remote);
    int r;

    pthread_mutex_lock(&context->lock);
    if (!found)
        piece = http_piece_new_locked(remote, 0, fetch_len(context, 0));
    pthread_mutex_unlock(&context->lock);
    if (piece)
        submit(piece);
    pthread_mutex_lock(&context->lock);
    if (found) {
        r = 0;
    } else if (piece) {
        await_locked(piece);
        r = piece->error;
        http_piece_release_locked(piece);
    } else {
        r = -ENOMEM;
    }
    remote->first = false;
    remote->first_error = r;
    pthread_cond_broadcast(&context->changed);
    pthread_mutex_unlock(&context->lock);
    return r;
}

/* Wait until the state is known, or become the thread that fetches it. */
int http_remote_know(struct http_remote *remote)
{
    struct http_context *context = remote->context;
    bool waited = false;
    bool known;
    int r;

    pthread_mutex_lock(&context->lock);
    while (!remote->known && remote->first) {
        pthread_cond_wait(&context->changed, &context->lock);
        waited = true;
    }
    known = remote->known;
    r = known ? 0 : remote->first_error;
    if (!known && !waited)
        remote->first = true;
    pthread_mutex_unlock(&context->lock);
    /* A thread that has waited gets the error, because it has waited as long as
       a request may take. */
    return known || waited ? r : fetch_first(remote);
}

/* The end of the bytes to fetch from `off` on for a range and those behind it
   that are near. */
static uint64_t near_end(const struct store_range *ranges, size_t nranges,
                         uint64_t off)
{
    uint64_t end = ranges[0].off + ranges[0].len;

    for (size_t i = 1; i < nranges && end - off < PIECE_MAX; i++) {
        if (ranges[i].off < off || ranges[i].off > end + GAP_MAX)
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
    uint64_t wanted = near_end(ranges, nranges, off) - off;
    size_t len = fetch_len(remote->context,
                           wanted < PIECE_MAX ? (size_t)wanted : PIECE_MAX);
    uint64_t end = remote->size - off < len ? remote->size : off + len;
    uint64_t start = off;

    end = off + cut_locked(remote, off, (size_t)(end - off));
    http_cached_align_locked(remote, &start, &end);
    return http_piece_new_locked(remote, start, (size_t)(end - start));
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
        pthread_mutex_unlock(&context->lock);
        piece = http_cached_piece(remote, off, near_end(ranges, nranges, off));
        pthread_mutex_lock(&context->lock);
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

    pthread_mutex_lock(&context->lock);
    for (size_t i = 0; i < nranges && r == 0; i++) {
        uint64_t end = ranges[i].off + ranges[i].len;
        uint64_t off = ranges[i].off;

        while (off < end && r == 0) {
            struct http_piece *piece = find_locked(remote, off);

            if (!piece) {
                piece = make_piece_locked(remote, ranges + i, nranges - i, off);
                if (piece)
                    list_append(batch, &piece->batch);
            }
            r = piece ? 0 : -ENOMEM;
            off = piece ? piece->off + piece->len : end;
        }
    }
    pthread_mutex_unlock(&context->lock);
    list_for_each(node, batch) {
        struct http_piece *piece = list_entry(node, struct http_piece, batch);

        if (!piece->ready)
            submit(piece);
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

/* Wait for the piece with a byte, and copy what it has of a range.  Returns the
   number of bytes, 0 if there is no such piece any more, or an error. */
static ssize_t copy_some(struct http_remote *remote,
                         const struct store_range *range, size_t done)
{
    struct http_context *context = remote->context;
    uint64_t off = range->off + done;
    struct http_piece *piece;
    bool keep = false;
    ssize_t n = 0;

    pthread_mutex_lock(&context->lock);
    piece = find_locked(remote, off);
    if (piece) {
        piece->nusers++;
        touch_locked(piece);
        await_locked(piece);
        keep = piece->unkept;
        piece->unkept = false;
    }
    pthread_mutex_unlock(&context->lock);
    if (!piece)
        return 0;
    if (keep)
        http_cached_keep(piece);
    if (piece->error < 0) {
        n = piece->error == -EAGAIN ? 0 : piece->error;
    } else {
        size_t at = (size_t)(off - piece->off);
        size_t len = piece->len - at;

        if (len > range->len - done)
            len = range->len - done;
        memcpy(range->buf + done, piece->bytes + at, len);
        n = (ssize_t)len;
    }
    pthread_mutex_lock(&context->lock);
    if (n > 0)
        note_used_locked(piece, (size_t)(off - piece->off), (size_t)n);
    http_piece_release_locked(piece);
    pthread_mutex_unlock(&context->lock);
    return n;
}

/* End the use of the pieces that this thread has fetched. */
static void release_batch(struct http_remote *remote, struct list *batch)
{
    pthread_mutex_lock(&remote->context->lock);
    list_for_each_safe(node, batch) {
        struct http_piece *piece = list_entry(node, struct http_piece, batch);

        list_remove(node);
        await_locked(piece);
        http_piece_release_locked(piece);
    }
    evict_locked(remote->context);
    pthread_mutex_unlock(&remote->context->lock);
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
