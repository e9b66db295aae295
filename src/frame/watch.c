/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/retry.h"

enum {
    MARK_LEN = FRAME_E_METALAYERS_OFF,
    TEAR_TRIES = 16, /* while this process writes the header */
};

/* A recognizable state. */
struct mark {
    uint8_t header[MARK_LEN];
    size_t len;
    uint64_t stamp_off;
    uint8_t stamp[FRAME_STAMP_LEN];
    struct store_version file; /* the index file; only its identity is compared,
                                  and only if the watch looks it up by name */
};

struct watch {
    /* Constant. */
    struct store *store;
    struct store_object *object; /* NULL: look up `name` */
    const char *name;
    uint64_t base;

    /* A leaf; guards the fields below. */
    pthread_mutex_t lock;
    struct mark marks[2]; /* the known state, and the one that may follow it */
    atomic_uint nmarks;   /* may be read without the lock */
    bool stale;
    struct store_version seen; /* the file before the state was last found
                                  current */
};

int watch_new(struct store *store, struct store_object *object,
              const char *name, uint64_t base, struct watch **out)
{
    struct watch *watch = calloc(1, sizeof(*watch));

    if (!watch)
        return -ENOMEM;
    watch->store = store_get(store);
    watch->object = object ? store_object_get(object) : NULL;
    watch->name = name;
    watch->base = base;
    pthread_mutex_init(&watch->lock, NULL);
    *out = watch;
    return 0;
}

