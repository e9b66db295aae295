/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/frame_alloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "frame/frame.h"
#include "frame/frame_object.h"
#include "frame/frame_source.h"
#include "writer/quarantine.h"

/*
 * Stores give back whole blocks only, and two freed extents may share a block.
 * Therefore a hole extends by up to ALLOC_BLOCK_MAX on either side, as far as
 * the space there is free.  Holes below ALLOC_BLOCK_MIN, the usual block, are
 * not punched.
 */
enum {
    ALLOC_BLOCK_MAX = 64 << 10,
    ALLOC_BLOCK_MIN = 4 << 10,
};

/* Limits for space in quarantine: a part of the file, or for a small one a
   number of bytes or chunk files. */
enum {
    QUARANTINE_PART = 8,
    QUARANTINE_BYTES = 4 << 20,
    QUARANTINE_FILES = 64,
};

/* If a file was not written to for longer than this, no program is adding to
   it. */
enum {
    QUIET_SECONDS = 1
};

/* Default time for which freed space is in quarantine. */
static const int64_t QUARANTINE_NS = 1000000000;

struct frame_alloc {
    /* Constant. */
    struct store *store;
    struct store_object *object;
    struct watch *watch;

    atomic_uint nrefs;
    atomic_uint overwrites; /* how often the start was overwritten */

    /*
     * Guards the fields below.  A leaf, except that the file is cut while it is
     * held, because a thread that allocates space behind the end must find the
     * file uncut.
     */
    pthread_mutex_t lock;
    struct extent_map map;
    struct extent_map pinned; /* ids that are allocated here are pinned */
    uint64_t reserved;        /* all below is in use permanently */
    uint64_t start;           /* end of the part of that which the newest state
                                 uses */
    bool shortened;           /* `start` has decreased since the file was cut */
    int64_t quarantine_ns;    /* time for which freed space is in quarantine */
    struct quarantine
        quarantine;           /* these extents count as allocated in `map` */
    struct extent_list freed; /* not given back to the store yet: bytes are free
                                 in `map`, chunk files are not */
    uint64_t used_end; /* end of the bytes that this process has used, or that
                          no program uses any more */
};

/* A generation of the frame, and the extents that it frees when it ends. */
struct alloc_generation {
    struct generation generation;
    struct frame_alloc *alloc;
    struct extent_list freed; /* set once, by frame_alloc_generation_end() */
};

int frame_alloc_new(struct store *store, struct store_object *object,
                    struct frame_alloc **out)
{
    struct frame_alloc *alloc = calloc(1, sizeof(*alloc));

    if (!alloc)
        return -ENOMEM;
    if (extent_map_init(&alloc->map) < 0 ||
        extent_map_init(&alloc->pinned) < 0) {
        extent_map_fini(&alloc->map);
        free(alloc);
        return -ENOMEM;
    }
    pthread_mutex_init(&alloc->lock, NULL);
    atomic_init(&alloc->nrefs, 1);
    alloc->quarantine_ns = QUARANTINE_NS;
    alloc->store = store_get(store);
    alloc->object = object ? store_object_get(object) : NULL;
    if (watch_new(store, object, FRAME_OBJECT_INDEX, 0, &alloc->watch) < 0) {
        frame_alloc_put(alloc);
        return -ENOMEM;
    }
    *out = alloc;
    return 0;
}

struct frame_alloc *frame_alloc_get(struct frame_alloc *alloc)
{
    atomic_fetch_add(&alloc->nrefs, 1);
    return alloc;
}

void frame_alloc_put(struct frame_alloc *alloc)
{
    if (!alloc || atomic_fetch_sub(&alloc->nrefs, 1) > 1)
        return;
    watch_free(alloc->watch);
    store_object_close(alloc->object);
    store_close(alloc->store);
    quarantine_fini(&alloc->quarantine);
    extent_list_free(&alloc->freed);
    extent_map_fini(&alloc->map);
    extent_map_fini(&alloc->pinned);
    pthread_mutex_destroy(&alloc->lock);
    free(alloc);
}

