/* SPDX-License-Identifier: BSD-3-Clause */
#include "repair/repair.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "frame/array_meta.h"
#include "frame/frame_object.h"
#include "repair/repair_private.h"

/* Open the file, or the index file if it exists. */
static int open_object(struct repair *repair, struct fault *fault)
{
    struct frame *view = &repair->view;
    int r = frame_object_open(view->store, &view->object_name, &view->object,
                              &view->stat);

    view->info.sparse = store_is_directory(view->store);
    if (r == -ENOENT && view->info.sparse)
        return 0;
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    repair->size = view->stat.version.size;
    if (view->base > repair->size)
        return fault_set(fault, -EBADMSG, repair->size,
                         "file ends before the frame");
    return 0;
}

/* Does this error mean only that one chunk is lost, so that the repair can go
   on? */
static bool is_loss(int error)
{
    return error == -EBADMSG || error == -ENOMEM || error == -EIO;
}

static int check_chunk(struct repair *repair, struct repair_chunk *chunk,
                       struct fault *fault)
{
    int r = repair_check(repair, chunk, fault);

    if (r < 0 && r != -ENOTSUP && !is_loss(r))
        return r;
    chunk->state = is_loss(r) ? REPAIR_LOST : REPAIR_GOOD;
    return 0;
}

static int compare_places(const void *a, const void *b)
{
    const struct repair_chunk *x = *(struct repair_chunk *const *)a;
    const struct repair_chunk *y = *(struct repair_chunk *const *)b;

    return (x->place > y->place) - (x->place < y->place);
}

/*
 * Check chunks in the order of their places, and a place that several entries
 * name only once.  No writer names a place twice by intent, so repeated chunks
 * must not take more space than all the others together.
 */
static int check_sorted(struct repair *repair, struct repair_chunk **sorted,
                        size_t n, struct fault *fault)
{
    uint64_t total = repair->view.info.cbytes;
    uint64_t done = 0;
    uint64_t repeated = 0;
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        if (i > 0 && sorted[i]->place == sorted[i - 1]->place) {
            *sorted[i] = *sorted[i - 1];
            repeated += sorted[i]->cbytes;
            if (sorted[i]->state != REPAIR_GOOD || repeated > done)
                sorted[i]->state = REPAIR_SURPLUS;
        } else {
            r = check_chunk(repair, sorted[i], fault);
            done += sorted[i]->cbytes;
        }
        if (r == 0)
            r = repair_progress(repair, done, total);
    }
    return r;
}

int repair_check_list(struct repair *repair, struct repair_list *list,
                      struct fault *fault)
{
    struct repair_chunk **sorted = calloc(list->n + 1, sizeof(*sorted));
    size_t n = 0;
    int r;

    if (!sorted)
        return fault_set(fault, -ENOMEM, 0, NULL);
    for (size_t i = 0; i < list->n; i++)
        if (list->chunks[i].state == REPAIR_STORED)
            sorted[n++] = &list->chunks[i];
    qsort(sorted, n, sizeof(*sorted), compare_places);
    r = check_sorted(repair, sorted, n, fault);
    free(sorted);
    return r;
}

/* Report one lost chunk to the listener. */
static void tell(struct repair *repair, struct repair_chunk chunk,
                 uint64_t chunk_no, uint64_t off)
{
    struct repair_loss loss = {
        .chunk_no = chunk_no,
        .off = off,
        .nbytes = chunk.nbytes,
        .error = -EBADMSG,
        .fault = FAULT_NONE,
    };
    int r = 0;

    if (chunk.state == REPAIR_LOST)
        r = repair_check(repair, &chunk, &loss.fault);
    else if (chunk.state == REPAIR_UNKNOWN)
        fault_set(&loss.fault, r, repair->index_off, "the index can't be read");
    else if (chunk.state == REPAIR_SURPLUS)
        fault_set(&loss.fault, r, chunk.place,
                  "too many chunks are to be here");
    else
        fault_set(&loss.fault, r, repair->index_off,
                  "a special chunk can't be told without its size");
    if (r < 0)
        loss.error = r;
    repair->listener->lost(repair->listener->context, &loss);
}

/* Is a chunk lost?  A special chunk is lost only if its size is, or if NaNs do
   not match the typesize. */
static bool is_lost(const struct repair *repair,
                    const struct repair_chunk *chunk)
{
    uint32_t typesize = repair->view.info.typesize;

    if (chunk->state != REPAIR_SPECIAL)
        return chunk->state != REPAIR_GOOD;
    return chunk->nbytes == 0 ||
           (chunk->kind == CHUNK_NANS && ((typesize != 4 && typesize != 8) ||
                                          chunk->nbytes % typesize != 0));
}

