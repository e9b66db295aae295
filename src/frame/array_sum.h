/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_ARRAY_SUM_H
#define FRAME_ARRAY_SUM_H

#include <stddef.h>
#include <stdint.h>

/*
 * Return the sum of the metalayer of an array, as far as it says where items
 * lie: from the second byte, because the first tells which parts follow, to the
 * end of the shape of blocks, or of chunks if that is the last shape, and with
 * the number of chunks in each dimension in place of the extent of the array.
 * Other programs change the rest of the metalayer without a change of chunks.
 *
 * Returns 0 if the content is not that of an array.
 *
 * Format: framefs-format(7), "Sums".
 */
uint64_t array_sum(const uint8_t *content, size_t len);

#endif
