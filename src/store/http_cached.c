/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/http_cached.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "net/secret.h"
#include "net/sha256.h"
#include "store/http_remote_private.h"
#include "store/store_http.h"

enum {
    SETTLED = 10 * 60,  /* seconds for which an index has not changed */
    STATE_SECONDS = 10, /* between two writes of the same state */
};

static bool hash_secret(struct secret *text, struct disk_key *out)
{
    bool done = !text->failed && sha256(text->text, text->len, out->id) == 0;

    secret_fini(text);
    return done;
}

static void add_line(struct secret *text, const char *line)
{
    secret_add(text, line);
    secret_add(text, "\n");
}

/* Add a query without a signature, which is another one each time. */
static void add_query(struct secret *text, const char *query)
{
    static const char prefix[] = "X-Amz-";

    while (*query != '\0') {
        size_t len = strcspn(query, "&");

        if (strncasecmp(query, prefix, strlen(prefix)) != 0) {
            secret_add_bytes(text, query, len);
            secret_add(text, "&");
        }
        query += len + (query[len] == '&');
    }
}

/* Add the identity of an object: its URL at its server.  The same URL may mean
   something else to another profile. */
static bool add_name(struct http_remote *remote, struct secret *text)
{
    struct net *net = remote->context->net;
    struct url url;
    char *name;

    if (net_map(net, &remote->url, &url) < 0)
        return false;
    name = url_name(&url);
    add_line(text, net_get_options(net)->profile);
    add_line(text, name ? name : "");
    if (url.query)
        add_query(text, url.query);
    add_line(text, "");
    url_fini(&url);
    free(name);
    return name != NULL;
}

/* Hash the identity of an object; and the state, unless `etag` is NULL. */
static bool make_key(struct http_remote *remote, const char *etag,
                     uint64_t size, struct disk_key *out)
{
    struct secret text = { 0 };
    char number[32];

    if (!add_name(remote, &text)) {
        secret_fini(&text);
        return false;
    }
    snprintf(number, sizeof(number), "%llu", (unsigned long long)size);
    add_line(&text, etag ? etag : "state");
    add_line(&text, etag ? number : "");
    return hash_secret(&text, out);
}

static bool is_strong(const char *etag)
{
    return etag[0] == '"';
}

static void key_at(const struct disk_key *base, uint64_t off,
                   struct disk_key *out)
{
    uint8_t bytes[DISK_KEY_LEN + 8];

    memcpy(bytes, base->id, DISK_KEY_LEN);
    store_le64(bytes + DISK_KEY_LEN, off);
    if (sha256(bytes, sizeof(bytes), out->id) < 0)
        *out = *base; /* it is no key of bytes, so nothing is found */
}

/* A run of bytes in a file of the cache. */
struct run {
    struct disk_file file;
    uint64_t off;
};

/* Find a file that has the byte at `off` of an object in the state of `note`;
   NULL: in any.  It begins there, or at most DISK_FILE_MAX before. */
static bool find_run(struct http_disk *disk, const struct disk_key *base,
                     const struct disk_note *note, uint64_t off,
                     struct run *out)
{
    uint64_t block = off / DISK_BLOCK;

    for (uint64_t i = 0; i < DISK_NBLOCKS && i <= block; i++) {
        struct disk_key key;

        out->off = (block - i) * DISK_BLOCK;
        key_at(base, out->off, &key);
        if (disk_cache_find(disk->cache, &key, &out->file) < 0)
            continue;
        if (off - out->off < out->file.len &&
            (!note || (out->file.note.size == note->size &&
                       strcmp(out->file.note.etag, note->etag) == 0)))
            return true;
        disk_file_close(&out->file);
    }
    return false;
}

static bool has_byte(struct http_disk *disk, const struct disk_key *base,
                     const struct disk_note *note, uint64_t off)
{
    struct run run;

    if (!find_run(disk, base, note, off, &run))
        return false;
    disk_file_close(&run.file);
    return true;
}

/* How long a state still counts, in seconds; 0: no more. */
static int64_t time_left(const struct net_options *options,
                         const struct disk_note *note)
{
    int64_t age = time(NULL) - note->checked;

    if (options->revalidate == NET_FOREVER)
        return INT64_MAX;
    return age >= 0 && age < options->revalidate ? options->revalidate - age
                                                 : 0;
}

/* Take over a state.  The remote has no other. */
static void take_state_locked(struct http_remote *remote,
                              const struct disk_note *note, int64_t left)
{
    remote->nstale = remote->context->nstale;
    remote->size = note->size;
    remote->modified = (time_t)note->modified;
    memcpy(remote->etag, note->etag, sizeof(remote->etag));
    remote->due_ns = left == INT64_MAX
                         ? INT64_MAX
                         : clock_monotonic_ns() + left * CLOCK_SECOND_NS;
    remote->cached.from_disk = true;
    remote->known = true;
}

