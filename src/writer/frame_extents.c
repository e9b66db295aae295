/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/frame_extents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/chunk_format.h"
#include "frame/frame_source.h"

/* Does the index contain everything about a chunk that the table keeps? */
static bool index_suffices(const struct frame *frame)
{
    return !frame->walk && frame->info.format == FRAME_FORMAT_E;
}

/* A batch of chunks. */
struct batch {
    uint64_t first; /* number of the first one */
    size_t n;
    int64_t raw[CHUNK_TABLE_PIECE];
    struct frame_entry entries[CHUNK_TABLE_PIECE];
    struct frame_sizes sizes[CHUNK_TABLE_PIECE];
    struct table_chunk chunks[CHUNK_TABLE_PIECE];
};

void frame_extents_fini(struct frame_extents *extents)
{
    extent_list_free(&extents->known);
    free(extents->unsized);
}

static int read_entries(struct frame *frame, struct batch *batch,
                        struct fault *fault)
{
    uint64_t first = batch->first;
    uint64_t origin = frame->info.sparse ? 0 : frame->info.header_len;
    int r = frame_read_raw(frame, first, batch->n, batch->raw, fault);

    for (size_t i = 0; i < batch->n && r == 0; i++) {
        struct frame_entry *entry = &batch->entries[i];

        r = frame_parse_entry(frame, first + i, batch->raw[i], entry, fault);
        if (r < 0)
            break;
        batch->chunks[i] = (struct table_chunk){
            .entry = entry->special ? frame_special_entry(entry->kind)
                                    : (int64_t)(entry->place - origin),
            .cbytes = frame->info.sparse && !entry->special,
        };
    }
    return r;
}

/* Sizes of damaged chunks stay 0. */
static int read_sizes(struct frame_writer *writer, struct frame *frame,
                      struct batch *batch, struct fault *fault)
{
    bool sparse = frame->info.sparse;
    int r = 0;

    memset(batch->sizes, 0, sizeof(batch->sizes));
    if (!sparse || frame->info.format != FRAME_FORMAT_E)
        r = frame_source_sizes_of(frame, batch->entries, batch->n, batch->sizes,
                                  fault);
    for (size_t i = 0; i < batch->n && r == 0; i++) {
        const struct frame_sizes *sizes = &batch->sizes[i];

        if (sizes->error == 0 && !sparse)
            batch->chunks[i].cbytes = sizes->cbytes + sizes->sums_len;
        if (sizes->header_len == CHUNK_SHORT_HEADER_LEN)
            writer->short_headers = true;
    }
    return r;
}

static int add_unsized(struct frame_extents *extents, uint64_t chunk_no,
                       uint64_t off)
{
    if (extents->nunsized == extents->capacity) {
        size_t capacity = 2 * extents->capacity + 16;
        struct unsized_chunk *unsized =
            realloc(extents->unsized, capacity * sizeof(unsized[0]));

        if (!unsized)
            return -ENOMEM;
        extents->unsized = unsized;
        extents->capacity = capacity;
    }
    extents->unsized[extents->nunsized++] =
        (struct unsized_chunk){ chunk_no, off };
    return 0;
}

/* Add the extent of a chunk; most chunks lie right behind the last one. */
static int add_extent(struct frame_extents *extents, uint64_t off, uint64_t len)
{
    struct extent_list *list = &extents->known;
    struct extent *last = list->n > 0 ? &list->extents[list->n - 1] : NULL;

    if (last && last->off + last->len == off) {
        last->len += len;
        return 0;
    }
    if (extent_list_reserve(list, 1) < 0)
        return -ENOMEM;
    extent_list_add(list, off, len);
    return 0;
}

static int add_extents(struct frame_extents *extents,
                       const struct frame_writer *writer,
                       const struct batch *batch)
{
    int r = 0;

    for (size_t i = 0; i < batch->n && r == 0; i++) {
        const struct table_chunk *chunk = &batch->chunks[i];

        if (chunk->entry < 0)
            continue;
        r = chunk->cbytes > 0
                ? add_extent(extents, frame_writer_off(writer, chunk),
                             chunk->cbytes)
                : add_unsized(extents, batch->first + i,
                              frame_writer_off(writer, chunk));
    }
    return r;
}

