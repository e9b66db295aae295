/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/size.h"
#include "frame/frame_private.h"
#include "frame/frame_source.h"

enum {
    GAP_MAX = 64 << 10, /* bytes between chunks that are fetched together */
};

uint64_t frame_ahead(const struct frame *frame)
{
    uint64_t stored = store_ahead(frame->store);
    double ratio;

    if (stored == 0 || frame->info.cbytes == 0)
        return 0;
    ratio = (double)frame->info.nbytes / (double)frame->info.cbytes;
    if (ratio < 1)
        ratio = 1;
    return ratio * (double)stored < (double)frame->info.nbytes
               ? (uint64_t)(ratio * (double)stored)
               : frame->info.nbytes;
}

/* The size of a chunk object comes with its first bytes. */
static bool prefetch_sparse(struct frame *frame, uint64_t first, uint64_t n,
                            struct store_waiter *waiter)
{
    bool done = true;

    for (uint64_t i = 0; i < n && done; i++) {
        char name[FRAME_SOURCE_NAME_LEN];
        struct store_object *object;
        struct frame_entry entry;
        struct fault fault;

        if (frame_get_entry(frame, first + i, &entry, &fault) < 0)
            return false;
        if (entry.special)
            continue;
        frame_source_name(entry.place, name);
        if (store_open(frame->store, name, &object) < 0)
            return false;
        done = store_object_prefetch(object, 0, UINT64_MAX, waiter);
        store_object_close(object);
    }
    return done;
}

/* Where do the bytes of a chunk probably end?  Usually where the next one
   starts. */
static uint64_t guess_end(struct frame *frame, uint64_t chunk_no,
                          uint64_t place)
{
    uint64_t usual = frame->info.cbytes / frame->info.nchunks;
    uint64_t limit = frame_chunks_end(frame);
    struct frame_entry next;
    struct fault fault;
    uint64_t end;

    if (chunk_no + 1 < frame->info.nchunks &&
        frame_get_entry(frame, chunk_no + 1, &next, &fault) == 0 &&
        !next.special && next.place > place && next.place - place <= 4 * usual)
        return next.place;
    if (!size_add(place, usual + usual / 4, &end) || end > limit)
        end = limit;
    return end;
}

/* Chunks that lie one after another are fetched together. */
static bool prefetch_contiguous(struct frame *frame, uint64_t first, uint64_t n,
                                struct store_waiter *waiter)
{
    uint64_t start = 0;
    uint64_t end = 0;

    for (uint64_t i = 0; i < n; i++) {
        struct frame_entry entry;
        struct fault fault;

        if (frame_get_entry(frame, first + i, &entry, &fault) < 0)
            return false;
        if (entry.special)
            continue;
        if (entry.place < end || entry.place - end > GAP_MAX) {
            if (!store_object_prefetch(frame->object, start, end - start,
                                       waiter))
                return false;
            start = entry.place;
        }
        end = guess_end(frame, first + i, entry.place);
    }
    return store_object_prefetch(frame->object, start, end - start, waiter);
}

bool frame_prefetch(struct frame *frame, uint64_t first, uint64_t n,
                    struct store_waiter *waiter)
{
    return frame->info.sparse ? prefetch_sparse(frame, first, n, waiter)
                              : prefetch_contiguous(frame, first, n, waiter);
}