size_t frame_alloc_footprint(struct frame_alloc *alloc)
{
    size_t capacity;

    pthread_mutex_lock(&alloc->lock);
    capacity = alloc->map.capacity + alloc->pinned.capacity;
    pthread_mutex_unlock(&alloc->lock);
    return sizeof(*alloc) + capacity * sizeof(alloc->map.free[0]);
}

struct store_object *frame_alloc_object(const struct frame_alloc *alloc)
{
    return alloc->object;
}

struct watch *frame_alloc_watch(const struct frame_alloc *alloc)
{
    return alloc->watch;
}

int frame_alloc_reserve(struct frame_alloc *alloc, uint64_t end)
{
    int r = 0;

    pthread_mutex_lock(&alloc->lock);
    if (end > alloc->reserved) {
        r = extent_map_alloc_all(&alloc->map, alloc->reserved,
                                 end - alloc->reserved);
        if (r == 0)
            alloc->reserved = end;
    }
    if (r == 0 && end > alloc->start)
        alloc->start = end;
    if (end > alloc->used_end)
        alloc->used_end = end;
    pthread_mutex_unlock(&alloc->lock);
    return r;
}

uint64_t frame_alloc_reserved(struct frame_alloc *alloc)
{
    uint64_t reserved;

    pthread_mutex_lock(&alloc->lock);
    reserved = alloc->reserved;
    pthread_mutex_unlock(&alloc->lock);
    return reserved;
}

static void note_end_locked(struct frame_alloc *alloc)
{
    uint64_t end = extent_map_end(&alloc->map);

    if (end > alloc->used_end)
        alloc->used_end = end;
}

int frame_alloc_take(struct frame_alloc *alloc, uint64_t off, uint64_t len)
{
    int r;

    pthread_mutex_lock(&alloc->lock);
    r = extent_map_alloc_at(&alloc->map, off, len);
    note_end_locked(alloc);
    pthread_mutex_unlock(&alloc->lock);
    return r;
}

int frame_alloc_alloc(struct frame_alloc *alloc, uint64_t from, uint64_t len,
                      uint64_t *out)
{
    int r;

    pthread_mutex_lock(&alloc->lock);
    r = extent_map_alloc(&alloc->map, from, len, out);
    note_end_locked(alloc);
    pthread_mutex_unlock(&alloc->lock);
    return r;
}

void frame_alloc_trust_end(struct frame_alloc *alloc,
                           const struct store_stat *stat)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    pthread_mutex_lock(&alloc->lock);
    if (now.tv_sec - stat->version.mtime.tv_sec > QUIET_SECONDS &&
        stat->version.size > alloc->used_end)
        alloc->used_end = stat->version.size;
    pthread_mutex_unlock(&alloc->lock);
}

int frame_alloc_alloc_before(struct frame_alloc *alloc, uint64_t end,
                             uint64_t len, uint64_t *out)
{
    int r;

    pthread_mutex_lock(&alloc->lock);
    r = extent_map_alloc_before(&alloc->map, end, len, out);
    pthread_mutex_unlock(&alloc->lock);
    return r;
}

uint64_t frame_alloc_end(struct frame_alloc *alloc)
{
    uint64_t end;

    pthread_mutex_lock(&alloc->lock);
    end = extent_map_end(&alloc->map);
    pthread_mutex_unlock(&alloc->lock);
    return end;
}

int frame_alloc_pin(struct frame_alloc *alloc, uint64_t id)
{
    int r;

    pthread_mutex_lock(&alloc->lock);
    r = extent_map_alloc_all(&alloc->pinned, id, 1);
    pthread_mutex_unlock(&alloc->lock);
    return r;
}

