/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/plot.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "frame/frame_source.h"

/*
 * Stores give back whole blocks only, which two dead places may share: a hole
 * is made so much wider on either side, if what lies there is free, and none
 * that is less than the usual block.
 */
enum {
    PLOT_BLOCK_MAX = 64 << 10,
    PLOT_BLOCK_MIN = 4 << 10,
};

struct plot {
    /* Constant. */
    struct store *store;
    struct store_object *object;

    atomic_uint nrefs;
    atomic_uint overwrites; /* how often the start was overwritten */

    /* Guards what follows.  A leaf, but that the file is cut while it is held:
       who gets a place behind the end must find it uncut. */
    pthread_mutex_t lock;
    struct space space;
    struct space pinned; /* taken of it is what plot_pin() says */
    uint64_t kept;       /* all below is in use for good */
    bool abandoned;      /* see plot_abandon() */
};

struct era {
    atomic_uint nrefs;
    struct plot *plot;
    unsigned overwrites; /* of the plot when it began */

    /* Set once, by era_end(). */
    struct plot_list dead;
    struct era *next;
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
    plot->store = store_get(store);
    plot->object = object ? store_object_get(object) : NULL;
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
    store_object_close(plot->object);
    store_close(plot->store);
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

int plot_keep(struct plot *plot, uint64_t end)
{
    int r = 0;

    pthread_mutex_lock(&plot->lock);
    if (end > plot->kept) {
        r = space_fill(&plot->space, plot->kept, end - plot->kept);
        if (r == 0)
            plot->kept = end;
    }
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

int plot_take(struct plot *plot, uint64_t off, uint64_t len)
{
    int r;

    pthread_mutex_lock(&plot->lock);
    r = space_take(&plot->space, off, len);
    pthread_mutex_unlock(&plot->lock);
    return r;
}

int plot_alloc(struct plot *plot, uint64_t from, uint64_t len, uint64_t *out)
{
    int r;

    pthread_mutex_lock(&plot->lock);
    r = space_alloc(&plot->space, from, len, out);
    pthread_mutex_unlock(&plot->lock);
    return r;
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

/* Cut off what is kept by now. */
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
 * Make a hole, without the lock.  The first block has the header and is needed
 * anyway; so more of it can be kept, and overwritten, at the same time.
 */
static void punch(const struct plot *plot, const struct space_extent *extent)
{
    uint64_t end = extent->off + extent->len;
    uint64_t off = extent->off > PLOT_BLOCK_MIN ? extent->off : PLOT_BLOCK_MIN;

    if (end > off && end - off >= PLOT_BLOCK_MIN)
        store_object_punch(plot->object, off, end - off);
}

static void give_bytes(struct plot *plot, uint64_t off, uint64_t len)
{
    struct space_extent wide = { off, len };

    pthread_mutex_lock(&plot->lock);
    clip_locked(plot, &wide);
    wide = space_widen(&plot->space, wide.off, wide.len, PLOT_BLOCK_MAX);
    pthread_mutex_unlock(&plot->lock);

    punch(plot, &wide);

    pthread_mutex_lock(&plot->lock);
    clip_locked(plot, &wide);
    space_give(&plot->space, wide.off, wide.len);
    if (space_end(&plot->space) <= wide.off)
        store_object_truncate(plot->object, space_end(&plot->space));
    pthread_mutex_unlock(&plot->lock);
}

static bool is_pinned(struct plot *plot, uint64_t id)
{
    bool pinned;

    pthread_mutex_lock(&plot->lock);
    pinned = !space_is_free(&plot->pinned, id);
    pthread_mutex_unlock(&plot->lock);
    return pinned;
}

static void give_file(struct plot *plot, uint64_t id)
{
    char name[FRAME_SOURCE_NAME_LEN];

    if (is_pinned(plot, id))
        return;
    frame_source_name(id, name);
    store_remove(plot->store, name);
    pthread_mutex_lock(&plot->lock);
    space_give(&plot->space, id, 1);
    pthread_mutex_unlock(&plot->lock);
}

void plot_abandon(struct plot *plot)
{
    pthread_mutex_lock(&plot->lock);
    plot->abandoned = true;
    pthread_mutex_unlock(&plot->lock);
}

static bool is_abandoned(struct plot *plot)
{
    bool abandoned;

    pthread_mutex_lock(&plot->lock);
    abandoned = plot->abandoned;
    pthread_mutex_unlock(&plot->lock);
    return abandoned;
}

void plot_give(struct plot *plot, uint64_t off, uint64_t len)
{
    if (is_abandoned(plot))
        return;
    if (plot->object)
        give_bytes(plot, off, len);
    for (uint64_t i = 0; i < len && !plot->object; i++)
        give_file(plot, off + i);
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

int era_new(struct plot *plot, struct era **out)
{
    struct era *era = calloc(1, sizeof(*era));

    if (!era)
        return -ENOMEM;
    atomic_init(&era->nrefs, 1);
    era->plot = plot_get(plot);
    era->overwrites = atomic_load(&plot->overwrites);
    *out = era;
    return 0;
}

struct era *era_get(struct era *era)
{
    atomic_fetch_add(&era->nrefs, 1);
    return era;
}

struct plot *era_plot(const struct era *era)
{
    return era->plot;
}

/*
 * Give back what is dead, neighbours at once.  From the end, as what is free
 * then has no more gaps behind the one that is given.
 */
static void give_dead(struct plot *plot, struct plot_list *dead)
{
    const struct space_extent *extents = dead->extents;

    plot_list_sort(dead);
    for (size_t n = dead->n; n > 0;) {
        uint64_t end = extents[n - 1].off + extents[n - 1].len;

        for (n--; n > 0; n--)
            if (extents[n - 1].off + extents[n - 1].len != extents[n].off)
                break;
        plot_give(plot, extents[n].off, end - extents[n].off);
    }
}

void era_put(struct era *era)
{
    while (era && atomic_fetch_sub(&era->nrefs, 1) == 1) {
        struct era *next = era->next;

        give_dead(era->plot, &era->dead);
        plot_list_free(&era->dead);
        plot_put(era->plot);
        free(era);
        era = next;
    }
}

void era_overwrite(struct era *era)
{
    era->overwrites = atomic_fetch_add(&era->plot->overwrites, 1) + 1;
}

bool era_is_overwritten(const struct era *era)
{
    return atomic_load(&era->plot->overwrites) != era->overwrites;
}

void era_end(struct era *era, struct plot_list *dead, struct era *next)
{
    era->dead = *dead;
    *dead = (struct plot_list){ 0 };
    era->next = next ? era_get(next) : NULL;
}
