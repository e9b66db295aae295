/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame_change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "frame/frame_change_private.h"
#include "frame/frame_source.h"

enum {
    CHUNKS_ROOM_MIN = 16
};

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

int frame_change_reserve(struct frame_change *change, uint64_t n)
{
    struct change_chunk *chunks;
    size_t room = change->room ? 2 * change->room : CHUNKS_ROOM_MIN;

    if (n > FRAME_CHANGE_CHUNKS_MAX)
        return -EFBIG;
    if (change->room > 0 && n <= change->room)
        return 0;
    if (room < n)
        room = (size_t)n;
    chunks = realloc(change->chunks, room * sizeof(chunks[0]));
    if (!chunks)
        return -ENOMEM;
    change->chunks = chunks;
    change->room = room;
    return 0;
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
    uint64_t rest;

    if (change->variable)
        return change->chunks[chunk_no].nbytes;
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

static void set_chunk(struct frame_change *change, uint64_t chunk_no,
                      const struct frame_written *written)
{
    change->chunks[chunk_no] = (struct change_chunk){
        .entry = written->entry,
        .nbytes = written->nbytes,
        .cbytes = written->cbytes,
    };
    change->fresh_cbytes += written->cbytes;
    if (written->entry < 0)
        return;
    if (change->info.sparse)
        plot_list_add(&change->fresh, (uint64_t)written->entry, 1);
    else
        plot_list_add(&change->fresh,
                      frame_change_off(change, &change->chunks[chunk_no]),
                      written->cbytes);
}

/* Note that chunks die; there is room for them. */
static void bury(struct frame_change *change, uint64_t first, uint64_t n)
{
    for (uint64_t i = first; i < first + n; i++) {
        const struct change_chunk *chunk = &change->chunks[i];

        if (chunk->entry < 0)
            continue;
        if (change->info.sparse)
            plot_list_add(&change->dying, (uint64_t)chunk->entry, 1);
        else
            plot_list_add(&change->dying, frame_change_off(change, chunk),
                          chunk->cbytes);
    }
}

/* Has what was written become another file's, or been overwritten by what an
   empty frame has behind its header? */
static bool is_lost(const struct frame_change *change,
                    const struct frame_written *written)
{
    if (written->epoch != change->epoch)
        return true;
    return written->entry >= 0 && !change->info.sparse &&
           change->info.header_len + (uint64_t)written->entry <
               plot_kept(change->plot);
}

int frame_change_put(struct frame_change *change, uint64_t chunk_no,
                     const struct frame_written *written)
{
    struct frame_info *info = &change->info;
    uint64_t old;

    if (chunk_no >= info->nchunks)
        return -ERANGE;
    if (is_lost(change, written))
        return -ESTALE;
    if (!change->variable && written->nbytes != info->chunksize &&
        (chunk_no < info->nchunks - 1 || written->nbytes > info->chunksize))
        return -EINVAL;
    if (plot_list_reserve(&change->dying, 1) < 0 ||
        plot_list_reserve(&change->fresh, 1) < 0)
        return -ENOMEM;
    old = frame_change_size_of(change, chunk_no);
    bury(change, chunk_no, 1);
    set_chunk(change, chunk_no, written);
    info->nbytes += written->nbytes - old;
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
    int r;

    if (chunk_no > info->nchunks)
        return -ERANGE;
    if (is_lost(change, written))
        return -ESTALE;
    if (!may_insert(change, chunk_no, written->nbytes))
        return -EINVAL;
    if (written->nbytes > INT64_MAX - info->nbytes)
        return -EFBIG;
    if (plot_list_reserve(&change->fresh, 1) < 0)
        return -ENOMEM;
    r = frame_change_reserve(change, info->nchunks + 1);
    if (r < 0)
        return r;
    memmove(change->chunks + chunk_no + 1, change->chunks + chunk_no,
            (info->nchunks - chunk_no) * sizeof(change->chunks[0]));
    set_chunk(change, chunk_no, written);
    if (info->chunksize == 0 && !change->variable)
        info->chunksize = written->nbytes;
    info->nchunks++;
    info->nbytes += written->nbytes;
    return 0;
}

int frame_change_delete(struct frame_change *change, uint64_t first, uint64_t n)
{
    struct frame_info *info = &change->info;
    uint64_t nbytes = 0;

    if (!size_within(first, n, info->nchunks))
        return -ERANGE;
    if (plot_list_reserve(&change->dying, (size_t)n) < 0)
        return -ENOMEM;
    for (uint64_t i = first; i < first + n; i++)
        nbytes += frame_change_size_of(change, i);
    bury(change, first, n);
    memmove(change->chunks + first, change->chunks + first + n,
            (info->nchunks - first - n) * sizeof(change->chunks[0]));
    info->nchunks -= n;
    info->nbytes -= nbytes;
    return 0;
}

/* Put the chunks in order; each must come once. */
static int permute(const struct frame_change *change, const uint64_t *order,
                   struct change_chunk *to)
{
    uint64_t n = change->info.nchunks;
    uint8_t *seen = calloc(n, 1);
    int r = seen ? 0 : -ENOMEM;

    for (uint64_t i = 0; i < n && r == 0; i++) {
        if (order[i] >= n)
            r = -ERANGE;
        else if (seen[order[i]]++)
            r = -EINVAL;
        else
            to[i] = change->chunks[order[i]];
    }
    free(seen);
    return r;
}

int frame_change_reorder(struct frame_change *change, const uint64_t *order)
{
    uint64_t n = change->info.nchunks;
    struct change_chunk *chunks;
    int r;

    if (n == 0)
        return 0;
    if (ends_short(change) && order[n - 1] != n - 1)
        return -EINVAL;
    chunks = malloc(n * sizeof(chunks[0]));
    if (!chunks)
        return -ENOMEM;
    r = permute(change, order, chunks);
    if (r < 0) {
        free(chunks);
        return r;
    }
    free(change->chunks);
    change->chunks = chunks;
    change->room = n;
    return 0;
}

/* Is the chunk one that can be made anew with another size? */
static bool is_zeros(const struct frame_change *change, uint64_t chunk_no)
{
    int64_t entry = change->chunks[chunk_no].entry;

    return entry < 0 && entry != frame_special_entry(CHUNK_NANS);
}

int frame_change_write_zeros(struct frame_change *change, uint32_t nbytes,
                             struct frame_written *out, struct fault *fault)
{
    if (change->variable || nbytes % change->info.typesize != 0)
        return frame_change_write_value(change, false, nbytes, out, fault);
    *out = (struct frame_written){
        .entry = frame_special_entry(CHUNK_ZEROS),
        .nbytes = nbytes,
        .epoch = change->epoch,
    };
    return 0;
}

/* Put a chunk that was just made at a place, or insert it at the end. */
static int put_zeros(struct frame_change *change, uint64_t chunk_no,
                     uint64_t nbytes, struct fault *fault)
{
    struct frame_written written;
    int r = frame_change_write_zeros(change, (uint32_t)nbytes, &written, fault);

    if (r < 0)
        return r;
    r = chunk_no < change->info.nchunks
            ? frame_change_put(change, chunk_no, &written)
            : frame_change_insert(change, chunk_no, &written);
    if (r < 0) {
        frame_change_drop(change, &written);
        fault_set(fault, r, 0, NULL);
    }
    return r;
}

/* The size of a chunk in a frame of `nbytes` bytes. */
static uint64_t size_in(const struct frame_change *change, uint64_t nbytes,
                        uint64_t chunk_no)
{
    uint64_t chunksize = change->info.chunksize;
    uint64_t rest = nbytes - chunk_no * chunksize;

    return rest < chunksize ? rest : chunksize;
}

/* Check a new size; `n` receives the number of chunks. */
static int check_resize(const struct frame_change *change, uint64_t nbytes,
                        uint64_t *n)
{
    const struct frame_info *info = &change->info;
    uint64_t common;

    if (change->variable || info->chunksize == 0)
        return -EINVAL;
    *n = size_pieces(nbytes, info->chunksize);
    if (nbytes > INT64_MAX || *n > FRAME_CHANGE_CHUNKS_MAX)
        return -EFBIG;
    common = *n < info->nchunks ? *n : info->nchunks;
    if (common > 0 &&
        size_in(change, nbytes, common - 1) !=
            frame_change_size_of(change, common - 1) &&
        !is_zeros(change, common - 1))
        return -EINVAL;
    return 0;
}

int frame_change_resize(struct frame_change *change, uint64_t nbytes,
                        struct fault *fault)
{
    const struct frame_info *info = &change->info;
    uint64_t last;
    uint64_t n;
    int r;

    if (nbytes == info->nbytes)
        return 0;
    r = check_resize(change, nbytes, &n);
    if (r == 0 && n < info->nchunks)
        r = frame_change_delete(change, n, info->nchunks - n);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    last = info->nchunks - 1;
    if (info->nchunks > 0 &&
        size_in(change, nbytes, last) != frame_change_size_of(change, last))
        r = put_zeros(change, last, size_in(change, nbytes, last), fault);
    while (info->nchunks < n && r == 0)
        r = put_zeros(change, info->nchunks,
                      size_in(change, nbytes, info->nchunks), fault);
    return r;
}

/* Store a special chunk. */
static int settle(struct frame_change *change, uint64_t chunk_no,
                  struct fault *fault)
{
    bool nans =
        change->chunks[chunk_no].entry == frame_special_entry(CHUNK_NANS);
    struct frame_written written;
    int r = frame_change_write_value(
        change, nans, frame_change_size_of(change, chunk_no), &written, fault);

    if (r < 0)
        return r;
    r = frame_change_put(change, chunk_no, &written);
    if (r < 0)
        frame_change_drop(change, &written);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

int frame_change_make_variable(struct frame_change *change, struct fault *fault)
{
    struct frame_info *info = &change->info;
    int r = 0;

    for (uint64_t i = 0; i < info->nchunks && r == 0; i++)
        if (change->chunks[i].entry < 0)
            r = settle(change, i, fault);
    if (r < 0 || change->variable)
        return r;
    for (uint64_t i = 0; i < info->nchunks; i++)
        change->chunks[i].nbytes = frame_change_size_of(change, i);
    pthread_mutex_lock(&change->lock);
    change->variable = true;
    pthread_mutex_unlock(&change->lock);
    info->chunksize = 0;
    return 0;
}
