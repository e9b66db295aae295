/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/size.h"
#include "chunk/chunk_format.h"
#include "chunk/chunk_private.h"
#include "chunk/chunk_special.h"
#include "chunk/repeat.h"

static int out_of_memory(struct fault *fault)
{
    return fault_set(fault, -ENOMEM, 0, "no memory for the chunk");
}

static int open_filters(struct chunk *chunk, struct fault *fault)
{
    const struct chunk_header *header = &chunk->header;
    int lacking;

    if (header->instrumented)
        return 0;
    lacking = filter_pipeline_init(&chunk->pipeline, header->filters,
                                   header->filters_meta, header->typesize);
    if (lacking == 0)
        return 0;

    uint64_t off = CHUNK_OFF_FILTERS;
    while (header->filters[off - CHUNK_OFF_FILTERS] != lacking)
        off++;
    return fault_set_id(fault, off,
                        "chunk needs a filter that is not supported", lacking);
}

/* Count the streams of a block of full size.  Format: Chunk Format, 5. */
static int count_streams(struct chunk *chunk, struct fault *fault)
{
    const struct chunk_header *header = &chunk->header;
    uint32_t typesize = header->typesize;

    chunk->nstreams = 1;
    if (header->flags & CHUNK_FLAG_UNSPLIT)
        return 0;
    if (header->version <= CHUNK_VERSION_BLOSC1 &&
        (typesize > CHUNK_LEGACY_TYPESIZE_MAX ||
         header->blocksize / typesize < CHUNK_LEGACY_ITEMS_MIN))
        return 0;
    if (header->blocksize % typesize != 0)
        return fault_set(fault, -EBADMSG, CHUNK_OFF_BLOCKSIZE,
                         "blocks cannot be split into equal streams");
    chunk->nstreams = typesize;
    return 0;
}

/* Find the end of the dictionary, and digest it if the codec can use it. */
static int open_dict(struct chunk *chunk, const uint8_t *head,
                     struct fault *fault)
{
    uint32_t off = chunk->data_off;
    uint32_t end = chunk->header.cbytes;
    uint32_t len;

    if (!size_within(off, CHUNK_DICT_PREFIX_LEN, end))
        return fault_set(fault, -EBADMSG, off, "dictionary leaves the chunk");
    len = load_le32(head + off);
    if (len == 0 || len > CHUNK_DICT_MAX)
        return fault_set(fault, -EBADMSG, off,
                         "size of the dictionary is out of range");
    if (!size_within(off + CHUNK_DICT_PREFIX_LEN, len, end))
        return fault_set(fault, -EBADMSG, off, "dictionary leaves the chunk");

    off += CHUNK_DICT_PREFIX_LEN;
    chunk->data_off = off + len;
    if (!chunk->codec || !chunk->codec->new_dict)
        return 0;
    int r = chunk->codec->new_dict(head + off, len, &chunk->dict);
    if (r < 0)
        return fault_set(fault, r, off, "codec refuses the dictionary");
    return 0;
}

