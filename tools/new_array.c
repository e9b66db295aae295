/* SPDX-License-Identifier: BSD-3-Clause */
#include "new_array.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array/dtype.h"
#include "array/npy.h"
#include "base/log.h"
#include "confine.h"
#include "interrupt.h"
#include "numbers.h"
#include "progress.h"
#include "source.h"
#include "threads.h"

enum {
    PIECE = 4 << 20,          /* bytes copied at a time */
    NPY_HEADER_MAX = 1 << 20, /* bytes */
    AUTO_BLOCK = 64 << 10,    /* bytes in a block if no option sets them */
    SLABS = 4,                /* rows of chunks to keep in memory */
};

bool new_array_take(int option, struct new_array *new_array)
{
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
    return false;
}

static const char *value_of(const struct new_array *new_array, int option)
{
    return new_array->values[option - NEW_ARRAY_SHAPE];
}

/* Parse numbers with commas between them.  An empty text contains no
   numbers. */
static int parse_extents(const char *text, uint64_t max,
                         uint64_t extents[ARRAY_NDIM_MAX], unsigned *ndim)
{
    char *copy = strdup(text);
    char *rest = copy;
    int r = 0;

    if (!copy)
        return -ENOMEM;
    *ndim = 0;
    while (rest && *text != '\0' && r == 0) {
        const char *word = strsep(&rest, ",");

        if (*ndim == ARRAY_NDIM_MAX || !number_parse(word, &extents[*ndim]) ||
            extents[(*ndim)++] > max)
            r = -EINVAL;
    }
    free(copy);
    return r;
}

static int complain(int error, const char *what, const char *value)
{
    log_error("%s %s: %s", what, value,
              error == -ENOMEM ? strerror(ENOMEM)
                               : "not a value that makes sense");
    return error;
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

/* Check that no option describes parts of an array, because there is none. */
static int check_no_parts(const struct new_array *new_array)
{
    if (!value_of(new_array, NEW_ARRAY_CHUNKS) &&
        !value_of(new_array, NEW_ARRAY_BLOCKS))
        return 0;
    log_error("--chunks and --blocks need a --shape, or a .npy file");
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

    r = parse_extents(shape, INT64_MAX, array->shape.items, &array->shape.ndim);
    if (r < 0)
        return complain(r, "--shape", shape);
    r = dtype_parse(text, &dtype);
    if (r < 0)
        return complain(r, "--dtype", text);
    params->chunk.typesize = dtype.itemsize;
    if (dtype.ndim > 0 || dtype.itemsize == 0)
        r = complain(-EINVAL, "--dtype", text);
    dtype_fini(&dtype);
    if (r < 0)
        return r;
    array->dtype = strdup(text);
    return array->dtype ? 0 : complain(-ENOMEM, "--dtype", text);
}

/* Report why a .npy file is rejected.  Returns `error`. */
static int refuse_npy(const struct input *input, int error)
{
    const char *what = "not a .npy file as NumPy writes it, or of objects";

    if (error == -ENOTSUP)
        what = "its items are in Fortran order";
    else if (error == -ENOMEM)
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

/* The extents of a part that are wanted, one for each dimension. */
struct wanted {
    int option;            /* that gives them */
    const uint64_t *whole; /* extents of the whole */
    unsigned ndim;
    uint32_t itemsize;
    uint32_t nbytes; /* that the part has about if the option is not given */
};

/* Take extents from an option, or choose them. */
static int find_extents(const struct new_array *new_array,
                        const struct wanted *wanted, uint32_t *extents)
{
    const char *text = value_of(new_array, wanted->option);
    uint64_t given[ARRAY_NDIM_MAX];
    unsigned n;
    int r;

    if (!text) {
        layout_choose(wanted->whole, wanted->ndim, wanted->itemsize,
                      wanted->nbytes, extents);
        return 0;
    }
    r = parse_extents(text, INT32_MAX, given, &n);
    if (r == 0 && n != wanted->ndim)
        r = -EINVAL;
    if (r < 0)
        return complain(
            r, wanted->option == NEW_ARRAY_CHUNKS ? "--chunks" : "--blocks",
            text);
    for (unsigned i = 0; i < n; i++)
        extents[i] = (uint32_t)given[i];
    return 0;
}

static int find_chunks(const struct new_array *new_array,
                       const struct file_params *params,
                       struct layout_shape *shape)
{
    uint64_t chunk[ARRAY_NDIM_MAX];
    struct wanted wanted = {
        .option = NEW_ARRAY_CHUNKS,
        .whole = shape->items,
        .ndim = shape->ndim,
        .itemsize = params->chunk.typesize,
        .nbytes = params->chunksize,
    };
    int r = find_extents(new_array, &wanted, shape->chunk);

    if (r < 0)
        return r;
    for (unsigned i = 0; i < shape->ndim; i++)
        chunk[i] = shape->chunk[i];
    wanted.option = NEW_ARRAY_BLOCKS;
    wanted.whole = chunk;
    wanted.nbytes =
        params->chunk.blocksize > 0 ? params->chunk.blocksize : AUTO_BLOCK;
    return find_extents(new_array, &wanted, shape->block);
}

void new_array_free(struct file_array *array)
{
    free((char *)(uintptr_t)array->dtype);
    array->dtype = NULL;
}

int new_array_find(const struct new_array *new_array, struct input *input,
                   struct file_params *params, struct file_array *array)
{
    struct fault fault = FAULT_NONE;
    struct layout layout;
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
        return check_no_parts(new_array);
    r = find_chunks(new_array, params, &array->shape);
    if (r == 0 && layout_init(&layout, &array->shape, params->chunk.typesize,
                              &fault) < 0) {
        log_error("%s", fault.what);
        r = -EINVAL;
    }
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
    log_error("%s: has %s bytes than the %" PRIu64 " of the array", input->name,
              done < size ? "fewer" : "more", size);
    return -EINVAL;
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

int new_array_write(const struct file_params *params, struct input *input,
                    struct store *store, const char *path)
{
    struct file_options options = file_default_options;
    struct fault fault = FAULT_NONE;
    struct file_context *context;
    struct file *file;
    int r;

    options.view = FILE_VIEW_ARRAY;
    options.commit = 0;
    options.cache_size = cache_size(params);
    options.nthreads = threads_get();
    r = file_context_new(&options, &context);
    if (r < 0) {
        log_error("cannot start: %s", strerror(-r));
        return r;
    }
    r = file_create(context, store, params, &file, &fault);
    if (r < 0) {
        source_report(path, r, &fault);
    } else {
        r = copy(input, file, path);
        if (r == 0) {
            r = file_sync(file, &fault);
            if (r < 0)
                source_report(path, r, &fault);
        }
        file_close(file);
    }
    file_context_free(context);
    return r;
}