void frame_alloc_trim(struct frame_alloc *alloc, uint64_t end)
{
    pthread_mutex_lock(&alloc->lock);
    if (end < alloc->start) {
        alloc->start = end;
        alloc->shortened = true;
    }
    pthread_mutex_unlock(&alloc->lock);
}

/* Clip off the part of an extent that is reserved by now. */
static void clip_locked(const struct frame_alloc *alloc, struct extent *extent)
{
    uint64_t lost;

    if (extent->off >= alloc->reserved)
        return;
    lost = alloc->reserved - extent->off;
    extent->off = alloc->reserved;
    extent->len = lost < extent->len ? extent->len - lost : 0;
}

/*
 * Punch a hole, without the lock.  This leaves the first block alone, because
 * it holds the header and is needed anyway; so another thread can keep and
 * overwrite more of it at the same time.
 */
static void punch(const struct frame_alloc *alloc, const struct extent *extent)
{
    uint64_t end = extent->off + extent->len;
    uint64_t off =
        extent->off > ALLOC_BLOCK_MIN ? extent->off : ALLOC_BLOCK_MIN;

    if (end > off && end - off >= ALLOC_BLOCK_MIN)
        store_object_punch(alloc->object, off, end - off);
}

/* Record that the store may have an extent back.  If there is no memory for
   that, the store does not get it back. */
static void note_freed_locked(struct frame_alloc *alloc, uint64_t off,
                              uint64_t len)
{
    if (extent_list_reserve(&alloc->freed, 1) == 0)
        extent_list_add(&alloc->freed, off, len);
}

/* Free an extent for reuse.  Bytes are free at once, and chunk files when they
   have been removed; pinned chunk files stay. */
static void free_locked(struct frame_alloc *alloc, struct extent extent)
{
    if (!alloc->object) {
        if (extent_map_is_free(&alloc->pinned, extent.off))
            note_freed_locked(alloc, extent.off, extent.len);
        return;
    }
    clip_locked(alloc, &extent);
    extent_map_free(&alloc->map, extent.off, extent.len);
    note_freed_locked(alloc, extent.off, extent.len);
}

void frame_alloc_set_quarantine(struct frame_alloc *alloc, int64_t ns)
{
    pthread_mutex_lock(&alloc->lock);
    alloc->quarantine_ns = ns;
    pthread_mutex_unlock(&alloc->lock);
}

int64_t frame_alloc_get_quarantine(struct frame_alloc *alloc)
{
    int64_t ns;

    pthread_mutex_lock(&alloc->lock);
    ns = alloc->quarantine_ns;
    pthread_mutex_unlock(&alloc->lock);
    return ns;
}

void frame_alloc_free(struct frame_alloc *alloc, uint64_t off, uint64_t len)
{
    pthread_mutex_lock(&alloc->lock);
    free_locked(alloc, (struct extent){ off, len });
    pthread_mutex_unlock(&alloc->lock);
}

/* Maximum of space in quarantine, according to the size of the file. */
static uint64_t quarantine_max_locked(const struct frame_alloc *alloc)
{
    uint64_t part = extent_map_end(&alloc->map) / QUARANTINE_PART;
    uint64_t least = alloc->object ? QUARANTINE_BYTES : QUARANTINE_FILES;

    return part > least ? part : least;
}

static void end_quarantines(struct frame_alloc *alloc, bool all)
{
    int64_t now = all ? INT64_MAX : clock_monotonic_ns();
    struct extent extent;

    pthread_mutex_lock(&alloc->lock);
    while (quarantine_take(&alloc->quarantine, now,
                           quarantine_max_locked(alloc), &extent))
        free_locked(alloc, extent);
    pthread_mutex_unlock(&alloc->lock);
}

/* Punch the free parts of an extent.  Each part counts as allocated
   meanwhile. */
