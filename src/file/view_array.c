/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "array/npy.h"
#include "file/hole.h"
#include "file/view.h"
#include "state/file_private.h"

/* The items of an array in C order, alone or as a .npy file.  A frame that is
   no array shows its chunks in a row. */

/* The bytes before the items, which cannot be changed. */
struct header {
    uint8_t *bytes;
    size_t len;
};

static const struct header no_header;

static const struct header *header_of(const struct view *view)
{
    return view->state ? view->state : &no_header;
}

static int init(struct view *view,
                const struct view_spec *spec __attribute__((unused)),
                struct frame *frame, struct fault *fault)
{
    int r = array_read(frame, &view->array, fault);

    if (r == 0 && !view->array)
        view->ops = &view_row_ops;
    return r;
}

static int init_npy(struct view *view, const struct view_spec *spec,
                    struct frame *frame, struct fault *fault)
{
    int r = init(view, spec, frame, fault);
    struct header *header;

    if (r < 0 || !view->array)
        return r;
    header = view->state = calloc(1, sizeof(*header));
    r = header ? npy_header(view->array, &header->bytes, &header->len)
               : -ENOMEM;
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

static void fini(struct view *view)
{
    array_free(view->array);
    free(header_of(view)->bytes);
    free(view->state);
}

static uint64_t size(const struct view *view,
                     uint64_t nbytes __attribute__((unused)))
{
    return header_of(view)->len + view->array->layout.nbytes;
}

static uint32_t run(const struct view *view)
{
    const struct layout *layout = &view->array->layout;

    if (layout->ndim == 0)
        return UINT32_MAX;
    return layout->dims[layout->ndim - 1].block * layout->itemsize;
}

static bool is_wide(const struct view *view, uint64_t nbytes)
{
    return layout_row_nbytes(&view->array->layout) > nbytes;
}

static int passed(struct file *file, uint64_t off, uint64_t *out,
                  struct fault *fault __attribute__((unused)))
{
    const struct view *view = file->constant.view;
    const struct layout *layout = &view->array->layout;
    size_t len = header_of(view)->len;

    off -= off < len ? off : len;
    *out = layout_passed(layout, off / layout->itemsize);
    return 0;
}

static uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
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

static int locate(struct file *file, uint64_t off, uint64_t len,
                  struct view_piece *out,
                  struct fault *fault __attribute__((unused)))
{
    const struct view *view = file->constant.view;
    const struct header *header = header_of(view);

    if (off < header->len) {
        *out = (struct view_piece){ .header = header->bytes + off };
        out->len = least(len, header->len - off);
        out->row = out->len;
        return 0;
    }
    locate_in_array(&view->array->layout, off - header->len, len, out);
    return 0;
}

/* A row of chunks, which together hold a contiguous range of an array. */
struct slab {
    uint64_t nchunks;
    uint64_t nbytes; /* bytes of the array; fewer in the last slab */
};

static struct slab slab_of(const struct layout *layout)
{
    const struct layout_dim *first = &layout->dims[0];
    uint64_t nrows =
        first->chunk < first->nitems ? first->chunk : first->nitems;

    return (struct slab){
        .nchunks = layout->nchunks / first->nchunks,
        .nbytes = layout->nbytes / first->nitems * nrows,
    };
}

/* Find the next slab that is all hole, or the next one that is not.  If there
   is none, the number is that behind the last slab. */
static int next_slab(const struct hole_search *search, const struct slab *slab,
                     uint64_t *slab_no)
{
    uint64_t nchunks = search->file->constant.view->array->layout.nchunks;

    while (*slab_no < nchunks / slab->nchunks) {
        uint64_t chunk_no;
        int r = hole_next_data(search, *slab_no * slab->nchunks, nchunks,
                               &chunk_no);

        if (r < 0)
            return r;
        if (!search->hole)
            *slab_no = chunk_no / slab->nchunks;
        if (!search->hole || chunk_no / slab->nchunks > *slab_no)
            break;
        ++*slab_no;
    }
    return 0;
}

/* A slab of an array counts as a hole if all its chunks are holes. */
static int seek(const struct hole_search *search, uint64_t *out)
{
    const struct view *view = search->file->constant.view;
    const struct layout *layout = &view->array->layout;
    const struct header *header = header_of(view);
    uint64_t off = search->off;
    uint64_t slab_no;
    struct slab slab;
    int r;

    *out = off;
    if (off < header->len && !search->hole)
        return 0;
    off = off < header->len ? 0 : off - header->len;
    if (off < layout->nbytes) {
        slab = slab_of(layout);
        slab_no = off / slab.nbytes;
        r = next_slab(search, &slab, &slab_no);
        if (r < 0)
            return r;
        if (off < slab_no * slab.nbytes)
            off = slab_no * slab.nbytes;
    }
    if (off >= layout->nbytes && !search->hole)
        return -ENXIO;
    *out = header->len + (off < layout->nbytes ? off : layout->nbytes);
    return 0;
}

const struct view_ops view_array_ops = {
    .init = init,
    .fini = fini,
    .size = size,
    .passed = passed,
    .locate = locate,
    .seek = seek,
    .run = run,
    .is_wide = is_wide,
};

const struct view_ops view_npy_ops = {
    .init = init_npy,
    .fini = fini,
    .size = size,
    .passed = passed,
    .locate = locate,
    .seek = seek,
    .run = run,
    .is_wide = is_wide,
};