bool http_cached_load(struct http_remote *remote)
{
    struct http_context *context = remote->context;
    struct http_cached cached = { .keyed = true };
    struct disk_file file;
    int64_t left;

    if (!context->memory->disk || !make_key(remote, NULL, 0, &cached.state) ||
        disk_cache_find(context->memory->disk->cache, &cached.state, &file) < 0)
        return false;
    disk_file_close(&file);
    left = time_left(net_get_options(context->net), &file.note);
    if (left == 0 || file.note.size == 0 || !is_strong(file.note.etag) ||
        !make_key(remote, file.note.etag, file.note.size, &cached.key) ||
        !has_byte(context->memory->disk, &cached.key, &file.note, 0) ||
        !has_byte(context->memory->disk, &cached.key, &file.note,
                  file.note.size - 1))
        return false;
    cached.settled = file.note.settled;
    cached.written = file.note.checked;
    pthread_mutex_lock(&context->memory->lock);
    remote->cached = cached;
    take_state_locked(remote, &file.note, left);
    http_memory_unlock(context->memory);
    return true;
}

static bool is_settled(const struct net_options *options,
                       const struct net_reply *reply)
{
    return options->revalidate == NET_FOREVER ||
           (reply->date > 0 && reply->modified > 0 &&
            reply->date - reply->modified >= SETTLED);
}

static struct disk_note note_of(const struct http_remote *remote)
{
    struct disk_note note = {
        .size = remote->size,
        .modified = remote->modified,
        .checked = time(NULL),
        .settled = remote->cached.settled,
    };

    memcpy(note.etag, remote->etag, sizeof(note.etag));
    return note;
}

void http_cached_confirm(struct http_remote *remote)
{
    struct http_context *context = remote->context;
    struct http_cached *cached = &remote->cached;
    const struct disk_note note = note_of(remote);
    bool old;

    if (!cached->keyed)
        return;
    pthread_mutex_lock(&context->memory->lock);
    old = note.checked - cached->written >= STATE_SECONDS;
    if (old)
        cached->written = note.checked;
    cached->from_disk = false;
    http_memory_unlock(context->memory);
    if (old)
        disk_cache_put(context->memory->disk->cache, &cached->state, &note,
                       NULL, 0);
}

void http_cached_set(struct http_remote *remote, const struct net_reply *reply)
{
    struct http_context *context = remote->context;
    struct http_cached *cached = &remote->cached;

    if (!context->memory->disk || !is_strong(remote->etag))
        return;
    cached->keyed = make_key(remote, NULL, 0, &cached->state) &&
                    make_key(remote, remote->etag, remote->size, &cached->key);
    cached->settled = is_settled(net_get_options(context->net), reply);
}

void http_cached_begin(struct http_remote *remote,
                       const struct net_reply *reply)
{
    http_cached_set(remote, reply);
    http_cached_confirm(remote);
}

void http_cached_set_chunk(struct http_remote *chunk, const char *name,
                           struct http_remote *index)
{
    struct http_context *context = chunk->context;
    struct http_cached cached = { 0 };
    struct secret text = { 0 };

    if (!context->memory->disk || !index)
        return;
    pthread_mutex_lock(&context->memory->lock);
    cached = index->cached;
    http_memory_unlock(context->memory);
    if (!cached.keyed || !cached.settled)
        return;
    secret_add_bytes(&text, cached.key.id, DISK_KEY_LEN);
    add_line(&text, net_get_options(context->net)->revalidate == NET_FOREVER
                        ? "for ever"
                        : "");
    add_line(&text, name);
    chunk->cached.keyed = hash_secret(&text, &chunk->cached.key);
    key_at(&chunk->cached.key, 0, &chunk->cached.state);
}

bool http_cached_know(struct http_remote *remote)
{
    struct http_context *context = remote->context;
    struct disk_file file;

    if (!remote->cached.keyed)
        return false;
    if (disk_cache_find(context->memory->disk->cache, &remote->cached.state,
                        &file) < 0) {
        atomic_fetch_add(&context->memory->disk->misses, 1);
        return false;
    }
    disk_file_close(&file);
    pthread_mutex_lock(&context->memory->lock);
    take_state_locked(remote, &file.note, INT64_MAX);
    http_memory_unlock(context->memory);
    return true;
}

