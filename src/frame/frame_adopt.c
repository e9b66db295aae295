/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/chunk_format.h"
#include "frame/frame_change_private.h"
#include "frame/frame_source.h"

enum {
    /* Larger chunks with short headers are left as they are. */
    REWRAP_MAX = 64 << 20,
};

/* What is read of some chunks at a time. */
struct batch {
    int64_t raw[FRAME_SOURCE_BATCH];
    struct frame_entry entries[FRAME_SOURCE_BATCH];
    struct frame_sizes sizes[FRAME_SOURCE_BATCH];
};

static int read_entries(struct frame_change *change, struct frame *frame,
                        uint64_t first, size_t n, struct batch *batch,
                        struct fault *fault)
{
    uint64_t origin = frame->base + frame->info.header_len;
    int r = frame_read_raw(frame, first, n, batch->raw, fault);

    for (size_t i = 0; i < n && r == 0; i++) {
        struct frame_entry *entry = &batch->entries[i];
        struct change_chunk *chunk = &change->chunks[first + i];

        r = frame_parse_entry(frame, first + i, batch->raw[i], entry, fault);
        if (r < 0)
            break;
        if (entry->special)
            chunk->entry = frame_special_entry(entry->kind);
        else
            chunk->entry =
                (int64_t)(entry->place - (frame->info.sparse ? 0 : origin));
    }
    return r;
}

/* Sizes of damaged chunks stay 0. */
static int read_sizes(struct frame_change *change, struct frame *frame,
                      uint64_t first, size_t n, struct batch *batch,
                      struct fault *fault)
{
    int r = 0;

    memset(batch->sizes, 0, sizeof(batch->sizes));
    if (!frame->info.sparse || frame->info.format != FRAME_FORMAT_E)
        r = frame_source_sizes_of(frame, batch->entries, n, batch->sizes,
                                  fault);
    for (size_t i = 0; i < n && r == 0; i++) {
        const struct frame_sizes *sizes = &batch->sizes[i];

        if (sizes->error == 0)
            change->chunks[first + i].cbytes = sizes->cbytes;
        if (sizes->header_len == CHUNK_SHORT_HEADER_LEN)
            change->rewrap = true;
    }
    return r;
}

/* Read the whole index, and what the chunks say of themselves. */
static int read_chunks(struct frame_change *change, struct frame *frame,
                       struct fault *fault)
{
    uint64_t nchunks = frame->info.nchunks;
    struct batch *batch = malloc(sizeof(*batch));
    int r = 0;

    if (!batch)
        return fault_set(fault, -ENOMEM, 0, NULL);
    for (uint64_t first = 0; first < nchunks && r == 0;
         first += FRAME_SOURCE_BATCH) {
        uint64_t rest = nchunks - first;
        size_t n =
            rest < FRAME_SOURCE_BATCH ? (size_t)rest : FRAME_SOURCE_BATCH;

        r = read_entries(change, frame, first, n, batch, fault);
        if (r == 0)
            r = read_sizes(change, frame, first, n, batch, fault);
    }
    free(batch);
    return r;
}

static int read_spans(struct frame_change *change, struct frame *frame,
                      struct fault *fault)
{
    int r = 0;

    for (uint64_t i = 0; i < frame->info.nchunks && r == 0; i++) {
        struct frame_span span;

        r = frame_span_of(frame, i, &span, fault);
        if (r == 0)
            change->chunks[i].nbytes = span.nbytes;
    }
    return r;
}

static int compare_entries(const void *a, const void *b)
{
    const struct change_chunk *x = *(struct change_chunk *const *)a;
    const struct change_chunk *y = *(struct change_chunk *const *)b;

    return (x->entry > y->entry) - (x->entry < y->entry);
}

/*
 * Take the places of all chunks, in order.  One whose size is not known has
 * all up to the next one.
 */
static int take_places(struct frame_change *change,
                       struct change_chunk *const *sorted, size_t n,
                       uint64_t section_len)
{
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        uint64_t off = (uint64_t)sorted[i]->entry;
        uint64_t end = i + 1 < n ? (uint64_t)sorted[i + 1]->entry : section_len;

        if (sorted[i]->cbytes == 0)
            sorted[i]->cbytes =
                end - off < UINT32_MAX ? (uint32_t)(end - off) : UINT32_MAX;
        r = plot_take(change->plot, frame_change_off(change, sorted[i]),
                      sorted[i]->cbytes);
    }
    return r;
}

/* Take the files of all chunks, in order; two chunks may have one. */
static int take_ids(struct frame_change *change,
                    struct change_chunk *const *sorted, size_t n)
{
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        uint64_t id = (uint64_t)sorted[i]->entry;

        r = plot_take(change->plot, id, 1);
        if (r == -EEXIST)
            r = plot_pin(change->plot, id);
    }
    return r;
}

