/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/frame_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "frame/frame_source.h"
#include "writer/frame_writer_private.h"

const struct frame_info *frame_writer_get_info(
    const struct frame_writer *writer)
{
    return &writer->info;
}

unsigned frame_writer_nwriters(const struct frame_writer *writer)
{
    return writer->info.sparse ? store_nwriters(writer->store) : 1;
}

bool frame_writer_is_variable(const struct frame_writer *writer)
{
    return writer->variable;
}

bool frame_writer_has_lost_sync(const struct frame_writer *writer)
{
    return writer->unsynced_lost;
}

int frame_writer_check_count(const struct frame_writer *writer, uint64_t n)
{
    uint64_t max =
        writer->variable ? FRAME_WRITER_VARIABLE_MAX : FRAME_WRITER_CHUNKS_MAX;

    return n > max ? -EFBIG : 0;
}

size_t frame_writer_footprint(const struct frame_writer *writer)
{
    return chunk_table_footprint(writer->chunks) +
           frame_alloc_footprint(writer->alloc) +
           (size_t)writer->keys.capacity * 2 * sizeof(*writer->keys.keys) +
           writer->places.unsummed.capacity * sizeof(struct range) +
           writer->tags.capacity * sizeof(*writer->tags.tags) +
           (writer->pending_free.capacity + writer->unsynced.capacity) *
               sizeof(writer->pending_free.extents[0]);
}

void frame_writer_set_progress(struct frame_writer *writer,
                               int (*progress)(void *context, uint64_t done,
                                               uint64_t total),
                               void *context)
{
    writer->progress = progress;
    writer->progress_context = context;
}

void frame_writer_set_mtime(struct frame_writer *writer,
                            const struct timespec *mtime)
{
    writer->mtime = mtime;
}

uint32_t frame_writer_size_of(const struct frame_writer *writer,
                              uint64_t chunk_no)
{
    const struct frame_info *info = &writer->info;
    struct table_chunk chunk;
    uint64_t rest;

    if (writer->variable) {
        chunk_table_get(writer->chunks, chunk_no, &chunk);
        return chunk.nbytes;
    }
    rest = info->nbytes - chunk_no * info->chunksize;
    return rest < info->chunksize ? (uint32_t)rest : info->chunksize;
}

/* Is the last chunk shorter than all others must be? */
static bool ends_short(const struct frame_writer *writer)
{
    const struct frame_info *info = &writer->info;

    return !writer->variable && info->nchunks > 0 &&
           info->nbytes % info->chunksize != 0;
}

/* Make the table's record of a chunk that was written. */
static struct table_chunk make_chunk(const struct frame_writer *writer,
                                     const struct frame_written *written)
{
    struct table_chunk chunk = { .entry = written->entry };

    if (writer->variable)
        chunk.nbytes = written->nbytes;
    if (written->entry >= 0)
        chunk.cbytes = writer->info.sparse ? 1 : written->cbytes;
    return chunk;
}

/* Record that a chunk was put; the caller has reserved memory. */
static void add_unsynced(struct frame_writer *writer,
                         const struct frame_written *written,
                         const struct table_chunk *chunk)
{
    writer->unsynced_cbytes += written->cbytes;
    if (chunk->entry >= 0)
        extent_list_add(&writer->unsynced, frame_writer_off(writer, chunk),
                        chunk->cbytes);
}

static void defer_free(struct frame_writer *writer,
                       const struct table_chunk *chunk)
{
    if (chunk->entry >= 0)
        extent_list_add(&writer->pending_free, frame_writer_off(writer, chunk),
                        chunk->cbytes);
}

/* Record whether a chunk that is about to be put has sums. */
static int note_sums(struct frame_writer *writer,
                     const struct frame_written *written)
{
    uint32_t len = writer->info.sparse ? 1 : written->cbytes;

    if (written->entry < 0)
        return 0;
    return sum_places_set(&writer->places, (uint64_t)written->entry, len,
                          written->summed);
}