void http_cached_forget(struct http_remote *remote)
{
    struct http_context *context = remote->context;
    struct http_cached cached;

    if (!context->memory->disk)
        return;
    pthread_mutex_lock(&context->memory->lock);
    cached = remote->cached;
    http_memory_unlock(context->memory);
    if (cached.keyed)
        disk_cache_remove(context->memory->disk->cache, &cached.state);
}

bool http_cached_has(struct http_remote *remote, uint64_t off)
{
    return has_byte(remote->context->memory->disk, &remote->cached.key, NULL,
                    off);
}

static uint64_t round_down(uint64_t off)
{
    return off - off % DISK_BLOCK;
}

static uint64_t round_up(uint64_t off, uint64_t end)
{
    uint64_t up = round_down(off + DISK_BLOCK - 1);

    return up < end ? up : end;
}

void http_cached_align_locked(const struct http_remote *remote, uint64_t *off,
                              uint64_t *end)
{
    if (!remote->cached.keyed)
        return;
    *off = round_down(*off);
    *end = round_up(*end, remote->size);
}

/* Read a part of a run into a piece, which is listed, so that others wait for
   it.  If that fails, they look again. */
static struct http_piece *read_run(struct http_remote *remote,
                                   const struct run *run, uint64_t off,
                                   uint64_t end)
{
    struct http_context *context = remote->context;
    struct http_piece *piece;
    size_t len = (size_t)(end - off);
    int r;

    pthread_mutex_lock(&context->memory->lock);
    piece = http_piece_new_locked(remote, off, len);
    if (piece)
        piece->from_disk = true;
    http_memory_unlock(context->memory);
    if (!piece)
        return NULL;
    r = disk_file_read(context->memory->disk->cache, &run->file,
                       (size_t)(off - run->off), len, piece->bytes);
    pthread_mutex_lock(&context->memory->lock);
    piece->ready = true;
    piece->error = r < 0 ? -EAGAIN : 0;
    pthread_cond_broadcast(&piece->came);
    if (r < 0)
        http_piece_release_locked(piece);
    http_memory_unlock(context->memory);
    return r < 0 ? NULL : piece;
}

struct http_piece *http_cached_piece(struct http_remote *remote, uint64_t off,
                                     uint64_t end)
{
    struct http_disk *disk = remote->context->memory->disk;
    const struct disk_note note = note_of(remote);
    struct http_piece *piece = NULL;
    struct run run;

    if (!remote->cached.keyed)
        return NULL;
    if (find_run(disk, &remote->cached.key, &note, off, &run)) {
        off = round_down(off);
        end = round_up(end, run.off + run.file.len);
        piece = read_run(remote, &run, off, end);
        disk_file_close(&run.file);
    }
    atomic_fetch_add(piece ? &disk->hits : &disk->misses, 1);
    return piece;
}

void http_cached_keep(const struct http_piece *piece)
{
    const struct http_remote *remote = piece->remote;
    const struct disk_note note = note_of(remote);
    uint64_t off = round_up(piece->off, remote->size);
    uint64_t end = piece->off + piece->len;

    if (!remote->cached.keyed)
        return;
    if (end < remote->size)
        end = round_down(end);
    while (off < end) {
        size_t len =
            end - off < DISK_FILE_MAX ? (size_t)(end - off) : DISK_FILE_MAX;
        struct disk_key key;

        key_at(&remote->cached.key, off, &key);
        disk_cache_put(remote->context->memory->disk->cache, &key, &note,
                       piece->bytes + (off - piece->off), len);
        off += len;
    }
}

void store_http_get_stats(struct net *net, struct store_http_stats *out)
{
    const struct http_memory *memory = http_memory_of(net);
    struct http_disk *disk = memory ? memory->disk : NULL;
    struct disk_stats stats;

    *out = (struct store_http_stats){ 0 };
    if (!disk)
        return;
    disk_cache_get_stats(disk->cache, &stats);
    *out = (struct store_http_stats){
        .hits = atomic_load(&disk->hits),
        .misses = atomic_load(&disk->misses),
        .read = stats.read,
        .written = stats.written,
        .wrong = stats.wrong,
    };
}

bool store_http_is_kept(struct net *net, const struct url *url)
{
    struct http_context *context;
    struct http_remote *remote;
    struct url copy;
    bool kept = false;

    if (url_copy(url, &copy) < 0)
        return false;
    context = http_context_new(net);
    if (!context) {
        url_fini(&copy);
        return false;
    }
    if (http_remote_new(context, &copy, &remote) == 0) {
        kept = http_cached_load(remote);
        http_remote_put(remote);
    }
    http_context_put(context);
    return kept;
}
