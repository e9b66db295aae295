/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "chunk/chunk_format.h"
#include "writer/frame_change_private.h"

struct chunk_params frame_chunk_params(const struct frame_info *info)
{
    struct chunk_params params = {
        .typesize = info->typesize,
        .blocksize = info->blocksize,
        .codec = (uint8_t)info->codec,
        .clevel = (uint8_t)info->clevel,
        .split_mode = (enum chunk_split)info->split_mode,
        .use_dict = info->use_dict,
    };

    memcpy(params.filters, info->filters, CHUNK_NFILTERS);
    memcpy(params.filters_meta, info->filters_meta, CHUNK_NFILTERS);
    return params;
}

/*
 * Round a blocksize down to whole items.  The reference library cuts blocks as
 * the header says, and then fails to read those that are not a whole number of
 * items (observed: 3.3.3).
 */
static uint32_t whole_items(uint32_t blocksize, uint32_t typesize)
{
    return blocksize > typesize ? blocksize - blocksize % typesize : blocksize;
}

static void set_params(struct frame_info *info,
                       const struct frame_params *params)
{
    const struct chunk_params *chunks = &params->chunks;

    info->typesize = chunks->typesize;
    info->blocksize = whole_items(chunks->blocksize, chunks->typesize);
    info->chunksize = params->chunksize;
    info->codec = chunks->codec;
    info->codec_meta = params->codec_meta;
    info->vlblocks = params->vlblocks;
    info->clevel = chunks->clevel;
    info->split_mode = chunks->split_mode;
    info->use_dict = chunks->use_dict;
    memcpy(info->filters, chunks->filters, CHUNK_NFILTERS);
    memcpy(info->filters_meta, chunks->filters_meta, CHUNK_NFILTERS);
}

/* Copy the info of a frame, except the fields that describe its content. */
static void take_params(struct frame_change *change, const struct frame *like)
{
    change->info = like->info;
    change->info.frame_len = 0;
    change->info.nbytes = 0;
    change->info.cbytes = 0;
    change->info.nchunks = 0;
    change->variable = like->walk;
    if (change->variable)
        change->info.chunksize = 0;
}