void watch_free(struct watch *watch)
{
    if (!watch)
        return;
    store_object_close(watch->object);
    store_close(watch->store);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

static void mark_set(struct mark *mark, const struct watch_state *state,
                     const struct store_stat *stat)
{
    mark->len = state->len < MARK_LEN ? state->len : MARK_LEN;
    memcpy(mark->header, state->header, mark->len);
    mark->stamp_off = state->stamp_off;
    if (mark->stamp_off > 0)
        memcpy(mark->stamp, state->stamp, FRAME_STAMP_LEN);
    mark->file = stat->version;
}

void watch_set(struct watch *watch, const struct watch_state *state,
               const struct store_stat *stat)
{
    pthread_mutex_lock(&watch->lock);
    mark_set(&watch->marks[0], state, stat);
    watch->nmarks = 1;
    watch->stale = false;
    watch->seen = stat->version;
    pthread_mutex_unlock(&watch->lock);
}

void watch_forget(struct watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch->nmarks = 0;
    watch->stale = false;
    pthread_mutex_unlock(&watch->lock);
}

static int stat_file(struct watch *watch, struct store_stat *out)
{
    return watch->object ? store_object_stat(watch->object, out)
                         : store_stat(watch->store, watch->name, out);
}

/* Try to decide without reading the header.  Returns 1 if the known state is
   current, 0 if this is undecided, or -ESTALE. */
static int check_stat(struct watch *watch, const struct store_stat *stat)
{
    int r = 0;

    pthread_mutex_lock(&watch->lock);
    if (watch->stale)
        r = -ESTALE;
    else if (watch->seen.settled &&
             store_version_compare(watch->seen, stat->version) >=
                 VERSION_SAME_CONTENT)
        r = 1;
    pthread_mutex_unlock(&watch->lock);
    return r;
}

static void close_file(const struct watch *watch, struct store_object *object)
{
    if (object != watch->object)
        store_object_close(object);
}

/* Open the current file; the caller closes it with close_file(). */
static int open_file(struct watch *watch, struct store_object **out,
                     struct store_stat *stat)
{
    int r = 0;

    *out = watch->object;
    if (!watch->object)
        r = store_open(watch->store, watch->name, out);
    if (r < 0)
        return r;
    r = store_object_stat(*out, stat);
    if (r < 0)
        close_file(watch, *out);
    return r;
}

/* Is one known state stored?  Returns 0, -ESTALE or an error. */
static int compare(const struct watch *watch, struct store_object *object,
                   const struct store_stat *stat, const struct mark *mark)
{
    uint8_t bytes[MARK_LEN];
    int r;

    if (!watch->object && store_version_compare(mark->file, stat->version) ==
                              VERSION_OTHER_OBJECT)
        return -ESTALE;
    r = store_object_read_at(object, watch->base, bytes, mark->len);
    if (r == 0 && memcmp(bytes, mark->header, mark->len) != 0)
        return -ESTALE;
    if (r == 0 && mark->stamp_off > 0)
        r = store_object_read_at(object, watch->base + mark->stamp_off, bytes,
                                 FRAME_STAMP_LEN);
    if (r == 0 && mark->stamp_off > 0 &&
        memcmp(bytes, mark->stamp, FRAME_STAMP_LEN) != 0)
        return -ESTALE;
    return r == -ENODATA ? -ESTALE : r;
}

/* Copy the known states, to be compared without the lock. */
static unsigned get_marks(struct watch *watch, struct mark marks[2])
{
    unsigned n;

    pthread_mutex_lock(&watch->lock);
    n = watch->nmarks;
    memcpy(marks, watch->marks, n * sizeof(marks[0]));
    pthread_mutex_unlock(&watch->lock);
    return n;
}

static void see(struct watch *watch, const struct store_stat *stat)
{
    pthread_mutex_lock(&watch->lock);
    watch->seen = stat->version;
    pthread_mutex_unlock(&watch->lock);
}

/*
 * Compare headers several times, because this thread may read half of an old
 * header and half of one that another thread is writing, and because a later
 * state may be known by the time of the comparison.
 */
static int check_header(struct watch *watch)
{
    struct store_object *object = NULL;
    struct store_stat stat;
    struct retry retry = { .tries_left = TEAR_TRIES - 1,
                           .patience_ns = RETRY_FOREVER };
    int r;

    do {
        struct mark marks[2];
        unsigned n = get_marks(watch, marks);

        r = open_file(watch, &object, &stat);
        if (r < 0)
            break;
        r = -ESTALE;
        for (unsigned j = 0; j < n && r == -ESTALE; j++)
            r = compare(watch, object, &stat, &marks[j]);
        close_file(watch, object);
    } while (r == -ESTALE && retry_wait(&retry));
    if (r == 0)
        see(watch, &stat);
    return r == -ENOENT || r == -EINVAL ? -ESTALE : r;
}

/* If two states are known, is the later one stored? */
static bool is_later_stored(struct watch *watch)
{
    struct store_object *object;
    struct store_stat stat;
    struct mark marks[2];
    bool stored;

    if (get_marks(watch, marks) < 2 || open_file(watch, &object, &stat) < 0)
        return false;
    stored = compare(watch, object, &stat, &marks[1]) == 0;
    close_file(watch, object);
    return stored;
}

void watch_expect(struct watch *watch, const struct watch_state *state,
                  const struct store_stat *stat)
{
    bool later = is_later_stored(watch);

    pthread_mutex_lock(&watch->lock);
    if (later)
        watch->marks[0] = watch->marks[1];
    if (watch->nmarks > 0) {
        mark_set(&watch->marks[1], state, stat);
        watch->nmarks = 2;
    }
    pthread_mutex_unlock(&watch->lock);
}

static bool is_stale(struct watch *watch)
{
    bool stale;

    pthread_mutex_lock(&watch->lock);
    stale = watch->stale;
    pthread_mutex_unlock(&watch->lock);
    return stale;
}

static bool knows_any(const struct watch *watch)
{
    return watch->nmarks > 0;
}

/* Remember if the known state was found not to be stored. */
static int note(struct watch *watch, int r)
{
    if (r == -ESTALE) {
        pthread_mutex_lock(&watch->lock);
        watch->stale = true;
        pthread_mutex_unlock(&watch->lock);
    }
    return r > 0 ? 0 : r;
}

/* Did framefs write the stamp?  Otherwise these bytes belong to the index, and
   may stay when another program overwrites a chunk. */
static bool has_own_stamp(const struct mark *mark)
{
    return mark->stamp_off > 0 &&
           memcmp(mark->stamp, FRAME_STAMP_MAGIC, FRAME_STAMP_MAGIC_LEN) == 0;
}

static uint64_t hash_mark(const struct watch *watch, const struct mark *mark)
{
    uint64_t hash = hash_bytes(mark->header, mark->len, mark->stamp_off);

    if (!watch->object)
        hash =
            hash_mix(hash, store_version_hash(mark->file, VERSION_SAME_OBJECT));
    if (mark->stamp_off > 0)
        hash = hash_bytes(mark->stamp, FRAME_STAMP_LEN, hash);
    return has_own_stamp(mark) ? hash | 1 : (hash & ~UINT64_C(1)) | 2;
}

uint64_t watch_mark(struct watch *watch)
{
    uint64_t mark;

    pthread_mutex_lock(&watch->lock);
    mark = watch->nmarks > 0 ? hash_mark(watch, &watch->marks[0]) : 0;
    pthread_mutex_unlock(&watch->lock);
    return mark;
}

int watch_verify(struct watch *watch)
{
    if (!knows_any(watch))
        return 0;
    return is_stale(watch) ? -ESTALE : note(watch, check_header(watch));
}

int watch_check(struct watch *watch)
{
    struct store_stat stat;
    int r;

    if (!knows_any(watch))
        return 0;
    r = stat_file(watch, &stat);
    if (r == 0)
        r = check_stat(watch, &stat);
    else if (r == -ENOENT || r == -EINVAL)
        r = -ESTALE;
    if (r == 0)
        r = check_header(watch);
    return note(watch, r);
}
