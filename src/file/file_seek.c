/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "file/file_private.h"

/* Is there a chunk in memory that the frame has as a hole, or not at all? */
static int is_hole(struct file *file, struct file_state *state,
                   uint64_t chunk_no, bool *hole, struct fault *fault)
{
    struct frame_entry entry;
    int r;

    if (cache_is_dirty(file->context->cache, &file->chunks, chunk_no)) {
        *hole = false;
        return 0;
    }
    pthread_mutex_lock(&file->lock);
    *hole =
        ranges_have(&file->zeros, chunk_no) ||
        ranges_have(&file->applied, chunk_no) ||
        (file->grid > 0 && chunk_no >= frame_get_info(state->frame)->nchunks);
    pthread_mutex_unlock(&file->lock);
    if (*hole)
        return 0;
    r = frame_get_entry(state->frame, chunk_no, &entry, fault);
    if (r == 0)
        *hole = entry.special && entry.kind != CHUNK_NANS;
    return r;
}

/* Look at one chunk after the other, as some may be in memory only. */
static int seek_changed(struct file *file, struct file_state *state,
                        uint64_t off, bool hole, uint64_t *out,
                        struct fault *fault)
{
    uint64_t size = file_size(file);

    while (off < size) {
        struct frame_span span;
        bool is;
        int r = file_locate(file, off, &span, fault);

        if (r == 0)
            r = is_hole(file, state, span.chunk_no, &is, fault);
        if (r < 0)
            return r;
        if (is == hole) {
            *out = off;
            return 0;
        }
        off = span.off + span.nbytes;
    }
    if (!hole)
        return -ENXIO;
    *out = size;
    return 0;
}

/* The same by the index alone. */
static int seek_committed(struct file *file, struct frame *frame, uint64_t off,
                          bool hole, uint64_t *out, struct fault *fault)
{
    struct frame_span span;
    uint64_t chunk_no;
    int r;

    r = frame_locate(frame, off, &span, fault);
    if (r < 0)
        return r;
    r = frame_next(frame, span.chunk_no, hole, &chunk_no, fault);
    if (r < 0)
        return r;
    if (chunk_no == span.chunk_no) {
        *out = off;
        return 0;
    }

    r = frame_span_of(frame, chunk_no, &span, fault);
    if (r == -ERANGE && !hole)
        return -ENXIO;
    if (r < 0 && r != -ERANGE)
        return r;
    *out = r == 0 ? span.off : file_size(file);
    return 0;
}

int file_seek(struct file *file, uint64_t off, bool hole, uint64_t *out,
              struct fault *fault)
{
    struct file_state *state;
    int r;

    if (off >= file_size(file))
        return -ENXIO;
    state = file_state_get(file);
    r = file->begun ? seek_changed(file, state, off, hole, out, fault)
                    : seek_committed(file, state->frame, off, hole, out, fault);
    file_state_put(file, state);
    return r;
}
