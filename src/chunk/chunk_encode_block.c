/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/size.h"
#include "chunk/chunk_encode_private.h"

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

size_t chunk_encode_block_len(const struct chunk_draft *draft,
                              uint32_t block_no)
{
    size_t off = (size_t)block_no * draft->blocksize;
    size_t left = draft->nbytes - off;

    return left < draft->blocksize ? left : draft->blocksize;
}

/* Return an unfiltered block, copied to `joined` if it is in several pieces. */
static const uint8_t *get_block(const struct chunk_draft *draft,
                                uint32_t block_no, uint8_t *joined)
{
    size_t off = (size_t)block_no * draft->blocksize;
    size_t len = chunk_encode_block_len(draft, block_no);
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

int chunk_encode_ready_scratch(struct chunk_draft *draft)
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

static bool repeats(const uint8_t *bytes, size_t len, size_t period)
{
    return memcmp(bytes, bytes + period, len - period) == 0;
}

/* Write a stream that repeats one byte. */
static int write_run(struct chunk_draft *draft, uint8_t value)
{
    size_t len = CHUNK_STREAM_PREFIX_LEN + (value != 0);
    uint8_t *dst = draft->dst + draft->pos;

    if (len > chunk_encode_space_left(draft))
        return -ERANGE;

    store_le32(dst, -(uint32_t)value);
    if (value != 0)
        dst[CHUNK_STREAM_PREFIX_LEN] = CHUNK_RUN_TOKEN;
    draft->pos += len;
    return 0;
}

/* Encode a stream.  Returns as struct codec.encode(). */
static ssize_t run_codec(const struct chunk_draft *draft, const uint8_t *src,
                         size_t len, uint8_t *dst, size_t cap)
{
    const struct codec_stream stream = {
        .codec = draft->codec,
        .context = codec_get_context(draft->encoder->codecs, draft->codec),
        .dict = draft->dict,
        .items = &draft->items,
        .typesize = (uint8_t)draft->typesize,
        .meta = draft->params->codec_meta,
        .level = draft->params->clevel,
        .src = src,
        .src_len = len,
        .dst = dst,
        .dst_len = cap,
    };

    return draft->codec->encode(&stream);
}

static int write_stream(struct chunk_draft *draft, const uint8_t *src,
                        size_t len)
{
    uint8_t *dst = draft->dst + draft->pos;
    size_t cap = len - 1;
    ssize_t r;

    if (repeats(src, len, 1))
        return write_run(draft, src[0]);
    if (chunk_encode_space_left(draft) < CHUNK_STREAM_PREFIX_LEN)
        return -ERANGE;
    if (cap > chunk_encode_space_left(draft) - CHUNK_STREAM_PREFIX_LEN)
        cap = chunk_encode_space_left(draft) - CHUNK_STREAM_PREFIX_LEN;

    r = run_codec(draft, src, len, dst + CHUNK_STREAM_PREFIX_LEN, cap);
    if (r < 0)
        return (int)r;
    if (r == 0) {
        if (len > chunk_encode_space_left(draft) - CHUNK_STREAM_PREFIX_LEN)
            return -ERANGE;
        memcpy(dst + CHUNK_STREAM_PREFIX_LEN, src, len);
        r = (ssize_t)len;
    }
    store_le32(dst, (uint32_t)r);
    draft->pos += CHUNK_STREAM_PREFIX_LEN + (size_t)r;
    return 0;
}

const uint8_t *chunk_encode_filter(const struct chunk_draft *draft,
                                   uint32_t block_no)
{
    struct filter_block block = {
        .len = chunk_encode_block_len(draft, block_no),
        .typesize = draft->typesize,
        .items = &draft->items,
        .chunk_version = CHUNK_VERSION_WRITTEN,
        .first = block_no > 0 ? draft->first : NULL,
        .shuffle = draft->encoder->shuffle,
    };

    return filter_pipeline_apply(&draft->pipeline, &block,
                                 get_block(draft, block_no, draft->joined),
                                 draft->moves[0], draft->moves[1]);
}

int chunk_encode_streams(struct chunk_draft *draft, const uint8_t *bytes,
                         size_t len, bool split)
{
    size_t stream_len = split ? len / draft->typesize : len;

    for (size_t off = 0; off < len; off += stream_len) {
        int r = write_stream(draft, bytes + off, stream_len);

        if (r < 0)
            return r;
    }
    return 0;
}

int chunk_encode_init_draft(struct chunk_draft *draft, size_t nbytes)
{
    const struct chunk_params *params = draft->params;
    int r = chunk_params_check(params);

    if (r < 0)
        return r;
    if (nbytes > CHUNK_NBYTES_MAX)
        return -EINVAL;

    draft->items = chunk_params_items(params);
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
    struct chunk_draft draft = {
        .encoder = encoder,
        .params = params,
        .src = &pieces,
        .dst = dst,
        .cap = cap,
    };
    int r = chunk_encode_init_draft(&draft, len);

    if (r == 0)
        r = chunk_encode_ready_scratch(&draft);
    if (r == 0)
        r = chunk_encode_streams(&draft, chunk_encode_filter(&draft, 0), len,
                                 draft.split && len == params->blocksize);
    return r < 0 ? r : (ssize_t)draft.pos;
}
