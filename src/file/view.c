/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/view.h"

#include "file/hole.h"
#include "state/file_private.h"

static const struct view_ops *const views[] = {
    [FILE_VIEW_CHUNKS] = &view_row_ops,    [FILE_VIEW_ARRAY] = &view_array_ops,
    [FILE_VIEW_NPY] = &view_npy_ops,       [FILE_VIEW_CHUNK] = &view_chunk_ops,
    [FILE_VIEW_STORED] = &view_stored_ops,
};

int view_init(struct view *view, const struct view_spec *spec,
              struct frame *frame, struct fault *fault)
{
    int r;

    *view = (struct view){ .ops = views[spec->view] };
    r = view->ops->init(view, spec, frame, fault);
    if (r < 0)
        view_fini(view);
    return r;
}

void view_fini(struct view *view)
{
    if (view->ops)
        view->ops->fini(view);
    *view = (struct view){ 0 };
}

uint64_t view_size(const struct view *view, uint64_t nbytes)
{
    return view->ops->size(view, nbytes);
}

uint32_t view_run(const struct view *view)
{
    return view->ops->run ? view->ops->run(view) : UINT32_MAX;
}

bool view_is_wide(const struct view *view, uint64_t nbytes)
{
    return view->ops->is_wide && view->ops->is_wide(view, nbytes);
}

bool view_is_in_row(const struct view *view)
{
    return view->ops->in_row;
}

int view_passed(struct file *file, uint64_t off, uint64_t *out,
                struct fault *fault)
{
    return file->constant.view->ops->passed(file, off, out, fault);
}

int view_locate(struct file *file, uint64_t off, uint64_t len,
                struct view_piece *out, struct fault *fault)
{
    return file->constant.view->ops->locate(file, off, len, out, fault);
}

int view_seek(const struct hole_search *search, uint64_t *out)
{
    return search->file->constant.view->ops->seek(search, out);
}

void view_piece_of_chunk(const struct frame_span *span, uint64_t off,
                         uint64_t len, struct view_piece *out)
{
    uint64_t behind = span->nbytes - off;

    *out = (struct view_piece){ .chunk_no = span->chunk_no,
                                .nbytes = span->nbytes,
                                .off = (uint32_t)off };
    out->len = (uint32_t)(len < behind ? len : behind);
    out->row = out->len;
    out->span = out->len;
}
