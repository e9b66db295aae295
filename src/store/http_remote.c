/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/http_remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/killed.h"
#include "net/s3_put.h"
#include "store/http_remote_private.h"
#include "store/store_http.h"

enum {
    HEAD_LEN = 64 << 10, /* bytes at the start, and at the end, of an object
                            that are fetched to open it */
    CHECK_PART = 4,      /* part of the time for a request, after which a
                            question for changes ends */
};

struct http_context *http_context_new(struct net *net)
{
    struct http_context *context = calloc(1, sizeof(*context));
    struct http_memory *memory = http_memory_of(net);

    if (!context || !memory) {
        free(context);
        return NULL;
    }
    context->net = net;
    context->memory = memory;
    context->nrefs = 1;
    killed_cond_init(&context->changed);
    return context;
}

void http_context_put(struct http_context *context)
{
    struct http_memory *memory = context->memory;
    bool last;

    pthread_mutex_lock(&memory->lock);
    last = --context->nrefs == 0;
    http_memory_unlock(memory);
    if (!last)
        return;
    pthread_cond_destroy(&context->changed);
    free(context);
}

void http_context_expect(struct http_context *context, uint64_t unit)
{
    pthread_mutex_lock(&context->memory->lock);
    context->unit = unit;
    http_memory_unlock(context->memory);
}

int http_remote_new(struct http_context *context, struct url *url,
                    struct http_remote **out)
{
    struct http_remote *remote = calloc(1, sizeof(*remote));

    if (!remote) {
        url_fini(url);
        return -ENOMEM;
    }
    pthread_mutex_lock(&context->memory->lock);
    context->nrefs++;
    http_memory_unlock(context->memory);
    remote->context = context;
    remote->url = *url;
    remote->nrefs = 1;
    list_init(&remote->pieces);
    *url = (struct url){ 0 };
    *out = remote;
    return 0;
}

struct http_remote *http_remote_get(struct http_remote *remote)
{
    pthread_mutex_lock(&remote->context->memory->lock);
    remote->nrefs++;
    http_memory_unlock(remote->context->memory);
    return remote;
}

/* If only pieces on their way are left, nobody wants them any more. */
static void cancel_pieces_locked(struct http_remote *remote)
{
    list_for_each(node, &remote->pieces) {
        struct http_piece *piece = list_entry(node, struct http_piece, mine);

        if (!piece->ready)
            net_cancel(remote->context->net, &piece->request);
    }
}

/* A thread that fetches or reads a piece has a reference, so no piece is in use
   when the last one is dropped. */
bool http_remote_put_locked(struct http_remote *remote)
{
    if (--remote->nrefs > 0) {
        if (remote->nrefs == remote->nrunning)
            cancel_pieces_locked(remote);
        return false;
    }
    list_for_each_safe(node, &remote->pieces)
        http_piece_free_locked(list_entry(node, struct http_piece, mine));
    return true;
}

void http_remote_free(struct http_remote *remote)
{
    http_context_put(remote->context);
    url_fini(&remote->url);
    free(remote);
}

void http_remote_put(struct http_remote *remote)
{
    struct http_memory *memory;
    bool last;

    if (!remote)
        return;
    memory = remote->context->memory;
    pthread_mutex_lock(&memory->lock);
    last = http_remote_put_locked(remote);
    http_memory_unlock(memory);
    if (last)
        http_remote_free(remote);
}

/* When to ask for changes, if the server was asked at `asked_ns`. */
static int64_t next_check_ns(const struct http_remote *remote, int64_t asked_ns)
{
    const struct net_options *options = net_get_options(remote->context->net);

    if (options->revalidate == NET_FOREVER)
        return INT64_MAX;
    return asked_ns + (int64_t)options->revalidate * CLOCK_SECOND_NS;
}

/* Is this a reply about the state that is known?  A server that sends no tags
   shows changes by time and size. */
static bool is_same_state(const struct http_remote *remote,
                          const struct net_reply *reply)
{
    return reply->size == remote->size &&
           strcmp(reply->etag, remote->etag) == 0 &&
           (remote->etag[0] != '\0' || reply->modified == remote->modified);
}

void http_remote_set_stale_locked(struct http_remote *remote)
{
    if (!remote->stale)
        remote->context->nstale++;
    remote->stale = true;
}

int http_remote_note_locked(struct http_remote *remote,
                            const struct net_reply *reply)
{
    if (remote->known) {
        if (!is_same_state(remote, reply))
            http_remote_set_stale_locked(remote);
        else if (reply->date > remote->seen)
            remote->seen = reply->date;
        return remote->stale ? -ESTALE : 0;
    }
    if (s3_is_marker(reply->put_id))
        return -ENOENT;
    remote->nstale = remote->context->nstale;
    remote->size = reply->size;
    remote->modified = reply->modified;
    remote->seen = reply->date;
    memcpy(remote->etag, reply->etag, sizeof(remote->etag));
    memcpy(remote->put_id, reply->put_id, sizeof(remote->put_id));
    remote->due_ns = next_check_ns(remote, clock_monotonic_ns());
    remote->known = true;
    return 0;
}

