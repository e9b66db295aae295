/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/chunk_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/size.h"
#include "chunk/chunk_format.h"
#include "chunk/chunk_special.h"
#include "chunk/codec.h"
#include "chunk/dict.h"
#include "chunk/filter.h"

enum {
    NBYTES_MIN = 32
};

struct chunk_encoder {
    const struct shuffle_ops *shuffle;
    struct codec_state *codecs;
    uint8_t *scratch;
    size_t scratch_len;
};

/* A chunk that is being encoded. */
struct draft {
    struct chunk_encoder *encoder;
    const struct chunk_params *params;
    const struct codec *codec;
    struct codec_dict *dict;
    struct filter_pipeline pipeline;

    const struct chunk_pieces *src;
    uint32_t nbytes;
    uint32_t blocksize;
    uint32_t nblocks;
    uint8_t typesize; /* as in the header */
    bool split;
    bool use_dict; /* if one can be made */

    uint8_t *dst;
    size_t cap;
    size_t pos; /* bytes written */

    /* These point into the encoder's scratch. */
    uint8_t *moves[2]; /* for the filters, a block each */
    uint8_t *joined;   /* for a block that lies in several pieces */
    uint8_t *filtered; /* all blocks, if a dictionary is tried; else NULL */

    const uint8_t *first; /* block 0 */
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

/* Count the buffers that filters need to move a block. */
static size_t count_moves(const struct chunk_params *params)
{
    size_t nfilters = 0;

    for (size_t i = 0; i < CHUNK_NFILTERS; i++)
        nfilters += params->filters[i] != FILTER_NONE;
    return nfilters < 2 ? nfilters : 2;
}

/* Can a block lie in several pieces? */
static bool must_join(uint32_t nbytes, uint32_t blocksize, size_t piece_len)
{
    return piece_len < nbytes && piece_len % blocksize != 0;
}

size_t chunk_encode_scratch(const struct chunk_params *params, uint32_t nbytes,
                            size_t piece_len)
{
    uint32_t blocksize = chunk_params_blocksize(params, nbytes);
    size_t nblocks = count_moves(params);

    if (must_join(nbytes, blocksize, piece_len))
        nblocks += 2;
    return nblocks * blocksize + (params->use_dict ? nbytes : 0);
}

static size_t block_len(const struct draft *draft, uint32_t block_no)
{
    size_t off = (size_t)block_no * draft->blocksize;
    size_t left = draft->nbytes - off;

    return left < draft->blocksize ? left : draft->blocksize;
}

/* Return an unfiltered block, copied to `joined` if it is in several pieces. */
static const uint8_t *get_block(const struct draft *draft, uint32_t block_no,
                                uint8_t *joined)
{
    size_t off = (size_t)block_no * draft->blocksize;
    size_t len = block_len(draft, block_no);
    const uint8_t *bytes = pieces_at(draft->src, off, len);

    if (bytes)
        return bytes;
    pieces_copy(draft->src, off, joined, len);
    return joined;
}

/* Enlarge the scratch, which loses its contents. */
static int grow_scratch(struct chunk_encoder *encoder, size_t len)
{
    if (encoder->scratch_len >= len)
        return 0;
    free(encoder->scratch);
    encoder->scratch = malloc(len);
    encoder->scratch_len = encoder->scratch ? len : 0;
    return encoder->scratch ? 0 : -ENOMEM;
}

/* Divide the scratch between the buffers of the draft. */
static int ready_scratch(struct draft *draft)
{
    const struct chunk_params *params = draft->params;
    size_t piece_len = draft->src->piece_len;
    size_t blocksize = draft->blocksize;
    uint8_t *next;
    int r = grow_scratch(
        draft->encoder, chunk_encode_scratch(params, draft->nbytes, piece_len));

    if (r < 0)
        return r;
    next = draft->encoder->scratch;
    if (draft->params->use_dict)
        next += draft->nbytes;
    for (size_t i = 0; i < count_moves(params); i++, next += blocksize)
        draft->moves[i] = next;
    draft->joined = next;
    if (must_join(draft->nbytes, draft->blocksize, piece_len))
        next += blocksize;
    draft->first = get_block(draft, 0, next);
    return 0;
}

/* Return the header flags that say how the blocks are cut. */
static uint8_t block_flags(const struct draft *draft)
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
static void write_header(const struct draft *draft, enum chunk_kind kind,
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
        memcpy(header.filters, params->filters, CHUNK_NFILTERS);
        memcpy(header.filters_meta, params->filters_meta, CHUNK_NFILTERS);
    }
    if (kind == CHUNK_BLOCKS) {
        header.flags = block_flags(draft);
        header.has_dict = draft->dict;
    }
    chunk_header_write(&header, draft->dst);
}

