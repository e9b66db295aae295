/* SPDX-License-Identifier: BSD-3-Clause */
#include "array_parts.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "numbers.h"

enum {
    CHUNK_MAX = 1 << 30, /* bytes in a chunk */
};

bool array_parts_take(int option, struct array_parts *parts)
{
    if (option == ARRAY_PARTS_CHUNKS)
        parts->chunks = optarg;
    else if (option == ARRAY_PARTS_BLOCKS)
        parts->blocks = optarg;
    return option >= ARRAY_PARTS_CHUNKS && option < ARRAY_PARTS_END;
}

bool array_parts_is_given(const struct array_parts *parts)
{
    return parts->chunks || parts->blocks;
}

int array_parts_check_none(const struct array_parts *parts, const char *path,
                           const char *need)
{
    if (!array_parts_is_given(parts))
        return 0;
    log_error("%s: --chunks and --blocks need %s", path, need);
    return -EINVAL;
}

int array_parts_parse(const char *text, uint64_t max,
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

int array_parts_complain(int error, const char *option, const char *value)
{
    const char *what = "wants numbers with commas between them, such as 100,20";

    if (error == -ENOMEM)
        what = strerror(ENOMEM);
    else if (strcmp(option, "--dtype") == 0)
        what = "wants the type of an item as NumPy prints it, such as <f8";
    log_error("%s %s: %s", option, value, what);
    return error;
}

/* The extents of a part that are wanted, one for each dimension. */
struct wanted {
    const char *path;
    const char *option;    /* that gives them */
    const char *text;      /* its argument, or NULL */
    const uint64_t *whole; /* extents of the whole */
    unsigned ndim;
    uint32_t itemsize;
    uint32_t nbytes; /* that the part has at most if the option is not given */
};

/* Take extents from an option, or choose them. */
static int find_extents(const struct wanted *wanted, uint32_t *extents)
{
    uint64_t given[ARRAY_NDIM_MAX];
    unsigned n;
    int r;

    if (!wanted->text) {
        layout_choose(wanted->whole, wanted->ndim, wanted->itemsize,
                      wanted->nbytes, extents);
        return 0;
    }
    r = array_parts_parse(wanted->text, INT32_MAX, given, &n);
    if (r < 0)
        return array_parts_complain(r, wanted->option, wanted->text);
    if (n != wanted->ndim) {
        log_error("%s: %s %s: the array has %u dimensions", wanted->path,
                  wanted->option, wanted->text, wanted->ndim);
        return -EINVAL;
    }
    for (unsigned i = 0; i < n; i++)
        extents[i] = (uint32_t)given[i];
    return 0;
}

/* Check that the extents fit together. */
static int check(const char *path, const struct layout_shape *shape,
                 uint32_t itemsize)
{
    struct fault fault = FAULT_NONE;
    struct layout layout;

    if (layout_init(&layout, shape, itemsize, &fault) < 0) {
        log_error("%s: %s", path, fault.what);
        return -EINVAL;
    }
    if (layout.chunk_nitems > CHUNK_MAX / itemsize) {
        log_error("%s: a chunk would have %" PRIu64
                  " bytes, and may have %d at most",
                  path, (uint64_t)layout.chunk_nitems * itemsize, CHUNK_MAX);
        return -EINVAL;
    }
    return 0;
}

int array_parts_find(const struct array_parts *parts, const char *path,
                     const struct file_params *params,
                     struct layout_shape *shape)
{
    uint64_t chunk[ARRAY_NDIM_MAX];
    struct wanted wanted = {
        .path = path,
        .option = "--chunks",
        .text = parts->chunks,
        .whole = shape->items,
        .ndim = shape->ndim,
        .itemsize = params->chunk.typesize,
        .nbytes = params->chunksize,
    };
    int r = parts->keep_chunks ? 0 : find_extents(&wanted, shape->chunk);

    if (r < 0)
        return r;
    for (unsigned i = 0; i < shape->ndim; i++)
        chunk[i] = shape->chunk[i];
    wanted.option = "--blocks";
    wanted.text = parts->blocks;
    wanted.whole = chunk;
    wanted.nbytes = params->chunk.blocksize > 0 ? params->chunk.blocksize
                                                : LAYOUT_AUTO_BLOCK;
    r = find_extents(&wanted, shape->block);
    return r < 0 ? r : check(path, shape, params->chunk.typesize);
}
