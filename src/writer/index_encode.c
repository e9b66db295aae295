/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/index_encode.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/size.h"
#include "chunk/chunk.h"
#include "chunk/chunk_format.h"
#include "chunk/codec.h"
#include "chunk/filter.h"
#include "frame/frame_format.h"

enum {
    /* The blocksize that the reference library gives its own indexes. */
    BLOCKSIZE_MIN = 16 << 10,
    NBLOCKS_MAX = 4096,      /* for more blocks, the blocksize grows */
    CAPACITY_MIN = 64 << 10, /* bytes reserved for blocks at first */
    STREAMS_OVERHEAD = 4 * FRAME_INDEX_TYPESIZE, /* of one block */
};

/* An index that is being encoded. */
struct draft {
    struct chunk_encoder *encoder;
    struct chunk_table *table;
    struct chunk_params params;
    uint64_t nentries;
    uint32_t nblocks;
    int64_t *entries; /* buffer for a block */

    uint64_t *sums; /* checksums of the encoded blocks */

    uint8_t *bytes;
    size_t len;
    size_t capacity;

    /* The last encoded block of one special value, in `bytes`; 0: none. */
    int64_t uniform;
    size_t uniform_off;
    size_t uniform_len;
};

/* Format: frame.md, 5 "The index chunk". */
static const struct chunk_params index_params = {
    .typesize = FRAME_INDEX_TYPESIZE,
    .blocksize = BLOCKSIZE_MIN,
    .codec = CODEC_BLOSCLZ,
    .clevel = 5,
    .filters = { 0, 0, 0, 0, 0, FILTER_SHUFFLE },
    .split_mode = CHUNK_SPLIT_NEVER,
    .bodied = true,
};

static int reserve(struct draft *draft, size_t len)
{
    size_t capacity = draft->capacity + draft->capacity / 2;
    uint8_t *bytes;

    if (draft->capacity - draft->len >= len)
        return 0;
    if (capacity - draft->len < len)
        capacity = draft->len + len;
    bytes = realloc(draft->bytes, capacity);
    if (!bytes)
        return -ENOMEM;
    draft->bytes = bytes;
    draft->capacity = capacity;
    return 0;
}

/* Get the entries of a block as they are stored. */
static int read_entries(struct draft *draft, uint64_t first, size_t n)
{
    int r = chunk_table_read(draft->table, first, n, draft->entries);

    for (size_t i = 0; i < n && r == 0; i++)
        draft->entries[i] = (int64_t)htole64((uint64_t)draft->entries[i]);
    return r;
}

static int encode_block(struct draft *draft, uint64_t first, size_t n)
{
    size_t len = n * FRAME_INDEX_TYPESIZE;
    ssize_t r = read_entries(draft, first, n);

    if (r == 0)
        r = reserve(draft, len + STREAMS_OVERHEAD);
    if (r == 0)
        r = chunk_encode_block(
            draft->encoder, &draft->params,
            &(struct chunk_content){ (const uint8_t *)draft->entries, len },
            draft->bytes + draft->len, draft->capacity - draft->len);
    if (r < 0)
        return (int)r;
    draft->len += (size_t)r;
    return 0;
}

/* Encode a full block of one special value once, and copy it from then on. */
static int put_uniform(struct draft *draft, uint64_t first, size_t n,
                       int64_t entry)
{
    size_t off = draft->len;
    int r;

    if (draft->uniform != entry) {
        r = encode_block(draft, first, n);
        if (r < 0)
            return r;
        draft->uniform = entry;
        draft->uniform_off = off;
        draft->uniform_len = draft->len - off;
        return 0;
    }
    r = reserve(draft, draft->uniform_len);
    if (r < 0)
        return r;
    memcpy(draft->bytes + off, draft->bytes + draft->uniform_off,
           draft->uniform_len);
    draft->len += draft->uniform_len;
    return 0;
}

/* A checksum that shows whether bytes are still the same; never 0. */
static uint64_t sum_up(const uint8_t *bytes, size_t len)
{
    uint64_t sum = len;

    for (size_t i = 0; i < len; i += sizeof(sum)) {
        size_t n = len - i < sizeof(sum) ? len - i : sizeof(sum);
        uint64_t word = 0;

        memcpy(&word, bytes + i, n);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15;
        sum ^= sum >> 32;
    }
    return sum | 1;
}

/*
 * Copy a full, unchanged block from the committed index, if its bytes are still
 * those that this process wrote, because another program may have overwritten
 * them.  Returns 1, 0 if the block must be encoded, or -ENOMEM.
 */
static int copy_block(struct draft *draft, uint32_t block_no, uint64_t first,
                      size_t n)
{
    struct index *index = chunk_table_index(draft->table);
    uint64_t sum = chunk_table_sum(draft->table, block_no);
    size_t len;
    int r;

    if (!index || sum == 0 || !chunk_table_is_clean(draft->table, first, n))
        return 0;
    r = reserve(draft, draft->params.blocksize + STREAMS_OVERHEAD);
    if (r < 0)
        return r;
    len = index_read_block(index, block_no, draft->params.blocksize,
                           draft->bytes + draft->len,
                           draft->capacity - draft->len);
    if (len == 0 || sum_up(draft->bytes + draft->len, len) != sum)
        return 0;
    draft->len += len;
    return 1;
}

