/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame_pattern.h"

#include "chunk/chunk_format.h"

#define TIMES_4(...)   __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__
#define TIMES_16(...)  TIMES_4(TIMES_4(__VA_ARGS__))
#define TIMES_256(...) TIMES_16(TIMES_16(__VA_ARGS__))

const uint8_t frame_pattern_zeros[FRAME_PATTERN_LEN] = { 0 };

static const uint8_t nans_4[FRAME_PATTERN_LEN] = {
    TIMES_256(TIMES_16(TIMES_4(CHUNK_NAN_4))),
};

static const uint8_t nans_8[FRAME_PATTERN_LEN] = {
    TIMES_256(TIMES_16(CHUNK_NAN_8, CHUNK_NAN_8)),
};

const uint8_t *frame_pattern_nans(uint32_t typesize)
{
    switch (typesize) {
    case 4:
        return nans_4;
    case 8:
        return nans_8;
    default:
        return NULL;
    }
}
