/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/chunk_special.h"

#include <string.h>

#include "chunk/chunk_format.h"

const uint8_t *chunk_special_nan(uint32_t typesize)
{
    static const uint8_t nan_float[] = { CHUNK_NAN_4 };
    static const uint8_t nan_double[] = { CHUNK_NAN_8 };

    switch (typesize) {
    case sizeof(nan_float):
        return nan_float;
    case sizeof(nan_double):
        return nan_double;
    default:
        return NULL;
    }
}

static bool is_nan(const uint8_t *item, uint32_t typesize)
{
    const uint8_t *nan = chunk_special_nan(typesize);

    return nan && memcmp(item, nan, typesize) == 0;
}

enum chunk_kind chunk_special_kind(const struct chunk_params *params,
                                   const struct chunk_pieces *src)
{
    uint32_t typesize = params->typesize;
    bool bodied = params->bodied;

    if (src->nbytes == 0)
        return CHUNK_BLOCKS;
    if (src->pieces[0][0] == 0 && pieces_repeat(src, 1))
        return bodied ? CHUNK_BLOCKS : CHUNK_ZEROS;
    if (typesize > UINT8_MAX || src->nbytes % typesize != 0 ||
        !pieces_repeat(src, typesize))
        return CHUNK_BLOCKS;
    if (is_nan(src->pieces[0], typesize) && !bodied)
        return CHUNK_NANS;
    return src->nbytes > typesize ? CHUNK_VALUE : CHUNK_BLOCKS;
}
