/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "base/size.h"
#include "writer/frame_writer_private.h"

/* Is the chunk zeros or uninitialised, so that it can be replaced by zeros of
   another size? */
static int check_zeros(const struct frame_writer *writer, uint64_t chunk_no)
{
    struct table_chunk chunk;
    int r = chunk_table_get(writer->chunks, chunk_no, &chunk);

    if (r < 0)
        return r;
    return chunk.entry < 0 && chunk.entry != frame_special_entry(CHUNK_NANS)
               ? 0
               : -EINVAL;
}

int frame_writer_write_zeros(struct frame_writer *writer, uint32_t nbytes,
                             struct frame_written *out, struct fault *fault)
{
    if (writer->variable || nbytes % writer->info.typesize != 0)
        return frame_writer_write_value(writer, false, nbytes, out, fault);
    *out = (struct frame_written){
        .entry = frame_special_entry(CHUNK_ZEROS),
        .nbytes = nbytes,
        .check = frame_keys_check_special(CHUNK_ZEROS),
        .epoch = writer->epoch,
    };
    return 0;
}

/* Can an index entry stand for a chunk of zeros of the full size? */
static bool index_holds_zeros(const struct frame_writer *writer)
{
    const struct frame_info *info = &writer->info;

    return !writer->variable && info->chunksize % info->typesize == 0;
}

/* Make a chunk of zeros and put it at a place, or insert it at the end. */
static int put_zeros(struct frame_writer *writer, uint64_t chunk_no,
                     uint64_t nbytes, struct fault *fault)
{
    struct frame_written written;
    int r = frame_writer_write_zeros(writer, (uint32_t)nbytes, &written, fault);

    if (r < 0)
        return r;
    r = chunk_no < writer->info.nchunks
            ? frame_writer_put(writer, chunk_no, &written)
            : frame_writer_insert(writer, chunk_no, &written);
    if (r < 0) {
        frame_writer_drop(writer, &written);
        fault_set(fault, r, 0, NULL);
    }
    return r;
}

int frame_writer_put_zeros(struct frame_writer *writer, uint64_t first,
                           uint64_t n, struct fault *fault)
{
    const struct table_chunk zeros = {
        .entry = frame_special_entry(CHUNK_ZEROS),
    };
    int r = 0;

    if (n == 0)
        return 0;
    if (!size_within(first, n, writer->info.nchunks))
        return fault_set(fault, -ERANGE, 0, NULL);
    if (n > 1 && index_holds_zeros(writer)) {
        r = frame_writer_replace(writer, first, n - 1, &zeros, n - 1);
        if (r < 0)
            return fault_set(fault, r, 0, NULL);
        frame_writer_put_keys(writer, first, n - 1,
                              frame_keys_check_special(CHUNK_ZEROS));
        chunk_tags_put(&writer->tags, first, n - 1, 0);
        first += n - 1;
        n = 1;
    }
    for (uint64_t i = first; i < first + n && r == 0; i++)
        r = put_zeros(writer, i, frame_writer_size_of(writer, i), fault);
    return r;
}

int frame_writer_append_special(struct frame_writer *writer,
                                enum chunk_kind kind, uint64_t n)
{
    struct frame_info *info = &writer->info;
    const struct table_chunk chunk = { .entry = frame_special_entry(kind) };
    int r = frame_writer_check_count(writer, info->nchunks + n);

    if (r == 0)
        r = frame_writer_reserve_keys(writer, n);
    if (r == 0)
        r = chunk_table_append(writer->chunks, &chunk, n);
    if (r < 0)
        return r;
    frame_writer_splice_keys(writer, info->nchunks, 0, n,
                             frame_keys_check_special(kind));
    chunk_tags_splice(&writer->tags, info->nchunks, 0, n, 0);
    info->nchunks += n;
    info->nbytes += n * info->chunksize;
    return 0;
}

/* The size that a chunk has in a frame of `nbytes` bytes. */
static uint64_t size_in(const struct frame_writer *writer, uint64_t nbytes,
                        uint64_t chunk_no)
{
    uint64_t chunksize = writer->info.chunksize;
    uint64_t rest = nbytes - chunk_no * chunksize;

    return rest < chunksize ? rest : chunksize;
}

