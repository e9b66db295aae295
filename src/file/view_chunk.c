/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "file/hole.h"
#include "file/view.h"
#include "state/file_private.h"

/* One decoded chunk.  If it is of an array, it has its padding. */

static int init(struct view *view, const struct view_spec *spec,
                struct frame *frame, struct fault *fault)
{
    struct frame_span *span = view->state = malloc(sizeof(*span));
    int r;

    if (!span)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = frame_span_of(frame, spec->chunk_no, span, fault);
    return r == -ERANGE ? fault_set(fault, -ESTALE, 0, NULL) : r;
}

static void fini(struct view *view)
{
    free(view->state);
}

static uint64_t size(const struct view *view,
                     uint64_t nbytes __attribute__((unused)))
{
    const struct frame_span *span = view->state;

    return span->nbytes;
}

static int passed(struct file *file, uint64_t off __attribute__((unused)),
                  uint64_t *out, struct fault *fault __attribute__((unused)))
{
    const struct frame_span *span = file->constant.view->state;

    *out = span->chunk_no;
    return 0;
}

static int locate(struct file *file, uint64_t off, uint64_t len,
                  struct view_piece *out,
                  struct fault *fault __attribute__((unused)))
{
    view_piece_of_chunk(file->constant.view->state, off, len, out);
    return 0;
}

/* A chunk is a hole as a whole, or has none. */
static int seek(const struct hole_search *search, uint64_t *out)
{
    const struct frame_span *span = search->file->constant.view->state;
    bool is;
    int r = hole_is(search, span->chunk_no, &is);

    if (r < 0)
        return r;
    if (is && !search->hole)
        return -ENXIO;
    *out = is == search->hole ? search->off : span->nbytes;
    return 0;
}

const struct view_ops view_chunk_ops = {
    .init = init,
    .fini = fini,
    .size = size,
    .passed = passed,
    .locate = locate,
    .seek = seek,
};
