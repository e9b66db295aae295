/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_SPECIAL_H
#define CHUNK_CHUNK_SPECIAL_H

#include "chunk/chunk_params.h"
#include "chunk/chunk_pieces.h"

/*
 * Choose the special chunk that can hold the bytes, as far as params->bodied
 * permits: CHUNK_ZEROS, CHUNK_NANS or CHUNK_VALUE.  Returns CHUNK_BLOCKS if
 * there is none, or if there are no bytes.
 *
 *  params  must have passed chunk_params_check()
 *
 * Format: Blosc2 Chunk Format, 7 "Special-value chunks".
 */
enum chunk_kind chunk_special_kind(const struct chunk_params *params,
                                   const struct chunk_pieces *src);

/* The quiet NaN that chunks of NaNs consist of, `typesize` bytes; NULL unless
   that is 4 or 8. */
const uint8_t *chunk_special_nan(uint32_t typesize);

#endif
