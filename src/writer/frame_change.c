/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/frame_change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "frame/frame_source.h"
#include "writer/frame_change_private.h"

const struct frame_info *frame_change_get_info(
    const struct frame_change *change)
{
    return &change->info;
}

bool frame_change_is_variable(const struct frame_change *change)
{
    return change->variable;
}

bool frame_change_is_unsynced(const struct frame_change *change)
{
    return change->unsynced_lost;
}

int frame_change_check_count(const struct frame_change *change, uint64_t n)
{
    uint64_t max =
        change->variable ? FRAME_CHANGE_VARIABLE_MAX : FRAME_CHANGE_CHUNKS_MAX;

    return n > max ? -EFBIG : 0;
}

size_t frame_change_footprint(const struct frame_change *change)
{
    return chunk_table_footprint(change->chunks) +
           frame_alloc_footprint(change->alloc) +
           (change->dying.room + change->fresh.room) *
               sizeof(change->dying.extents[0]);
}

void frame_change_watch(struct frame_change *change,
                        int (*progress)(void *context, uint64_t done,
                                        uint64_t total),
                        void *context)
{
    change->progress = progress;
    change->watcher = context;
}

uint32_t frame_change_size_of(const struct frame_change *change,
                              uint64_t chunk_no)
{
    const struct frame_info *info = &change->info;
    struct table_chunk chunk;
    uint64_t rest;

    if (change->variable) {
        chunk_table_get(change->chunks, chunk_no, &chunk);
        return chunk.nbytes;
    }
    rest = info->nbytes - chunk_no * info->chunksize;
    return rest < info->chunksize ? (uint32_t)rest : info->chunksize;
}

/* Is the last chunk shorter than all others must be? */
static bool ends_short(const struct frame_change *change)
{
    const struct frame_info *info = &change->info;

    return !change->variable && info->nchunks > 0 &&
           info->nbytes % info->chunksize != 0;
}

/* Make the table's record of a chunk that was written. */
static struct table_chunk make_chunk(const struct frame_change *change,
                                     const struct frame_written *written)
{
    struct table_chunk chunk = { .entry = written->entry };

    if (change->variable)
        chunk.nbytes = written->nbytes;
    if (written->entry >= 0)
        chunk.cbytes = change->info.sparse ? 1 : written->cbytes;
    return chunk;
}

/* Record that a chunk was put; the caller has reserved memory. */
static void note_fresh(struct frame_change *change,
                       const struct frame_written *written,
                       const struct table_chunk *chunk)
{
    change->fresh_cbytes += written->cbytes;
    if (chunk->entry >= 0)
        extent_list_add(&change->fresh, frame_change_off(change, chunk),
                        chunk->cbytes);
}

static void bury(struct frame_change *change, const struct table_chunk *chunk)
{
    if (chunk->entry >= 0)
        extent_list_add(&change->dying, frame_change_off(change, chunk),
                        chunk->cbytes);
}

/* Record that chunks are dead after the next commit: all of them or none. */
static int bury_range(struct frame_change *change, uint64_t first, uint64_t n)
{
    size_t ndying = change->dying.n;
    struct table_chunk chunk;
    uint64_t nstored;
    int r = chunk_table_count_stored(change->chunks, first, n, &nstored);

    if (r == 0)
        r = extent_list_reserve(&change->dying, (size_t)nstored);
    for (uint64_t i = first; nstored > 0 && r >= 0; nstored--, i++) {
        r = chunk_table_next_stored(change->chunks, &i, &chunk);
        if (r > 0)
            bury(change, &chunk);
    }
    if (r < 0)
        change->dying.n = ndying;
    return r < 0 ? r : 0;
}

int frame_change_replace(struct frame_change *change, uint64_t first,
                         uint64_t nremoved, const struct table_chunk *chunk,
                         uint64_t nadded)
{
    size_t ndying = change->dying.n;
    int r = bury_range(change, first, nremoved);

    if (r == 0)
        r = chunk_table_splice(change->chunks, first, nremoved, chunk, nadded);
    if (r < 0)
        change->dying.n = ndying;
    return r;
}

/* Is a written chunk lost, because the frame was rewritten to another file, or
   because the trailer of an empty frame has overwritten it? */
static bool is_lost(const struct frame_change *change,
                    const struct frame_written *written)
{
    if (written->epoch != change->epoch)
        return true;
    return written->entry >= 0 && !change->info.sparse &&
           change->info.header_len + (uint64_t)written->entry <
               frame_alloc_reserved(change->alloc);
}