/* Record that the next commit frees chunks: all of them or none. */
static int defer_free_range(struct frame_writer *writer, uint64_t first,
                            uint64_t n)
{
    size_t npending = writer->pending_free.n;
    struct table_chunk chunk;
    uint64_t nstored;
    int r = chunk_table_count_stored(writer->chunks, first, n, &nstored);

    if (r == 0)
        r = extent_list_reserve(&writer->pending_free, (size_t)nstored);
    for (uint64_t i = first; nstored > 0 && r >= 0; nstored--, i++) {
        r = chunk_table_next_stored(writer->chunks, &i, &chunk);
        if (r > 0)
            defer_free(writer, &chunk);
    }
    if (r < 0)
        writer->pending_free.n = npending;
    return r < 0 ? r : 0;
}

int frame_writer_replace(struct frame_writer *writer, uint64_t first,
                         uint64_t nremoved, const struct table_chunk *chunk,
                         uint64_t nadded)
{
    size_t npending = writer->pending_free.n;
    int r = defer_free_range(writer, first, nremoved);

    if (r == 0)
        r = chunk_table_splice(writer->chunks, first, nremoved, chunk, nadded);
    if (r < 0)
        writer->pending_free.n = npending;
    return r;
}

/* Is a written chunk lost, because the frame was rewritten to another file, or
   because the trailer of an empty frame has overwritten it? */
static bool is_lost(const struct frame_writer *writer,
                    const struct frame_written *written)
{
    if (written->epoch != writer->epoch)
        return true;
    return written->entry >= 0 && !writer->info.sparse &&
           writer->info.header_len + (uint64_t)written->entry <
               frame_alloc_reserved(writer->alloc);
}

int frame_writer_put(struct frame_writer *writer, uint64_t chunk_no,
                     const struct frame_written *written)
{
    struct frame_info *info = &writer->info;
    struct table_chunk chunk;
    struct table_chunk old;
    uint64_t old_nbytes;
    int r;

    if (chunk_no >= info->nchunks)
        return -ERANGE;
    if (is_lost(writer, written))
        return -ESTALE;
    if (!writer->variable && written->nbytes != info->chunksize &&
        (chunk_no < info->nchunks - 1 || written->nbytes > info->chunksize))
        return -EINVAL;
    if (extent_list_reserve(&writer->pending_free, 1) < 0 ||
        extent_list_reserve(&writer->unsynced, 1) < 0 ||
        note_sums(writer, written) < 0)
        return -ENOMEM;
    old_nbytes = frame_writer_size_of(writer, chunk_no);
    chunk = make_chunk(writer, written);
    r = chunk_table_get(writer->chunks, chunk_no, &old);
    if (r == 0)
        r = chunk_table_set(writer->chunks, chunk_no, &chunk);
    if (r < 0)
        return r;
    defer_free(writer, &old);
    add_unsynced(writer, written, &chunk);
    frame_writer_put_keys(writer, chunk_no, 1, written->check);
    chunk_tags_put(&writer->tags, chunk_no, 1, written->tag);
    info->nbytes += written->nbytes - old_nbytes;
    return 0;
}

static bool may_insert(const struct frame_writer *writer, uint64_t chunk_no,
                       uint32_t nbytes)
{
    const struct frame_info *info = &writer->info;

    if (writer->variable || info->chunksize == 0)
        return true;
    if (chunk_no < info->nchunks)
        return nbytes == info->chunksize;
    return nbytes <= info->chunksize && !ends_short(writer);
}

