/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FILE_ARRAY_H
#define FILE_FILE_ARRAY_H

#include <stdint.h>

#include "base/fault.h"

struct file;

/*
 * Change the extents of the array that a file shows in C order, and commit
 * everything written together with that.  Chunks and blocks keep their extents;
 * new items are zeros.
 *
 *  items  one extent for each dimension
 *
 * When this returns 0, the file is of no more use: the caller closes it, and
 * opens the frame again to see the array.
 *
 * Returns 0, -ENODATA if the file shows no array, -EINVAL if the chunks cannot
 * hold such an array, -EFBIG if it takes too many chunks; or as file_sync().
 */
int file_array_resize(struct file *file, const uint64_t *items,
                      struct fault *fault);

#endif
