/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/plot.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "frame/frame.h"
#include "frame/frame_object.h"
#include "frame/frame_source.h"
#include "writer/rest.h"

/*
 * Stores give back whole blocks only, and two dead extents may share a block.
 * Therefore a hole extends by up to PLOT_BLOCK_MAX on either side, as far as
 * the space there is free.  Holes below PLOT_BLOCK_MIN, the usual block, are
 * not punched.
 */
enum {
    PLOT_BLOCK_MAX = 64 << 10,
    PLOT_BLOCK_MIN = 4 << 10,
};

/* Limits for resting space: a part of the file, or for a small one a number of
   bytes or chunk files. */
enum {
    REST_PART = 8,
    REST_BYTES = 4 << 20,
    REST_FILES = 64,
};

/* If a file was not written to for longer than this, no program is adding to
   it. */
enum {
    QUIET_SECONDS = 1
};

/* Default time for which space rests. */
static const int64_t REST_NS = 1000000000;

static int64_t monotonic_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct plot {
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
    struct space space;
    struct space pinned;    /* ids that are taken here are pinned */
    uint64_t kept;          /* all below is in use permanently */
    uint64_t start;         /* end of the part of that which the newest state
                               uses */
    bool shortened;         /* `start` has decreased since the file was cut */
    int64_t rest_ns;        /* time for which freed space rests */
    struct rest resting;    /* these extents count as taken in `space` */
    struct plot_list freed; /* not given back to the store yet: bytes are free
                               in `space`, chunk files are not */
    uint64_t used_end; /* end of the bytes that this process has used, or that
                          no program uses any more */
};

/* A generation of the frame that is kept in the plot. */
struct tenant {
    struct generation generation;
    struct plot *plot;
    struct plot_list dead; /* set once, by plot_generation_end() */
};

int plot_new(struct store *store, struct store_object *object,
             struct plot **out)
{
    struct plot *plot = calloc(1, sizeof(*plot));

    if (!plot)
        return -ENOMEM;
    if (space_init(&plot->space) < 0 || space_init(&plot->pinned) < 0) {
        space_fini(&plot->space);
        free(plot);
        return -ENOMEM;
    }
    pthread_mutex_init(&plot->lock, NULL);
    atomic_init(&plot->nrefs, 1);
    plot->rest_ns = REST_NS;
    plot->store = store_get(store);
    plot->object = object ? store_object_get(object) : NULL;
    if (watch_new(store, object, FRAME_OBJECT_INDEX, 0, &plot->watch) < 0) {
        plot_put(plot);
        return -ENOMEM;
    }
    *out = plot;
    return 0;
}

struct plot *plot_get(struct plot *plot)
{
    atomic_fetch_add(&plot->nrefs, 1);
    return plot;
}

void plot_put(struct plot *plot)
{
    if (!plot || atomic_fetch_sub(&plot->nrefs, 1) > 1)
        return;
    watch_free(plot->watch);
    store_object_close(plot->object);
    store_close(plot->store);
    rest_fini(&plot->resting);
    plot_list_free(&plot->freed);
    space_fini(&plot->space);
    space_fini(&plot->pinned);
    pthread_mutex_destroy(&plot->lock);
    free(plot);
}

size_t plot_footprint(struct plot *plot)
{
    size_t room;

    pthread_mutex_lock(&plot->lock);
    room = plot->space.room + plot->pinned.room;
    pthread_mutex_unlock(&plot->lock);
    return sizeof(*plot) + room * sizeof(plot->space.free[0]);
}

struct store_object *plot_object(const struct plot *plot)
{
    return plot->object;
}

struct watch *plot_watch(const struct plot *plot)
{
    return plot->watch;
}

int plot_keep(struct plot *plot, uint64_t end)
{
    int r = 0;

    pthread_mutex_lock(&plot->lock);
    if (end > plot->kept) {
        r = space_fill(&plot->space, plot->kept, end - plot->kept);
        if (r == 0)
            plot->kept = end;
    }
    if (r == 0 && end > plot->start)
        plot->start = end;
    if (end > plot->used_end)
        plot->used_end = end;
    pthread_mutex_unlock(&plot->lock);
    return r;
}

