/* SPDX-License-Identifier: BSD-3-Clause */
#include "array_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/size.h"
#include "file/file_region.h"
#include "interrupt.h"
#include "progress.h"
#include "source.h"
#include "threads.h"

enum {
    BOX_MAX = 64 << 20, /* bytes in a box, unless one chunk has more */
    CHUNKS = 4,         /* to keep in memory */
};

size_t array_copy_cache_size(const struct file_params *params)
{
    size_t least = file_default_options.cache_size;
    struct fault fault = FAULT_NONE;
    struct layout layout;
    size_t size = 0;

    if (layout_init(&layout, &params->array->shape, params->chunk.typesize,
                    &fault) == 0)
        size = (size_t)CHUNKS * layout.chunk_nitems * layout.itemsize;
    return size < least ? least : size;
}

int array_copy_context(size_t cache_size, struct file_context **out)
{
    struct file_options options = file_default_options;
    int r;

    options.view = FILE_VIEW_ARRAY;
    options.commit = 0;
    options.cache_size = cache_size;
    options.nthreads = threads_get();
    r = file_context_new(&options, out);
    if (r < 0)
        log_error("cannot start: %s", strerror(-r));
    return r;
}

/* The boxes that an array is cut into. */
struct boxes {
    const struct layout_shape *shape;
    uint32_t itemsize;
    uint64_t extents[ARRAY_NDIM_MAX]; /* of a box; whole chunks, cut at the end
                                         of the array */
};

/* Bytes of a box that is `factor` times as long along a dimension, but no
   longer than the array; UINT64_MAX if they are too many to count. */
static uint64_t box_nbytes(const struct boxes *boxes, unsigned dim,
                           unsigned factor)
{
    uint64_t nbytes = boxes->itemsize;

    for (unsigned i = 0; i < boxes->shape->ndim; i++) {
        uint64_t extent = boxes->extents[i];

        if (i == dim && extent <= boxes->shape->items[i] / factor)
            extent *= factor;
        else if (i == dim)
            extent = boxes->shape->items[i];
        if (!size_mul(nbytes, extent, &nbytes))
            return UINT64_MAX;
    }
    return nbytes;
}

/* Make boxes twice as long along a dimension, if that leaves them small
   enough. */
static bool double_extent(struct boxes *boxes, unsigned dim)
{
    uint64_t whole = boxes->shape->items[dim];
    uint64_t *extent = &boxes->extents[dim];

    if (*extent == whole || box_nbytes(boxes, dim, 2) > BOX_MAX)
        return false;
    *extent = *extent > whole / 2 ? whole : 2 * *extent;
    return true;
}

/* Find the dimension along which a box has the smallest part of what is read
   together.  Returns false if it has all of it everywhere. */
static bool find_short(const struct boxes *boxes, const uint64_t *grain,
                       const bool *full, unsigned *dim)
{
    double least = 1;

    for (unsigned i = 0; i < boxes->shape->ndim; i++) {
        double part = (double)boxes->extents[i] / (double)grain[i];

        if (!full[i] && part < least) {
            least = part;
            *dim = i;
        }
    }
    return least < 1;
}

/* Choose the extents: a box holds what is read together, if that fits, and then
   what follows it in the source. */
static void choose_extents(struct boxes *boxes,
                           const struct array_source *source)
{
    const struct layout_shape *shape = boxes->shape;
    bool full[ARRAY_NDIM_MAX] = { false };
    unsigned dim = 0;

    for (unsigned i = 0; i < shape->ndim; i++)
        boxes->extents[i] = shape->chunk[i] < shape->items[i] ? shape->chunk[i]
                                                              : shape->items[i];
    while (find_short(boxes, source->grain, full, &dim))
        full[dim] = !double_extent(boxes, dim);
    for (unsigned i = 0; i < shape->ndim; i++) {
        dim = source->fortran ? i : shape->ndim - 1 - i;
        while (double_extent(boxes, dim))
            ;
    }
}

/* Set the strides of a box in memory, in the order of the source.  Returns its
   size in bytes. */
