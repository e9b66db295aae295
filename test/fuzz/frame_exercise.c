/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame_exercise.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "frame/frame.h"
#include "frame/frame_keys.h"
#include "frame/metalayer.h"

enum {
    CHUNKS_MAX = 32,       /* chunks that are read */
    CONTENT_MAX = 1 << 20, /* bytes; larger chunks and layers are left out */
    BLOCKS_MAX = 256,      /* blocks that are decoded one by one */
};

static void insist(bool what)
{
    if (!what)
        abort();
}

static uint8_t *allocate(size_t len)
{
    uint8_t *bytes = malloc(len > 0 ? len : 1);

    insist(bytes);
    return bytes;
}

/* Each block must equal the same bytes of the whole chunk. */
static void compare_blocks(struct frame *frame, const struct frame_chunk *chunk,
                           const uint8_t *all, struct chunk_decoder *decoder)
{
    struct fault fault = FAULT_NONE;

    for (uint32_t i = chunk->nblocks; i-- > 0;) {
        size_t off = (size_t)i * chunk->blocksize;
        size_t rest = chunk->span.nbytes - off;
        size_t len = rest < chunk->blocksize ? rest : chunk->blocksize;
        uint8_t *block = allocate(len);
        struct blocks_run run = { .n = 1 };

        run.first = i;
        run.dst = block;
        run.first_block = all;
        insist(frame_chunk_decode(frame, chunk, &run, decoder, &fault) == 0);
        insist(memcmp(block, all + off, len) == 0);
        run.first_block = NULL;
        insist(frame_chunk_decode(frame, chunk, &run, decoder, &fault) == 0);
        insist(memcmp(block, all + off, len) == 0);
        free(block);
    }
}

static void decode(struct frame *frame, const struct frame_chunk *chunk)
{
    struct fault fault = FAULT_NONE;
    struct chunk_decoder *decoder;
    struct blocks_run run = { .n = chunk->nblocks };
    uint8_t *all;

    if (chunk->nblocks == 0 || chunk->span.nbytes > CONTENT_MAX)
        return;
    insist(chunk_decoder_new(cpu_features(), &decoder) == 0);
    all = allocate(chunk->span.nbytes);
    run.dst = all;
    if (frame_chunk_decode(frame, chunk, &run, decoder, &fault) == 0 &&
        chunk->nblocks <= BLOCKS_MAX)
        compare_blocks(frame, chunk, all, decoder);
    free(all);
    chunk_decoder_free(decoder);
}

/* The content of a special chunk must be readable without decoding. */
static void check_pattern(const struct frame_chunk *chunk)
{
    volatile uint8_t sum = 0;

    if (chunk->nblocks > 0 || chunk->span.nbytes == 0)
        return;
    insist(chunk->pattern_len > 0);
    for (size_t i = 0; i < chunk->pattern_len; i++)
        sum = (uint8_t)(sum + chunk->pattern[i]);
}

static void locate(struct frame *frame, const struct frame_span *span)
{
    struct fault fault = FAULT_NONE;
    struct frame_span found;

    if (span->nbytes == 0)
        return;
    insist(frame_locate(frame, span->off, &found, &fault) == 0);
    insist(found.chunk_no == span->chunk_no && found.off == span->off &&
           found.nbytes == span->nbytes);
    insist(frame_locate(frame, span->off + span->nbytes - 1, &found, &fault) ==
           0);
    insist(found.chunk_no == span->chunk_no);
}

static void try_chunk(struct frame *frame, uint64_t chunk_no)
{
    struct fault fault = FAULT_NONE;
    struct frame_chunk *chunk;
    struct frame_span span;

    if (frame_span_of(frame, chunk_no, &span, &fault) < 0)
        return;
    locate(frame, &span);
    if (frame_chunk_open(frame, chunk_no, &chunk, &fault) < 0)
        return;
    insist(chunk->span.off == span.off && chunk->span.nbytes == span.nbytes);
    check_pattern(chunk);
    decode(frame, chunk);
    frame_chunk_close(chunk);
}

static void try_chunks(struct frame *frame)
{
    const struct frame_info *info = frame_get_info(frame);
    struct fault fault = FAULT_NONE;
    struct frame_span span;
    uint64_t found;

    for (uint64_t i = 0; i < info->nchunks && i < CHUNKS_MAX; i++)
        try_chunk(frame, i);
    if (info->nchunks > CHUNKS_MAX)
        try_chunk(frame, info->nchunks - 1);
    if (info->nbytes > 0)
        frame_locate(frame, info->nbytes / 2, &span, &fault);
    insist(frame_locate(frame, info->nbytes, &span, &fault) < 0);
    frame_next(frame, 0, true, &found, &fault);
    frame_next(frame, 0, false, &found, &fault);
}

/* A key leads to its chunk. */
static void try_keys(struct frame *frame)
{
    const struct frame_keys *keys;
    struct fault fault = FAULT_NONE;
    uint64_t chunk_no;

    if (frame_get_keys(frame, &keys, &fault) < 0 || !keys)
        return;
    insist(keys->n == frame_get_info(frame)->nchunks);
    for (uint64_t i = 0; i < keys->n && i < CHUNKS_MAX; i++)
        if (keys->keys[i] > 0)
            insist(frame_keys_find(keys, keys->keys[i], &chunk_no) == 0 &&
                   chunk_no == i);
}

static void try_metalayers(struct frame *frame)
{
    struct fault fault = FAULT_NONE;
    struct metalayer_list list;

    if (metalayer_list_read(frame, &list, &fault) < 0)
        return;
    for (size_t i = 0; i < list.nlayers && i < CHUNKS_MAX; i++) {
        const struct metalayer *layer = &list.layers[i];
        uint8_t *content;
        uint32_t size;
        ssize_t len;

        insist(metalayer_find(&list, layer->kind, layer->name) == layer);
        if (metalayer_size(frame, layer, &size, &fault) < 0)
            continue;
        len = metalayer_read(frame, layer, CONTENT_MAX, &content, &fault);
        if (len < 0)
            continue;
        insist(len == size);
        free(content);
    }
    metalayer_list_free(&list);
}

static void note(void *context, int error, const struct fault *fault)
{
    char text[256];

    insist(error < 0);
    fault_format(fault, error, text, sizeof(text));
    (*(size_t *)context)++;
}

void frame_exercise(struct store *store)
{
    struct fault fault = FAULT_NONE;
    struct frame_info info;
    struct store_stat stat;
    struct frame *frame;
    size_t nfaults = 0;
    int r = frame_read_info(store, 0, &info, &stat, &fault);
    int opened = frame_open(store, 0, &frame, &fault);

    store_close(store);
    if (opened < 0)
        return;
    insist(r == 0 && info.nbytes == frame_get_info(frame)->nbytes);
    try_chunks(frame);
    try_metalayers(frame);
    try_keys(frame);
    frame_check(frame, note, &nfaults);
    frame_close(frame);
}
