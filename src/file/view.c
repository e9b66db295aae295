/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/view.h"

#include <errno.h>
#include <stdlib.h>

#include "array/npy.h"
#include "file/file.h"
#include "state/file_private.h"

/* Set up the view of a chunk in its stored form. */
static int init_stored(struct view *view, uint64_t chunk_no,
                       struct frame *frame, struct fault *fault)
{
    struct store_stat stat;
    int r = frame_chunk_bytes(frame, chunk_no, &view->stored, fault);

    view->len = 0;
    if (r < 0 || !view->stored)
        return r;
    r = store_object_stat(view->stored, &stat);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    view->len = stat.version.size;
    return 0;
}

/* Set up the view of one chunk. */
static int init_chunk(struct view *view, const struct view_spec *spec,
                      struct frame *frame, struct fault *fault)
{
    int r = frame_span_of(frame, spec->chunk_no, &view->chunk, fault);

    view->one = true;
    view->len = view->chunk.nbytes;
    if (r == 0 && spec->view == FILE_VIEW_STORED)
        r = init_stored(view, spec->chunk_no, frame, fault);
    if (r < 0)
        view_fini(view);
    return r == -ERANGE ? fault_set(fault, -ESTALE, 0, NULL) : r;
}

/* Set up the view of an array, with or without a header. */
static int init_array(struct view *view, bool npy, struct frame *frame,
                      struct fault *fault)
{
    int r = array_read(frame, &view->array, fault);

    if (r < 0 || !view->array || !npy)
        return r;
    r = npy_header(view->array, &view->header, &view->header_len);
    if (r < 0) {
        view_fini(view);
        return fault_set(fault, r, 0, NULL);
    }
    return 0;
}

int view_init(struct view *view, const struct view_spec *spec,
              struct frame *frame, struct fault *fault)
{
    *view = (struct view){ 0 };
    switch (spec->view) {
    case FILE_VIEW_CHUNKS:
        return 0;
    case FILE_VIEW_ARRAY:
    case FILE_VIEW_NPY:
        return init_array(view, spec->view == FILE_VIEW_NPY, frame, fault);
    case FILE_VIEW_CHUNK:
    case FILE_VIEW_STORED:
        break;
    }
    return init_chunk(view, spec, frame, fault);
}

void view_fini(struct view *view)
{
    array_free(view->array);
    free(view->header);
    store_object_close(view->stored);
    *view = (struct view){ 0 };
}

uint64_t view_size(const struct view *view, uint64_t nbytes)
{
    if (view->one)
        return view->len;
    return view->array ? view->header_len + view->array->layout.nbytes : nbytes;
}

uint32_t view_run(const struct view *view)
{
    const struct layout *layout;

    if (!view->array || view->array->layout.ndim == 0)
        return UINT32_MAX;
    layout = &view->array->layout;
    return layout->dims[layout->ndim - 1].block * layout->itemsize;
}

bool view_is_wide(const struct view *view, uint64_t nbytes)
{
    return view->array && layout_row_nbytes(&view->array->layout) > nbytes;
}

int view_passed(struct file *file, uint64_t off, uint64_t *out,
                struct fault *fault)
{
    const struct view *view = file->constant.view;
    struct frame_span span;
    int r;

    off -= off < view->header_len ? off : view->header_len;
    if (view->array) {
        const struct layout *layout = &view->array->layout;

        *out = layout_passed(layout, off / layout->itemsize);
        return 0;
    }
    if (view->one) {
        *out = view->chunk.chunk_no;
        return 0;
    }
    r = file_locate(file, off, &span, fault);
    if (r == 0)
        *out = span.chunk_no;
    return r;
}

static uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

static void locate_in_chunk(const struct frame_span *span, uint64_t off,
                            uint64_t len, struct view_piece *out)
{
    *out = (struct view_piece){ .chunk_no = span->chunk_no,
                                .nbytes = span->nbytes,
                                .off = (uint32_t)off };
    out->len = least(len, span->nbytes - out->off);
    out->row = out->len;
    out->span = out->len;
}

static int locate_in_row(struct file *file, uint64_t off, uint64_t len,
                         struct view_piece *out, struct fault *fault)
{
    struct frame_span span;
    int r = file_locate(file, off, &span, fault);

    if (r < 0)
        return r;
    locate_in_chunk(&span, off - span.off, len, out);
    return 0;
}

/* Find a piece of an array.  It may start and end inside an item. */
static void locate_in_array(const struct layout *layout, uint64_t off,
                            uint64_t len, struct view_piece *out)
{
    uint32_t itemsize = layout->itemsize;
    uint32_t in_item = (uint32_t)(off % itemsize);
    uint64_t max = len / itemsize + 2; /* in items; the first and the last may
                                          be partial */
    struct layout_place place;

    layout_locate(layout, off / itemsize, max, &place);
    *out = (struct view_piece){
        .chunk_no = place.chunk_no,
        .nbytes = layout->chunk_nitems * itemsize,
        .off = place.item * itemsize + in_item,
        .len = least(len, place.run * itemsize - in_item),
        .row = least(len, place.row * itemsize - in_item),
        .span = place.span * itemsize - in_item,
    };
}

int view_locate(struct file *file, uint64_t off, uint64_t len,
                struct view_piece *out, struct fault *fault)
{
    const struct view *view = file->constant.view;

    if (off < view->header_len) {
        *out = (struct view_piece){ .header = view->header + off };
        out->len = least(len, view->header_len - off);
        out->row = out->len;
        return 0;
    }
    off -= view->header_len;
    if (view->one) {
        locate_in_chunk(&view->chunk, off, len, out);
        return 0;
    }
    if (!view->array)
        return locate_in_row(file, off, len, out, fault);
    locate_in_array(&view->array->layout, off, len, out);
    return 0;
}
