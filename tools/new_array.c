/* SPDX-License-Identifier: BSD-3-Clause */
#include "new_array.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "array/dtype.h"
#include "array/npy.h"
#include "array_copy.h"
#include "array_parts.h"
#include "base/log.h"
#include "confine.h"
#include "fortran.h"
#include "interrupt.h"
#include "progress.h"
#include "source.h"

enum {
    PIECE = 4 << 20,          /* bytes copied at a time */
    NPY_HEADER_MAX = 1 << 20, /* bytes */
    SLABS = 4,                /* rows of chunks to keep in memory */
};

bool new_array_take(int option, struct new_array *new_array)
{
    if (array_parts_take(option, &new_array->parts))
        return true;
    if (option < NEW_ARRAY_SHAPE || option >= NEW_ARRAY_END)
        return false;
    new_array->values[option - NEW_ARRAY_SHAPE] = optarg;
    return true;
}

bool new_array_is_given(const struct new_array *new_array)
{
    for (int i = 0; i < NEW_ARRAY_END - NEW_ARRAY_SHAPE; i++)
        if (new_array->values[i])
            return true;
    return array_parts_is_given(&new_array->parts);
}

static const char *value_of(const struct new_array *new_array, int option)
{
    return new_array->values[option - NEW_ARRAY_SHAPE];
}

/* Check that shape and dtype are both given, or none of them. */
static int check_options(const struct new_array *new_array)
{
    bool shape = value_of(new_array, NEW_ARRAY_SHAPE);
    bool dtype = value_of(new_array, NEW_ARRAY_DTYPE);

    if (shape == dtype)
        return 0;
    log_error(shape ? "--shape needs a --dtype" : "--dtype needs a --shape");
    return -EINVAL;
}

/* Take shape and dtype from the options. */
static int find_given(const struct new_array *new_array,
                      struct file_params *params, struct file_array *array)
{
    const char *shape = value_of(new_array, NEW_ARRAY_SHAPE);
    const char *text = value_of(new_array, NEW_ARRAY_DTYPE);
    struct dtype dtype;
    int r;

    r = array_parts_parse(shape, INT64_MAX, array->shape.items,
                          &array->shape.ndim);
    if (r < 0)
        return array_parts_complain(r, "--shape", shape);
    r = dtype_parse(text, &dtype);
    if (r < 0)
        return array_parts_complain(r, "--dtype", text);
    params->chunk.typesize = dtype.itemsize;
    if (dtype.ndim > 0 || dtype.itemsize == 0)
        r = array_parts_complain(-EINVAL, "--dtype", text);
    dtype_fini(&dtype);
    if (r < 0)
        return r;
    array->dtype = strdup(text);
    return array->dtype ? 0 : array_parts_complain(-ENOMEM, "--dtype", text);
}

/* Report why a .npy file is rejected.  Returns `error`. */
static int refuse_npy(const struct input *input, int error)
{
    const char *what = "not a .npy file as NumPy writes it, or of objects";

    if (error == -ENOMEM)
        what = strerror(ENOMEM);
    log_error("%s: %s", input->name, what);
    return error;
}

/* Read the .npy header of the input, which is `len` bytes long, and take shape
   and dtype from it. */
static int read_header(struct input *input, size_t len,
                       struct file_params *params, struct file_array *array)
{
    uint8_t *header = malloc(len);
    struct npy npy = { 0 };
    ssize_t n = -ENOMEM;
    int r;

    if (!header)
        return refuse_npy(input, -ENOMEM);
    n = input_read(input, header, len);
    r = n < 0 ? (int)n : (size_t)n < len ? -EINVAL : 0;
    if (r == 0)
        r = npy_parse(header, len, &npy);
    free(header);
    if (n < 0)
        return (int)n;
    if (r < 0)
        return refuse_npy(input, r);
    array->shape = npy.shape;
    array->dtype = npy.dtype;
    params->chunk.typesize = npy.itemsize;
    input->fortran = npy.fortran;
    return 0;
}

static int find_npy(struct input *input, struct file_params *params,
                    struct file_array *array)
{
    uint8_t head[NPY_HEAD_LEN];
    uint64_t len = 0;
    ssize_t n = input_peek(input, head, sizeof(head));

    if (n < 0)
        return (int)n;
    if ((size_t)n == sizeof(head))
        len = npy_header_len(head);
    if (len == 0)
        return 0;
    if (len > NPY_HEADER_MAX)
        return refuse_npy(input, -EINVAL);
    return read_header(input, (size_t)len, params, array);
}

