/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_SPECIAL_H
#define CHUNK_CHUNK_SPECIAL_H

#include "chunk/chunk_params.h"
#include "chunk/chunk_pieces.h"

/*
 * Which special chunk holds the bytes, as params->bodied permits: one of
 * CHUNK_SPECIAL_ZEROS, CHUNK_SPECIAL_NANS and CHUNK_SPECIAL_VALUE; or
 * CHUNK_SPECIAL_NONE, also for no bytes.
 *
 *  params  as chunk_params_check() accepts them
 *
 * Format: Blosc2 Chunk Format, 7 "Special-value chunks".
 */
unsigned chunk_special_kind(const struct chunk_params *params,
                            const struct chunk_pieces *src);

#endif
