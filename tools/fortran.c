/* SPDX-License-Identifier: BSD-3-Clause */
#include "fortran.h"

#include <errno.h>

#include "array_copy.h"

/* Items in Fortran order, as a source. */
struct fortran {
    struct array_source source;
    struct input *input;
    const struct layout_shape *shape;
    uint32_t itemsize;
};

/* Items of a box that follow one another in the input: `nbytes` of them, which
   have all that the box has along the first `ndim` dimensions. */
struct run {
    unsigned ndim;
    uint64_t nbytes;
};

static struct run find_run(const struct fortran *fortran,
                           const struct region *box)
{
    struct run run = { .nbytes = fortran->itemsize };
    bool whole = true;

    while (run.ndim < fortran->shape->ndim && whole) {
        unsigned dim = run.ndim++;

        run.nbytes *= box->count[dim];
        whole = box->count[dim] == fortran->shape->items[dim];
    }
    return run;
}

/* Offset in the input of the run at `at` in the box. */
static uint64_t offset_of(const struct fortran *fortran,
                          const struct region *box, const uint64_t *at)
{
    uint64_t stride = fortran->itemsize;
    uint64_t off = 0;

    for (unsigned i = 0; i < fortran->shape->ndim; i++) {
        off += (box->start[i] + at[i]) * stride;
        stride *= fortran->shape->items[i];
    }
    return off;
}

/* Go to the next run.  Returns false if there is none. */
static bool next_run(const struct fortran *fortran, const struct region *box,
                     const struct run *run, uint64_t *at)
{
    for (unsigned i = run->ndim; i < fortran->shape->ndim; i++) {
        if (++at[i] < box->count[i])
            return true;
        at[i] = 0;
    }
    return false;
}

static int read_box(struct array_source *source, const struct region *box,
                    uint8_t *memory)
{
    const struct fortran *fortran =
        (const struct fortran *)(const void *)source;
    const struct run run = find_run(fortran, box);
    uint64_t at[ARRAY_NDIM_MAX] = { 0 };
    int r;

    do {
        r = input_read_at(fortran->input, memory, (size_t)run.nbytes,
                          offset_of(fortran, box, at));
        memory += run.nbytes;
    } while (r == 0 && next_run(fortran, box, &run, at));
    return r;
}

int fortran_copy(struct input *input, struct file *file,
                 const struct file_params *params, const char *path)
{
    const struct layout_shape *shape = &params->array->shape;
    struct fortran fortran = {
        .source = { .read = read_box, .fortran = true },
        .input = input,
        .shape = shape,
        .itemsize = params->chunk.typesize,
    };
    int r = input_check_size(input, file_size(file));

    if (r < 0)
        return r;
    /* Columns are read whole, if they fit. */
    for (unsigned i = 0; i < shape->ndim; i++)
        fortran.source.grain[i] = i == 0 ? shape->items[0] : 1;
    return array_copy(&fortran.source, file, shape, fortran.itemsize, path);
}
