/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_PATTERN_H
#define FRAME_FRAME_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* Length of the areas below, which hold items that special chunks repeat. */
enum {
    FRAME_PATTERN_LEN = 64 << 10
};

/* Zeros, for chunks that consist of them. */
extern const uint8_t frame_pattern_zeros[FRAME_PATTERN_LEN];

/* Quiet NaNs of this typesize; NULL unless the typesize is 4 or 8. */
const uint8_t *frame_pattern_nans(uint32_t typesize);

#endif