static int read_batch(struct frame_writer *writer, struct frame *frame,
                      struct batch *batch, struct frame_extents *extents,
                      struct fault *fault)
{
    int r = read_entries(frame, batch, fault);

    if (r == 0)
        r = read_sizes(writer, frame, batch, fault);
    if (r < 0)
        return r;
    r = add_extents(extents, writer, batch);
    if (r == 0)
        r = chunk_table_append_clean(writer->chunks, batch->chunks, batch->n);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Add a run of special chunks that fills whole pieces, if there is one.  `n`
   receives its length. */
static int read_run(struct frame_writer *writer, struct frame *frame,
                    uint64_t first, uint64_t *n)
{
    struct frame_entry entry;

    *n = 0;
    if (!index_suffices(frame))
        return 0;
    *n = frame_special_run(frame, first, &entry);
    *n -= *n % CHUNK_TABLE_PIECE;
    if (*n == 0)
        return 0;
    return chunk_table_append_clean_run(writer->chunks,
                                        frame_special_entry(entry.kind), *n);
}

/* Read the whole index, and the headers of the chunks. */
static int read_chunks(struct frame_writer *writer, struct frame *frame,
                       struct frame_extents *extents, struct fault *fault)
{
    uint64_t nchunks = frame->info.nchunks;
    struct batch *batch = malloc(sizeof(*batch));
    int r = 0;

    if (!batch)
        return fault_set(fault, -ENOMEM, 0, NULL);
    for (uint64_t first = 0, n; first < nchunks && r == 0; first += n) {
        r = read_run(writer, frame, first, &n);
        if (r < 0)
            fault_set(fault, r, 0, NULL);
        if (n > 0)
            continue;
        n = nchunks - first < CHUNK_TABLE_PIECE ? nchunks - first
                                                : CHUNK_TABLE_PIECE;
        batch->first = first;
        batch->n = (size_t)n;
        r = read_batch(writer, frame, batch, extents, fault);
    }
    free(batch);
    return r;
}

static int read_spans(struct frame_writer *writer, struct frame *frame,
                      struct fault *fault)
{
    int r = 0;

    for (uint64_t i = 0; i < frame->info.nchunks && r == 0; i++) {
        struct table_chunk chunk;
        struct frame_span span;

        r = frame_span_of(frame, i, &span, fault);
        if (r < 0)
            return r;
        chunk_table_get(writer->chunks, i, &chunk);
        chunk.nbytes = span.nbytes;
        r = chunk_table_set(writer->chunks, i, &chunk);
    }
    return r;
}

static int compare_unsized(const void *a, const void *b)
{
    const struct unsized_chunk *x = a;
    const struct unsized_chunk *y = b;

    return (x->off > y->off) - (x->off < y->off);
}

/* Start of the next chunk of known size, or the end of the chunks section. */
static uint64_t next_known(const struct extent_list *known, uint64_t off,
                           uint64_t end)
{
    size_t low = 0;
    size_t high = known->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (known->extents[middle].off > off)
            high = middle;
        else
            low = middle + 1;
    }
    return low < known->n ? known->extents[low].off : end;
}

/* Let a chunk of unknown size extend to the next chunk. */
static int size_unsized(struct frame_writer *writer,
                        struct frame_extents *extents, size_t i,
                        uint64_t section_end)
{
    const struct unsized_chunk *unsized = &extents->unsized[i];
    uint64_t end = next_known(&extents->known, unsized->off, section_end);
    struct table_chunk chunk;
    int r = chunk_table_get(writer->chunks, unsized->chunk_no, &chunk);

    if (i + 1 < extents->nunsized && unsized[1].off < end)
        end = unsized[1].off;
    if (r < 0)
        return r;
    chunk.cbytes = end - unsized->off < UINT32_MAX
                       ? (uint32_t)(end - unsized->off)
                       : UINT32_MAX;
    return chunk_table_set(writer->chunks, unsized->chunk_no, &chunk);
}

/* Do so for all chunks of unknown size. */
static int size_all_unsized(struct frame_writer *writer,
                            struct frame_extents *extents)
{
    uint64_t section_end = writer->info.header_len + writer->info.cbytes;
    int r = 0;

