/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "writer/frame_commit.h"
#include "writer/put_sums.h"

/* A chunk that reaches beyond the new end. */
struct high_chunk {
    uint64_t chunk_no;
    uint64_t off;              /* in the file */
    struct frame_written copy; /* its copy, at a lower place */
};

static int compare_offs(const void *a, const void *b)
{
    const struct high_chunk *x = a;
    const struct high_chunk *y = b;

    return (x->off < y->off) - (x->off > y->off);
}

/* Chunks that reach beyond the new end. */
struct high_list {
    struct high_chunk *chunks;
    size_t n;
    size_t capacity;
};

static int add_high(struct high_list *list, const struct high_chunk *high)
{
    if (list->n == list->capacity) {
        size_t capacity = 2 * list->capacity + 16;
        struct high_chunk *chunks =
            realloc(list->chunks, capacity * sizeof(chunks[0]));

        if (!chunks)
            return -ENOMEM;
        list->chunks = chunks;
        list->capacity = capacity;
    }
    list->chunks[list->n++] = *high;
    return 0;
}

/* Find the chunks that reach beyond `end`, and sort them, the highest first. */
static int find_high(const struct frame_writer *writer, uint64_t end,
                     struct high_list *out)
{
    struct table_chunk chunk;
    int r = 1;

    for (uint64_t i = 0; r > 0; i++) {
        struct high_chunk high;

        r = chunk_table_next_stored(writer->chunks, &i, &chunk);
        high = (struct high_chunk){ .chunk_no = i };
        if (r <= 0)
            break;
        high.off = frame_writer_off(writer, &chunk);
        high.copy.cbytes = chunk.cbytes;
        if (high.off + chunk.cbytes > end && add_high(out, &high) < 0)
            return -ENOMEM;
    }
    if (r == 0 && out->n > 0)
        qsort(out->chunks, out->n, sizeof(out->chunks[0]), compare_offs);
    return r;
}

/* Make the sums of a copy valid. */
static int move_sums(const struct frame_writer *writer,
                     const struct high_chunk *high, uint64_t off, uint64_t from,
                     struct frame_written *copy)
{
    struct moved_chunk moved = {
        .object = frame_alloc_object(writer->alloc),
        .off = off,
        .from = from,
        .to = (uint64_t)copy->entry,
        .tag = chunk_tags_get(&writer->tags, high->chunk_no),
    };
    int r = put_sums_move(&moved);

    copy->tag = moved.tag;
    return r;
}

/* Copy a chunk to a lower place.  Returns 1, or 0 if there is no gap for it. */
static int copy_down(struct frame_writer *writer, struct high_chunk *high)
{
    struct store_object *file = frame_alloc_object(writer->alloc);
    uint64_t from = high->off - writer->info.header_len;
    struct frame_written copy = {
        .summed = sum_places_have(&writer->places, from),
        .nbytes = frame_writer_size_of(writer, high->chunk_no),
        .cbytes = high->copy.cbytes,
        .epoch = writer->epoch,
    };
    uint64_t off;
    int r =
        frame_alloc_alloc_before(writer->alloc, high->off, copy.cbytes, &off);

    if (r < 0)
        return r == -ENOSPC ? 0 : r;
    copy.entry = (int64_t)(off - writer->info.header_len);
    r = frame_commit_copy(file, high->off, file, off, copy.cbytes);
    if (r == 0 && copy.summed)
        r = move_sums(writer, high, off, from, &copy);
    if (r < 0) {
        frame_writer_drop(writer, &copy);
        return r;
    }
    high->copy = copy;
    return 1;
}

/* Do so for all chunks, until there is no gap. */
static int copy_all(struct frame_writer *writer, struct high_chunk *high,
                    size_t n, size_t *copied)
{
    int r = 1;

    *copied = 0;
    while (*copied < n && r > 0) {
        r = copy_down(writer, &high[*copied]);
        *copied += r > 0;
    }
    return r < 0 ? r : 0;
}

/* Put the copies; after an error, drop the remaining ones. */
static int put_all(struct frame_writer *writer, const struct high_chunk *high,
                   size_t n, int error)
{
    for (size_t i = 0; i < n; i++) {
        if (error == 0)
            error = frame_writer_put(writer, high[i].chunk_no, &high[i].copy);
        if (error < 0)
            frame_writer_drop(writer, &high[i].copy);
    }
    return error;
}

int frame_writer_compact_tail(struct frame_writer *writer, uint64_t end,
                              struct fault *fault)
{
    struct high_list high = { 0 };
    size_t copied = 0;
    int r;

    if (writer->info.sparse)
        return 0;
    r = find_high(writer, end, &high);
    if (r == 0)
        r = copy_all(writer, high.chunks, high.n, &copied);
    /* Make the copies durable before they are put, because no caller has the
       chunks in memory to write them again. */
    if (r == 0 && copied > 0)
        r = frame_commit_sync(writer, frame_alloc_object(writer->alloc));
    r = put_all(writer, high.chunks, copied, r);
    free(high.chunks);
    return r < 0 ? fault_set(fault, r, 0, NULL) : copied > 0;
}
