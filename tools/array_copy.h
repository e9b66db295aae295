/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_ARRAY_COPY_H
#define TOOLS_ARRAY_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "array/layout.h"
#include "array/region.h"
#include "file/file.h"

/* Copying the items of an array to one with other chunks, or from another order
   of items, a box of whole new chunks at a time. */

/* Where the items come from. */
struct array_source {
    /* Read the items of a box to memory with its strides.  Returns 0 or a
       negative errno, which was reported. */
    int (*read)(struct array_source *source, const struct region *box,
                uint8_t *memory);

    /* Are all items of a box zeros, as can be told without reading them?  NULL:
       it cannot be told. */
    bool (*is_hole)(struct array_source *source, const struct region *box);

    /* Number of items along each dimension that are read together, because
       reading them apart costs as much each time. */
    uint64_t grain[ARRAY_NDIM_MAX];

    bool fortran; /* the first dimension varies fastest, in the source and in
                     memory; else the last */
};

/* Return the size in bytes of a cache for copying, which holds a few of the new
   chunks. */
size_t array_copy_cache_size(const struct file_params *params);

/* Make a context for the file of a new array.  Returns 0 or a negative errno,
   which was reported. */
int array_copy_context(size_t cache_size, struct file_context **out);

/*
 * Copy all items to a new array, in which all items are zeros, and sync it.
 * Shows the progress.  Takes memory for one new chunk, or 64 MiB if that is
 * more; and the caches.
 *
 *  file   shows the new array in C order
 *  shape  of the new array
 *  path   of its frame, to report errors
 *
 * Returns 0 or a negative errno, which was reported; -EINTR if the user has
 * interrupted the program.
 */
int array_copy(struct array_source *source, struct file *file,
               const struct layout_shape *shape, uint32_t itemsize,
               const char *path);

/* Sync a new array.  Returns 0 or a negative errno, which was reported. */
int array_sync(struct file *file, const char *path);

#endif
