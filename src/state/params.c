/* SPDX-License-Identifier: BSD-3-Clause */
#include "state/params.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "chunk/codec.h"
#include "chunk/filter.h"

enum {
    TYPESIZE_MAX = 255,
    CHUNKSIZE_MAX = 1 << 30,
    TYPESIZE_AUTO = 0,
    BLOCKSIZE_AUTO = 0,
    META_NONE = 256, /* no parameter of a codec is given */
};

const struct file_params params_default = {
    .chunk = {
        .typesize = TYPESIZE_AUTO,
        .blocksize = BLOCKSIZE_AUTO,
        .codec = CODEC_LZ4,
        .clevel = 5,
        .filters[CHUNK_NFILTERS - 1] = FILTER_SHUFFLE,
        .split_mode = CHUNK_SPLIT_FORWARD,
    },
    .chunksize = 1 << 20,
};

/* Parse a number, or "auto" as 0 if `automatic` is set. */
static int set_number(const char *value, bool automatic, uint64_t min,
                      uint64_t max, uint32_t *out)
{
    uint64_t number = 0;

    if (!(automatic && strcmp(value, "auto") == 0) &&
        (!size_parse(value, &number) || number < min || number > max))
        return -EINVAL;
    *out = (uint32_t)number;
    return 0;
}

static void clear_filters(struct chunk_params *params)
{
    memset(params->filters, 0, sizeof(params->filters));
    memset(params->filters_meta, 0, sizeof(params->filters_meta));
}

/*
 * Split NAME or NAME:META, where META is a signed or unsigned byte.
 *
 *  word  its colon is overwritten
 *  meta  unchanged if there is none
 *
 * Returns 0 or -EINVAL.
 */
static int split_meta(char *word, long *meta)
{
    char *colon = strchr(word, ':');
    char *end;
    long number;

    if (!colon)
        return 0;
    *colon = '\0';
    number = strtol(colon + 1, &end, 10);
    if (end == colon + 1 || *end != '\0' || number < INT8_MIN ||
        number > UINT8_MAX)
        return -EINVAL;
    *meta = number;
    return 0;
}

/* Does a codec take this parameter?  `meta` is META_NONE if there is none. */
static bool takes_meta(const struct codec *codec, long meta)
{
    if (!codec->has_meta || meta == META_NONE)
        return codec->has_meta == (meta != META_NONE);
    return codec->meta_is_signed ? meta <= INT8_MAX : meta >= 0;
}

static int set_codec(struct chunk_params *params, const char *value)
{
    const struct codec *codec;
    char *word = strdup(value);
    long meta = META_NONE;
    int r;

    if (!word)
        return -ENOMEM;
    r = split_meta(word, &meta);
    codec = r == 0 ? codec_by_name(word) : NULL;
    free(word);
    if (!codec || !takes_meta(codec, meta))
        return -EINVAL;
    params->codec = (uint8_t)codec->id;
    params->codec_meta = codec->has_meta ? (uint8_t)meta : 0;
    if (codec->must_split)
        params->split_mode = CHUNK_SPLIT_ALWAYS;
    if (codec->codes_items)
        clear_filters(params);
    return 0;
}

static int set_clevel(struct chunk_params *params, const char *value)
{
    uint32_t clevel;
    int r = set_number(value, false, 0, CODEC_LEVEL_MAX, &clevel);

    if (r == 0)
        params->clevel = (uint8_t)clevel;
    return r;
}

static int parse_filter(char *word, uint8_t *id, uint8_t *meta)
{
    const struct filter *filter;
    long number = 0;

    if (split_meta(word, &number) < 0)
        return -EINVAL;
    filter = filter_by_name(word);
    if (!filter)
        return -EINVAL;
    *id = (uint8_t)filter->id;
    *meta = (uint8_t)number;
    return 0;
}

/* Unused slots come first. */
static int parse_filters(struct chunk_params *params, char *text)
{
    uint8_t ids[CHUNK_NFILTERS];
    uint8_t metas[CHUNK_NFILTERS];
    size_t n = 0;

    for (char *word; (word = strsep(&text, "+")); n++) {
        if (n == CHUNK_NFILTERS || parse_filter(word, &ids[n], &metas[n]) < 0)
            return -EINVAL;
    }
    clear_filters(params);
    memcpy(params->filters + CHUNK_NFILTERS - n, ids, n);
    memcpy(params->filters_meta + CHUNK_NFILTERS - n, metas, n);
    return 0;
}

static int set_filters(struct chunk_params *params, const char *value)
{
    char *text;
    int r;

    if (strcmp(value, "none") == 0) {
        clear_filters(params);
        return 0;
    }
    text = strdup(value);
    if (!text)
        return -ENOMEM;
    r = parse_filters(params, text);
    free(text);
    return r;
}

int params_set(struct file_params *params, const char *name, const char *value)
{
    struct chunk_params *chunk = &params->chunk;

    if (strcmp(name, "codec") == 0)
        return set_codec(chunk, value);
    if (strcmp(name, "clevel") == 0)
        return set_clevel(chunk, value);
    if (strcmp(name, "filters") == 0)
        return set_filters(chunk, value);
    if (strcmp(name, "typesize") == 0)
        return set_number(value, true, 1, TYPESIZE_MAX, &chunk->typesize);
    if (strcmp(name, "chunksize") == 0)
        return set_number(value, false, 1, CHUNKSIZE_MAX, &params->chunksize);
    if (strcmp(name, "blocksize") == 0)
        return set_number(value, true, 1, CHUNKSIZE_MAX, &chunk->blocksize);
    return -ENOENT;
}

int params_set_layout(const char *value, bool *sparse)
{
    bool is_sparse = strcmp(value, "sparse") == 0;

    if (!is_sparse && strcmp(value, "contiguous") != 0)
        return -EINVAL;
    *sparse = is_sparse;
    return 0;
}

/* Set what follows from the shape of an array that is known to be valid. */
static void take_shape(struct chunk_params *chunk,
                       const struct layout_shape *shape)
{
    const struct chunk_items items = { chunk->typesize,
                                       layout_block_shape(shape) };

    chunk->block = items.block;
    chunk->blocksize = chunk_items_per_block(&items) * items.size;
}

int params_check(const struct file_params *params)
{
    struct chunk_params chunk = params->chunk;

    if (chunk.typesize == TYPESIZE_AUTO)
        chunk.typesize = 1;
    if (params->array)
        take_shape(&chunk, &params->array->shape);
    return chunk_params_check(&chunk);
}

bool params_await_shape(const struct file_params *params)
{
    return !params->array && params->chunk.block.ndim == 0 &&
           chunk_params_use_shape(&params->chunk);
}

struct frame_params params_frame(const struct file_params *params)
{
    struct frame_params frame = { .chunks = params->chunk,
                                  .chunksize = params->chunksize };

    frame.chunks.sums = true;
    if (frame.chunks.typesize == 0)
        frame.chunks.typesize = 1;
    if (frame.chunksize < frame.chunks.typesize)
        frame.chunksize = frame.chunks.typesize;
    frame.chunksize -= frame.chunksize % frame.chunks.typesize;
    return frame;
}
