/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/chunk_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "chunk/chunk_encode_private.h"
#include "chunk/chunk_format.h"
#include "chunk/chunk_special.h"
#include "chunk/chunk_sums.h"
#include "chunk/dict.h"

enum {
    NBYTES_MIN = 32
};

int chunk_encoder_new(unsigned cpu, struct chunk_encoder **out)
{
    struct chunk_encoder *encoder = calloc(1, sizeof(*encoder));
    int r;

    if (!encoder)
        return -ENOMEM;
    r = codec_state_new(&encoder->codecs);
    if (r < 0) {
        chunk_encoder_free(encoder);
        return r;
    }
    encoder->shuffle = shuffle_select(cpu);
    *out = encoder;
    return 0;
}

void chunk_encoder_free(struct chunk_encoder *encoder)
{
    if (!encoder)
        return;
    codec_state_free(encoder->codecs);
    free(encoder->scratch);
    free(encoder);
}

/* Return the header flags that say how the blocks are cut. */
static uint8_t block_flags(const struct chunk_draft *draft)
{
    unsigned flags = 0;

    if (!draft->split)
        flags |= CHUNK_FLAG_UNSPLIT;
    if (filter_pipeline_has_delta(&draft->pipeline))
        flags |= CHUNK_FLAG_DELTA;
    return (uint8_t)flags;
}

/* Write the header of a chunk of this kind.  Special ones say nothing about
   codec and filters. */
static void write_header(const struct chunk_draft *draft, enum chunk_kind kind,
                         uint32_t cbytes)
{
    const struct chunk_params *params = draft->params;
    struct chunk_header header = {
        .kind = kind,
        .typesize = draft->typesize,
        .nbytes = draft->nbytes,
        .blocksize = draft->blocksize,
        .cbytes = cbytes,
    };

    if (kind == CHUNK_BLOCKS || kind == CHUNK_COPY) {
        header.codec = params->codec;
        header.codec_meta = params->codec_meta;
        memcpy(header.filters, params->filters, CHUNK_NFILTERS);
        memcpy(header.filters_meta, params->filters_meta, CHUNK_NFILTERS);
    }
    if (kind == CHUNK_BLOCKS) {
        header.flags = block_flags(draft);
        header.has_dict = draft->dict;
    }
    chunk_header_write(&header, draft->dst);
}

static ssize_t write_copy(struct chunk_draft *draft)
{
    size_t len = CHUNK_LONG_HEADER_LEN + (size_t)draft->nbytes;

    if (len > draft->cap)
        return -ERANGE;

    write_header(draft, CHUNK_COPY, (uint32_t)len);
    pieces_copy(draft->src, 0, draft->dst + CHUNK_LONG_HEADER_LEN,
                draft->nbytes);
    return (ssize_t)len;
}

/* Format: Blosc2 Chunk Format, 7 "Special-value chunks". */
static ssize_t write_special(struct chunk_draft *draft, enum chunk_kind kind)
{
    uint32_t item_len = kind == CHUNK_VALUE ? draft->typesize : 0;
    uint32_t len = CHUNK_LONG_HEADER_LEN + item_len;

    if (len > draft->cap)
        return -ERANGE;

    /* Readers fill block by block, so a block must hold whole items. */
    if (draft->blocksize < draft->typesize && kind != CHUNK_ZEROS)
        draft->blocksize = draft->typesize;
    write_header(draft, kind, len);
    memcpy(draft->dst + CHUNK_LONG_HEADER_LEN, draft->src->pieces[0], item_len);
    return (ssize_t)len;
}

static int write_block(struct chunk_draft *draft, uint32_t block_no)
{
    size_t len = chunk_encode_block_len(draft, block_no);
    const uint8_t *bytes;

    store_le32(draft->dst + CHUNK_LONG_HEADER_LEN +
                   CHUNK_BSTART_LEN * (size_t)block_no,
               (uint32_t)draft->pos);

    if (draft->filtered)
        bytes = draft->filtered + (size_t)block_no * draft->blocksize;
    else
        bytes = chunk_encode_filter(draft, block_no);
    return chunk_encode_streams(draft, bytes, len,
                                draft->split && len == draft->blocksize);
}

static void filter_all_blocks(struct chunk_draft *draft)
{
    uint8_t *filtered = draft->encoder->scratch;

    for (uint32_t i = 0; i < draft->nblocks; i++)
        memcpy(filtered + (size_t)i * draft->blocksize,
               chunk_encode_filter(draft, i), chunk_encode_block_len(draft, i));
    draft->filtered = filtered;
}

