/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ARRAY_ARRAY_EXTENT_H
#define ARRAY_ARRAY_EXTENT_H

#include <stdbool.h>

#include "array/layout.h"
#include "frame/frame.h"

/*
 * Find the one damaged extent of chunks or blocks, from the frame's blocksize,
 * chunksize and number of chunks.
 *
 *  shape  changed only on success
 *
 * Returns true if there is exactly one extent, and one value for it, that
 * agrees with all of these.
 */
bool array_find_extent(struct layout_shape *shape,
                       const struct frame_info *info);

#endif