static ssize_t write_copy(struct draft *draft)
{
    size_t len = CHUNK_LONG_HEADER_LEN + (size_t)draft->nbytes;

    if (len > draft->cap)
        return -ERANGE;

    write_header(draft, CHUNK_COPY, (uint32_t)len);
    pieces_copy(draft->src, 0, draft->dst + CHUNK_LONG_HEADER_LEN,
                draft->nbytes);
    return (ssize_t)len;
}

static bool repeats(const uint8_t *bytes, size_t len, size_t period)
{
    return memcmp(bytes, bytes + period, len - period) == 0;
}

/* Format: Blosc2 Chunk Format, 7 "Special-value chunks". */
static ssize_t write_special(struct draft *draft, enum chunk_kind kind)
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

static size_t space_left(const struct draft *draft)
{
    return draft->cap - draft->pos;
}

/* Write a stream that repeats one byte. */
static int write_run(struct draft *draft, uint8_t value)
{
    size_t len = CHUNK_STREAM_PREFIX_LEN + (value != 0);
    uint8_t *dst = draft->dst + draft->pos;

    if (len > space_left(draft))
        return -ERANGE;

    store_le32(dst, -(uint32_t)value);
    if (value != 0)
        dst[CHUNK_STREAM_PREFIX_LEN] = CHUNK_RUN_TOKEN;
    draft->pos += len;
    return 0;
}

/* Encode a stream.  Returns as struct codec.encode(). */
static ssize_t run_codec(const struct draft *draft, const uint8_t *src,
                         size_t len, uint8_t *dst, size_t cap)
{
    const struct codec_stream stream = {
        .context = codec_get_context(draft->encoder->codecs, draft->codec),
        .dict = draft->dict,
        .level = draft->params->clevel,
        .src = src,
        .src_len = len,
        .dst = dst,
        .dst_len = cap,
    };

    return draft->codec->encode(&stream);
}

static int write_stream(struct draft *draft, const uint8_t *src, size_t len)
{
    uint8_t *dst = draft->dst + draft->pos;
    size_t cap = len - 1;
    ssize_t r;

    if (repeats(src, len, 1))
        return write_run(draft, src[0]);
    if (space_left(draft) < CHUNK_STREAM_PREFIX_LEN)
        return -ERANGE;
    if (cap > space_left(draft) - CHUNK_STREAM_PREFIX_LEN)
        cap = space_left(draft) - CHUNK_STREAM_PREFIX_LEN;

    r = run_codec(draft, src, len, dst + CHUNK_STREAM_PREFIX_LEN, cap);
    if (r < 0)
        return (int)r;
    if (r == 0) {
        if (len > space_left(draft) - CHUNK_STREAM_PREFIX_LEN)
            return -ERANGE;
        memcpy(dst + CHUNK_STREAM_PREFIX_LEN, src, len);
        r = (ssize_t)len;
    }
    store_le32(dst, (uint32_t)r);
    draft->pos += CHUNK_STREAM_PREFIX_LEN + (size_t)r;
    return 0;
}

/* Return the block with all filters applied. */
static const uint8_t *filter_block(const struct draft *draft, uint32_t block_no)
{
    struct filter_block block = {
        .len = block_len(draft, block_no),
        .typesize = draft->typesize,
        .item_size = draft->params->typesize,
        .chunk_version = CHUNK_VERSION_WRITTEN,
        .first = block_no > 0 ? draft->first : NULL,
        .shuffle = draft->encoder->shuffle,
    };

    return filter_pipeline_apply(&draft->pipeline, &block,
                                 get_block(draft, block_no, draft->joined),
                                 draft->moves[0], draft->moves[1]);
}

/* Write the streams of a block that the filters were applied to. */
static int write_streams(struct draft *draft, const uint8_t *bytes, size_t len,
                         bool split)
{
    size_t stream_len = split ? len / draft->typesize : len;

    for (size_t off = 0; off < len; off += stream_len) {
        int r = write_stream(draft, bytes + off, stream_len);

        if (r < 0)
            return r;
    }
    return 0;
}

static int write_block(struct draft *draft, uint32_t block_no)
{
    size_t len = block_len(draft, block_no);
    const uint8_t *bytes;

    store_le32(draft->dst + CHUNK_LONG_HEADER_LEN +
                   CHUNK_BSTART_LEN * (size_t)block_no,
               (uint32_t)draft->pos);

    if (draft->filtered)
        bytes = draft->filtered + (size_t)block_no * draft->blocksize;
    else
        bytes = filter_block(draft, block_no);
    return write_streams(draft, bytes, len,
                         draft->split && len == draft->blocksize);
}

