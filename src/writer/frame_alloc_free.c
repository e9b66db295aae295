/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "frame/frame_source.h"
#include "writer/frame_alloc_private.h"

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

/* Record that the store may have an extent back, unless there is nothing to
   give back in the first block of a file.  If there is no memory for that, the
   store does not get it back. */
static void note_freed_locked(struct frame_alloc *alloc, uint64_t off,
                              uint64_t len)
{
    if (alloc->object && off + len <= ALLOC_BLOCK_MIN &&
        off + len < alloc->used_end)
        return;
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

/*
 * Delete files that nothing has referred to.  The one with the highest id
 * stays: it keeps other programs from using these ids, one of which the server
 * might otherwise delete if a request comes late.
 */
static void delete_unused(struct frame_alloc *alloc,
                          const struct extent *extent)
{
    uint64_t last = frame_alloc_end(alloc) - 1;
    char name[FRAME_SOURCE_NAME_LEN];

    for (uint64_t i = 0; i < extent->len; i++) {
        frame_source_name(extent->off + i, name);
        if (extent->off + i < last)
            store_remove_unused(alloc->store, name);
    }
}

void frame_alloc_note_named(struct frame_alloc *alloc, uint64_t end)
{
    pthread_mutex_lock(&alloc->lock);
    if (end > alloc->named_end) {
        alloc->named_end = end;
        for (size_t i = 0; i < alloc->kept.n; i++)
            note_freed_locked(alloc, alloc->kept.extents[i].off,
                              alloc->kept.extents[i].len);
        alloc->kept.n = 0;
    }
    pthread_mutex_unlock(&alloc->lock);
}

/* Must a file stay, so that its id is not used again?  If there is no memory to
   record that, it stays for good. */
static bool keeps(struct frame_alloc *alloc, uint64_t id)
{
    bool keep;

    if (!store_names_once(alloc->store))
        return false;
    pthread_mutex_lock(&alloc->lock);
    keep = id + 1 >= alloc->named_end;
    if (keep && extent_list_reserve(&alloc->kept, 1) == 0)
        extent_list_add(&alloc->kept, id, 1);
    pthread_mutex_unlock(&alloc->lock);
    return keep;
}

static void remove_files(struct frame_alloc *alloc, const struct extent *extent)
{
    char name[FRAME_SOURCE_NAME_LEN];

    for (uint64_t i = 0; i < extent->len; i++) {
        frame_source_name(extent->off + i, name);
        if (!keeps(alloc, extent->off + i))
            store_remove(alloc->store, name);
    }
}

static void reclaim_files(struct frame_alloc *alloc,
                          const struct extent *extent, bool unused)
{
    if (unused)
        delete_unused(alloc, extent);
    else
        remove_files(alloc, extent);
    if (store_names_once(alloc->store))
        return;
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

void frame_alloc_set_unused(struct frame_alloc *alloc)
{
    pthread_mutex_lock(&alloc->lock);
    alloc->unused = true;
    pthread_mutex_unlock(&alloc->lock);
}

void frame_alloc_reclaim(struct frame_alloc *alloc, bool all)
{
    struct extent_list freed;
    bool shortened;
    bool unused;

    end_quarantines(alloc, all);
    pthread_mutex_lock(&alloc->lock);
    freed = alloc->freed;
    shortened = alloc->shortened;
    unused = alloc->unused;
    alloc->freed = (struct extent_list){ 0 };
    pthread_mutex_unlock(&alloc->lock);

    extent_list_merge(&freed);
    /* Start at the end, because free space there then has no gaps behind it. */
    for (size_t i = freed.n; i > 0; i--) {
        if (alloc->object)
            reclaim_bytes(alloc, freed.extents[i - 1]);
        else
            reclaim_files(alloc, &freed.extents[i - 1], unused);
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