int frame_change_put(struct frame_change *change, uint64_t chunk_no,
                     const struct frame_written *written)
{
    struct frame_info *info = &change->info;
    struct table_chunk chunk;
    struct table_chunk old;
    uint64_t old_nbytes;
    int r;

    if (chunk_no >= info->nchunks)
        return -ERANGE;
    if (is_lost(change, written))
        return -ESTALE;
    if (!change->variable && written->nbytes != info->chunksize &&
        (chunk_no < info->nchunks - 1 || written->nbytes > info->chunksize))
        return -EINVAL;
    if (extent_list_reserve(&change->dying, 1) < 0 ||
        extent_list_reserve(&change->fresh, 1) < 0)
        return -ENOMEM;
    old_nbytes = frame_change_size_of(change, chunk_no);
    chunk = make_chunk(change, written);
    r = chunk_table_get(change->chunks, chunk_no, &old);
    if (r == 0)
        r = chunk_table_set(change->chunks, chunk_no, &chunk);
    if (r < 0)
        return r;
    bury(change, &old);
    note_fresh(change, written, &chunk);
    info->nbytes += written->nbytes - old_nbytes;
    return 0;
}

static bool may_insert(const struct frame_change *change, uint64_t chunk_no,
                       uint32_t nbytes)
{
    const struct frame_info *info = &change->info;

    if (change->variable || info->chunksize == 0)
        return true;
    if (chunk_no < info->nchunks)
        return nbytes == info->chunksize;
    return nbytes <= info->chunksize && !ends_short(change);
}

int frame_change_insert(struct frame_change *change, uint64_t chunk_no,
                        const struct frame_written *written)
{
    struct frame_info *info = &change->info;
    struct table_chunk chunk;
    int r;

    if (chunk_no > info->nchunks)
        return -ERANGE;
    if (is_lost(change, written))
        return -ESTALE;
    if (!may_insert(change, chunk_no, written->nbytes))
        return -EINVAL;
    if (written->nbytes > INT64_MAX - info->nbytes)
        return -EFBIG;
    if (extent_list_reserve(&change->fresh, 1) < 0)
        return -ENOMEM;
    r = frame_change_check_count(change, info->nchunks + 1);
    if (r < 0)
        return r;
    chunk = make_chunk(change, written);
    r = chunk_no == info->nchunks
            ? chunk_table_append(change->chunks, &chunk, 1)
            : chunk_table_splice(change->chunks, chunk_no, 0, &chunk, 1);
    if (r < 0)
        return r;
    note_fresh(change, written, &chunk);
    if (info->chunksize == 0 && !change->variable)
        info->chunksize = written->nbytes;
    info->nchunks++;
    info->nbytes += written->nbytes;
    return 0;
}

/* Sum of the decoded sizes of a range of chunks. */
static uint64_t size_of_range(const struct frame_change *change, uint64_t first,
                              uint64_t n)
{
    uint64_t nbytes = 0;

    if (n == 0)
        return 0;
    if (!change->variable)
        return (n - 1) * change->info.chunksize +
               frame_change_size_of(change, first + n - 1);
    for (uint64_t i = first; i < first + n; i++)
        nbytes += frame_change_size_of(change, i);
    return nbytes;
}

int frame_change_delete(struct frame_change *change, uint64_t first, uint64_t n)
{
    struct frame_info *info = &change->info;
    uint64_t nbytes;
    int r;

    if (!size_within(first, n, info->nchunks))
        return -ERANGE;
    nbytes = size_of_range(change, first, n);
    r = frame_change_replace(change, first, n, NULL, 0);
    if (r < 0)
        return r;
    info->nchunks -= n;
    info->nbytes -= nbytes;
    return 0;
}

int frame_change_new_table(const struct frame_change *change,
                           struct chunk_table **out)
{
    int r = chunk_table_new(change->info.sparse, out);

    if (r == 0 && change->variable)
        chunk_table_keep_all(*out);
    return r;
}

/* Add the chunks to a table in the new order; each must occur once. */
static int permute(const struct frame_change *change, const uint64_t *order,
                   struct chunk_table *to)
{
    uint64_t n = change->info.nchunks;
    uint8_t *seen = calloc(n, 1);
    int r = seen ? 0 : -ENOMEM;

    for (uint64_t i = 0; i < n && r == 0; i++) {
        struct table_chunk chunk;

        if (order[i] >= n) {
            r = -ERANGE;
        } else if (seen[order[i]]++) {
            r = -EINVAL;
        } else {
            r = chunk_table_get(change->chunks, order[i], &chunk);
            if (r == 0)
                r = chunk_table_append(to, &chunk, 1);
        }
    }
    free(seen);
    return r;
}

int frame_change_reorder(struct frame_change *change, const uint64_t *order)
{
    uint64_t n = change->info.nchunks;
    struct chunk_table *chunks;
    int r;

    if (n == 0)
        return 0;
    if (ends_short(change) && order[n - 1] != n - 1)
        return -EINVAL;
    r = frame_change_new_table(change, &chunks);
    if (r < 0)
        return r;
    r = chunk_table_load_all(change->chunks);
    if (r == 0)
        r = permute(change, order, chunks);
    if (r < 0) {
        chunk_table_free(chunks);
        return r;
    }
    chunk_table_free(change->chunks);
    change->chunks = chunks;
    return 0;
}
