/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "file/file.h"
#include "file/file_chunk_edit.h"
#include "file/view.h"
#include "writeback/recover.h"
#include "writeback/writeback.h"

enum {
    PIECE = 1 << 20, /* bytes to copy at a time through memory */
    BATCH = 256,     /* chunks to copy in one commit */
};

/* Can stored chunks of one frame be used in the other? */
static bool are_alike(struct file *src, struct file *dst)
{
    struct frame *from = file_frame_get(src);
    struct frame *to = file_frame_get(dst);
    const struct frame_info *a = frame_get_info(from);
    const struct frame_info *b = frame_get_info(to);
    bool alike = dst->states.chunksize > 0 &&
                 a->chunksize == dst->states.chunksize &&
                 a->typesize == b->typesize && !a->vlblocks && src != dst &&
                 view_is_in_row(src->constant.view) &&
                 view_is_in_row(dst->constant.view);

    file_frame_put(dst, to);
    file_frame_put(src, from);
    return alike;
}

/* Count the chunks from `off` on that are stored with full size and have no
   uncommitted bytes, BATCH at most. */
static uint64_t count_stored(struct file *src, struct frame *frame,
                             uint64_t off, uint64_t len)
{
    uint32_t size = frame_get_info(frame)->chunksize;
    uint64_t n = 0;

    while (n < BATCH && (n + 1) * size <= len) {
        struct frame_span span;
        struct frame_entry entry;
        struct fault fault;

        if (frame_locate(frame, off + n * size, &span, &fault) < 0 ||
            frame_get_entry(frame, span.chunk_no, &entry, &fault) < 0)
            break;
        if (entry.special || span.off != off + n * size ||
            span.nbytes != size || span.chunk_no != span.off / size ||
            cache_is_uncommitted(src->constant.context->cache, &src->chunks,
                                 span.chunk_no))
            break;
        n++;
    }
    return n;
}

/* Copy stored chunks.  Sets `*done` to the number of bytes, which is 0 if
   chunks cannot be copied as they are stored.  Returns 0 or an error. */
static int copy_stored(const struct file_copy *copy, uint64_t *done,
                       struct fault *fault)
{
    uint32_t chunksize = copy->dst->states.chunksize;
    struct file_chunk_copy chunks = {
        .src_chunk_no = copy->src_off / chunksize,
        .chunk_no = copy->dst_off / chunksize,
    };
    int r = 0;

    *done = 0;
    if (copy->src_off % chunksize != 0 || copy->dst_off % chunksize != 0)
        return 0;
    chunks.src = file_frame_get(copy->src);
    chunks.nchunks =
        count_stored(copy->src, chunks.src, copy->src_off, copy->len);
    if (chunks.nchunks > 0)
        r = file_extend(copy->dst, copy->dst_off + chunks.nchunks * chunksize,
                        fault);
    if (chunks.nchunks > 0 && r == 0)
        r = file_copy_chunks(copy->dst, &chunks, done, fault);
    *done *= chunksize;
    file_frame_put(copy->src, chunks.src);
    return r;
}

/* Read bytes into a buffer.  Returns their number or an error. */
static ssize_t read_bytes(struct file *src, uint64_t off, uint8_t *bytes,
                          size_t len, struct fault *fault)
{
    struct file_data data;
    size_t at = 0;
    int r =
        file_read(src, NULL, &(struct file_range){ off, len }, &data, fault);

    if (r < 0)
        return r;
    for (size_t i = 0; i < data.niov; at += data.iov[i++].iov_len)
        memcpy(bytes + at, data.iov[i].iov_base, data.iov[i].iov_len);
    file_data_put(src, &data);
    return (ssize_t)at;
}

/* Copy bytes through memory of their own, because a thread that waits for
   memory to write must not pin bytes of the cache. */
static int copy_bytes(const struct file_copy *copy, uint64_t *done,
                      struct fault *fault)
{
    uint32_t chunksize = copy->dst->states.chunksize;
    uint64_t len = copy->len;
    uint8_t *bytes;
    ssize_t n;
    int r;

    if (len > PIECE)
        len = PIECE;
    if (chunksize > 0 && len > chunksize - copy->dst_off % chunksize)
        len = chunksize - copy->dst_off % chunksize;
    bytes = malloc(len);
    if (!bytes)
        return fault_set(fault, -ENOMEM, 0, NULL);
    n = read_bytes(copy->src, copy->src_off, bytes, (size_t)len, fault);
    r = n < 0 ? (int)n
              : file_write(copy->dst, copy->dst_off, bytes, (size_t)n, fault);
    free(bytes);
    if (r == 0)
        *done = (uint64_t)n;
    return r;
}

static int copy_all(const struct file_copy *copy, uint64_t *done,
                    struct fault *fault)
{
    struct file_copy rest = *copy;
    uint64_t size = file_size(copy->src);
    bool alike;
    int r = 0;

    if (copy->src_off >= size)
        return 0;
    /* Do not copy bytes that this copy itself appends to the file. */
    if (rest.len > size - rest.src_off)
        rest.len = size - rest.src_off;
    alike = are_alike(copy->src, copy->dst);
    if (alike && rest.len >= copy->dst->states.chunksize &&
        copy->src->states.begun)
        r = writeback_commit(copy->src, NULL, fault);
    /* Programs see what no stored chunk has any more. */
    if (file_is_orphaned(copy->src))
        alike = false;
    else if (r == 0 && recover_has_lost(copy->src))
        r = gate_failure(copy->src, fault);
    while (r == 0 && rest.len > 0 && rest.src_off < file_size(copy->src)) {
        uint64_t n = 0;

        if (alike)
            r = copy_stored(&rest, &n, fault);
        if (r == 0 && n == 0)
            r = copy_bytes(&rest, &n, fault);
        if (r < 0)
            break;
        *done += n;
        rest.src_off += n;
        rest.dst_off += n;
        rest.len -= n;
    }
    return r;
}

int file_copy(const struct file_copy *copy, uint64_t *done, struct fault *fault)
{
    int r = writeback_begin(copy->dst, fault);

    *done = 0;
    if (r < 0)
        return r;
    r = copy_all(copy, done, fault);
    writeback_end(copy->dst);
    return r;
}