static int take_chunks(struct frame_change *change, struct fault *fault)
{
    uint64_t nchunks = change->info.nchunks;
    struct change_chunk **sorted = malloc((nchunks + 1) * sizeof(*sorted));
    size_t n = 0;
    int r;

    if (!sorted)
        return fault_set(fault, -ENOMEM, 0, NULL);
    for (uint64_t i = 0; i < nchunks; i++)
        if (change->chunks[i].entry >= 0)
            sorted[n++] = &change->chunks[i];
    qsort(sorted, n, sizeof(*sorted), compare_entries);
    r = change->info.sparse
            ? take_ids(change, sorted, n)
            : take_places(change, sorted, n, change->info.cbytes);
    free(sorted);
    if (r == -EEXIST)
        return fault_set(fault, -EBADMSG, 0, "chunks overlap");
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

static int take_file(struct frame_change *change, struct fault *fault)
{
    const struct frame_info *info = &change->info;
    int r = plot_keep(change->plot,
                      info->nchunks > 0 ? info->header_len : info->frame_len);

    if (r == 0 && info->nchunks > 0)
        r = plot_take(change->plot, change->tail.off, change->tail.len);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    return take_chunks(change, fault);
}

/* Have a file removed that nothing refers to: one begun, or a chunk, which rests
   before, as another program may be about to commit it. */
static int remove_orphan(void *context, const char *name)
{
    struct frame_change *change = context;
    char chunk_name[FRAME_SOURCE_NAME_LEN];
    uint32_t id;

    if (strncmp(name, STORE_TEMPORARY, strlen(STORE_TEMPORARY)) == 0) {
        store_remove(change->store, name);
        return 0;
    }
    if (sscanf(name, "%8" SCNx32, &id) != 1)
        return 0;
    frame_source_name(id, chunk_name);
    if (strcmp(name, chunk_name) == 0 && plot_take(change->plot, id, 1) == 0)
        plot_rest(change->plot, id, 1);
    return 0;
}

/* Find out what is free, unless an earlier change knows that. */
static int make_plot(struct frame_change *change, struct frame *frame,
                     struct fault *fault)
{
    bool sparse = frame->info.sparse;
    int r;

    if (frame->era) {
        change->era = era_get(frame->era);
        change->plot = plot_get(era_plot(frame->era));
        return 0;
    }
    r = plot_new(change->store, sparse ? NULL : frame->object, &change->plot);
    if (r == 0)
        r = era_new(change->plot, &change->era);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    if (change->header_known)
        frame_watch_state(frame, plot_watch(change->plot));
    r = sparse ? take_chunks(change, fault) : take_file(change, fault);
    if (r == 0 && sparse)
        r = store_list(change->store, remove_orphan, change);
    if (r == 0) {
        plot_trust_end(change->plot, &change->stat);
        frame->era = era_get(change->era);
    }
    return r;
}

/* Give a chunk a header of the present form, if it can be read. */
static int rewrap(struct frame_change *change, struct frame *frame,
                  uint64_t chunk_no, struct fault *fault)
{
    struct frame_written written;
    int r = frame_change_copy(change, frame, chunk_no, &written, fault);

    if (r == -EBADMSG || r == -ENOTSUP)
        return 0;
    return r < 0 ? r : frame_change_put(change, chunk_no, &written);
}

/* Format: frame.md, 5.3. */
static int rewrap_all(struct frame_change *change, struct frame *frame,
                      struct fault *fault)
{
    int r = 0;

    for (uint64_t i = 0; i < frame->info.nchunks && r == 0; i++) {
        struct frame_entry entry;
        struct frame_sizes sizes;
        struct fault ignored;

        r = frame_get_entry(frame, i, &entry, fault);
        if (r == 0 && !entry.special &&
            frame_source_sizes(frame, i, &entry, &sizes, &ignored) == 0 &&
            sizes.header_len == CHUNK_SHORT_HEADER_LEN &&
            sizes.nbytes <= REWRAP_MAX)
            r = rewrap(change, frame, i, fault);
    }
    return r;
}

int frame_adopt(struct frame_change *change, struct frame *frame,
                struct fault *fault)
{
    struct frame_info *info = &change->info;
    int r = frame_change_reserve(change, info->nchunks);

    if (r < 0)
        return frame_fault(frame, r, 0, "the frame has too many chunks", fault);
    memset(change->chunks, 0, info->nchunks * sizeof(change->chunks[0]));
    change->variable = frame->walk;
    change->rewrite = info->format != FRAME_FORMAT_E;
    if (!info->sparse) {
        change->tail.off =
            info->nbytes > 0 ? frame_index_off(info) : info->header_len;
        change->tail.len = info->frame_len - change->tail.off;
    }
    if (info->format == FRAME_FORMAT_E)
        r = frame_read_at(frame, 0, change->header, sizeof(change->header),
                          fault);
    change->header_known = info->format == FRAME_FORMAT_E;
    if (r == 0)
        r = frame_check_kept(frame, 0, fault);
    if (r == 0)
        r = store_object_stat(frame->object, &change->stat);
    if (r == 0)
        r = layers_read(frame, &change->fixed, &change->vl, fault);
    if (r == 0)
        r = read_chunks(change, frame, fault);
    if (r == 0 && change->variable)
        r = read_spans(change, frame, fault);
    if (r == 0)
        r = make_plot(change, frame, fault);
    if (r == 0 && change->rewrap)
        r = rewrap_all(change, frame, fault);
    if (r == 0 && change->variable)
        r = frame_change_make_variable(change, fault);
    return r;
}