uint64_t plot_kept(struct plot *plot)
{
    uint64_t kept;

    pthread_mutex_lock(&plot->lock);
    kept = plot->kept;
    pthread_mutex_unlock(&plot->lock);
    return kept;
}

static void note_end_locked(struct plot *plot)
{
    uint64_t end = space_end(&plot->space);

    if (end > plot->used_end)
        plot->used_end = end;
}

int plot_take(struct plot *plot, uint64_t off, uint64_t len)
{
    int r;

    pthread_mutex_lock(&plot->lock);
    r = space_take(&plot->space, off, len);
    note_end_locked(plot);
    pthread_mutex_unlock(&plot->lock);
    return r;
}

int plot_alloc(struct plot *plot, uint64_t from, uint64_t len, uint64_t *out)
{
    int r;

    pthread_mutex_lock(&plot->lock);
    r = space_alloc(&plot->space, from, len, out);
    note_end_locked(plot);
    pthread_mutex_unlock(&plot->lock);
    return r;
}

void plot_trust_end(struct plot *plot, const struct store_stat *stat)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    pthread_mutex_lock(&plot->lock);
    if (now.tv_sec - stat->version.mtime.tv_sec > QUIET_SECONDS &&
        stat->version.size > plot->used_end)
        plot->used_end = stat->version.size;
    pthread_mutex_unlock(&plot->lock);
}

int plot_alloc_before(struct plot *plot, uint64_t end, uint64_t len,
                      uint64_t *out)
{
    int r;

    pthread_mutex_lock(&plot->lock);
    r = space_alloc_before(&plot->space, end, len, out);
    pthread_mutex_unlock(&plot->lock);
    return r;
}

uint64_t plot_end(struct plot *plot)
{
    uint64_t end;

    pthread_mutex_lock(&plot->lock);
    end = space_end(&plot->space);
    pthread_mutex_unlock(&plot->lock);
    return end;
}

int plot_pin(struct plot *plot, uint64_t id)
{
    int r;

    pthread_mutex_lock(&plot->lock);
    r = space_fill(&plot->pinned, id, 1);
    pthread_mutex_unlock(&plot->lock);
    return r;
}

void plot_trim(struct plot *plot, uint64_t end)
{
    pthread_mutex_lock(&plot->lock);
    if (end < plot->start) {
        plot->start = end;
        plot->shortened = true;
    }
    pthread_mutex_unlock(&plot->lock);
}

/* Clip off the part of an extent that is kept by now. */
static void clip_locked(const struct plot *plot, struct space_extent *extent)
{
    uint64_t lost;

    if (extent->off >= plot->kept)
        return;
    lost = plot->kept - extent->off;
    extent->off = plot->kept;
    extent->len = lost < extent->len ? extent->len - lost : 0;
}

/*
 * Punch a hole, without the lock.  This leaves the first block alone, because
 * it holds the header and is needed anyway; so another thread can keep and
 * overwrite more of it at the same time.
 */
static void punch(const struct plot *plot, const struct space_extent *extent)
{
    uint64_t end = extent->off + extent->len;
    uint64_t off = extent->off > PLOT_BLOCK_MIN ? extent->off : PLOT_BLOCK_MIN;

    if (end > off && end - off >= PLOT_BLOCK_MIN)
        store_object_punch(plot->object, off, end - off);
}

/* Record that the store may have an extent back.  If there is no memory for
   that, the store does not get it back. */
static void note_freed_locked(struct plot *plot, uint64_t off, uint64_t len)
{
    if (plot_list_reserve(&plot->freed, 1) == 0)
        plot_list_add(&plot->freed, off, len);
}

/* Free an extent for reuse.  Bytes are free at once, and chunk files when they
   have been removed; pinned chunk files stay. */
static void free_locked(struct plot *plot, struct space_extent extent)
{
    if (!plot->object) {
        if (space_is_free(&plot->pinned, extent.off))
            note_freed_locked(plot, extent.off, extent.len);
        return;
    }
    clip_locked(plot, &extent);
    space_give(&plot->space, extent.off, extent.len);
    note_freed_locked(plot, extent.off, extent.len);
}

void plot_set_rest(struct plot *plot, int64_t rest)
{
    pthread_mutex_lock(&plot->lock);
    plot->rest_ns = rest;
    pthread_mutex_unlock(&plot->lock);
}

