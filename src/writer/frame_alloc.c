/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/frame_alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "frame/frame.h"
#include "frame/frame_object.h"
#include "frame/frame_source.h"
#include "writer/frame_alloc_private.h"

/* If a file was not written to for longer than this, no program is adding to
   it. */
enum {
    QUIET_SECONDS = 1
};

/* Default time for which freed space is in quarantine. */
static const int64_t QUARANTINE_NS = CLOCK_SECOND_NS;

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
    extent_list_free(&alloc->kept);
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

/* Note the highest id in a list of files.  Names that sort behind those of all
   ids are others. */
static int note_id(void *context, const char *name)
{
    uint64_t *end = context;
    char same[FRAME_SOURCE_NAME_LEN];
    uint32_t id;

    if (sscanf(name, "%8" SCNx32, &id) != 1)
        return 0;
    frame_source_name(id, same);
    if (strcmp(name, same) == 0 && id >= *end)
        *end = (uint64_t)id + 1;
    return 0;
}

int frame_alloc_reserve_ids(struct frame_alloc *alloc)
{
    char name[FRAME_SOURCE_NAME_LEN] = "";
    uint64_t end = frame_alloc_end(alloc);
    int r;

    if (end > 0)
        frame_source_name(end - 1, name);
    r = store_list_after(alloc->store, name, note_id, &end);
    return r < 0 ? r : frame_alloc_reserve(alloc, end);
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