static void reclaim_bytes(struct frame_alloc *alloc, struct extent extent)
{
    uint64_t end = extent.off + extent.len;
    struct extent wide = extent;
    bool taken;

    while (extent.off < end) {
        pthread_mutex_lock(&alloc->lock);
        taken = extent_map_alloc_next(&alloc->map, extent.off, end, &wide);
        if (taken) {
            extent.off = wide.off + wide.len;
            wide = extent_map_widen(&alloc->map, wide.off, wide.len,
                                    ALLOC_BLOCK_MAX);
            if (extent.off < wide.off + wide.len)
                extent.off = wide.off + wide.len;
        }
        pthread_mutex_unlock(&alloc->lock);
        if (!taken)
            return;
        punch(alloc, &wide);
        pthread_mutex_lock(&alloc->lock);
        clip_locked(alloc, &wide);
        extent_map_free(&alloc->map, wide.off, wide.len);
        pthread_mutex_unlock(&alloc->lock);
    }
}

static void reclaim_files(struct frame_alloc *alloc,
                          const struct extent *extent)
{
    char name[FRAME_SOURCE_NAME_LEN];

    for (uint64_t i = 0; i < extent->len; i++) {
        frame_source_name(extent->off + i, name);
        store_remove(alloc->store, name);
    }
    pthread_mutex_lock(&alloc->lock);
    extent_map_free(&alloc->map, extent->off, extent->len);
    pthread_mutex_unlock(&alloc->lock);
}

/*
 * Cut the file behind the space in use; a thread that allocates space there
 * waits.  A file that extends beyond `used_end` stays as it is, because another
 * program may be adding to it.
 */
static void cut_file(struct frame_alloc *alloc)
{
    struct store_stat stat;
    uint64_t end;

    pthread_mutex_lock(&alloc->lock);
    end = extent_map_end(&alloc->map);
    if (end <= alloc->reserved)
        end = alloc->start;
    alloc->shortened = false;
    if (store_object_stat(alloc->object, &stat) == 0 &&
        stat.version.size > end && stat.version.size <= alloc->used_end &&
        store_object_truncate(alloc->object, end) == 0)
        alloc->used_end = end;
    pthread_mutex_unlock(&alloc->lock);
}

/* Sort and join extents; afterwards they do not overlap or touch. */
static void merge_list(struct extent_list *list)
{
    size_t n = 0;

    extent_list_sort(list);
    for (size_t i = 0; i < list->n; i++) {
        const struct extent *next = &list->extents[i];
        struct extent *last = n > 0 ? &list->extents[n - 1] : NULL;

        if (last && next->off <= last->off + last->len) {
            if (next->off + next->len > last->off + last->len)
                last->len = next->off + next->len - last->off;
        } else {
            list->extents[n++] = *next;
        }
    }
    list->n = n;
}

void frame_alloc_reclaim(struct frame_alloc *alloc, bool all)
{
    struct extent_list freed;
    bool shortened;

    end_quarantines(alloc, all);
    pthread_mutex_lock(&alloc->lock);
    freed = alloc->freed;
    shortened = alloc->shortened;
    alloc->freed = (struct extent_list){ 0 };
    pthread_mutex_unlock(&alloc->lock);

    merge_list(&freed);
    /* Start at the end, because free space there then has no gaps behind it. */
    for (size_t i = freed.n; i > 0; i--) {
        if (alloc->object)
            reclaim_bytes(alloc, freed.extents[i - 1]);
        else
            reclaim_files(alloc, &freed.extents[i - 1]);
    }
    if (alloc->object && (freed.n > 0 || shortened))
        cut_file(alloc);
    extent_list_free(&freed);
}

bool frame_alloc_has_freed(struct frame_alloc *alloc, bool all)
{
    bool has;

    pthread_mutex_lock(&alloc->lock);
    has = alloc->freed.n > 0 || alloc->shortened ||
          quarantine_is_due(&alloc->quarantine,
                            all ? INT64_MAX : clock_monotonic_ns(),
                            quarantine_max_locked(alloc));
    pthread_mutex_unlock(&alloc->lock);
    return has;
}

