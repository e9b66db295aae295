/* SPDX-License-Identifier: BSD-3-Clause */
#include "change_model.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "chunk/chunk_encode.h"
#include "chunk/codec.h"
#include "chunk/filter.h"
#include "frame/metalayer.h"
#include "frame_open.h"

const struct frame_params model_params = {
    .chunks = {
        .typesize = MODEL_TYPESIZE,
        .codec = CODEC_LZ4,
        .clevel = 5,
        .filters = { 0, 0, 0, 0, 0, FILTER_SHUFFLE },
        .split_mode = CHUNK_SPLIT_FORWARD,
    },
    .chunksize = MODEL_CHUNKSIZE,
};

uint32_t model_random(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % below);
}

/* Fill with bytes that compress well or badly, or that make a special chunk. */
static void fill(struct model_chunk *chunk, size_t len, uint64_t *random)
{
    static const uint8_t nan[] = { 0x00, 0x00, 0xC0, 0x7F };
    uint32_t kind = model_random(random, 6);

    memset(chunk, 0, sizeof(*chunk));
    chunk->len = len;
    for (size_t i = 0; i < len; i++) {
        if (kind == 1)
            chunk->bytes[i] = nan[i % 4];
        else if (kind == 2)
            chunk->bytes[i] = (uint8_t)(i % 4);
        else if (kind == 3)
            chunk->bytes[i] = (uint8_t)(i / 50 + model_random(random, 2));
        else if (kind > 3)
            chunk->bytes[i] = (uint8_t)model_random(random, 256);
    }
}

static int write_chunk(struct frame_writer *writer,
                       const struct model_chunk *chunk,
                       struct frame_written *out)
{
    uint8_t bytes[MODEL_CHUNKSIZE + CHUNK_OVERHEAD_MAX];
    struct chunk_encoder *encoder;
    struct fault fault;
    ssize_t len;

    ck_assert_int_eq(chunk_encoder_new(cpu_features(), &encoder), 0);
    len = chunk_encode(encoder, &model_params.chunks,
                       &(struct chunk_content){ chunk->bytes, chunk->len },
                       bytes, sizeof(bytes));
    chunk_encoder_free(encoder);
    ck_assert_int_gt(len, 0);
    return frame_writer_write(writer, bytes, (size_t)len, out, &fault);
}

static bool ends_short(const struct model *model)
{
    return !model->variable && model->nchunks > 0 &&
           model->chunks[model->nchunks - 1].len < MODEL_CHUNKSIZE;
}

static int insert(struct model *model, struct frame_writer *writer, size_t at,
                  size_t len, uint64_t *random)
{
    struct frame_written written;
    struct model_chunk chunk;
    int r;

    if (model->nchunks == MODEL_CHUNKS_MAX)
        return 0;
    fill(&chunk, len, random);
    r = write_chunk(writer, &chunk, &written);
    if (r < 0)
        return r;
    r = frame_writer_insert(writer, at, &written);
    ck_assert_int_eq(r, 0);
    memmove(model->chunks + at + 1, model->chunks + at,
            (model->nchunks - at) * sizeof(model->chunks[0]));
    model->chunks[at] = chunk;
    model->nchunks++;
    return 0;
}

/* Choose a size that the frame accepts here. */
static size_t some_len(const struct model *model, bool last, uint64_t *random)
{
    if (model->variable || (last && model_random(random, 3) == 0))
        return 1 + model_random(random, MODEL_CHUNKSIZE);
    return MODEL_CHUNKSIZE;
}

static int put(struct model *model, struct frame_writer *writer,
               uint64_t *random)
{
    struct frame_written written;
    struct model_chunk chunk;
    size_t at;
    int r;

    if (model->nchunks == 0)
        return 0;
    at = model_random(random, (uint32_t)model->nchunks);
    fill(&chunk, some_len(model, at == model->nchunks - 1, random), random);
    r = write_chunk(writer, &chunk, &written);
    if (r < 0)
        return r;
    ck_assert_int_eq(frame_writer_put(writer, at, &written), 0);
    model->chunks[at] = chunk;
    return 0;
}

static int insert_some(struct model *model, struct frame_writer *writer,
                       uint64_t *random)
{
    bool last = !ends_short(model) && model_random(random, 2) == 0;
    size_t at = last ? model->nchunks
                     : model_random(random, (uint32_t)model->nchunks + 1);

    if (at == model->nchunks && ends_short(model))
        return 0;
    return insert(model, writer, at,
                  some_len(model, at == model->nchunks, random), random);
}

int model_append(struct model *model, struct frame_writer *writer, size_t len,
                 uint64_t *random)
{
    return insert(model, writer, model->nchunks, len, random);
}

static int delete (struct model *model, struct frame_writer *writer,
                   uint64_t *random)
{
    size_t first = model_random(random, (uint32_t)model->nchunks + 1);
    size_t n = model_random(random, 3);

    if (n > model->nchunks - first)
        n = model->nchunks - first;
    ck_assert_int_eq(frame_writer_delete(writer, first, n), 0);
    memmove(model->chunks + first, model->chunks + first + n,
            (model->nchunks - first - n) * sizeof(model->chunks[0]));
    model->nchunks -= n;
    return 0;
}

void model_delete(struct model *model, struct frame_writer *writer, size_t at)
{
    ck_assert_int_eq(frame_writer_delete(writer, at, 1), 0);
    model->nchunks--;
    memmove(model->chunks + at, model->chunks + at + 1,
            (model->nchunks - at) * sizeof(model->chunks[0]));
}

