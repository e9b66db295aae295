/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/chunk_params.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "chunk/chunk_format.h"
#include "chunk/codec.h"
#include "chunk/filter.h"

enum {
    KIB = 1024
};

/* Smaller chunks are one block, because cutting them does not pay. */
enum {
    CHUNK_SIZE_MIN = 32 * KIB
};

/* Splitting pays only for small items and for streams of some length. */
enum {
    SPLIT_TYPESIZE_MAX = 16,
    SPLIT_ITEMS_MIN = 32
};

/* Limits of the automatic block size when blocks are split. */
enum {
    SPLIT_BLOCK_MIN = 32 * KIB,
    SPLIT_BLOCK_MAX = 4096 * KIB
};

const char *chunk_split_name(enum chunk_split mode)
{
    static const char *const names[] = {
        [CHUNK_SPLIT_ALWAYS] = "always",
        [CHUNK_SPLIT_NEVER] = "never",
        [CHUNK_SPLIT_AUTO] = "auto",
        [CHUNK_SPLIT_FORWARD] = "compatible",
    };

    return names[mode];
}

struct chunk_items chunk_params_items(const struct chunk_params *params)
{
    return (struct chunk_items){
        .size = params->typesize,
        .block = params->block,
    };
}

bool chunk_params_use_shape(const struct chunk_params *params)
{
    struct chunk_header header = {
        .kind = CHUNK_BLOCKS,
        .codec = params->codec,
    };

    memcpy(header.filters, params->filters, CHUNK_NFILTERS);
    return chunk_uses_shape(&header);
}

static int check_filters(const struct chunk_params *params)
{
    const struct chunk_items items = chunk_params_items(params);
    const struct filter_block block = {
        .len = params->blocksize,
        .typesize = chunk_params_typesize(params),
        .items = &items,
    };
    bool bars_delta = false;

    for (unsigned i = 0; i < CHUNK_NFILTERS; i++) {
        uint8_t id = params->filters[i];
        const struct filter *filter = filter_by_id(id);
        int r = filter_check(id, params->filters_meta[i], &block);

        if (r < 0)
            return r;
        if (bars_delta && id == FILTER_DELTA)
            return -EINVAL;
        if (id == FILTER_DELTA || (filter && filter->is_lossy))
            bars_delta = true;
    }
    return 0;
}

int chunk_params_check(const struct chunk_params *params)
{
    const struct codec *codec = codec_by_id(params->codec);

    if (params->typesize < 1 || params->typesize > CHUNK_BLOCKSIZE_MAX ||
        params->blocksize > CHUNK_BLOCKSIZE_MAX ||
        params->clevel > CODEC_LEVEL_MAX ||
        params->split_mode < CHUNK_SPLIT_ALWAYS ||
        params->split_mode > CHUNK_SPLIT_FORWARD)
        return -EINVAL;
    if (!codec || !codec->encode)
        return -ENOTSUP;
    if (codec->check && codec->check(params) < 0)
        return -EINVAL;
    return check_filters(params);
}

bool chunk_params_keep_items(const struct chunk_params *params)
{
    const struct codec *codec = codec_by_id(params->codec);
    bool keep = !codec || !codec->is_lossy;

    for (unsigned i = 0; i < CHUNK_NFILTERS; i++) {
        const struct filter *filter = filter_by_id(params->filters[i]);

        keep = keep && !(filter && filter->mixes_items);
    }
    return keep;
}

uint8_t chunk_params_typesize(const struct chunk_params *params)
{
    return params->typesize <= UINT8_MAX ? (uint8_t)params->typesize : 1;
}

static bool has_shuffle(const struct chunk_params *params)
{
    for (unsigned i = 0; i < CHUNK_NFILTERS; i++) {
        if (params->filters[i] == FILTER_SHUFFLE)
            return true;
    }
    return false;
}

/* Does it usually pay to split blocks for the codec?  Not if this build lacks
   the codec. */
static bool splits_well(const struct chunk_params *params)
{
    const struct codec *codec = codec_by_id(params->codec);

    return codec && params->clevel < codec->split_below;
}

/* Format: Writing Blosc2 chunks, 3 "Split or not". */
static bool wants_split(const struct chunk_params *params, uint32_t typesize,
                        uint32_t blocksize)
{
    switch (params->split_mode) {
    case CHUNK_SPLIT_ALWAYS:
        return true;
    case CHUNK_SPLIT_NEVER:
        return false;
    default:
        return splits_well(params) && has_shuffle(params) &&
               typesize <= SPLIT_TYPESIZE_MAX &&
               blocksize / typesize >= SPLIT_ITEMS_MIN;
    }
}

bool chunk_params_split(const struct chunk_params *params, uint32_t blocksize)
{
    uint32_t typesize = chunk_params_typesize(params);

    return blocksize % typesize == 0 &&
           wants_split(params, typesize, blocksize);
}

static uint32_t unsplit_blocksize(const struct chunk_params *params)
{
    static const uint16_t usual[CODEC_LEVEL_MAX + 1] = {
        8, 16, 32, 64, 128, 128, 256, 256, 256, 256,
    };
    static const uint16_t large[CODEC_LEVEL_MAX + 1] = {
        16, 32, 64, 128, 256, 256, 512, 512, 512, 1024,
    };
    const struct codec *codec = codec_by_id(params->codec);

    return KIB * (codec && codec->wants_large_blocks ? large[params->clevel]
                                                     : usual[params->clevel]);
}

static uint32_t split_blocksize(const struct chunk_params *params)
{
    static const uint16_t per_byte[CODEC_LEVEL_MAX + 1] = {
        0, 32, 32, 32, 64, 64, 64, 128, 256, 512,
    };
    uint64_t size = (uint64_t)KIB * per_byte[params->clevel] * params->typesize;

    if (size < SPLIT_BLOCK_MIN)
        return SPLIT_BLOCK_MIN;
    return size < SPLIT_BLOCK_MAX ? (uint32_t)size : SPLIT_BLOCK_MAX;
}

/* Format: Writing Blosc2 chunks, 2 "Block size". */
uint32_t chunk_params_blocksize(const struct chunk_params *params,
                                uint32_t nbytes)
{
    uint32_t typesize = params->typesize;
    uint32_t size = params->blocksize;

    if (nbytes < typesize)
        return 1;

    if (size == 0) {
        if (params->clevel > 0 && wants_split(params, typesize, nbytes))
            size = split_blocksize(params);
        else
            size = nbytes < CHUNK_SIZE_MIN ? nbytes : unsplit_blocksize(params);
    }
    if (size > nbytes)
        size = nbytes;
    return size > typesize ? size - size % typesize : size;
}