static time_t get_seen(struct http_remote *remote)
{
    time_t seen;

    pthread_mutex_lock(&remote->context->memory->lock);
    seen = remote->seen;
    http_memory_unlock(remote->context->memory);
    return seen;
}

int http_remote_state(struct http_remote *remote, struct http_state *out)
{
    const char *etag = remote->etag;
    uint64_t id = hash_text(remote->url.host);
    int r = http_remote_know(remote);

    if (r < 0)
        return r;
    id = hash_mix(hash_mix(id, remote->url.port), hash_text(remote->url.path));
    id = hash_mix(hash_mix(id, hash_text(etag)), remote->size);
    id = hash_mix(id, remote->nstale);
    *out = (struct http_state){
        .size = remote->size,
        .modified = remote->modified,
        .seen = get_seen(remote),
        .own = remote->put_id[0] != '\0',
        .time = { .tv_sec = remote->modified },
        .id = hash_mix(id, (uint64_t)remote->modified),
    };
    strcpy(out->etag, etag);
    if (remote->put_id[0] != '\0')
        http_state_set_put(out, &remote->url, remote->put_id);
    return 0;
}

void http_state_set_put(struct http_state *state, const struct url *url,
                        const char *put_id)
{
    uint64_t id = hash_mix(hash_text(url->host), hash_text(url->path));
    int64_t ns = s3_put_id_time(put_id);

    state->id = hash_mix(id, hash_text(put_id));
    if (ns > 0)
        state->time = (struct timespec){ .tv_sec = ns / CLOCK_SECOND_NS,
                                         .tv_nsec = ns % CLOCK_SECOND_NS };
}

uint64_t http_remote_known_size(struct http_remote *remote)
{
    uint64_t size;

    pthread_mutex_lock(&remote->context->memory->lock);
    size = remote->known ? remote->size : 0;
    pthread_mutex_unlock(&remote->context->memory->lock);
    return size;
}

const char *http_remote_etag(const struct http_remote *remote)
{
    return remote->etag;
}

static void pin_locked(struct http_piece *piece)
{
    list_remove(&piece->node);
    http_piece_fill_locked(piece, 0, 0); /* until something has come */
    piece->pinned = true;
}

/* Take over the end of the object, unless it is that of another state. */
static void keep_tail_locked(struct http_remote *remote,
                             struct http_piece *tail)
{
    const struct net_reply *reply = &tail->request.reply;

    tail->ready = true;
    if (tail->request.error < 0 || !is_same_state(remote, reply))
        return;
    http_piece_fill_locked(tail, reply->off, reply->len);
}

static int keep_head_locked(struct http_remote *remote, struct http_piece *head)
{
    const struct net_reply *reply = &head->request.reply;

    head->ready = true;
    if (head->request.error == -ECANCELED)
        return -EINTR;
    if (head->request.error < 0)
        return head->request.error;
    http_piece_fill_locked(head, reply->off, reply->len);
    return http_remote_note_locked(remote, reply);
}

/* Bytes to fetch of the start or the end.  The disk keeps blocks, the last of
   which may be short. */
static size_t load_len(const struct http_context *context, bool tail)
{
    return tail && context->memory->disk ? HEAD_LEN + DISK_BLOCK : HEAD_LEN;
}

static void keep_loaded(struct http_remote *remote, struct http_piece **pieces,
                        size_t n)
{
    http_cached_begin(remote, &pieces[0]->request.reply);
    for (size_t i = 0; i < n; i++)
        http_cached_keep(pieces[i]);
}

int http_remote_load(struct http_remote *remote, bool tail, bool cached)
{
    struct http_context *context = remote->context;
    size_t n = tail ? 2 : 1;
    struct net_request requests[2];
    struct http_piece *pieces[2] = { NULL, NULL };
    int r = 0;

    if (cached && http_cached_load(remote))
        return 0;
    pthread_mutex_lock(&context->memory->lock);
    for (size_t i = 0; i < n; i++) {
        pieces[i] = http_piece_new_locked(remote, 0, load_len(context, i > 0));
        if (!pieces[i])
            r = -ENOMEM;
        else
            pin_locked(pieces[i]);
    }
    http_memory_unlock(context->memory);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        requests[i] = (struct net_request){
            .url = &remote->url,
            .from_end = i > 0,
            .len = load_len(context, i > 0),
            .buf = pieces[i]->bytes,
        };
    net_run(context->net, requests, n);
    pthread_mutex_lock(&context->memory->lock);
    for (size_t i = 0; i < n; i++) {
        pieces[i]->request = requests[i];
        pieces[i]->nusers = 0;
    }
    r = keep_head_locked(remote, pieces[0]);
    if (tail)
        keep_tail_locked(remote, pieces[1]);
    http_memory_unlock(context->memory);
    if (r == 0)
        keep_loaded(remote, pieces, n);
    return r;
}

