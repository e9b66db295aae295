/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_INDEX_ENCODE_H
#define WRITER_INDEX_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "chunk/chunk_encode.h"
#include "frame/chunk_table.h"

/*
 * Encode the index of a frame as a chunk.
 *
 *  table   has at least one chunk
 *  behind  bytes that the caller wants to be free behind the index
 *  out     receives the index, and the free bytes; the caller frees it
 *  len     receives the size of the index
 *
 * This takes time and memory for stored chunks, and next to none for runs of
 * special ones.
 *
 * Returns 0, -ENOMEM, -EFBIG if the index becomes longer than a chunk may be,
 * or an error of chunk_table_get().
 *
 * Format: frame.md, 5 "The index chunk".
 */
int index_encode(struct chunk_encoder *encoder, struct chunk_table *table,
                 size_t behind, uint8_t **out, size_t *len);

#endif