static uint64_t set_strides(const struct boxes *boxes, bool fortran,
                            struct region *box)
{
    unsigned ndim = boxes->shape->ndim;
    uint64_t nbytes = boxes->itemsize;

    for (unsigned i = 0; i < ndim; i++) {
        unsigned dim = fortran ? i : ndim - 1 - i;

        box->stride[dim] = (int64_t)nbytes;
        nbytes *= box->count[dim];
    }
    return nbytes;
}

/* Cut the box that starts where it does at the end of the array. */
static void cut(const struct boxes *boxes, struct region *box)
{
    for (unsigned i = 0; i < boxes->shape->ndim; i++) {
        uint64_t left = boxes->shape->items[i] - box->start[i];

        box->count[i] = boxes->extents[i] < left ? boxes->extents[i] : left;
    }
}

/* Go to the start of the next box, in the order of the source.  Returns false
   if there is none. */
static bool next_box(const struct boxes *boxes, bool fortran,
                     struct region *box)
{
    unsigned ndim = boxes->shape->ndim;

    for (unsigned i = 0; i < ndim; i++) {
        unsigned dim = fortran ? i : ndim - 1 - i;

        box->start[dim] += box->count[dim];
        if (box->start[dim] < boxes->shape->items[dim])
            return true;
        box->start[dim] = 0;
    }
    return false;
}

static bool is_zero(const uint8_t *bytes, uint64_t len)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, (size_t)len - 1) == 0;
}

/* A copy that is being made. */
struct copying {
    struct array_source *source;
    struct file *file;
    const char *path;
    struct boxes boxes;
    uint8_t *memory; /* for a box */
};

static int copy_box(const struct copying *copying, const struct region *box,
                    uint64_t nbytes)
{
    struct array_source *source = copying->source;
    struct fault fault = FAULT_NONE;
    int r;

    if (interrupt_seen())
        return -EINTR;
    if (source->is_hole && source->is_hole(source, box))
        return 0;
    r = source->read(source, box, copying->memory);
    if (r < 0 || is_zero(copying->memory, nbytes))
        return r;
    r = file_region_write(copying->file, box, copying->memory, &fault);
    if (r < 0)
        source_report(copying->path, r, &fault);
    return r;
}

static int copy_boxes(const struct copying *copying)
{
    uint64_t total = file_size(copying->file);
    bool fortran = copying->source->fortran;
    struct region box = { .start = { 0 } };
    struct progress progress;
    uint64_t done = 0;
    bool more = true;
    int r = 0;

    progress_start(&progress);
    while (more && r == 0) {
        uint64_t nbytes;

        cut(&copying->boxes, &box);
        nbytes = set_strides(&copying->boxes, fortran, &box);
        r = copy_box(copying, &box, nbytes);
        done += nbytes;
        progress_update(&progress, done, total);
        more = next_box(&copying->boxes, fortran, &box);
    }
    progress_clear(&progress);
    return r;
}

static int copy_all(struct copying *copying)
{
    int r;

    choose_extents(&copying->boxes, copying->source);
    copying->memory = malloc((size_t)box_nbytes(&copying->boxes, 0, 1));
    if (!copying->memory) {
        source_report(copying->path, -ENOMEM, &FAULT_NONE);
        return -ENOMEM;
    }
    r = copy_boxes(copying);
    free(copying->memory);
    return r;
}

int array_sync(struct file *file, const char *path)
{
    struct fault fault = FAULT_NONE;
    int r = file_sync(file, &fault);

    if (r < 0)
        source_report(path, r, &fault);
    return r;
}

int array_copy(struct array_source *source, struct file *file,
               const struct layout_shape *shape, uint32_t itemsize,
               const char *path)
{
    struct copying copying = {
        .source = source,
        .file = file,
        .path = path,
        .boxes = { .shape = shape, .itemsize = itemsize },
    };
    int r = file_size(file) > 0 ? copy_all(&copying) : 0;

    return r < 0 ? r : array_sync(file, path);
}