static int compare_starts(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/*
 * Sort the block starts, because writers with several threads store blocks in
 * the order in which they finish them.  No two blocks may start at one byte.
 */
static int sort_starts(struct chunk *chunk, uint32_t nstarts,
                       struct fault *fault)
{
    size_t size = (size_t)nstarts * sizeof(*chunk->sorted);

    chunk->sorted = malloc(size);
    if (!chunk->sorted)
        return out_of_memory(fault);
    memcpy(chunk->sorted, chunk->starts, size);
    qsort(chunk->sorted, nstarts, sizeof(*chunk->sorted), compare_starts);

    for (uint32_t i = 1; i < nstarts; i++)
        if (chunk->sorted[i] == chunk->sorted[i - 1])
            return fault_set(fault, -EBADMSG, chunk->sorted[i],
                             "two blocks start at the same byte");
    return 0;
}

/*
 * If real_blocksize() changed the block size of the header, the first block
 * must directly follow the block starts and the dictionary.  Otherwise the
 * chunk was not cut that way.
 */
static int check_blocksize(const struct chunk *chunk, const uint8_t *head,
                           struct fault *fault)
{
    const struct chunk_header *header = &chunk->header;
    const uint32_t *starts = chunk->sorted ? chunk->sorted : chunk->starts;
    uint32_t stored = load_le32(head + CHUNK_OFF_BLOCKSIZE);

    if (stored > header->nbytes)
        stored = header->nbytes;
    if (stored != header->blocksize && starts[0] != chunk->data_off)
        return fault_set(fault, -EBADMSG, CHUNK_OFF_BLOCKSIZE,
                         "blocks do not hold whole items");
    return 0;
}

static int open_starts(struct chunk *chunk, const uint8_t *head,
                       uint32_t nstarts, struct fault *fault)
{
    uint32_t last = chunk->header.cbytes - CHUNK_STREAM_PREFIX_LEN;
    uint64_t off = chunk->header.header_len;
    bool is_rising = true;

    chunk->starts = malloc((size_t)nstarts * sizeof(*chunk->starts));
    if (!chunk->starts)
        return out_of_memory(fault);

    for (uint32_t i = 0; i < nstarts; i++, off += CHUNK_BSTART_LEN) {
        uint32_t start = load_le32(head + off);

        if (start < chunk->data_off || start > last)
            return fault_set(fault, -EBADMSG, off,
                             "block start lies outside the chunk's blocks");
        if (i > 0 && start <= chunk->starts[i - 1])
            is_rising = false;
        chunk->starts[i] = start;
    }
    if (is_rising)
        return 0;
    if (chunk->header.kind == CHUNK_VLBLOCKS)
        return fault_set(fault, -EBADMSG, chunk->header.header_len,
                         "starts of VL-blocks do not rise");
    return sort_starts(chunk, nstarts, fault);
}

static int open_blocks(struct chunk *chunk, const uint8_t *head,
                       struct fault *fault)
{
    const struct chunk_header *header = &chunk->header;
    bool is_vl = header->kind == CHUNK_VLBLOCKS;
    uint32_t nstarts = is_vl ? header->nvlblocks : header->nblocks;
    int r;

    if (nstarts == 0)
        return 0;
    chunk->codec = codec_by_id(header->codec);
    chunk->data_off = header->header_len + nstarts * CHUNK_BSTART_LEN;

    r = open_filters(chunk, fault);
    if (r == 0 && header->has_dict)
        r = open_dict(chunk, head, fault);
    if (r == 0)
        r = open_starts(chunk, head, nstarts, fault);
    if (r < 0 || is_vl)
        return r;

    r = check_blocksize(chunk, head, fault);
    if (r < 0)
        return r;
    return count_streams(chunk, fault);
}

static int open_value(struct chunk *chunk, const uint8_t *head,
                      struct fault *fault)
{
    const struct chunk_header *header = &chunk->header;

    chunk->value = malloc(header->value_len);
    if (!chunk->value)
        return out_of_memory(fault);
    memcpy(chunk->value, head + header->header_len, header->value_len);
    return 0;
}

int chunk_open(const struct chunk_header *header, const uint8_t *head,
               const struct chunk_items *items, struct chunk **out,
               struct fault *fault)
{
    struct chunk *chunk = calloc(1, sizeof(*chunk));
    int r = 0;

    if (!chunk)
        return out_of_memory(fault);
    chunk->header = *header;
    if (items)
        chunk->items = *items;

    if (header->kind == CHUNK_BLOCKS || header->kind == CHUNK_VLBLOCKS)
        r = open_blocks(chunk, head, fault);
    else if (header->kind == CHUNK_VALUE)
        r = open_value(chunk, head, fault);
    if (r < 0)
        goto fail;

    *out = chunk;
    return 0;

fail:
    chunk_close(chunk);
    return r;
}

void chunk_close(struct chunk *chunk)
{
    if (!chunk)
        return;
    if (chunk->dict)
        chunk->codec->free_dict(chunk->dict);
    free(chunk->starts);
    free(chunk->sorted);
    free(chunk->value);
    free(chunk);
}

const struct chunk_header *chunk_get_header(const struct chunk *chunk)
{
    return &chunk->header;
}

size_t chunk_footprint(const struct chunk *chunk)
{
    const struct chunk_header *header = &chunk->header;
    size_t starts = sizeof(uint32_t) *
                    (header->nvlblocks ? header->nvlblocks : header->nblocks);
    size_t size = sizeof(*chunk) + header->value_len;

    if (chunk->starts)
        size += starts;
    if (chunk->sorted)
        size += starts;
    if (chunk->dict)
        size += chunk->codec->dict_footprint(chunk->dict);
    return size;
}

const uint8_t *chunk_value(const struct chunk *chunk)
{
    return chunk->value;
}

bool chunk_uses_shape(const struct chunk_header *header)
{
    const struct codec *codec = codec_by_id(header->codec);
    bool uses_shape = codec && codec->uses_shape;

    if (header->kind != CHUNK_BLOCKS && header->kind != CHUNK_VLBLOCKS)
        return false;
    for (unsigned i = 0; i < CHUNK_NFILTERS && !uses_shape; i++) {
        const struct filter *filter = filter_by_id(header->filters[i]);

        uses_shape = filter && filter->uses_shape;
    }
    return uses_shape;
}

bool chunk_needs_first_block(const struct chunk *chunk)
{
    return chunk->header.nblocks > 1 &&
           filter_pipeline_has_delta(&chunk->pipeline);
}

uint32_t chunk_block_size(const struct chunk *chunk, uint32_t block)
{
    const struct chunk_header *header = &chunk->header;

    if (block + 1 < header->nblocks)
        return header->blocksize;
    return header->nbytes - block * header->blocksize;
}

/* Return the next block start above that of `block`, or the chunk's end. */
static uint32_t next_start(const struct chunk *chunk, uint32_t block)
{
    uint32_t low = block + 1;
    uint32_t high = chunk->header.nblocks;
    const uint32_t *starts = chunk->starts;

    if (chunk->sorted) {
        starts = chunk->sorted;
        low = 0;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;

            if (starts[middle] <= chunk->starts[block])
                low = middle + 1;
            else
                high = middle;
        }
        high = chunk->header.nblocks;
    }
    return low < high ? starts[low] : chunk->header.cbytes;
}