int64_t plot_get_rest(struct plot *plot)
{
    int64_t rest;

    pthread_mutex_lock(&plot->lock);
    rest = plot->rest_ns;
    pthread_mutex_unlock(&plot->lock);
    return rest;
}

void plot_drop(struct plot *plot, uint64_t off, uint64_t len)
{
    pthread_mutex_lock(&plot->lock);
    free_locked(plot, (struct space_extent){ off, len });
    pthread_mutex_unlock(&plot->lock);
}

/* Maximum of resting space, according to the size of the file. */
static uint64_t rest_max_locked(const struct plot *plot)
{
    uint64_t part = space_end(&plot->space) / REST_PART;
    uint64_t least = plot->object ? REST_BYTES : REST_FILES;

    return part > least ? part : least;
}

static void end_rests(struct plot *plot, bool all)
{
    int64_t now = all ? INT64_MAX : monotonic_now();
    struct space_extent extent;

    pthread_mutex_lock(&plot->lock);
    while (rest_take(&plot->resting, now, rest_max_locked(plot), &extent))
        free_locked(plot, extent);
    pthread_mutex_unlock(&plot->lock);
}

/* Punch the free parts of an extent.  Each part is taken from the free space
   meanwhile. */
static void reclaim_bytes(struct plot *plot, struct space_extent extent)
{
    uint64_t end = extent.off + extent.len;
    struct space_extent wide = extent;
    bool taken;

    while (extent.off < end) {
        pthread_mutex_lock(&plot->lock);
        taken = space_take_free(&plot->space, extent.off, end, &wide);
        if (taken) {
            extent.off = wide.off + wide.len;
            wide =
                space_widen(&plot->space, wide.off, wide.len, PLOT_BLOCK_MAX);
            if (extent.off < wide.off + wide.len)
                extent.off = wide.off + wide.len;
        }
        pthread_mutex_unlock(&plot->lock);
        if (!taken)
            return;
        punch(plot, &wide);
        pthread_mutex_lock(&plot->lock);
        clip_locked(plot, &wide);
        space_give(&plot->space, wide.off, wide.len);
        pthread_mutex_unlock(&plot->lock);
    }
}

static void reclaim_files(struct plot *plot, const struct space_extent *extent)
{
    char name[FRAME_SOURCE_NAME_LEN];

    for (uint64_t i = 0; i < extent->len; i++) {
        frame_source_name(extent->off + i, name);
        store_remove(plot->store, name);
    }
    pthread_mutex_lock(&plot->lock);
    space_give(&plot->space, extent->off, extent->len);
    pthread_mutex_unlock(&plot->lock);
}

/*
 * Cut the file behind the space in use; a thread that allocates space there
 * waits.  A file that extends beyond `used_end` stays as it is, because another
 * program may be adding to it.
 */
static void cut_file(struct plot *plot)
{
    struct store_stat stat;
    uint64_t end;

    pthread_mutex_lock(&plot->lock);
    end = space_end(&plot->space);
    if (end <= plot->kept)
        end = plot->start;
    plot->shortened = false;
    if (store_object_stat(plot->object, &stat) == 0 &&
        stat.version.size > end && stat.version.size <= plot->used_end &&
        store_object_truncate(plot->object, end) == 0)
        plot->used_end = end;
    pthread_mutex_unlock(&plot->lock);
}

/* Sort and join extents; afterwards they do not overlap or touch. */
static void merge_list(struct plot_list *list)
{
    size_t n = 0;

    plot_list_sort(list);
    for (size_t i = 0; i < list->n; i++) {
        const struct space_extent *next = &list->extents[i];
        struct space_extent *last = n > 0 ? &list->extents[n - 1] : NULL;

        if (last && next->off <= last->off + last->len) {
            if (next->off + next->len > last->off + last->len)
                last->len = next->off + next->len - last->off;
        } else {
            list->extents[n++] = *next;
        }
    }
    list->n = n;
}

void plot_reclaim(struct plot *plot, bool all)
{
    struct plot_list freed;
    bool shortened;

    end_rests(plot, all);
    pthread_mutex_lock(&plot->lock);
    freed = plot->freed;
    shortened = plot->shortened;
    plot->freed = (struct plot_list){ 0 };
    pthread_mutex_unlock(&plot->lock);

    merge_list(&freed);
    /* Start at the end, because free space there then has no gaps behind it. */
    for (size_t i = freed.n; i > 0; i--) {
        if (plot->object)
            reclaim_bytes(plot, freed.extents[i - 1]);
        else
            reclaim_files(plot, &freed.extents[i - 1]);
    }
    if (plot->object && (freed.n > 0 || shortened))
        cut_file(plot);
    plot_list_free(&freed);
}

