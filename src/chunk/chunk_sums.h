/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_SUMS_H
#define CHUNK_CHUNK_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/chunk.h"

/*
 * Sums of a chunk: a record with a checksum of its head and one of the stored
 * bytes of each block, which framefs writes beside chunks that it stores.
 *
 * The record of a CHUNK_BLOCKS lies between the head and the blocks, because
 * one read then gets head and record.  Chunks of other kinds have no room
 * there, so their record lies right behind them.  Other readers ignore it in
 * either place.
 *
 * Format: framefs-format(7), "Sums".
 */

/* The place of a record in a chunk. */
struct chunk_sums_place {
    uint32_t off; /* from the start of the chunk; its cbytes if it is behind */
    uint32_t len;
};

/* Return the length of the record of a chunk with this header, and how much of
   that lies behind the chunk. */
uint32_t chunk_sums_len(const struct chunk_header *header);
uint32_t chunk_sums_len_behind(const struct chunk_header *header);

/*
 * Find the place of the record of a chunk, whether it has one or not.
 *
 * Returns false for a chunk that has no room for it, or with stored bytes that
 * belong to no block.
 */
bool chunk_sums_find(const struct chunk *chunk, struct chunk_sums_place *out);

/*
 * Copy a CHUNK_BLOCKS, and make room for the record.
 *
 *  bytes  the whole chunk, `len` bytes
 *  dst    room for chunk_sums_len() bytes more than that
 *
 * Returns the size of the new chunk, or 0 if it would be larger than chunks may
 * be that hold that much.
 */
size_t chunk_sums_make_room(const struct chunk *chunk, const uint8_t *bytes,
                            uint8_t *dst);

/* Return the length of the head, which the first sum covers: the header, with
   block starts and dictionary, or with the repeated item. */
uint32_t chunk_sums_head_len(const struct chunk *chunk);

/*
 * Make the record of a chunk.
 *
 *  bytes   the whole chunk
 *  place   a number that tells where the chunk lies, so that a chunk with its
 *          record at the wrong place is recognized
 *  record  room for the bytes that chunk_sums_find() finds
 */
void chunk_sums_make(const struct chunk *chunk, const uint8_t *bytes,
                     uint64_t place, uint8_t *record);

/* Make a record block by block: write its start, and return the number of
   blocks of which it has sums; then set each of these, and at last call
   chunk_sums_move(). */
uint32_t chunk_sums_begin(const struct chunk *chunk, uint8_t *record);
void chunk_sums_set_block(uint8_t *record, uint32_t block, const uint8_t *bytes,
                          size_t len);

/* Return the tag of a chunk: 32 bits of the sum of its record.  Never 0. */
uint32_t chunk_sums_tag(const uint8_t *record, size_t len);

/* Make a record valid for another place, without looking at blocks. */
void chunk_sums_move(const struct chunk *chunk, const uint8_t *head,
                     uint64_t place, uint8_t *record);

/*
 * Does a record belong to the head of this chunk at this place?
 *
 *  head  the first chunk_sums_head_len() bytes
 */
bool chunk_sums_check_head(const struct chunk *chunk, const uint8_t *head,
                           uint64_t place, const uint8_t *record);

/*
 * Are the stored bytes of a block those of which the record has the sum?
 *
 *  sums  as chunk_sums_blocks() returns them
 *  len   length of the bytes, as chunk_block_extent() finds it
 */
bool chunk_sums_check_block(const uint8_t *sums, uint32_t block,
                            const uint8_t *bytes, size_t len);

/* Return the sums of blocks in a record. */
const uint8_t *chunk_sums_blocks(const uint8_t *record);

#endif