/* Keep a copy of bytes of an object. */
static int pin_bytes_locked(struct http_remote *remote, uint64_t off,
                            const uint8_t *bytes, size_t len)
{
    struct http_piece *piece = http_piece_new_locked(remote, off, len);

    if (!piece)
        return -ENOMEM;
    memcpy(piece->bytes, bytes, len);
    pin_locked(piece);
    http_piece_fill_locked(piece, off, len);
    piece->nusers = 0;
    piece->ready = true;
    return 0;
}

int http_remote_begin(struct http_remote *remote,
                      const struct store_http_start *start)
{
    struct http_memory *memory = remote->context->memory;
    int r;

    pthread_mutex_lock(&memory->lock);
    r = pin_bytes_locked(remote, 0, start->bytes, start->len);
    if (r == 0 && start->tail_len > 0)
        r = pin_bytes_locked(remote, start->reply->size - start->tail_len,
                             start->tail, start->tail_len);
    if (r == 0) {
        http_remote_note_locked(remote, start->reply);
        remote->due_ns = next_check_ns(remote, start->known_ns);
    }
    http_memory_unlock(memory);
    if (r < 0)
        return r;
    http_cached_set(remote, start->reply);
    return 0;
}

void http_remote_quiet_locked(struct http_context *context)
{
    unsigned timeout = net_get_options(context->net)->timeout;

    context->quiet_ns =
        clock_monotonic_ns() + (int64_t)timeout * CLOCK_SECOND_NS;
}

/* Is it time to ask for changes, and is no other thread doing so?  With
   `revalidate=0` every thread asks, because what is known may be older than its
   read.  Returns 1 if this thread is to ask, 0, or -ESTALE. */
static int begin_check(struct http_remote *remote)
{
    bool always = net_get_options(remote->context->net)->revalidate == 0;
    int64_t now = clock_monotonic_ns();
    int r = 0;

    pthread_mutex_lock(&remote->context->memory->lock);
    if (remote->stale) {
        r = -ESTALE;
    } else if (remote->known && (always || !remote->checking) &&
               now >= remote->due_ns && now >= remote->context->quiet_ns) {
        remote->checking = true;
        r = 1;
    }
    http_memory_unlock(remote->context->memory);
    return r;
}

unsigned http_remote_check_time(unsigned timeout)
{
    return (timeout + CHECK_PART - 1) / CHECK_PART;
}

/* This asks for one byte, because a presigned URL does not allow HEAD.  It does
   not wait for long, because the program has yet to wait for bytes. */
int http_remote_check(struct http_remote *remote)
{
    uint8_t byte;
    struct net_request request = {
        .url = &remote->url,
        .len = sizeof(byte),
        .buf = &byte,
        .timeout = http_remote_check_time(
            net_get_options(remote->context->net)->timeout),
    };
    int r = begin_check(remote);

    if (r <= 0)
        return r;
    net_run(remote->context->net, &request, 1);
    r = request.error;
    pthread_mutex_lock(&remote->context->memory->lock);
    remote->checking = false;
    if (r == 0) {
        r = http_remote_note_locked(remote, &request.reply);
    } else if (r == -ECANCELED) {
        r = -EINTR;
    } else if (r != -ENOENT && r != -EACCES) {
        http_remote_quiet_locked(remote->context);
        r = 0;
    }
    if (r == 0)
        remote->due_ns = next_check_ns(remote, clock_monotonic_ns());
    http_memory_unlock(remote->context->memory);
    if (request.error == 0 && r == 0)
        http_cached_confirm(remote);
    else if (r < 0 && r != -EINTR)
        http_cached_forget(remote);
    return r;
}

bool http_remote_is_stale(struct http_remote *remote)
{
    bool stale;

    pthread_mutex_lock(&remote->context->memory->lock);
    stale = remote->stale;
    http_memory_unlock(remote->context->memory);
    return stale;
}

void http_remote_set_stale(struct http_remote *remote)
{
    pthread_mutex_lock(&remote->context->memory->lock);
    http_remote_set_stale_locked(remote);
    http_memory_unlock(remote->context->memory);
    http_cached_forget(remote);
}

void http_remote_expire(struct http_remote *remote, bool wrong)
{
    pthread_mutex_lock(&remote->context->memory->lock);
    if (net_get_options(remote->context->net)->revalidate != NET_FOREVER ||
        (wrong && remote->cached.from_disk))
        remote->due_ns = 0;
    http_memory_unlock(remote->context->memory);
}