    extent_list_sort(&extents->known);
    if (extents->nunsized == 0)
        return 0;
    qsort(extents->unsized, extents->nunsized, sizeof(extents->unsized[0]),
          compare_unsized);
    for (size_t i = 0; i < extents->nunsized && r == 0; i++)
        r = size_unsized(writer, extents, i, section_end);
    return r;
}

/* Mark the space of these chunks as used. */
static int take_unsized(struct frame_writer *writer,
                        const struct frame_extents *extents)
{
    int r = 0;

    for (size_t i = 0; i < extents->nunsized && r == 0; i++) {
        struct table_chunk chunk;

        r = chunk_table_get(writer->chunks, extents->unsized[i].chunk_no,
                            &chunk);
        if (r == 0)
            r = frame_alloc_take(writer->alloc, extents->unsized[i].off,
                                 chunk.cbytes);
    }
    return r;
}

/* Mark chunk files as used.  Several chunks may share one; such a file is
   pinned. */
static int take_ids(struct frame_writer *writer, const struct extent *extent)
{
    int r = frame_alloc_take(writer->alloc, extent->off, extent->len);

    if (r != -EEXIST)
        return r;
    r = 0;
    for (uint64_t i = 0; i < extent->len && r == 0; i++) {
        r = frame_alloc_take(writer->alloc, extent->off + i, 1);
        if (r == -EEXIST)
            r = frame_alloc_pin(writer->alloc, extent->off + i);
    }
    return r;
}

int frame_extents_take(struct frame_writer *writer,
                       const struct frame_extents *extents, struct fault *fault)
{
    int r = 0;

    for (size_t i = 0; i < extents->known.n && r == 0; i++) {
        const struct extent *extent = &extents->known.extents[i];

        r = writer->info.sparse
                ? take_ids(writer, extent)
                : frame_alloc_take(writer->alloc, extent->off, extent->len);
    }
    if (r == 0)
        r = take_unsized(writer, extents);
    if (r == -EEXIST)
        return fault_set(fault, -EBADMSG, 0, "chunks overlap");
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Let the table read the index of the frame. */
static int open_index(struct frame_writer *writer, struct frame *frame,
                      struct fault *fault)
{
    const bool checked = frame->sums && !frame->unchecked;
    uint64_t off = frame_index_off(&frame->info);
    uint64_t end = frame->info.frame_len - frame->trailer_len;
    uint8_t head[INDEX_HEAD_LEN];
    const struct index_source source = {
        .object = frame->object,
        .off = off,
        .end = end,
        .head = head,
        .head_len =
            end - off < sizeof(head) ? (size_t)(end - off) : sizeof(head),
        .sums = checked ? frame->sums->index : NULL,
        .sums_len = checked ? frame->sums->index_len : 0,
    };
    struct index *index;
    int r = frame_read_at(frame, off, head, source.head_len, fault);

    if (r == 0)
        r = index_open(&source, &index, fault);
    if (r == 0)
        chunk_table_commit(writer->chunks, store_object_get(frame->object),
                           index);
    return r;
}

int frame_extents_check_number(const struct frame *frame, struct fault *fault)
{
    uint64_t max = index_suffices(frame) ? FRAME_WRITER_CHUNKS_MAX
                                         : FRAME_WRITER_VARIABLE_MAX;

    if (frame->info.nchunks <= max)
        return 0;
    return frame_fault(frame, -EFBIG, 0,
                       "the frame has too many chunks to be changed", fault);
}

int frame_extents_read(struct frame_writer *writer, struct frame *frame,
                       struct frame_extents *extents, struct fault *fault)
{
    int r = chunk_table_new(frame->info.sparse, &writer->chunks);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    if (!index_suffices(frame))
        chunk_table_keep_all(writer->chunks);
    else if (frame->info.nchunks > 0)
        r = open_index(writer, frame, fault);
    if (r == 0)
        r = read_chunks(writer, frame, extents, fault);
    if (r < 0)
        return r;
    r = size_all_unsized(writer, extents);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    return writer->variable ? read_spans(writer, frame, fault) : 0;
}
