/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cpu.h"
#include "chunk/chunk_format.h"
#include "writer/frame_writer_private.h"

struct chunk_params frame_chunk_params(const struct frame_info *info)
{
    struct chunk_params params = {
        .typesize = info->typesize,
        .blocksize = info->blocksize,
        .block = info->block,
        .codec = (uint8_t)info->codec,
        .codec_meta = (uint8_t)info->codec_meta,
        .clevel = (uint8_t)info->clevel,
        .split_mode = (enum chunk_split)info->split_mode,
        .use_dict = info->use_dict,
        .sums = true,
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
    info->block = chunks->block;
    info->codec = chunks->codec;
    info->codec_meta = chunks->codec_meta;
    info->vlblocks = params->vlblocks;
    info->clevel = chunks->clevel;
    info->split_mode = chunks->split_mode;
    info->use_dict = chunks->use_dict;
    memcpy(info->filters, chunks->filters, CHUNK_NFILTERS);
    memcpy(info->filters_meta, chunks->filters_meta, CHUNK_NFILTERS);
}

/* Copy the info of a frame, except the fields that describe its content. */
static void take_params(struct frame_writer *writer, const struct frame *like)
{
    writer->info = like->info;
    writer->info.frame_len = 0;
    writer->info.nbytes = 0;
    writer->info.cbytes = 0;
    writer->info.nchunks = 0;
    writer->variable = like->walk;
    if (writer->variable)
        writer->info.chunksize = 0;
}

static int check_params(const struct frame_params *params, struct fault *fault)
{
    int r = chunk_params_check(&params->chunks);

    if (r == 0 && params->chunksize > CHUNK_NBYTES_MAX)
        r = -EINVAL;
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

static int change_alloc(struct store *store, struct frame_writer **out,
                        struct fault *fault)
{
    struct frame_writer *writer = calloc(1, sizeof(*writer));

    if (!writer || chunk_encoder_new(cpu_features(), &writer->encoder) < 0) {
        free(writer);
        return fault_set(fault, -ENOMEM, 0, NULL);
    }
    pthread_mutex_init(&writer->lock, NULL);
    writer->store = store_get(store);
    writer->sums = true;
    *out = writer;
    return 0;
}

int frame_writer_open(struct frame *frame, struct frame_writer **out,
                      struct fault *fault)
{
    struct frame_writer *writer = NULL;
    int r;

    if (frame->base != 0)
        return frame_fault(frame, -EROFS, frame->base,
                           "a frame inside a file is not changed", fault);
    r = change_alloc(frame->store, &writer, fault);
    if (r < 0)
        return r;
    writer->info = frame->info;
    if (frame->info.format != FRAME_FORMAT_E)
        r = store_check_place(frame->store);
    if (r < 0) {
        frame_writer_close(writer);
        return frame_fault(frame, r, 0,
                           "a frame of an old layout has to be written anew",
                           fault);
    }
    r = frame_load(writer, frame, fault);
    if (r < 0) {
        frame_writer_close(writer);
        return r;
    }
    frame_writer_reclaim(writer, false);
    *out = writer;
    return 0;
}

/* Choose the number of the first stamp.  Where no lock keeps writers apart, it
   is random: then it tells a frame from another one that was there before, see
   frame_writer_rebase(). */
static int choose_stamp(struct frame_writer *writer)
{
    writer->stamp = 1;
    if (writer->info.sparse && store_names_once(writer->store) &&
        getrandom(&writer->stamp, sizeof(writer->stamp), 0) < 0)
        return -errno;
    return 0;
}

static int begin_new(struct frame_writer *writer, struct fault *fault)
{
    struct frame_info *info = &writer->info;
    int r = frame_writer_check_store(writer->store, fault);

    if (r < 0)
        return r;
    info->header_len = (uint32_t)frame_encode_header_len(&writer->fixed);
    writer->name_unsynced = true;
    writer->unnamed = true;
    r = choose_stamp(writer);
    if (r == 0 && !info->sparse)
        r = store_draft(writer->store, "", &writer->draft);
    if (r == 0)
        r = frame_alloc_new(writer->store, writer->draft, &writer->alloc);
    if (r == 0 && !info->sparse)
        r = frame_alloc_reserve(writer->alloc, info->header_len);
    else if (r == 0 && store_names_once(writer->store))
        r = frame_alloc_reserve_ids(writer->alloc);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    return 0;
}

/* Begin a frame with `params`, or with those of `like` if that is NULL.  This
   copies the metalayers of `like`. */
static int begin(struct frame_writer *writer, const struct frame_params *params,
                 struct frame *like, struct fault *fault)
{
    int r;

    if (params)
        set_params(&writer->info, params);
    else
        take_params(writer, like);
    writer->info.format = FRAME_FORMAT_E;
    writer->info.sparse = store_is_directory(writer->store);
    r = frame_writer_new_table(writer, &writer->chunks);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    if (like)
        r = layers_read(like, &writer->fixed, &writer->vl, fault);
    if (like && params && layers_find(&writer->vl, FRAME_KEYS_LAYER))
        frame_writer_remove_vlmetalayer(writer, FRAME_KEYS_LAYER);
    return r < 0 ? r : begin_new(writer, fault);
}

int frame_writer_new_like(struct store *store, struct frame *like,
                          const struct frame_params *params,
                          struct frame_writer **out, struct fault *fault)
{
    struct frame_writer *writer = NULL;
    int r = params ? check_params(params, fault) : 0;

    if (r == 0)
        r = change_alloc(store, &writer, fault);
    if (r < 0)
        return r;
    r = begin(writer, params, like, fault);
    if (r < 0) {
        frame_writer_close(writer);
        return r;
    }
    *out = writer;
    return 0;
}

int frame_writer_new(struct store *store, const struct frame_params *params,
                     struct frame_writer **out, struct fault *fault)
{
    return frame_writer_new_like(store, NULL, params, out, fault);
}

int frame_writer_set_params(struct frame_writer *writer,
                            const struct frame_params *params,
                            struct fault *fault)
{
    int r = check_params(params, fault);

    if (r < 0)
        return r;
    if (writer->info.nchunks > 0)
        return fault_set(fault, -EINVAL, 0, NULL);
    pthread_mutex_lock(&writer->lock);
    set_params(&writer->info, params);
    pthread_mutex_unlock(&writer->lock);
    return 0;
}

/* Drop chunks that were put but not committed; unless a failed commit may have
   made them part of the frame.  Local files of a frame without a name are its
   maker's. */
static void drop_unsynced(struct frame_writer *writer)
{
    bool unused = writer->alloc && writer->info.sparse && writer->unnamed &&
                  store_names_once(writer->store);

    if (unused)
        frame_alloc_set_unused(writer->alloc);
    else if (writer->draft || !writer->header_known)
        return;
    for (size_t i = 0; i < writer->unsynced.n; i++)
        frame_alloc_free(writer->alloc, writer->unsynced.extents[i].off,
                         writer->unsynced.extents[i].len);
}

void frame_writer_set_sums(struct frame_writer *writer, bool sums)
{
    pthread_mutex_lock(&writer->lock);
    writer->sums = sums;
    pthread_mutex_unlock(&writer->lock);
}

void frame_writer_close(struct frame_writer *writer)
{
    if (!writer)
        return;
    drop_unsynced(writer);
    frame_writer_reclaim(writer, true);
    /* Drop this only now, so that the space is not given back: the disk may
       hold an older state that needs it. */
    generation_put(writer->durable_generation);
    store_discard(writer->store, writer->draft);
    extent_list_free(&writer->unsynced);
    extent_list_free(&writer->pending_free);
    frame_alloc_put(writer->alloc);
    generation_put(writer->generation);
    layers_free(&writer->fixed);
    layers_free(&writer->vl);
    frame_keys_fini(&writer->keys);
    free(writer->replaced.bytes);
    sum_places_free(&writer->places);
    chunk_tags_free(&writer->tags);
    chunk_table_free(writer->chunks);
    chunk_encoder_free(writer->encoder);
    pthread_mutex_destroy(&writer->lock);
    store_close(writer->store);
    free(writer);
}

int frame_writer_reopen(struct frame_writer **writer, struct frame *frame,
                        struct fault *fault)
{
    const struct frame_writer *last = *writer;
    struct frame_writer *next;
    int r;

    if (!last->header_known || last->unsynced_lost || last->draft ||
        frame_alloc_of_generation(frame->generation) != last->alloc)
        return fault_set(fault, -ESTALE, 0, NULL);
    r = frame_writer_open(frame, &next, fault);
    if (r < 0)
        return r;
    next->name_unsynced = last->name_unsynced;
    next->not_durable = last->not_durable;
    next->stamp = last->stamp;
    frame_writer_set_sums(next, last->sums);
    next->durable_generation = last->durable_generation;
    (*writer)->durable_generation = NULL;
    frame_writer_close(*writer);
    *writer = next;
    return 0;
}