/*
 * Return an upper limit for the size in the chunk of a block of `len` decoded
 * bytes.  Writers store a stream raw if its codec makes it larger.  A writer
 * that does not stays below this limit too, because codecs add far less.
 */
static uint64_t coded_size_max(uint32_t len, uint32_t nstreams)
{
    return len + (uint64_t)len / 4 + (uint64_t)nstreams * 64;
}

void chunk_block_extent(const struct chunk *chunk, uint32_t block,
                        uint32_t *off, uint32_t *len)
{
    const struct chunk_header *header = &chunk->header;
    uint32_t size = chunk_block_size(chunk, block);
    uint32_t nstreams = chunk->nstreams;
    uint32_t end;

    if (header->kind == CHUNK_COPY) {
        *off = header->header_len + block * header->blocksize;
        *len = size;
        return;
    }
    if (header->kind == CHUNK_VLBLOCKS) {
        nstreams = header->nvlblocks;
        end = header->cbytes;
    } else {
        end = next_start(chunk, block);
    }

    uint64_t most = coded_size_max(size, nstreams);
    *off = chunk->starts[block];
    *len = end - *off < most ? end - *off : (uint32_t)most;
}

void chunk_fill(const struct chunk *chunk, uint32_t off, uint8_t *dst,
                size_t len)
{
    const struct chunk_header *header = &chunk->header;
    const uint8_t *item = chunk->value;
    size_t item_len = header->value_len;

    if (header->kind == CHUNK_ZEROS || header->kind == CHUNK_UNINIT) {
        memset(dst, 0, len);
        return;
    }
    if (header->kind == CHUNK_NANS) {
        item = chunk_special_nan(header->typesize);
        item_len = header->typesize;
    }

    size_t start = off % item_len;
    size_t once = len < item_len ? len : item_len;
    size_t head = once < item_len - start ? once : item_len - start;

    memcpy(dst, item + start, head);
    memcpy(dst + head, item, once - head);
    if (len > item_len)
        repeat_bytes(dst + item_len, item_len, len - item_len);
}
