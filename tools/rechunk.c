/* SPDX-License-Identifier: BSD-3-Clause */
#include "rechunk.h"

#include <errno.h>
#include <stdlib.h>

#include "array/array.h"
#include "array_copy.h"
#include "file/file_region.h"
#include "source.h"

static int report(const char *path, int error, const struct fault *fault)
{
    source_report(path, error, fault);
    return error;
}

/* The old array, as a source of items. */
struct old_array {
    struct array_source source;
    const struct rechunk *rechunk;
    uint64_t hole; /* byte of the file where the last hole starts that was
                      found */
    uint64_t data; /* and where it ends */
};

static int read_box(struct array_source *source, const struct region *box,
                    uint8_t *memory)
{
    const struct old_array *old =
        (const struct old_array *)(const void *)source;
    const struct rechunk *rechunk = old->rechunk;
    struct fault fault = FAULT_NONE;
    int r = file_region_read(rechunk->file, NULL, box, memory, &fault);

    return r < 0 ? report(rechunk->path, r, &fault) : 0;
}

/* Find the hole from a byte on.  The result is kept, because finding it may
   take a walk along the index. */
static void find_hole(struct old_array *old, uint64_t off)
{
    struct file *file = old->rechunk->file;
    struct fault fault;
    int r = file_seek(file, off, false, &old->data, &fault);

    old->hole = off;
    if (r == -ENXIO)
        old->data = file_size(file);
    else if (r < 0)
        old->data = off;
}

/* The file has the items in C order, so all items of a box lie from its first
   one to its last one. */
static bool is_hole(struct array_source *source, const struct region *box)
{
    struct old_array *old = (struct old_array *)(void *)source;
    const struct file_params *params = old->rechunk->params;
    const struct layout_shape *shape = &params->array->shape;
    uint64_t first = 0;
    uint64_t last = 0;

    for (unsigned i = 0; i < shape->ndim; i++) {
        first = first * shape->items[i] + box->start[i];
        last = last * shape->items[i] + box->start[i] + box->count[i] - 1;
    }
    first *= params->chunk.typesize;
    last *= params->chunk.typesize;
    if (first < old->hole || first >= old->data)
        find_hole(old, first);
    return last < old->data;
}

static int copy_items(const struct rechunk *rechunk, struct file *file)
{
    const struct file_params *params = rechunk->params;
    struct old_array old = {
        .source = { .read = read_box, .is_hole = is_hole },
        .rechunk = rechunk,
    };
    struct fault fault = FAULT_NONE;
    struct array *array;
    int r = array_read(rechunk->frame, &array, &fault);

    if (r < 0)
        return report(rechunk->path, r, &fault);
    for (unsigned i = 0; i < array->shape.ndim; i++)
        old.source.grain[i] =
            array->shape.block[i] > 0 ? array->shape.block[i] : 1;
    array_free(array);
    return array_copy(&old.source, file, &params->array->shape,
                      params->chunk.typesize, rechunk->out);
}

int rechunk_write(const struct rechunk *rechunk, struct store *store)
{
    struct fault fault = FAULT_NONE;
    struct file_context *context;
    struct file *file;
    int r =
        array_copy_context(array_copy_cache_size(rechunk->params), &context);

    if (r < 0)
        return r;
    r = file_create(context, store, rechunk->params, &file, &fault);
    if (r < 0) {
        report(rechunk->out, r, &fault);
    } else {
        r = copy_items(rechunk, file);
        file_close(file);
    }
    file_context_free(context);
    return r;
}