int frame_writer_insert(struct frame_writer *writer, uint64_t chunk_no,
                        const struct frame_written *written)
{
    struct frame_info *info = &writer->info;
    struct table_chunk chunk;
    int r;

    if (chunk_no > info->nchunks)
        return -ERANGE;
    if (is_lost(writer, written))
        return -ESTALE;
    if (!may_insert(writer, chunk_no, written->nbytes))
        return -EINVAL;
    if (written->nbytes > INT64_MAX - info->nbytes)
        return -EFBIG;
    if (extent_list_reserve(&writer->unsynced, 1) < 0 ||
        note_sums(writer, written) < 0)
        return -ENOMEM;
    r = frame_writer_check_count(writer, info->nchunks + 1);
    if (r == 0)
        r = frame_writer_reserve_keys(writer, 1);
    if (r < 0)
        return r;
    chunk = make_chunk(writer, written);
    r = chunk_no == info->nchunks
            ? chunk_table_append(writer->chunks, &chunk, 1)
            : chunk_table_splice(writer->chunks, chunk_no, 0, &chunk, 1);
    if (r < 0)
        return r;
    add_unsynced(writer, written, &chunk);
    frame_writer_splice_keys(writer, chunk_no, 0, 1, written->check);
    chunk_tags_splice(&writer->tags, chunk_no, 0, 1, written->tag);
    if (info->chunksize == 0 && !writer->variable)
        info->chunksize = written->nbytes;
    info->nchunks++;
    info->nbytes += written->nbytes;
    return 0;
}

/* Sum of the decoded sizes of a range of chunks. */
static uint64_t size_of_range(const struct frame_writer *writer, uint64_t first,
                              uint64_t n)
{
    uint64_t nbytes = 0;

    if (n == 0)
        return 0;
    if (!writer->variable)
        return (n - 1) * writer->info.chunksize +
               frame_writer_size_of(writer, first + n - 1);
    for (uint64_t i = first; i < first + n; i++)
        nbytes += frame_writer_size_of(writer, i);
    return nbytes;
}

int frame_writer_delete(struct frame_writer *writer, uint64_t first, uint64_t n)
{
    struct frame_info *info = &writer->info;
    uint64_t nbytes;
    int r;

    if (!size_within(first, n, info->nchunks))
        return -ERANGE;
    nbytes = size_of_range(writer, first, n);
    r = frame_writer_replace(writer, first, n, NULL, 0);
    if (r < 0)
        return r;
    frame_writer_splice_keys(writer, first, n, 0, 0);
    chunk_tags_splice(&writer->tags, first, n, 0, 0);
    info->nchunks -= n;
    info->nbytes -= nbytes;
    return 0;
}

int frame_writer_new_table(const struct frame_writer *writer,
                           struct chunk_table **out)
{
    int r = chunk_table_new(writer->info.sparse, out);

    if (r == 0 && writer->variable)
        chunk_table_keep_all(*out);
    return r;
}

/* Add the chunks to a table in the new order; each must occur once. */
static int permute(const struct frame_writer *writer, const uint64_t *order,
                   struct chunk_table *to)
{
    uint64_t n = writer->info.nchunks;
    uint8_t *seen = calloc(n, 1);
    int r = seen ? 0 : -ENOMEM;

    for (uint64_t i = 0; i < n && r == 0; i++) {
        struct table_chunk chunk;

        if (order[i] >= n) {
            r = -ERANGE;
        } else if (seen[order[i]]++) {
            r = -EINVAL;
        } else {
            r = chunk_table_get(writer->chunks, order[i], &chunk);
            if (r == 0)
                r = chunk_table_append(to, &chunk, 1);
        }
    }
    free(seen);
    return r;
}

int frame_writer_reorder(struct frame_writer *writer, const uint64_t *order)
{
    uint64_t n = writer->info.nchunks;
    struct chunk_table *chunks;
    int r;

    if (n == 0)
        return 0;
    if (ends_short(writer) && order[n - 1] != n - 1)
        return -EINVAL;
    r = frame_writer_new_table(writer, &chunks);
    if (r < 0)
        return r;
    r = chunk_table_load_all(writer->chunks);
    if (r == 0)
        r = permute(writer, order, chunks);
    if (r == 0)
        r = frame_writer_reorder_keys(writer, order);
    if (r < 0) {
        chunk_table_free(chunks);
        return r;
    }
    chunk_tags_reorder(&writer->tags, order);
    chunk_table_free(writer->chunks);
    writer->chunks = chunks;
    return 0;
}
