/* SPDX-License-Identifier: BSD-3-Clause */
#include "state/kept_chunks.h"

#include <stdlib.h>

static void add(struct ranges *out, uint64_t chunk_no)
{
    if (ranges_reserve(out, 1) == 0)
        ranges_add(out, chunk_no, chunk_no + 1);
}

/* Find chunks among `n`. */
static void find_same(struct frame *was, struct frame *is,
                      const uint64_t *chunk_nos, size_t n, struct ranges *out)
{
    for (size_t i = 0; i < n; i++)
        if (frame_has_same_chunk(was, is, chunk_nos[i]))
            add(out, chunk_nos[i]);
}

/* Do clean chunks in the cache show what the newest state has?  Those that were
   made zeros, or that lie behind its end, do not. */
static bool shows_state(struct file *file)
{
    bool shows;

    pthread_mutex_lock(&file->gate.lock);
    shows = !file->states.resized && !file->states.orphaned &&
            file->states.zeros.n == 0 && file->states.applied.n == 0;
    pthread_mutex_unlock(&file->gate.lock);
    return shows;
}

void kept_chunks_find(struct file *file, struct frame *is, struct ranges *out)
{
    struct cache *cache = file->constant.context->cache;
    struct file_state *state = file_state_get(file);
    size_t max = 0;
    uint64_t *chunk_nos = NULL;

    if (shows_state(file) && frame_may_share_chunks(state->frame, is))
        max = file->chunks.nentries;
    if (max > 0)
        chunk_nos = calloc(max, sizeof(*chunk_nos));
    if (chunk_nos)
        find_same(state->frame, is, chunk_nos,
                  cache_list_clean(cache, &file->chunks, chunk_nos, max), out);
    free(chunk_nos);
    file_state_put(file, state);
}

/* The state in which the chunk is found now is the first one of its file. */
static void note_moved(void *chunk)
{
    ((struct file_chunk *)chunk)->epoch = 0;
}

void kept_chunks_move(struct file *from, struct file *to)
{
    struct cache *cache = to->constant.context->cache;
    struct file_state *state = file_state_get(to);
    struct ranges kept = { 0 };

    kept_chunks_find(from, state->frame, &kept);
    for (size_t i = 0; i < kept.n; i++) {
        const struct range *range = &kept.list[i];

        for (uint64_t no = range->first; no < range->end; no++)
            cache_move(cache, &from->chunks, &to->chunks, no, note_moved);
    }
    ranges_fini(&kept);
    file_state_put(to, state);
}