uint64_t frame_alloc_quarantined(struct frame_alloc *alloc)
{
    uint64_t len;

    pthread_mutex_lock(&alloc->lock);
    len = alloc->quarantine.len;
    pthread_mutex_unlock(&alloc->lock);
    return len;
}

int extent_list_reserve(struct extent_list *list, size_t more)
{
    size_t capacity = 2 * list->capacity > list->n + more ? 2 * list->capacity
                                                          : list->n + more;
    struct extent *extents;

    if (list->capacity - list->n >= more)
        return 0;
    extents = realloc(list->extents, capacity * sizeof(extents[0]));
    if (!extents)
        return -ENOMEM;
    list->extents = extents;
    list->capacity = capacity;
    return 0;
}

void extent_list_add(struct extent_list *list, uint64_t off, uint64_t len)
{
    list->extents[list->n++] = (struct extent){ off, len };
}

static int compare_extents(const void *a, const void *b)
{
    const struct extent *x = a;
    const struct extent *y = b;

    return (x->off > y->off) - (x->off < y->off);
}

void extent_list_sort(struct extent_list *list)
{
    if (list->n > 0)
        qsort(list->extents, list->n, sizeof(list->extents[0]),
              compare_extents);
}

bool extent_list_has(const struct extent_list *list, uint64_t off)
{
    const struct extent key = { .off = off };

    return list->n > 0 &&
           bsearch(&key, list->extents, list->n, sizeof(key), compare_extents);
}

void extent_list_free(struct extent_list *list)
{
    free(list->extents);
    *list = (struct extent_list){ 0 };
}

/* If there is no memory to record an extent, it stays unused until the frame is
   opened again. */
void frame_alloc_quarantine(struct frame_alloc *alloc, uint64_t off,
                            uint64_t len)
{
    const struct extent extent = { off, len };

    pthread_mutex_lock(&alloc->lock);
    quarantine_add(&alloc->quarantine, &extent,
                   clock_monotonic_ns() + alloc->quarantine_ns);
    pthread_mutex_unlock(&alloc->lock);
}

static void quarantine_all(struct frame_alloc *alloc,
                           const struct extent_list *freed)
{
    for (size_t i = 0; i < freed->n; i++)
        frame_alloc_quarantine(alloc, freed->extents[i].off,
                               freed->extents[i].len);
}

static void release(struct generation *generation)
{
    struct alloc_generation *owner = (struct alloc_generation *)generation;

    quarantine_all(owner->alloc, &owner->freed);
    extent_list_free(&owner->freed);
    frame_alloc_put(owner->alloc);
    free(owner);
}

int frame_alloc_generation_new(struct frame_alloc *alloc,
                               struct generation **out)
{
    struct alloc_generation *owner = calloc(1, sizeof(*owner));

    if (!owner)
        return -ENOMEM;
    owner->alloc = frame_alloc_get(alloc);
    owner->generation = (struct generation){
        .watch = alloc->watch,
        .overwrites = &alloc->overwrites,
        .noverwrites = atomic_load(&alloc->overwrites),
        .release = release,
    };
    atomic_init(&owner->generation.nrefs, 1);
    *out = &owner->generation;
    return 0;
}

struct frame_alloc *frame_alloc_of_generation(
    const struct generation *generation)
{
    return ((const struct alloc_generation *)generation)->alloc;
}

void frame_alloc_generation_overwrite(struct generation *generation)
{
    struct frame_alloc *alloc = frame_alloc_of_generation(generation);

    generation->noverwrites = atomic_fetch_add(&alloc->overwrites, 1) + 1;
}

void frame_alloc_generation_end(struct generation *generation,
                                struct extent_list *freed,
                                struct generation *next)
{
    ((struct alloc_generation *)generation)->freed = *freed;
    *freed = (struct extent_list){ 0 };
    generation->next = next ? generation_get(next) : NULL;
}
