/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FILE_REGION_H
#define FILE_FILE_REGION_H

#include "array/region.h"
#include "base/fault.h"

struct file;

/* The last region that one reader has read.  Starts zeroed.  The files lock
   it. */
struct region_reader {
    uint64_t start[ARRAY_NDIM_MAX];
    uint64_t end[ARRAY_NDIM_MAX];
};

/*
 * Read or write a rectangular region of the array that a file shows in C order
 * (FILE_VIEW_ARRAY).  Only the blocks that the region touches are decoded, by
 * several threads if they are many.  They stay in the cache if the region is
 * near the one that was read before, or the cache has had them before.
 *
 *  reader  NULL: all blocks may be wanted again
 *  region  its strides tell where its items lie in memory
 *  memory  the place of the first item
 *
 * Returns 0, -ENODATA if the file shows no array, -ERANGE if the array does not
 * have all these items; or as file_read() and file_write().  After an error,
 * some items may have been copied.
 */
int file_region_read(struct file *file, struct region_reader *reader,
                     const struct region *region, uint8_t *memory,
                     struct fault *fault);
int file_region_write(struct file *file, const struct region *region,
                      const uint8_t *memory, struct fault *fault);

/*
 * Make the part of the padding zero that becomes items when the array grows to
 * `items`.  Blocks that have zeros there stay as they are.  Errors as above.
 */
int file_region_clear(struct file *file, const uint64_t *items,
                      struct fault *fault);

#endif