void model_empty(struct model *model, struct frame_writer *writer)
{
    ck_assert_int_eq(frame_writer_delete(writer, 0, model->nchunks), 0);
    model->nchunks = 0;
}

static int reorder(struct model *model, struct frame_writer *writer,
                   uint64_t *random)
{
    uint64_t order[MODEL_CHUNKS_MAX];
    struct model_chunk chunks[MODEL_CHUNKS_MAX];
    size_t n = model->nchunks - ends_short(model);

    for (size_t i = 0; i < model->nchunks; i++)
        order[i] = i;
    for (size_t i = n; i > 1; i--) {
        size_t j = model_random(random, (uint32_t)i);
        uint64_t swap = order[i - 1];

        order[i - 1] = order[j];
        order[j] = swap;
    }
    ck_assert_int_eq(frame_writer_reorder(writer, order), 0);
    memcpy(chunks, model->chunks, sizeof(chunks));
    for (size_t i = 0; i < model->nchunks; i++)
        model->chunks[i] = chunks[order[i]];
    return 0;
}

/* Resize to whole chunks, for which no data has to be written. */
static int resize(struct model *model, struct frame_writer *writer,
                  uint64_t *random)
{
    size_t n = model_random(random, 8);
    size_t keep = n < model->nchunks ? n : model->nchunks;
    struct fault fault;

    if (model->variable)
        return 0;
    if (keep == model->nchunks && ends_short(model)) {
        ck_assert_int_eq(frame_writer_delete(writer, model->nchunks - 1, 1), 0);
        keep = --model->nchunks;
    }
    ck_assert_int_eq(frame_writer_resize(writer, n * MODEL_CHUNKSIZE, &fault),
                     0);
    for (size_t i = keep; i < n; i++) {
        memset(&model->chunks[i], 0, sizeof(model->chunks[i]));
        model->chunks[i].len = MODEL_CHUNKSIZE;
    }
    model->nchunks = n;
    return 0;
}

static int set_layer(struct model *model, struct frame_writer *writer,
                     uint64_t *random)
{
    uint32_t i = model_random(random, MODEL_LAYERS);
    char name[16];
    char text[32] = "";
    int r;

    snprintf(name, sizeof(name), "layer%u", i);
    if (model_random(random, 3) > 0) {
        snprintf(text, sizeof(text), "%.*s%u", (int)model_random(random, 16),
                 "oooooooooooooooo", model_random(random, 1000));
        r = frame_writer_set_vlmetalayer(writer, name, text, strlen(text));
    } else {
        r = frame_writer_remove_vlmetalayer(writer, name);
        ck_assert_int_eq(r, model->layers[i][0] ? 0 : -ENODATA);
        r = 0;
    }
    if (r == 0)
        strcpy(model->layers[i], text);
    return r;
}

int model_step(struct model *model, struct frame_writer *writer,
               uint64_t *random)
{
    switch (model_random(random, 16)) {
    case 0:
        return delete (model, writer, random);
    case 1:
        return reorder(model, writer, random);
    case 2:
        return resize(model, writer, random);
    case 3:
    case 4:
        return set_layer(model, writer, random);
    case 5:
    case 6:
    case 7:
    case 8:
        return insert_some(model, writer, random);
    default:
        return put(model, writer, random);
    }
}

static bool layer_matches(const char *text, struct frame *frame,
                          const struct metalayer_list *list, unsigned i)
{
    const struct metalayer *layer;
    struct fault fault;
    uint8_t *content;
    char name[16];
    ssize_t len;
    bool same;

    snprintf(name, sizeof(name), "layer%u", i);
    layer = metalayer_find(list, METALAYER_VL, name);
    if (!layer || text[0] == '\0')
        return !layer && text[0] == '\0';
    len = metalayer_read(frame, layer, 64, &content, &fault);
    if (len < 0)
        return false;
    same =
        (size_t)len == strlen(text) && memcmp(content, text, strlen(text)) == 0;
    free(content);
    return same;
}

static bool layers_match(const struct model *model, struct frame *frame)
{
    struct metalayer_list list;
    struct fault fault;
    bool same = true;

    if (metalayer_list_read(frame, &list, &fault) < 0)
        return false;
    for (unsigned i = 0; i < MODEL_LAYERS && same; i++)
        same = layer_matches(model->layers[i], frame, &list, i);
    metalayer_list_free(&list);
    return same;
}

static void count_fault(void *context, int error, const struct fault *fault)
{
    (void)error;
    (void)fault;
    ++*(int *)context;
}

bool model_matches(const struct model *model, struct frame *frame)
{
    uint8_t bytes[MODEL_CHUNKSIZE];
    struct fault fault;
    uint64_t total = 0;
    int nfaults = 0;

    if (frame_get_info(frame)->nchunks != model->nchunks)
        return false;
    for (size_t i = 0; i < model->nchunks; i++) {
        const struct model_chunk *chunk = &model->chunks[i];
        size_t len;

        if (read_chunk(frame, i, bytes, sizeof(bytes), &len, &fault) < 0 ||
            len != chunk->len || memcmp(bytes, chunk->bytes, len) != 0)
            return false;
        total += len;
    }
    return total == frame_get_info(frame)->nbytes &&
           frame_check(frame, count_fault, &nfaults) == 0 && nfaults == 0 &&
           layers_match(model, frame);
}

void model_check(const struct model *model, struct frame *frame)
{
    ck_assert(model_matches(model, frame));
}
