/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "base/size.h"
#include "writer/frame_change_private.h"

/* Is the chunk zeros or uninitialised, so that it can be replaced by zeros of
   another size? */
static int check_zeros(const struct frame_change *change, uint64_t chunk_no)
{
    struct table_chunk chunk;
    int r = chunk_table_get(change->chunks, chunk_no, &chunk);

    if (r < 0)
        return r;
    return chunk.entry < 0 && chunk.entry != frame_special_entry(CHUNK_NANS)
               ? 0
               : -EINVAL;
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

/* Can an index entry stand for a chunk of zeros of the full size? */
static bool index_holds_zeros(const struct frame_change *change)
{
    const struct frame_info *info = &change->info;

    return !change->variable && info->chunksize % info->typesize == 0;
}

/* Make a chunk of zeros and put it at a place, or insert it at the end. */
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

int frame_change_put_zeros(struct frame_change *change, uint64_t first,
                           uint64_t n, struct fault *fault)
{
    const struct table_chunk zeros = {
        .entry = frame_special_entry(CHUNK_ZEROS),
    };
    int r = 0;

    if (n == 0)
        return 0;
    if (!size_within(first, n, change->info.nchunks))
        return fault_set(fault, -ERANGE, 0, NULL);
    if (n > 1 && index_holds_zeros(change)) {
        r = frame_change_replace(change, first, n - 1, &zeros, n - 1);
        if (r < 0)
            return fault_set(fault, r, 0, NULL);
        first += n - 1;
        n = 1;
    }
    for (uint64_t i = first; i < first + n && r == 0; i++)
        r = put_zeros(change, i, frame_change_size_of(change, i), fault);
    return r;
}

int frame_change_append_special(struct frame_change *change,
                                enum chunk_kind kind, uint64_t n)
{
    struct frame_info *info = &change->info;
    const struct table_chunk chunk = { .entry = frame_special_entry(kind) };
    int r = frame_change_check_count(change, info->nchunks + n);

    if (r == 0)
        r = chunk_table_append(change->chunks, &chunk, n);
    if (r < 0)
        return r;
    info->nchunks += n;
    info->nbytes += n * info->chunksize;
    return 0;
}

/* The size that a chunk has in a frame of `nbytes` bytes. */
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
    if (nbytes > INT64_MAX || frame_change_check_count(change, *n) < 0)
        return -EFBIG;
    common = *n < info->nchunks ? *n : info->nchunks;
    if (common > 0 && size_in(change, nbytes, common - 1) !=
                          frame_change_size_of(change, common - 1))
        return check_zeros(change, common - 1);
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
    if (r == 0 && info->nchunks < n && index_holds_zeros(change)) {
        r = frame_change_append_special(
            change, CHUNK_ZEROS, nbytes / info->chunksize - info->nchunks);
        if (r < 0)
            return fault_set(fault, r, 0, NULL);
    }
    while (info->nchunks < n && r == 0)
        r = put_zeros(change, info->nchunks,
                      size_in(change, nbytes, info->nchunks), fault);
    return r;
}

/* Replace a special chunk by a stored one. */
static int settle(struct frame_change *change, uint64_t chunk_no, bool nans,
                  struct fault *fault)
{
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

/* Replace all special chunks by stored ones. */
static int settle_all(struct frame_change *change, struct fault *fault)
{
    int r = 0;

    for (uint64_t i = 0; i < change->info.nchunks && r == 0; i++) {
        struct table_chunk chunk;

        chunk_table_get(change->chunks, i, &chunk);
        if (chunk.entry < 0)
            r = settle(change, i,
                       chunk.entry == frame_special_entry(CHUNK_NANS), fault);
    }
    return r;
}

/* Set the sizes of all chunks in the table, while they follow from the
   chunksize. */
static void note_sizes(struct frame_change *change)
{
    for (uint64_t i = 0; i < change->info.nchunks; i++) {
        struct table_chunk chunk;

        chunk_table_get(change->chunks, i, &chunk);
        chunk.nbytes = frame_change_size_of(change, i);
        chunk_table_set(change->chunks, i, &chunk);
    }
}

int frame_change_make_variable(struct frame_change *change, struct fault *fault)
{
    struct frame_info *info = &change->info;
    int r = info->nchunks > FRAME_CHANGE_VARIABLE_MAX ? -EFBIG : 0;

    if (r == 0)
        r = chunk_table_keep_all(change->chunks);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = settle_all(change, fault);
    if (r < 0 || change->variable)
        return r;
    note_sizes(change);
    pthread_mutex_lock(&change->lock);
    change->variable = true;
    pthread_mutex_unlock(&change->lock);
    info->chunksize = 0;
    return 0;
}