bool new_array_is_npy(const char *path)
{
    uint8_t *header = malloc(NPY_HEADER_MAX);
    struct npy npy = { 0 };
    struct input input;
    uint64_t len = 0;
    bool found = false;
    ssize_t n = 0;

    if (header && confine_has(path) && input_open(path, &input) == 0) {
        n = input_peek(&input, header, NPY_HEADER_MAX);
        input_close(&input);
    }
    if (n >= NPY_HEAD_LEN)
        len = npy_header_len(header);
    if (len > 0 && len <= (uint64_t)n)
        found = npy_parse(header, (size_t)len, &npy) == 0;
    free(npy.dtype);
    free(header);
    return found;
}

void new_array_free(struct file_array *array)
{
    free((char *)(uintptr_t)array->dtype);
    array->dtype = NULL;
}

int new_array_find(const struct new_array *new_array, struct input *input,
                   struct file_params *params, struct file_array *array)
{
    int r;

    *array = (struct file_array){ .dtype = NULL };
    r = check_options(new_array);
    if (r == 0 && value_of(new_array, NEW_ARRAY_SHAPE))
        r = find_given(new_array, params, array);
    else if (r == 0 && !new_array->no_npy)
        r = find_npy(input, params, array);
    if (r < 0)
        return r;
    if (!array->dtype)
        return array_parts_check_none(&new_array->parts, input->name,
                                      "a --shape, or a .npy file");
    r = array_parts_find(&new_array->parts, input->name, params, &array->shape);
    if (r < 0)
        new_array_free(array);
    else
        params->array = array;
    return r;
}

/* Copy the whole input, which must have exactly as many bytes as the array. */
static int copy(struct input *input, struct file *file, const char *path)
{
    uint64_t size = file_size(file);
    struct progress progress = { 0 };
    struct fault fault = FAULT_NONE;
    uint8_t *piece = malloc(PIECE);
    uint64_t done = 0;
    ssize_t n = 1;
    int r = piece ? 0 : fault_set(&fault, -ENOMEM, 0, NULL);

    progress_start(&progress);
    while (r == 0 && n > 0) {
        n = interrupt_seen() ? -EINTR : input_read(input, piece, PIECE);
        if (n > 0 && (uint64_t)n <= size - done)
            r = file_write(file, done, piece, (size_t)n, &fault);
        done += n > 0 ? (uint64_t)n : 0;
        if (done > size)
            break;
        progress_update(&progress, done, size);
    }
    progress_clear(&progress);
    free(piece);
    if (r < 0)
        source_report(path, r, &fault);
    if (r < 0 || n < 0)
        return r < 0 ? r : (int)n;
    if (done == size)
        return 0;
    return input_refuse_size(input, done < size, size);
}

/* Choose a cache size that holds SLABS rows of chunks, because a scan of the
   array goes through the chunks of a row side by side.  It is at most SLABS
   times the default size. */
static size_t cache_size(const struct file_params *params)
{
    struct fault fault = FAULT_NONE;
    struct layout layout;
    uint64_t size = file_default_options.cache_size;
    uint64_t slab = 0;

    if (layout_init(&layout, &params->array->shape, params->chunk.typesize,
                    &fault) == 0 &&
        layout.ndim > 0)
        slab = layout.nchunks / layout.dims[0].nchunks * layout.chunk_nitems *
               layout.itemsize;
    if (slab > size / SLABS)
        size = slab <= size ? SLABS * slab : SLABS * size;
    return (size_t)size;
}

/* Copy the input and sync the file. */
static int fill(const struct file_params *params, struct input *input,
                struct file *file, const char *path)
{
    int r;

    if (input->fortran)
        return fortran_copy(input, file, params, path);
    r = copy(input, file, path);
    return r < 0 ? r : array_sync(file, path);
}

int new_array_write(const struct file_params *params, struct input *input,
                    struct store *store, const char *path)
{
    struct fault fault = FAULT_NONE;
    struct file_context *context;
    struct file *file;
    int r = array_copy_context(input->fortran ? array_copy_cache_size(params)
                                              : cache_size(params),
                               &context);

    if (r < 0)
        return r;
    r = file_create(context, store, params, &file, &fault);
    if (r < 0) {
        source_report(path, r, &fault);
    } else {
        r = fill(params, input, file, path);
        file_close(file);
    }
    file_context_free(context);
    return r;
}