bool plot_has_freed(struct plot *plot, bool all)
{
    bool has;

    pthread_mutex_lock(&plot->lock);
    has = plot->freed.n > 0 || plot->shortened ||
          rest_is_due(&plot->resting, all ? INT64_MAX : monotonic_now(),
                      rest_max_locked(plot));
    pthread_mutex_unlock(&plot->lock);
    return has;
}

uint64_t plot_resting(struct plot *plot)
{
    uint64_t len;

    pthread_mutex_lock(&plot->lock);
    len = plot->resting.len;
    pthread_mutex_unlock(&plot->lock);
    return len;
}

int plot_list_reserve(struct plot_list *list, size_t more)
{
    size_t room =
        2 * list->room > list->n + more ? 2 * list->room : list->n + more;
    struct space_extent *extents;

    if (list->room - list->n >= more)
        return 0;
    extents = realloc(list->extents, room * sizeof(extents[0]));
    if (!extents)
        return -ENOMEM;
    list->extents = extents;
    list->room = room;
    return 0;
}

void plot_list_add(struct plot_list *list, uint64_t off, uint64_t len)
{
    list->extents[list->n++] = (struct space_extent){ off, len };
}

static int compare_extents(const void *a, const void *b)
{
    const struct space_extent *x = a;
    const struct space_extent *y = b;

    return (x->off > y->off) - (x->off < y->off);
}

void plot_list_sort(struct plot_list *list)
{
    if (list->n > 0)
        qsort(list->extents, list->n, sizeof(list->extents[0]),
              compare_extents);
}

bool plot_list_has(const struct plot_list *list, uint64_t off)
{
    const struct space_extent key = { .off = off };

    return list->n > 0 &&
           bsearch(&key, list->extents, list->n, sizeof(key), compare_extents);
}

void plot_list_free(struct plot_list *list)
{
    free(list->extents);
    *list = (struct plot_list){ 0 };
}

/* If there is no memory to record an extent, it stays unused until the frame is
   opened again. */
void plot_rest(struct plot *plot, uint64_t off, uint64_t len)
{
    const struct space_extent extent = { off, len };

    pthread_mutex_lock(&plot->lock);
    rest_add(&plot->resting, &extent, monotonic_now() + plot->rest_ns);
    pthread_mutex_unlock(&plot->lock);
}

static void rest_dead(struct plot *plot, const struct plot_list *dead)
{
    for (size_t i = 0; i < dead->n; i++)
        plot_rest(plot, dead->extents[i].off, dead->extents[i].len);
}

static void release(struct generation *generation)
{
    struct tenant *tenant = (struct tenant *)generation;

    rest_dead(tenant->plot, &tenant->dead);
    plot_list_free(&tenant->dead);
    plot_put(tenant->plot);
    free(tenant);
}

int plot_generation_new(struct plot *plot, struct generation **out)
{
    struct tenant *tenant = calloc(1, sizeof(*tenant));

    if (!tenant)
        return -ENOMEM;
    tenant->plot = plot_get(plot);
    tenant->generation = (struct generation){
        .watch = plot->watch,
        .overwrites = &plot->overwrites,
        .noverwrites = atomic_load(&plot->overwrites),
        .release = release,
    };
    atomic_init(&tenant->generation.nrefs, 1);
    *out = &tenant->generation;
    return 0;
}

struct plot *plot_of_generation(const struct generation *generation)
{
    return ((const struct tenant *)generation)->plot;
}

void plot_generation_overwrite(struct generation *generation)
{
    struct plot *plot = plot_of_generation(generation);

    generation->noverwrites = atomic_fetch_add(&plot->overwrites, 1) + 1;
}

void plot_generation_end(struct generation *generation, struct plot_list *dead,
                         struct generation *next)
{
    ((struct tenant *)generation)->dead = *dead;
    *dead = (struct plot_list){ 0 };
    generation->next = next ? generation_get(next) : NULL;
}
