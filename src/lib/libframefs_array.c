/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "base/retry.h"
#include "file/file_array.h"
#include "file/file_region.h"
#include "lib/libframefs_private.h"
#include "state/file_private.h"

_Static_assert((int)FRAMEFS_NDIM_MAX == (int)ARRAY_NDIM_MAX,
               "dimensions of an array");

static int refuse_no_array(const struct framefs_frame *frame)
{
    return libframefs_refuse(frame->path, -ENODATA,
                             "not an array, or not opened as one");
}

static void fill_array(const struct array *from, struct framefs_array *out)
{
    *out = (struct framefs_array){ .ndim = from->shape.ndim,
                                   .itemsize = from->layout.itemsize };
    for (unsigned i = 0; i < from->shape.ndim; i++) {
        out->shape[i] = from->shape.items[i];
        out->chunks[i] = from->shape.chunk[i];
        out->blocks[i] = from->shape.block[i];
    }
}

int framefs_array_info(struct framefs_frame *frame, struct framefs_array *out,
                       size_t size)
{
    const struct array *array;
    struct framefs_array info;

    if (size > sizeof(info))
        return libframefs_refuse(frame->path, -EINVAL,
                                 "this library is too old");
    array = libframefs_enter(frame)->constant.array;
    if (array)
        fill_array(array, &info);
    libframefs_leave(frame);
    if (!array)
        return refuse_no_array(frame);
    memcpy(out, &info, size);
    return 0;
}

ssize_t framefs_array_dtype(struct framefs_frame *frame, char *text,
                            size_t size)
{
    const struct array *array = libframefs_enter(frame)->constant.array;
    const char *dtype = array && array->dtype ? array->dtype : "";
    ssize_t len =
        libframefs_hand_out(frame, dtype, strlen(dtype) + 1, text, size);

    libframefs_leave(frame);
    if (!array)
        return refuse_no_array(frame);
    return len < 0 ? len : len - 1;
}

/* Take the region that a caller describes. */
static int take_region(struct file *file, const struct framefs_region *from,
                       struct region *out, struct fault *fault)
{
    const struct array *array = file->constant.array;
    unsigned ndim = array ? array->shape.ndim : 0;

    *out = (struct region){ .start = { 0 } };
    if (array &&
        (from->ndim != ndim || from->itemsize != array->layout.itemsize))
        return fault_set(fault, -ERANGE, 0,
                         "the array has other dimensions or items");
    for (unsigned i = 0; i < ndim; i++) {
        out->start[i] = from->start[i];
        out->count[i] = from->count[i];
        out->stride[i] = from->strides ? from->strides[i] : 0;
    }
    if (array && !from->strides && region_set_c_order(out, array) < 0)
        return fault_set(fault, -ERANGE, 0, "the array has no such items");
    return 0;
}

static int try_read(struct framefs_frame *frame,
                    const struct framefs_region *from, void *buf,
                    struct fault *fault)
{
    struct file *file = libframefs_enter(frame);
    struct region region;
    int r = libframefs_check_open(frame);

    if (r == 0)
        r = take_region(file, from, &region, fault);
    if (r == 0)
        r = file_region_read(file, &frame->region_reader, &region, buf, fault);
    libframefs_leave(frame);
    return r;
}

int framefs_array_read(struct framefs_frame *frame,
                       const struct framefs_region *region, void *buf)
{
    bool writable = frame->flags & FRAMEFS_WRITE;
    struct retry retry = RETRY_REPLACED;
    struct fault fault = FAULT_NONE;
    int r;

    do
        r = try_read(frame, region, buf, &fault);
    while (r == -ESTALE && !writable && retry_wait(&retry));
    return r < 0 ? libframefs_fail(frame->path, r, &fault) : 0;
}

int framefs_array_write(struct framefs_frame *frame,
                        const struct framefs_region *from, const void *buf)
{
    struct fault fault = FAULT_NONE;
    struct file *file = libframefs_enter(frame);
    struct region region;
    int r = libframefs_check_open(frame);

    if (r == 0)
        r = take_region(file, from, &region, &fault);
    if (r == 0)
        r = file_region_write(file, &region, buf, &fault);
    libframefs_leave(frame);
    return r < 0 ? libframefs_fail(frame->path, r, &fault) : 0;
}

/* Close the file of a frame whose array was resized, and open it again.  If
   that fails, the old file stays, but is not used any more. */
static int reopen(struct framefs_frame *frame, struct fault *fault)
{
    struct file *newest;
    int r = file_finish(frame->file);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = libframefs_open_path(frame, &newest, fault);
    if (r < 0)
        return r;
    file_close(frame->file);
    frame->file = newest;
    return 0;
}

int framefs_array_resize(struct framefs_frame *frame, const uint64_t *shape)
{
    struct fault fault = FAULT_NONE;
    int r;

    pthread_rwlock_wrlock(&frame->lock);
    r = libframefs_check_open(frame);
    if (r == 0)
        r = file_array_resize(frame->file, shape, &fault);
    if (r == 0) {
        r = reopen(frame, &fault);
        frame->lost = r < 0;
    }
    pthread_rwlock_unlock(&frame->lock);
    return r < 0 ? libframefs_fail(frame->path, r, &fault) : 0;
}
