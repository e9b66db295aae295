/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ARRAY_ARRAY_EXTENT_H
#define ARRAY_ARRAY_EXTENT_H

#include <stdbool.h>

#include "array/layout.h"
#include "frame/frame.h"

/*
 * Find the one extent of chunks or blocks that is damaged, by the blocksize,
 * chunksize and number of chunks of the frame.
 *
 *  shape  changed only on success
 *
 * Returns whether there is exactly one extent, and one value of it, with which
 * all these agree.
 */
bool array_find_extent(struct layout_shape *shape,
                       const struct frame_info *info);

#endif
