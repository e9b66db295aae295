/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "file/hole.h"
#include "file/view.h"
#include "state/file_private.h"

/* The chunks of a frame in a row. */

static int init(struct view *view __attribute__((unused)),
                const struct view_spec *spec __attribute__((unused)),
                struct frame *frame __attribute__((unused)),
                struct fault *fault __attribute__((unused)))
{
    return 0;
}

static void fini(struct view *view __attribute__((unused)))
{
}

static uint64_t size(const struct view *view __attribute__((unused)),
                     uint64_t nbytes)
{
    return nbytes;
}

static int passed(struct file *file, uint64_t off, uint64_t *out,
                  struct fault *fault)
{
    struct frame_span span;
    int r = file_locate(file, off, &span, fault);

    if (r == 0)
        *out = span.chunk_no;
    return r;
}

static int locate(struct file *file, uint64_t off, uint64_t len,
                  struct view_piece *out, struct fault *fault)
{
    struct frame_span span;
    int r = file_locate(file, off, &span, fault);

    if (r < 0)
        return r;
    view_piece_of_chunk(&span, off - span.off, len, out);
    return 0;
}

/* Find a hole, or data, in a file that has changed.  This looks at one chunk
   after the other, because some may exist in memory only. */
static int seek_changed(const struct hole_search *search, uint64_t *out)
{
    uint64_t size = file_size(search->file);
    uint64_t off = search->off;

    while (off < size) {
        struct frame_span span;
        bool is;
        int r = file_locate(search->file, off, &span, search->fault);

        if (r == 0)
            r = hole_is(search, span.chunk_no, &is);
        if (r < 0)
            return r;
        if (is == search->hole) {
            *out = off;
            return 0;
        }
        off = span.off + span.nbytes;
    }
    if (!search->hole)
        return -ENXIO;
    *out = size;
    return 0;
}

/* The same for a file without changes, by the index alone. */
static int seek_committed(const struct hole_search *search, uint64_t *out)
{
    struct frame *frame = search->state->frame;
    struct frame_span span;
    uint64_t chunk_no;
    int r;

    r = frame_locate(frame, search->off, &span, search->fault);
    if (r < 0)
        return r;
    r = frame_next(frame, span.chunk_no, search->hole, &chunk_no,
                   search->fault);
    if (r < 0)
        return r;
    if (chunk_no == span.chunk_no) {
        *out = search->off;
        return 0;
    }

    r = frame_span_of(frame, chunk_no, &span, search->fault);
    if (r == -ERANGE && !search->hole)
        return -ENXIO;
    if (r < 0 && r != -ERANGE)
        return r;
    *out = r == 0 ? span.off : file_size(search->file);
    return 0;
}

static int seek(const struct hole_search *search, uint64_t *out)
{
    return search->file->states.begun ? seek_changed(search, out)
                                      : seek_committed(search, out);
}

const struct view_ops view_row_ops = {
    .in_row = true,
    .init = init,
    .fini = fini,
    .size = size,
    .passed = passed,
    .locate = locate,
    .seek = seek,
};