static int check_params(const struct frame_params *params, struct fault *fault)
{
    int r = chunk_params_check(&params->chunks);

    if (r == 0 && params->chunksize > CHUNK_NBYTES_MAX)
        r = -EINVAL;
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

static int change_alloc(struct store *store, struct frame_change **out,
                        struct fault *fault)
{
    struct frame_change *change = calloc(1, sizeof(*change));

    if (!change || chunk_encoder_new(cpu_features(), &change->encoder) < 0) {
        free(change);
        return fault_set(fault, -ENOMEM, 0, NULL);
    }
    pthread_mutex_init(&change->lock, NULL);
    change->store = store_get(store);
    *out = change;
    return 0;
}

int frame_change_open(struct frame *frame, struct frame_change **out,
                      struct fault *fault)
{
    struct frame_change *change = NULL;
    int r;

    if (frame->base != 0)
        return frame_fault(frame, -EROFS, frame->base,
                           "a frame inside a file is not changed", fault);
    r = change_alloc(frame->store, &change, fault);
    if (r < 0)
        return r;
    change->info = frame->info;
    if (frame->info.format != FRAME_FORMAT_E)
        r = store_check_place(frame->store);
    if (r < 0) {
        frame_change_close(change);
        return frame_fault(frame, r, 0,
                           "a frame of an old layout has to be written anew",
                           fault);
    }
    r = frame_adopt(change, frame, fault);
    if (r < 0) {
        frame_change_close(change);
        return r;
    }
    frame_change_reclaim(change, false);
    *out = change;
    return 0;
}

static int begin_new(struct frame_change *change, struct fault *fault)
{
    struct frame_info *info = &change->info;
    int r = 0;

    info->header_len = (uint32_t)frame_write_header_len(&change->fixed);
    change->name_unsynced = true;
    change->stamp = 1;
    if (!info->sparse)
        r = store_draft(change->store, "", &change->draft);
    if (r == 0)
        r = frame_alloc_new(change->store, change->draft, &change->alloc);
    if (r == 0 && !info->sparse)
        r = frame_alloc_reserve(change->alloc, info->header_len);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    return 0;
}

/* Begin a frame with `params`, or with those of `like` if that is NULL.  This
   copies the metalayers of `like`. */
static int begin(struct frame_change *change, const struct frame_params *params,
                 struct frame *like, struct fault *fault)
{
    int r;

    if (params)
        set_params(&change->info, params);
    else
        take_params(change, like);
    change->info.format = FRAME_FORMAT_E;
    change->info.sparse = store_is_directory(change->store);
    r = frame_change_new_table(change, &change->chunks);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    if (like)
        r = layers_read(like, &change->fixed, &change->vl, fault);
    return r < 0 ? r : begin_new(change, fault);
}

int frame_change_new_like(struct store *store, struct frame *like,
                          const struct frame_params *params,
                          struct frame_change **out, struct fault *fault)
{
    struct frame_change *change = NULL;
    int r = params ? check_params(params, fault) : 0;

    if (r == 0)
        r = change_alloc(store, &change, fault);
    if (r < 0)
        return r;
    r = begin(change, params, like, fault);
    if (r < 0) {
        frame_change_close(change);
        return r;
    }
    *out = change;
    return 0;
}

int frame_change_new(struct store *store, const struct frame_params *params,
                     struct frame_change **out, struct fault *fault)
{
    return frame_change_new_like(store, NULL, params, out, fault);
}

int frame_change_set_params(struct frame_change *change,
                            const struct frame_params *params,
                            struct fault *fault)
{
    int r = check_params(params, fault);

    if (r < 0)
        return r;
    if (change->info.nchunks > 0)
        return fault_set(fault, -EINVAL, 0, NULL);
    pthread_mutex_lock(&change->lock);
    set_params(&change->info, params);
    pthread_mutex_unlock(&change->lock);
    return 0;
}

/* Drop chunks that were put but not committed; unless a failed commit may have
   made them part of the frame. */
static void drop_fresh(struct frame_change *change)
{
    if (change->draft || !change->header_known)
        return;
    for (size_t i = 0; i < change->fresh.n; i++)
        frame_alloc_free(change->alloc, change->fresh.extents[i].off,
                         change->fresh.extents[i].len);
}

void frame_change_close(struct frame_change *change)
{
    if (!change)
        return;
    drop_fresh(change);
    frame_change_reclaim(change, true);
    /* Drop this only now, so that the space is not given back: the disk may
       hold an older state that needs it. */
    generation_put(change->durable_generation);
    store_discard(change->store, change->draft);
    extent_list_free(&change->fresh);
    extent_list_free(&change->dying);
    frame_alloc_put(change->alloc);
    generation_put(change->generation);
    layers_free(&change->fixed);
    layers_free(&change->vl);
    free(change->replaced.bytes);
    chunk_table_free(change->chunks);
    chunk_encoder_free(change->encoder);
    pthread_mutex_destroy(&change->lock);
    store_close(change->store);
    free(change);
}

int frame_change_reopen(struct frame_change **change, struct frame *frame,
                        struct fault *fault)
{
    const struct frame_change *last = *change;
    struct frame_change *next;
    int r;

    if (!last->header_known || last->unsynced_lost || last->draft ||
        frame_alloc_of_generation(frame->generation) != last->alloc)
        return fault_set(fault, -ESTALE, 0, NULL);
    r = frame_change_open(frame, &next, fault);
    if (r < 0)
        return r;
    next->name_unsynced = last->name_unsynced;
    next->not_durable = last->not_durable;
    next->stamp = last->stamp;
    next->durable_generation = last->durable_generation;
    (*change)->durable_generation = NULL;
    frame_change_close(*change);
    *change = next;
    return 0;
}
