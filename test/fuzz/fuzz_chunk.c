/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A chunk is decoded as a whole, then block by block from the last to the
 * first, with access only to the bytes of each block.  Both must give the same
 * bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "chunk/chunk.h"
#include "fuzz.h"

enum {
    DECODED_MAX = 1 << 20
};

/* What the frame says of the items: a block of 96 bytes in three dimensions,
   which filters of arrays accept. */
static const struct chunk_items items = {
    .size = 4,
    .block = { 3, { 2, 4, 3 } },
};

/* Copy bytes to memory of exactly their size.  Never returns NULL. */
static uint8_t *copy_bytes(const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1);

    if (!copy)
        abort();
    memcpy(copy, bytes, len);
    return copy;
}

static ssize_t decode_block(const struct chunk *chunk, uint32_t block,
                            const uint8_t *data, const uint8_t *first,
                            uint8_t *dst, struct chunk_decoder *decoder)
{
    enum chunk_kind kind = chunk_get_header(chunk)->kind;
    struct fault fault = FAULT_NONE;
    uint32_t off = 0;
    uint32_t len = 0;

    if (chunk_kind_has_blocks(kind))
        chunk_block_extent(chunk, block, &off, &len);
    uint8_t *src = copy_bytes(data + off, len);
    ssize_t n =
        chunk_decode_block(chunk, &(struct chunk_block){ block, src, first },
                           dst, decoder, &fault);
    free(src);
    return n;
}

static void compare_blocks(const struct chunk_header *header,
                           const uint8_t *data, const uint8_t *expected,
                           struct chunk_decoder *decoder)
{
    uint8_t *head = copy_bytes(data, chunk_head_len(header));
    struct fault fault = FAULT_NONE;
    struct chunk *chunk;

    if (chunk_open(header, head, &items, &chunk, &fault) < 0)
        abort();
    free(head);
    for (uint32_t i = header->nblocks; i-- > 0;) {
        uint32_t len = chunk_block_size(chunk, i);
        uint8_t *dst = copy_bytes(expected, len);

        if (decode_block(chunk, i, data, expected, dst, decoder) != len ||
            memcmp(dst, expected + (size_t)i * header->blocksize, len) != 0)
            abort();
        free(dst);
    }
    chunk_close(chunk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fault fault = FAULT_NONE;
    struct chunk_decoder *decoder;
    struct chunk_header header;

    if (chunk_header_parse(data, size, &header, &fault) < 0 ||
        header.nbytes > DECODED_MAX)
        return 0;
    if (chunk_decoder_new(cpu_features(), &decoder) < 0)
        abort();

    uint8_t *dst = malloc(header.nbytes + 1);
    if (!dst)
        abort();
    ssize_t n = chunk_decode(&(struct stored_chunk){ data, size, &items }, dst,
                             header.nbytes, decoder, &fault);
    if (n == header.nbytes && header.nblocks <= 4096)
        compare_blocks(&header, data, dst, decoder);
    free(dst);
    chunk_decoder_free(decoder);
    return 0;
}