/* Check a new size; `n` receives the number of chunks. */
static int check_resize(const struct frame_writer *writer, uint64_t nbytes,
                        uint64_t *n)
{
    const struct frame_info *info = &writer->info;
    uint64_t common;

    if (writer->variable || info->chunksize == 0)
        return -EINVAL;
    *n = size_pieces(nbytes, info->chunksize);
    if (nbytes > INT64_MAX || frame_writer_check_count(writer, *n) < 0)
        return -EFBIG;
    common = *n < info->nchunks ? *n : info->nchunks;
    if (common > 0 && size_in(writer, nbytes, common - 1) !=
                          frame_writer_size_of(writer, common - 1))
        return check_zeros(writer, common - 1);
    return 0;
}

int frame_writer_resize(struct frame_writer *writer, uint64_t nbytes,
                        struct fault *fault)
{
    const struct frame_info *info = &writer->info;
    uint64_t last;
    uint64_t n;
    int r;

    if (nbytes == info->nbytes)
        return 0;
    r = check_resize(writer, nbytes, &n);
    if (r == 0 && n < info->nchunks)
        r = frame_writer_delete(writer, n, info->nchunks - n);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    last = info->nchunks - 1;
    if (info->nchunks > 0 &&
        size_in(writer, nbytes, last) != frame_writer_size_of(writer, last))
        r = put_zeros(writer, last, size_in(writer, nbytes, last), fault);
    if (r == 0 && info->nchunks < n && index_holds_zeros(writer)) {
        r = frame_writer_append_special(
            writer, CHUNK_ZEROS, nbytes / info->chunksize - info->nchunks);
        if (r < 0)
            return fault_set(fault, r, 0, NULL);
    }
    while (info->nchunks < n && r == 0)
        r = put_zeros(writer, info->nchunks,
                      size_in(writer, nbytes, info->nchunks), fault);
    return r;
}

/* Replace a special chunk by a stored one. */
static int store_special(struct frame_writer *writer, uint64_t chunk_no,
                         bool nans, struct fault *fault)
{
    struct frame_written written;
    int r = frame_writer_write_value(
        writer, nans, frame_writer_size_of(writer, chunk_no), &written, fault);

    if (r < 0)
        return r;
    r = frame_writer_put(writer, chunk_no, &written);
    if (r < 0)
        frame_writer_drop(writer, &written);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Replace all special chunks by stored ones. */
static int store_all_special(struct frame_writer *writer, struct fault *fault)
{
    int r = 0;

    for (uint64_t i = 0; i < writer->info.nchunks && r == 0; i++) {
        struct table_chunk chunk;

        chunk_table_get(writer->chunks, i, &chunk);
        if (chunk.entry < 0)
            r = store_special(writer, i,
                              chunk.entry == frame_special_entry(CHUNK_NANS),
                              fault);
    }
    return r;
}

/* Set the sizes of all chunks in the table, while they follow from the
   chunksize. */
static void note_sizes(struct frame_writer *writer)
{
    for (uint64_t i = 0; i < writer->info.nchunks; i++) {
        struct table_chunk chunk;

        chunk_table_get(writer->chunks, i, &chunk);
        chunk.nbytes = frame_writer_size_of(writer, i);
        chunk_table_set(writer->chunks, i, &chunk);
    }
}

int frame_writer_make_variable(struct frame_writer *writer, struct fault *fault)
{
    struct frame_info *info = &writer->info;
    int r = info->nchunks > FRAME_WRITER_VARIABLE_MAX ? -EFBIG : 0;

    if (r == 0)
        r = chunk_table_keep_all(writer->chunks);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = store_all_special(writer, fault);
    if (r < 0 || writer->variable)
        return r;
    note_sizes(writer);
    pthread_mutex_lock(&writer->lock);
    writer->variable = true;
    pthread_mutex_unlock(&writer->lock);
    info->chunksize = 0;
    return 0;
}
