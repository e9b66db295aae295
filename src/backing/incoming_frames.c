/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/incoming_frames.h"

#include <string.h>
#include <sys/stat.h>

#include "frame/frame.h"
#include "frame/frame_source.h"
#include "store/store_local.h"

void incoming_frames_init(struct incoming_frames *incoming)
{
    pthread_mutex_init(&incoming->lock, NULL);
    incoming->n = 0;
}

void incoming_frames_fini(struct incoming_frames *incoming)
{
    pthread_mutex_destroy(&incoming->lock);
}

static struct incoming_frame *find_locked(struct incoming_frames *incoming,
                                          struct store_version version)
{
    for (size_t i = 0; i < incoming->n; i++) {
        if (store_version_compare(incoming->list[i].version, version) >=
            VERSION_SAME_OBJECT)
            return &incoming->list[i];
    }
    return NULL;
}

static void remove_locked(struct incoming_frames *incoming,
                          struct incoming_frame *frame)
{
    size_t behind = incoming->n - (size_t)(frame + 1 - incoming->list);

    memmove(frame, frame + 1, behind * sizeof(*frame));
    incoming->n--;
}

void incoming_frames_add(struct incoming_frames *incoming,
                         const struct stat *dir)
{
    struct store_version version = store_version_of(dir);
    struct incoming_frame *known;

    pthread_mutex_lock(&incoming->lock);
    known = find_locked(incoming, version);
    if (known)
        remove_locked(incoming, known);
    else if (incoming->n == INCOMING_FRAMES_MAX)
        remove_locked(incoming, incoming->list);
    incoming->list[incoming->n++] = (struct incoming_frame){
        .version = version,
    };
    pthread_mutex_unlock(&incoming->lock);
}

/* Is a chunk stored completely? */
static bool is_whole(struct frame *frame, uint64_t chunk_no)
{
    struct fault fault = FAULT_NONE;
    struct frame_entry entry;
    struct frame_sizes sizes;
    struct frame_source source;
    bool whole;

    if (frame_get_entry(frame, chunk_no, &entry, &fault) < 0)
        return false;
    if (entry.special)
        return true;
    if (frame_source_sizes(frame, chunk_no, &entry, &sizes, &fault) < 0 ||
        sizes.error < 0 ||
        frame_source_open(frame, chunk_no, &entry, &source, &fault) < 0)
        return false;
    whole = source.avail >= sizes.cbytes;
    frame_source_close(frame, &source);
    return whole;
}

/* Advance `*nwhole` past the chunks that are complete.  Returns true if it
   reaches the end of the frame. */
static bool count_chunks(int dirfd, uint64_t *nwhole)
{
    struct fault fault = FAULT_NONE;
    struct store *store;
    struct frame *frame;
    uint64_t nchunks;
    int r;

    if (store_dir_open(dirfd, ".", STORE_NOATIME, &store) < 0)
        return false;
    r = frame_open(store, 0, &frame, &fault);
    store_close(store);
    if (r < 0)
        return false;
    nchunks = frame_get_info(frame)->nchunks;
    while (*nwhole < nchunks && is_whole(frame, *nwhole))
        ++*nwhole;
    frame_close(frame);
    return *nwhole >= nchunks;
}

bool incoming_frames_is_incomplete(struct incoming_frames *incoming, int dirfd)
{
    struct store_version version;
    struct incoming_frame *known;
    uint64_t nwhole = 0;
    struct stat st;
    bool whole;

    if (fstat(dirfd, &st) < 0)
        return false;
    version = store_version_of(&st);
    pthread_mutex_lock(&incoming->lock);
    known = find_locked(incoming, version);
    if (known)
        nwhole = known->nwhole;
    pthread_mutex_unlock(&incoming->lock);
    if (!known)
        return false;
    whole = count_chunks(dirfd, &nwhole);
    pthread_mutex_lock(&incoming->lock);
    known = find_locked(incoming, version);
    if (known && whole)
        remove_locked(incoming, known);
    else if (known)
        known->nwhole = nwhole;
    pthread_mutex_unlock(&incoming->lock);
    return !whole;
}