static int put_full_block(struct draft *draft, uint32_t block_no,
                          uint64_t first, size_t n)
{
    int64_t entry;
    int r;

    if (chunk_table_is_uniform(draft->table, first, n, &entry))
        return put_uniform(draft, first, n, entry);
    r = copy_block(draft, block_no, first, n);
    if (r != 0)
        return r < 0 ? r : 0;
    return encode_block(draft, first, n);
}

static int put_block(struct draft *draft, uint32_t block_no)
{
    size_t n = draft->params.blocksize / FRAME_INDEX_TYPESIZE;
    uint64_t first = (uint64_t)block_no * n;
    uint64_t rest = draft->nentries - first;
    size_t start = draft->len;
    int r;

    store_le32(draft->bytes + CHUNK_LONG_HEADER_LEN +
                   (size_t)block_no * CHUNK_BSTART_LEN,
               (uint32_t)draft->len);
    r = rest < n ? encode_block(draft, first, (size_t)rest)
                 : put_full_block(draft, block_no, first, n);
    if (r == 0)
        draft->sums[block_no] =
            sum_up(draft->bytes + start, draft->len - start);
    return r;
}

/* Make a special chunk of one repeated entry. */
static int put_value(struct draft *draft, int64_t entry)
{
    const uint64_t item = htole64((uint64_t)entry);
    uint64_t nbytes = draft->nentries * FRAME_INDEX_TYPESIZE;
    const struct chunk_header header = {
        .kind = CHUNK_VALUE,
        .typesize = FRAME_INDEX_TYPESIZE,
        .nbytes = (uint32_t)nbytes,
        .blocksize = draft->params.blocksize,
        .cbytes = CHUNK_LONG_HEADER_LEN + FRAME_INDEX_TYPESIZE,
    };

    if (nbytes > CHUNK_NBYTES_MAX)
        return -EINVAL;
    chunk_header_write(&header, draft->bytes);
    memcpy(draft->bytes + CHUNK_LONG_HEADER_LEN, &item, sizeof(item));
    draft->len = header.cbytes;
    return 0;
}

/* Split the blocks, because runs then take the least space: each plane is one
   short stream. */
static int put_blocks(struct draft *draft)
{
    int r = 0;

    draft->params.split_mode = CHUNK_SPLIT_ALWAYS;
    draft->entries = malloc(draft->params.blocksize);
    draft->sums = calloc(draft->nblocks, sizeof(draft->sums[0]));
    if (!draft->entries || !draft->sums)
        return -ENOMEM;
    draft->len =
        CHUNK_LONG_HEADER_LEN + (size_t)draft->nblocks * CHUNK_BSTART_LEN;
    for (uint32_t i = 0; i < draft->nblocks && r == 0; i++)
        r = put_block(draft, i);
    if (r == 0 && draft->len > INT32_MAX)
        r = -EFBIG;
    if (r == 0)
        r = chunk_encode_head(
            &draft->params, (uint32_t)(draft->nentries * FRAME_INDEX_TYPESIZE),
            (uint32_t)draft->len, draft->bytes);
    return r;
}

/* Encode an index of one block like any chunk. */
static int put_chunk(struct draft *draft)
{
    size_t n = (size_t)draft->nentries;
    size_t len = n * FRAME_INDEX_TYPESIZE;
    ssize_t r;

    draft->entries = malloc(len);
    if (!draft->entries)
        return -ENOMEM;
    r = read_entries(draft, 0, n);
    if (r == 0)
        r = chunk_encode(
            draft->encoder, &draft->params,
            &(struct chunk_content){ (const uint8_t *)draft->entries, len },
            draft->bytes, draft->capacity);
    if (r < 0)
        return (int)r;
    draft->len = (size_t)r;
    return 0;
}

static int put_index(struct draft *draft)
{
    int64_t entry;

    if (draft->nblocks == 1)
        return put_chunk(draft);
    if (chunk_table_is_uniform(draft->table, 0, draft->nentries, &entry))
        return put_value(draft, entry);
    return put_blocks(draft);
}

int index_encode(struct chunk_encoder *encoder, struct chunk_table *table,
                 size_t behind, uint8_t **out, size_t *len)
{
    struct draft draft = {
        .encoder = encoder,
        .table = table,
        .params = index_params,
        .nentries = chunk_table_count(table),
    };
    uint64_t nbytes = draft.nentries * FRAME_INDEX_TYPESIZE;
    int r;

    while (size_pieces(nbytes, draft.params.blocksize) > NBLOCKS_MAX)
        draft.params.blocksize *= 2;
    draft.nblocks = (uint32_t)size_pieces(nbytes, draft.params.blocksize);
    r = reserve(&draft, CHUNK_LONG_HEADER_LEN +
                            (size_t)draft.nblocks * CHUNK_BSTART_LEN +
                            CAPACITY_MIN);
    if (r == 0)
        r = put_index(&draft);
    if (r == 0)
        r = reserve(&draft, behind);
    free(draft.entries);
    if (r < 0) {
        free(draft.sums);
        free(draft.bytes);
        return r;
    }
    chunk_table_keep_sums(table, draft.sums, draft.sums ? draft.nblocks : 0);
    *out = draft.bytes;
    *len = draft.len;
    return 0;
}
