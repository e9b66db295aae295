/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/fetch_ahead.h"

#include "file/view.h"
#include "state/file_private.h"

/* Neighbouring chunks that are fetched together. */
struct run {
    struct frame *frame;
    struct store_waiter *waiter;
    uint64_t first;
    uint64_t n;   /* 0: none yet */
    uint64_t off; /* of the first byte in the file */
};

uint64_t fetch_ahead_window(struct file *file)
{
    struct file_state *state = file_state_get(file);
    uint64_t window = frame_ahead(state->frame);

    file_state_put(file, state);
    return window;
}

static bool is_decoded(struct file *file, const struct view_piece *piece)
{
    const struct cache_range range = { .file = &file->chunks,
                                       .chunk_no = piece->chunk_no,
                                       .off = piece->off,
                                       .len = piece->span };

    return cache_has(file->constant.context->cache, &range);
}

static bool flush(struct run *run)
{
    bool done = run->n == 0 ||
                (run->first + run->n <= frame_get_info(run->frame)->nchunks &&
                 frame_prefetch(run->frame, run->first, run->n, run->waiter));

    run->n = 0;
    return done;
}

/* Add a chunk, which may be the last one again. */
static bool add(struct run *run, uint64_t chunk_no, uint64_t off)
{
    if (run->n > 0 && chunk_no >= run->first && chunk_no - run->first < run->n)
        return true;
    if (run->n > 0 && chunk_no == run->first + run->n) {
        run->n++;
        return true;
    }
    if (!flush(run))
        return false;
    run->first = chunk_no;
    run->n = 1;
    run->off = off;
    return true;
}

uint64_t fetch_ahead(struct file *file, uint64_t off, uint64_t end,
                     struct store_waiter *waiter)
{
    struct file_state *state = file_state_get(file);
    struct run run = { .frame = state->frame, .waiter = waiter, .off = off };
    bool done = true;

    while (off < end && done) {
        struct view_piece piece;
        struct fault fault;

        if (view_locate(file, off, end - off, &piece, &fault) < 0)
            break;
        if (!piece.header && !is_decoded(file, &piece))
            done = add(&run, piece.chunk_no, off);
        off += piece.row;
    }
    done = done && flush(&run);
    file_state_put(file, state);
    return done ? off : run.off;
}
