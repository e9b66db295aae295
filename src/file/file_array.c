/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/file_array.h"

#include <errno.h>
#include <stdlib.h>

#include "base/size.h"
#include "file/file_chunk_edit.h"
#include "file/file_region.h"
#include "writeback/writeback.h"

/* A change of the extents of an array. */
struct resize {
    struct writeback_edit edit;
    const struct layout_shape *old;
    const struct layout_shape *shape; /* the new one */
    uint64_t nchunks;                 /* in the new array */
    uint32_t chunksize;
    const char *layer; /* name of the metalayer of the array, */
    uint8_t *content;  /* and its new content */
    size_t len;
};

/* Return the number of chunks along a dimension. */
static uint64_t grid(const struct layout_shape *shape, unsigned i)
{
    return shape->chunk[i] > 0 ? size_pieces(shape->items[i], shape->chunk[i])
                               : 0;
}

/* Do the chunks that both arrays have keep their numbers? */
static bool keeps_order(const struct resize *resize)
{
    for (unsigned i = 1; i < resize->old->ndim; i++)
        if (grid(resize->old, i) != grid(resize->shape, i))
            return false;
    return true;
}

/* Find the old number of a chunk of the new array.  Returns false if it is
   new. */
static bool find_old(const struct resize *resize, uint64_t chunk_no,
                     uint64_t *out)
{
    uint64_t step = 1;

    *out = 0;
    for (unsigned i = resize->old->ndim; i-- > 0;) {
        uint64_t n = grid(resize->shape, i);
        uint64_t have = grid(resize->old, i);

        if (chunk_no % n >= have)
            return false;
        *out += chunk_no % n * step;
        chunk_no /= n;
        step *= have;
    }
    return true;
}

/* Sort the chunks that stay to the front, in their new order, and cut the
   others off.  Returns 0 or an error; `nkept` receives their number. */
static int drop_chunks(struct frame_writer *writer, const struct resize *resize,
                       uint64_t *nkept, struct fault *fault)
{
    uint64_t nold = frame_writer_get_info(writer)->nchunks;
    uint64_t *order = calloc(nold + 1, sizeof(order[0]));
    uint8_t *kept = calloc(nold + 1, 1);
    uint64_t n = 0;
    int r = order && kept ? 0 : -ENOMEM;

    for (uint64_t i = 0; i < resize->nchunks && r == 0; i++) {
        uint64_t old;

        if (!find_old(resize, i, &old))
            continue;
        order[n++] = old;
        kept[old] = 1;
    }
    *nkept = n;
    for (uint64_t i = 0; i < nold && r == 0; i++)
        if (!kept[i])
            order[n++] = i;
    if (r == 0)
        r = frame_writer_reorder(writer, order);
    free(order);
    free(kept);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    return frame_writer_resize(writer, *nkept * resize->chunksize, fault);
}

/* Put chunks of zeros, which are at the end, where the new array has them. */
static int spread_chunks(struct frame_writer *writer,
                         const struct resize *resize, uint64_t nkept,
                         struct fault *fault)
{
    uint64_t *order = calloc(resize->nchunks + 1, sizeof(order[0]));
    uint64_t next_kept = 0;
    uint64_t next_new = nkept;
    int r;

    if (!order)
        return fault_set(fault, -ENOMEM, 0, NULL);
    for (uint64_t i = 0; i < resize->nchunks; i++) {
        uint64_t old;

        order[i] = find_old(resize, i, &old) ? next_kept++ : next_new++;
    }
    r = frame_writer_reorder(writer, order);
    free(order);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

static int move_chunks(struct frame_writer *writer, const struct resize *resize,
                       struct fault *fault)
{
    uint64_t nbytes = resize->nchunks * resize->chunksize;
    uint64_t nkept = 0;
    int r;

    if (keeps_order(resize))
        return frame_writer_resize(writer, nbytes, fault);
    r = drop_chunks(writer, resize, &nkept, fault);
    if (r == 0)
        r = frame_writer_resize(writer, nbytes, fault);
    return r == 0 ? spread_chunks(writer, resize, nkept, fault) : r;
}

static int run_resize(struct frame_writer *writer,
                      const struct writeback_edit *edit, struct fault *fault)
{
    const struct resize *resize = (const struct resize *)(const void *)edit;
    int r = move_chunks(writer, resize, fault);

    if (r < 0)
        return r;
    r = frame_writer_set_metalayer(writer, resize->layer, resize->content,
                                   resize->len);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Clear what becomes items, and commit the new extents with their metalayer.
   The metalayer keeps its length. */
static int commit_resize(struct file *file, struct resize *resize,
                         struct frame *frame, struct fault *fault)
{
    ssize_t len =
        array_read_content(frame, &resize->layer, &resize->content, fault);
    int r;

    if (len < 0)
        return len == -ENODATA ? fault_set(fault, -ESTALE, 0, NULL) : (int)len;
    resize->len = (size_t)len;
    array_set_items(resize->content, resize->shape->items, resize->shape->ndim);
    r = file_region_clear(file, resize->shape->items, fault);
    if (r == 0)
        r = file_run_edit(file, &resize->edit, fault);
    free(resize->content);
    return r;
}

/* Check that the chunks of the frame can hold the new array. */
static int check_shape(const struct layout_shape *shape,
                       const struct frame_info *info, struct resize *resize,
                       struct fault *fault)
{
    struct layout layout;
    int r = layout_init(&layout, shape, info->typesize, fault);

    if (r == -EBADMSG)
        return fault_set(fault, -EINVAL, 0, fault->what);
    if (layout.nchunks > FRAME_WRITER_CHUNKS_MAX)
        return fault_set(fault, -EFBIG, 0, NULL);
    resize->chunksize = info->chunksize;
    resize->nchunks = layout.nchunks;
    if (layout.nchunks > 0 &&
        layout.chunk_nitems * layout.itemsize != info->chunksize)
        return fault_set(fault, -EINVAL, 0,
                         "chunks of the frame have another size");
    return r;
}

int file_array_resize(struct file *file, const uint64_t *items,
                      struct fault *fault)
{
    const struct array *array = file->constant.array;
    struct resize resize = { .edit = { .run = run_resize,
                                       .moves_chunks = true } };
    struct layout_shape shape;
    struct frame *frame;
    int r;

    if (!array)
        return fault_set(fault, -ENODATA, 0,
                         "not an array, or not opened as one");
    shape = array->shape;
    for (unsigned i = 0; i < shape.ndim; i++)
        shape.items[i] = items[i];
    resize.old = &array->shape;
    resize.shape = &shape;
    frame = file_frame_get(file);
    r = check_shape(&shape, frame_get_info(frame), &resize, fault);
    if (r == 0)
        r = commit_resize(file, &resize, frame, fault);
    file_frame_put(file, frame);
    return r;
}
