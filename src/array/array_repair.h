/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ARRAY_ARRAY_REPAIR_H
#define ARRAY_ARRAY_REPAIR_H

#include "repair/repair.h"

/*
 * Check an array's metalayer while its frame is repaired.  Mend damaged bytes
 * that can be worked out from others: the kind, the number of dimensions, a
 * marker, the length of the dtype, one extent of chunks or blocks (see
 * array_find_extent()).  A damaged dtype is left out.  The shape of the array
 * is never guessed.
 *
 * This is `check_layer` of struct repair_listener; the context is not used.
 */
int array_repair_layer(void *context, const struct frame_info *info,
                       struct repair_layer *layer, struct fault *fault);

#endif
