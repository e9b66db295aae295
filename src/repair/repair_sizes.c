/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "chunk/chunk_params.h"
#include "frame/frame_source.h"
#include "repair/repair_private.h"

uint32_t repair_common_size(const struct repair_list *list)
{
    uint32_t common = 0;

    for (size_t i = 0; i < list->n; i++) {
        const struct repair_chunk *chunk = &list->chunks[i];

        if (chunk->state != REPAIR_GOOD)
            continue;
        if (common == 0)
            common = chunk->nbytes;
        if (chunk->nbytes > common ||
            (chunk->nbytes < common && i + 1 < list->n))
            return 0;
    }
    return common;
}

bool repair_has_size(const struct repair_list *list, uint32_t nbytes)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->chunks[i].state == REPAIR_GOOD &&
            list->chunks[i].nbytes == nbytes)
            return true;
    return false;
}

/* Get the sizes of chunks from the opened frame, if it can tell all of them. */
static bool sizes_from_frame(struct repair *repair)
{
    struct repair_list *list = &repair->chunks;
    uint64_t chunk_no = 0;

    for (size_t i = 0; i < list->n; i++) {
        struct repair_chunk *chunk = &list->chunks[i];
        struct frame_span span;
        struct fault ignored;

        if (!repair->frame ||
            frame_span_of(repair->frame, chunk_no, &span, &ignored) < 0 ||
            (chunk->state == REPAIR_GOOD && chunk->nbytes != span.nbytes))
            return false;
        chunk->nbytes = span.nbytes;
        chunk_no += repair_count(chunk);
    }
    return true;
}

static void sizes_by_rule(struct repair *repair, uint32_t chunksize)
{
    struct repair_list *list = &repair->chunks;
    uint64_t before = (repair_list_count(list) - 1) * chunksize;
    uint64_t nbytes = repair->view.info.nbytes;

    for (size_t i = 0; i < list->n; i++) {
        struct repair_chunk *chunk = &list->chunks[i];

        if (chunk->state == REPAIR_GOOD)
            continue;
        chunk->nbytes = chunksize;
        if (i + 1 == list->n && repair->header_known && nbytes > before &&
            nbytes - before < chunksize)
            chunk->nbytes = (uint32_t)(nbytes - before);
    }
}

/* If sizes differ, only the chunks themselves tell them; the size of a single
   unknown chunk follows from nbytes in the header. */
static void sizes_by_sum(struct repair *repair)
{
    struct repair_list *list = &repair->chunks;
    struct repair_chunk *unknown = NULL;
    uint64_t nunknown = 0;
    uint64_t nbytes = repair->view.info.nbytes;
    uint64_t sum = 0;

    for (size_t i = 0; i < list->n; i++) {
        struct repair_chunk *chunk = &list->chunks[i];

        if (chunk->nbytes == 0) {
            unknown = chunk;
            nunknown += repair_count(chunk);
        }
        sum += repair_count(chunk) * chunk->nbytes;
    }
    if (nunknown == 1 && repair->header_known && nbytes > sum &&
        nbytes - sum <= INT32_MAX)
        unknown->nbytes = (uint32_t)(nbytes - sum);
}

/* Choose the chunksize: the one in the header, unless the chunks have
   another. */
static uint32_t choose_chunksize(const struct repair *repair)
{
    const struct repair_list *list = &repair->chunks;
    uint32_t told = repair->header_known ? repair->view.info.chunksize : 0;
    uint32_t common = repair_common_size(list);

    if (repair->header_known && told == 0)
        return 0;
    if (common > told || (common > 0 && list->n > 1))
        return common;
    return common == 0 && repair_has_size(list, told) ? 0 : told;
}

/* Do all chunks have this size, except that the last may be shorter? */
static bool is_regular(const struct repair_list *list, uint32_t chunksize)
{
    for (size_t i = 0; i + 1 < list->n; i++)
        if (list->chunks[i].nbytes != chunksize)
            return false;
    return list->chunks[list->n - 1].nbytes <= chunksize;
}

void repair_find_sizes(struct repair *repair)
{
    struct frame_info *info = &repair->view.info;
    const struct repair_list *list = &repair->chunks;
    uint32_t chunksize = choose_chunksize(repair);

    if (list->n == 0)
        return;
    if (!sizes_from_frame(repair)) {
        if (chunksize > 0)
            sizes_by_rule(repair, chunksize);
        else
            sizes_by_sum(repair);
    }
    info->chunksize = is_regular(list, chunksize) ? chunksize : 0;
}

void repair_take_params(struct repair *repair)
{
    struct frame_info *info = &repair->view.info;
    const struct repair_list *list = &repair->chunks;
    struct chunk_header header;
    struct frame_source source;
    struct fault ignored;
    size_t i = 0;

    while (i < list->n && list->chunks[i].state != REPAIR_GOOD)
        i++;
    info->typesize = 1;
    info->clevel = 5;
    info->split_mode = CHUNK_SPLIT_FORWARD;
    if (i == list->n || frame_source_open(&repair->view, i,
                                          &(struct frame_entry){
                                              .place = list->chunks[i].place },
                                          &source, &ignored) < 0)
        return;
    if (frame_source_header(&source, &header, &ignored) == 0) {
        info->typesize = header.typesize;
        info->codec = header.codec;
        info->codec_meta = header.codec_meta;
        memcpy(info->filters, header.filters, sizeof(info->filters));
        memcpy(info->filters_meta, header.filters_meta,
               sizeof(info->filters_meta));
    }
    frame_source_close(&repair->view, &source);
}