static void filter_all_blocks(struct draft *draft)
{
    uint8_t *filtered = draft->encoder->scratch;

    for (uint32_t i = 0; i < draft->nblocks; i++)
        memcpy(filtered + (size_t)i * draft->blocksize, filter_block(draft, i),
               block_len(draft, i));
    draft->filtered = filtered;
}

/* Write a dictionary after the block starts, if one can be made. */
static int write_dict(struct draft *draft)
{
    size_t nstreams = draft->nblocks;
    struct dict_plan plan;
    ssize_t r;

    if (draft->split)
        nstreams *= draft->typesize;
    if (!dict_plan(draft->nbytes, nstreams, space_left(draft), &plan))
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

static int write_body(struct draft *draft)
{
    size_t starts_len = CHUNK_BSTART_LEN * (size_t)draft->nblocks;
    int r = 0;

    if (CHUNK_LONG_HEADER_LEN + starts_len > draft->cap)
        return -ERANGE;
    draft->pos = CHUNK_LONG_HEADER_LEN + starts_len;

    if (draft->use_dict)
        r = write_dict(draft);
    for (uint32_t i = 0; i < draft->nblocks && r == 0; i++)
        r = write_block(draft, i);
    return r;
}

/* Write a chunk of blocks.  Returns its size, -ERANGE if that would be more
   than `cap`, or another error. */
static ssize_t write_blocks(struct draft *draft)
{
    int r = ready_scratch(draft);

    if (r < 0)
        return r;

    r = write_body(draft);
    if (r == 0)
        write_header(draft, CHUNK_BLOCKS, (uint32_t)draft->pos);
    if (draft->dict)
        draft->codec->free_dict(draft->dict);
    return r < 0 ? r : (ssize_t)draft->pos;
}

/* Write blocks, or a copy if the blocks would not be smaller. */
static ssize_t write_smallest(struct draft *draft)
{
    size_t cap = draft->cap;
    ssize_t r;

    if (draft->params->clevel == 0 || draft->nbytes < NBYTES_MIN)
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

/* Complete a draft of `nbytes` bytes.  The caller has set `params`, `dst` and
   `cap`, and `encoder` and `src` if blocks are to be encoded; all else is
   zero. */
static int draft_init(struct draft *draft, size_t nbytes)
{
    const struct chunk_params *params = draft->params;
    int r = chunk_params_check(params);

    if (r < 0)
        return r;
    if (nbytes > CHUNK_NBYTES_MAX)
        return -EINVAL;

    draft->codec = codec_by_id(params->codec);
    draft->nbytes = (uint32_t)nbytes;
    draft->typesize = chunk_params_typesize(params);
    draft->blocksize = chunk_params_blocksize(params, (uint32_t)nbytes);
    draft->use_dict = params->use_dict && draft->codec->make_dict;
    draft->nblocks = (uint32_t)size_pieces(nbytes, draft->blocksize);
    draft->split = chunk_params_split(params, draft->blocksize);
    filter_pipeline_init(&draft->pipeline, params->filters,
                         params->filters_meta, draft->typesize);
    return 0;
}

ssize_t chunk_encode_block(struct chunk_encoder *encoder,
                           const struct chunk_params *params,
                           const struct chunk_content *block, uint8_t *dst,
                           size_t cap)
{
    const size_t len = block->nbytes;
    const struct chunk_pieces pieces = {
        .pieces = &block->bytes,
        .piece_len = len,
        .nbytes = len,
    };
    struct draft draft = {
        .encoder = encoder,
        .params = params,
        .src = &pieces,
        .dst = dst,
        .cap = cap,
    };
    int r = draft_init(&draft, len);

    if (r == 0)
        r = ready_scratch(&draft);
    if (r == 0)
        r = write_streams(&draft, filter_block(&draft, 0), len,
                          draft.split && len == params->blocksize);
    return r < 0 ? r : (ssize_t)draft.pos;
}

int chunk_encode_head(const struct chunk_params *params, uint32_t nbytes,
                      uint32_t cbytes, uint8_t *dst)
{
    struct draft draft = {
        .params = params,
        .dst = dst,
        .cap = CHUNK_LONG_HEADER_LEN,
    };
    int r = draft_init(&draft, nbytes);

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
    struct draft draft = {
        .encoder = encoder,
        .params = params,
        .src = src,
        .dst = dst,
        .cap = cap,
    };
    enum chunk_kind kind;
    int r = draft_init(&draft, src->nbytes);

    if (r < 0)
        return r;
    kind = chunk_special_kind(params, src);
    if (kind != CHUNK_BLOCKS)
        return write_special(&draft, kind);
    return write_smallest(&draft);
}
