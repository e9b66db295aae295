/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "frame/frame_commit.h"

/* A chunk that lies too high. */
struct high_chunk {
    uint64_t chunk_no;
    uint64_t off;              /* in the file */
    struct frame_written copy; /* of it, in a place before */
};

static int compare_offs(const void *a, const void *b)
{
    const struct high_chunk *x = a;
    const struct high_chunk *y = b;

    return (x->off < y->off) - (x->off > y->off);
}

/* Find the chunks that reach beyond `end`, the highest first. */
static int find_high(const struct frame_change *change, uint64_t end,
                     struct high_chunk **out, size_t *n)
{
    uint64_t nchunks = change->info.nchunks;
    struct high_chunk *high = malloc((nchunks + 1) * sizeof(high[0]));
    size_t found = 0;

    if (!high)
        return -ENOMEM;
    for (uint64_t i = 0; i < nchunks; i++) {
        const struct change_chunk *chunk = &change->chunks[i];
        uint64_t off = frame_change_off(change, chunk);

        if (chunk->entry >= 0 && off + chunk->cbytes > end)
            high[found++] = (struct high_chunk){ .chunk_no = i, .off = off };
    }
    qsort(high, found, sizeof(high[0]), compare_offs);
    *out = high;
    *n = found;
    return 0;
}

/* Copy a chunk to a place before it.  Returns 1, or 0 if there is no gap for
   it. */
static int copy_down(struct frame_change *change, struct high_chunk *high)
{
    struct store_object *file = plot_object(change->plot);
    struct frame_written copy = {
        .nbytes = frame_change_size_of(change, high->chunk_no),
        .cbytes = change->chunks[high->chunk_no].cbytes,
        .epoch = change->epoch,
    };
    uint64_t off;
    int r = plot_alloc_before(change->plot, high->off, copy.cbytes, &off);

    if (r < 0)
        return r == -ENOSPC ? 0 : r;
    copy.entry = (int64_t)(off - change->info.header_len);
    r = commit_copy(file, high->off, file, off, copy.cbytes);
    if (r < 0) {
        frame_change_drop(change, &copy);
        return r;
    }
    high->copy = copy;
    return 1;
}

/* The same for all, as far as there are gaps. */
static int copy_all(struct frame_change *change, struct high_chunk *high,
                    size_t n, size_t *copied)
{
    int r = 1;

    *copied = 0;
    while (*copied < n && r > 0) {
        r = copy_down(change, &high[*copied]);
        *copied += r > 0;
    }
    return r < 0 ? r : 0;
}

/* Put the copies, or drop those that are not put. */
static int put_all(struct frame_change *change, const struct high_chunk *high,
                   size_t n, int error)
{
    for (size_t i = 0; i < n; i++) {
        if (error == 0)
            error = frame_change_put(change, high[i].chunk_no, &high[i].copy);
        if (error < 0)
            frame_change_drop(change, &high[i].copy);
    }
    return error;
}

int frame_change_sink(struct frame_change *change, uint64_t end,
                      struct fault *fault)
{
    struct high_chunk *high;
    size_t copied;
    size_t n;
    int r;

    if (change->info.sparse)
        return 0;
    r = find_high(change, end, &high, &n);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = copy_all(change, high, n, &copied);
    /* Nobody has the chunks in memory if they are lost, so the copies have to
       last before they are put. */
    if (r == 0 && copied > 0)
        r = commit_sync(change, plot_object(change->plot));
    r = put_all(change, high, copied, r);
    free(high);
    return r < 0 ? fault_set(fault, r, 0, NULL) : copied > 0;
}
