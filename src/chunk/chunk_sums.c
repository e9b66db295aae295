/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/chunk_sums.h"

#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "chunk/chunk_format.h"
#include "chunk/chunk_private.h"
#if defined(__x86_64__)
#include "chunk/x86/sum_avx2.h"
#endif

enum {
    SUM_LONG = 1024, /* bytes from which on another kernel is faster */
};

/* The number of sums of blocks. */
static uint32_t nsums(const struct chunk_header *header)
{
    return chunk_kind_has_blocks(header->kind) ? header->nblocks : 0;
}

uint32_t chunk_sums_len(const struct chunk_header *header)
{
    return CHUNK_SUMS_BLOCKS_OFF + CHUNK_SUM_LEN * nsums(header);
}

uint32_t chunk_sums_len_behind(const struct chunk_header *header)
{
    return header->kind == CHUNK_BLOCKS ? 0 : chunk_sums_len(header);
}

uint32_t chunk_sums_head_len(const struct chunk *chunk)
{
    const struct chunk_header *header = &chunk->header;

    if (header->kind == CHUNK_BLOCKS || header->kind == CHUNK_VLBLOCKS)
        return chunk->data_off;
    return header->header_len + header->value_len;
}

/* Start of the lowest block; the end of the chunk if it has no starts. */
static uint32_t first_start(const struct chunk *chunk)
{
    if (chunk->sorted)
        return chunk->sorted[0];
    return chunk->starts ? chunk->starts[0] : chunk->header.cbytes;
}

/* Do the extents of all blocks reach up to the next one? */
static bool covers_all(const struct chunk *chunk)
{
    uint64_t covered = first_start(chunk);

    if (!chunk->starts)
        return true;
    for (uint32_t i = 0; i < chunk->header.nblocks; i++) {
        uint32_t off;
        uint32_t len;

        chunk_block_extent(chunk, i, &off, &len);
        covered += len;
    }
    return covered == chunk->header.cbytes;
}

bool chunk_sums_find(const struct chunk *chunk, struct chunk_sums_place *out)
{
    uint32_t head_len = chunk_sums_head_len(chunk);
    uint32_t len = chunk_sums_len(&chunk->header);
    bool inside = chunk->header.kind == CHUNK_BLOCKS;

    if (!covers_all(chunk) || (inside && first_start(chunk) - head_len < len))
        return false;
    out->off = inside ? head_len : chunk->header.cbytes;
    out->len = len;
    return true;
}

size_t chunk_sums_make_room(const struct chunk *chunk, const uint8_t *bytes,
                            uint8_t *dst)
{
    const struct chunk_header *header = &chunk->header;
    uint32_t head_len = chunk_sums_head_len(chunk);
    uint32_t room = chunk_sums_len(header);
    uint64_t len = (uint64_t)header->cbytes + room;

    /* Readers tell how blocks were cut, if their size is not what the header
       says, by what follows the block starts. */
    if (len > (uint64_t)header->nbytes + CHUNK_LONG_HEADER_LEN ||
        load_le32(bytes + CHUNK_OFF_BLOCKSIZE) != header->blocksize)
        return 0;
    memcpy(dst, bytes, head_len);
    store_le32(dst + CHUNK_OFF_CBYTES, (uint32_t)len);
    for (uint32_t i = 0; i < header->nblocks; i++)
        store_le32(dst + header->header_len + CHUNK_BSTART_LEN * (size_t)i,
                   chunk->starts[i] + room);
    memset(dst + head_len, 0, room);
    memcpy(dst + head_len + room, bytes + head_len, header->cbytes - head_len);
    return (size_t)len;
}

static uint64_t sum(const uint8_t *bytes, size_t len, uint64_t seed)
{
#if defined(__x86_64__)
    if (len >= SUM_LONG && cpu_has_avx2())
        return sum_avx2(bytes, len, seed);
#endif
    return XXH3_64bits_withSeed(bytes, len, seed);
}

void chunk_sums_move(const struct chunk *chunk, const uint8_t *head,
                     uint64_t place, uint8_t *record)
{
    store_le64(record + CHUNK_SUMS_HEAD_OFF,
               sum(head, chunk_sums_head_len(chunk), place));
}

uint32_t chunk_sums_begin(const struct chunk *chunk, uint8_t *record)
{
    uint32_t n = nsums(&chunk->header);

    memcpy(record, CHUNK_SUMS_MAGIC, CHUNK_SUMS_MAGIC_LEN);
    store_le32(record + CHUNK_SUMS_COUNT_OFF, n);
    return n;
}

void chunk_sums_set_block(uint8_t *record, uint32_t block, const uint8_t *bytes,
                          size_t len)
{
    store_le64(record + CHUNK_SUMS_BLOCKS_OFF + CHUNK_SUM_LEN * (size_t)block,
               sum(bytes, len, 0));
}

uint32_t chunk_sums_tag(const uint8_t *record, size_t len)
{
    uint32_t tag = (uint32_t)XXH3_64bits(record, len);

    return tag > 0 ? tag : 1;
}

void chunk_sums_make(const struct chunk *chunk, const uint8_t *bytes,
                     uint64_t place, uint8_t *record)
{
    uint32_t n = chunk_sums_begin(chunk, record);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t off;
        uint32_t len;

        chunk_block_extent(chunk, i, &off, &len);
        chunk_sums_set_block(record, i, bytes + off, len);
    }
    chunk_sums_move(chunk, bytes, place, record);
}

/* Is this the sum that is stored?  One bit may differ: sums of other bytes
   differ in about half of all bits, so a stored sum with one other bit is
   itself damaged, and the bytes are right. */
static bool is_stored(uint64_t found, const uint8_t *stored)
{
    uint64_t differing = found ^ load_le64(stored);

    return (differing & (differing - 1)) == 0;
}

bool chunk_sums_check_head(const struct chunk *chunk, const uint8_t *head,
                           uint64_t place, const uint8_t *record)
{
    return is_stored(sum(head, chunk_sums_head_len(chunk), place),
                     record + CHUNK_SUMS_HEAD_OFF);
}

bool chunk_sums_check_block(const uint8_t *sums, uint32_t block,
                            const uint8_t *bytes, size_t len)
{
    return is_stored(sum(bytes, len, 0), sums + CHUNK_SUM_LEN * (size_t)block);
}

const uint8_t *chunk_sums_blocks(const uint8_t *record)
{
    return record + CHUNK_SUMS_BLOCKS_OFF;
}