/* Write a dictionary after the block starts, if one can be made. */
static int write_dict(struct chunk_draft *draft)
{
    size_t nstreams = draft->nblocks;
    struct dict_plan plan;
    ssize_t r;

    if (draft->split)
        nstreams *= draft->typesize;
    if (!dict_plan(draft->nbytes, nstreams, chunk_encode_space_left(draft),
                   &plan))
        return 0;

    filter_all_blocks(draft);
    plan.samples = draft->filtered;
    r = dict_write(draft->codec, draft->params->clevel, &plan,
                   draft->dst + draft->pos, &draft->dict);
    if (r < 0)
        return (int)r;
    draft->pos += (size_t)r;
    return 0;
}

/* Leave room for the sums of blocks. */
static int leave_room(struct chunk_draft *draft)
{
    const struct chunk_header header = {
        .kind = CHUNK_BLOCKS,
        .nblocks = draft->nblocks,
    };
    uint32_t len = chunk_sums_len(&header);

    if (len > chunk_encode_space_left(draft))
        return -ERANGE;
    memset(draft->dst + draft->pos, 0, len);
    draft->pos += len;
    return 0;
}

static int write_body(struct chunk_draft *draft)
{
    size_t starts_len = CHUNK_BSTART_LEN * (size_t)draft->nblocks;
    int r = 0;

    if (CHUNK_LONG_HEADER_LEN + starts_len > draft->cap)
        return -ERANGE;
    draft->pos = CHUNK_LONG_HEADER_LEN + starts_len;

    if (draft->use_dict)
        r = write_dict(draft);
    if (draft->params->sums && r == 0)
        r = leave_room(draft);
    for (uint32_t i = 0; i < draft->nblocks && r == 0; i++)
        r = write_block(draft, i);
    return r;
}

/* Write a chunk of blocks.  Returns its size, -ERANGE if that would be more
   than `cap`, or another error. */
static ssize_t write_blocks(struct chunk_draft *draft)
{
    int r = chunk_encode_ready_scratch(draft);

    if (r < 0)
        return r;

    r = write_body(draft);
    if (r == 0)
        write_header(draft, CHUNK_BLOCKS, (uint32_t)draft->pos);
    if (draft->dict)
        draft->codec->free_dict(draft->dict);
    return r < 0 ? r : (ssize_t)draft->pos;
}

/* Can all filters be applied to all blocks?  If one uses the shape of blocks,
   each must be whole. */
static bool filters_suit(const struct chunk_draft *draft)
{
    return !filter_pipeline_uses_shape(&draft->pipeline) ||
           (draft->blocksize == draft->params->blocksize &&
            draft->nbytes % draft->blocksize == 0);
}

/* Write blocks, or a copy if the blocks would not be smaller. */
static ssize_t write_smallest(struct chunk_draft *draft)
{
    size_t cap = draft->cap;
    ssize_t r;

    if (draft->params->clevel == 0 || draft->nbytes < NBYTES_MIN ||
        !filters_suit(draft))
        return write_copy(draft);

    if (draft->cap >= CHUNK_LONG_HEADER_LEN + (size_t)draft->nbytes)
        draft->cap = CHUNK_LONG_HEADER_LEN + (size_t)draft->nbytes - 1;
    r = write_blocks(draft);
    draft->cap = cap;
    return r == -ERANGE ? write_copy(draft) : r;
}

ssize_t chunk_encode(struct chunk_encoder *encoder,
                     const struct chunk_params *params,
                     const struct chunk_content *content, uint8_t *dst,
                     size_t cap)
{
    const struct chunk_pieces pieces = {
        .pieces = &content->bytes,
        .piece_len = content->nbytes > 0 ? content->nbytes : 1,
        .nbytes = content->nbytes,
    };

    return chunk_encode_pieces(encoder, params, &pieces, dst, cap);
}

int chunk_encode_head(const struct chunk_params *params, uint32_t nbytes,
                      uint32_t cbytes, uint8_t *dst)
{
    struct chunk_draft draft = {
        .params = params,
        .dst = dst,
        .cap = CHUNK_LONG_HEADER_LEN,
    };
    int r = chunk_encode_init_draft(&draft, nbytes);

    if (r < 0)
        return r;
    write_header(&draft, CHUNK_BLOCKS, cbytes);
    return 0;
}

ssize_t chunk_encode_pieces(struct chunk_encoder *encoder,
                            const struct chunk_params *params,
                            const struct chunk_pieces *src, uint8_t *dst,
                            size_t cap)
{
    struct chunk_draft draft = {
        .encoder = encoder,
        .params = params,
        .src = src,
        .dst = dst,
        .cap = cap,
    };
    enum chunk_kind kind;
    int r = chunk_encode_init_draft(&draft, src->nbytes);

    if (r < 0)
        return r;
    kind = chunk_special_kind(params, src);
    if (kind != CHUNK_BLOCKS)
        return write_special(&draft, kind);
    return write_smallest(&draft);
}