/* Mark a list entry as lost, and report each chunk that it stands for. */
static void lose(struct repair *repair, struct repair_chunk *chunk,
                 uint64_t chunk_no, uint64_t off)
{
    struct repair_result *result = &repair->result;
    uint64_t n = repair_count(chunk);

    for (uint64_t i = 0; i < n; i++)
        tell(repair, *chunk, chunk_no + i, off + i * chunk->nbytes);
    chunk->state = REPAIR_LOST;
    result->nlost += n;
    result->nbytes_lost += n * chunk->nbytes;
}

/* Compute the result, and report lost chunks. */
static void sum_up(struct repair *repair)
{
    struct repair_result *result = &repair->result;
    const struct frame_info *info = &repair->view.info;

    result->sparse = info->sparse;
    result->header_lost = !repair->header_known;
    for (size_t i = 0; i < repair->chunks.n; i++) {
        struct repair_chunk *chunk = &repair->chunks.chunks[i];

        if (is_lost(repair, chunk))
            lose(repair, chunk, result->nchunks, result->nbytes);
        result->nchunks += repair_count(chunk);
        result->nbytes += repair_count(chunk) * chunk->nbytes;
    }
    result->padded = repair->nbytes_padded > 0;
    result->nbytes_told = repair->header_known ? info->nbytes : result->nbytes;
    result->nchunks_told = repair->header_known && info->nchunks > 0
                               ? info->nchunks
                               : result->nchunks;
}

/* Find out the shape of blocks, if the frame is an array and still has it. */
static void read_block(struct repair *repair)
{
    struct fault ignored;

    if (repair->view.object && repair->header_known)
        array_meta_read_block(&repair->view, &repair->view.info.block,
                              &ignored);
}

/* Start from a frame that can be opened. */
static int use_opened(struct repair *repair, struct fault *fault)
{
    struct frame *frame = repair->frame;

    store_object_close(repair->view.object);
    repair->view = *frame;
    store_object_get(frame->object);
    repair->header_known = true;
    read_block(repair);
    if (!frame->index)
        return 0;
    repair->index_off = frame->base + frame_index_off(&frame->info);
    return repair_read_index(repair, frame->index, fault);
}

/* Find out which chunks there are. */
static int collect(struct repair *repair, struct fault *fault)
{
    struct frame *view = &repair->view;
    struct repair_result *result = &repair->result;
    int r;

    result->error =
        frame_open(view->store, view->base, &repair->frame, &result->fault);
    if (result->error == 0)
        return use_opened(repair, fault);
    repair->frame = NULL;
    if (result->error == -ENOMEM || result->error == -ENOTSUP) {
        *fault = result->fault;
        return result->error;
    }
    r = repair_read_header(repair, fault);
    read_block(repair);
    if (r == 0)
        r = repair_search(repair, fault);
    return r;
}

static int examine(struct repair *repair, struct fault *fault)
{
    int r = open_object(repair, fault);

    if (r == 0)
        r = collect(repair, fault);
    if (r == 0)
        r = repair_check_list(repair, &repair->chunks, fault);
    if (r == 0)
        r = repair_place_orphans(repair, fault);
    if (r < 0)
        return r;
    if (repair->chunks.n == 0 && !repair->header_known)
        return fault_set(fault, -EBADMSG, 0, "no chunk is left");
    if (!repair->header_known)
        repair_take_params(repair);
    repair_find_sizes(repair);
    r = repair_read_layers(repair, fault);
    if (r == 0)
        sum_up(repair);
    return r;
}

int repair_open(struct store *store, uint64_t base,
                const struct repair_listener *listener, struct repair **out,
                struct fault *fault)
{
    struct repair *repair = calloc(1, sizeof(*repair));
    int r;

    if (!repair)
        return fault_set(fault, -ENOMEM, 0, NULL);
    repair->listener = listener;
    repair->view.store = store;
    repair->view.base = base;
    r = chunk_decoder_new(cpu_features(), &repair->decoder);
    r = r < 0 ? fault_set(fault, r, 0, NULL) : examine(repair, fault);
    if (r < 0) {
        repair_close(repair);
        return r;
    }
    *out = repair;
    return 0;
}

void repair_close(struct repair *repair)
{
    if (!repair)
        return;
    store_object_close(repair->view.object);
    frame_close(repair->frame);
    chunk_decoder_free(repair->decoder);
    free(repair->blocks);
    free(repair->chunks.chunks);
    free(repair->found.chunks);
    layers_free(&repair->fixed);
    layers_free(&repair->vl);
    free(repair);
}

const struct repair_result *repair_get_result(const struct repair *repair)
{
    return &repair->result;
}
