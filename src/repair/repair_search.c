/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/msgpack_write.h"
#include "frame/frame_source.h"
#include "repair/repair_private.h"

/* Parse a header in which the length of the frame, or of the header itself, may
   be wrong. */
static int parse_header(struct repair *repair, uint8_t *bytes, size_t len)
{
    struct frame *view = &repair->view;
    uint64_t avail = repair->size - view->base;
    struct msgpack_writer frame_len = { bytes, FRAME_LEN_OFF - 1 };
    struct msgpack_writer header_len = { bytes, FRAME_HEADER_LEN_OFF - 1 };
    const struct frame_start start = {
        .bytes = bytes,
        .len = len,
        .avail = avail,
        .sparse = view->info.sparse,
    };
    struct fault ignored;
    int r = frame_header_parse(&start, &view->info, &ignored);

    if (r == -EBADMSG && len == FRAME_HEADER_MAX) {
        msgpack_write_u64(&frame_len, MSGPACK_UINT64, avail);
        r = frame_header_parse(&start, &view->info, &ignored);
    }
    if (r == -EBADMSG && len == FRAME_HEADER_MAX) {
        msgpack_write_u32(&header_len, MSGPACK_INT32, FRAME_HEADER_MAX);
        r = frame_header_parse(&start, &view->info, &ignored);
    }
    repair->header_known = r == 0;
    return r == -EBADMSG ? 0 : r;
}

int repair_read_header(struct repair *repair, struct fault *fault)
{
    struct frame *view = &repair->view;
    uint64_t avail = repair->size - view->base;
    uint8_t bytes[FRAME_HEADER_MAX] = { 0 };
    size_t len = avail < sizeof(bytes) ? (size_t)avail : sizeof(bytes);
    int r = 0;

    if (view->object)
        r = store_object_read_at(view->object, view->base, bytes, len);
    if (r == 0)
        r = parse_header(repair, bytes, len);
    return r < 0 ? fault_set(fault, r, view->base, NULL) : 0;
}

/* Does another frame start where this one ends according to its header? */
static bool is_followed(const struct repair *repair)
{
    const struct frame *view = &repair->view;
    uint64_t end = view->base + view->info.frame_len;
    uint8_t bytes[FRAME_MAGIC_LEN];

    return repair->header_known && repair->size - end >= sizeof(bytes) &&
           store_object_read_at(view->object, end, bytes, sizeof(bytes)) == 0 &&
           frame_has_magic(bytes, sizeof(bytes));
}

/* Search the file, or the index file, as if all of it were the chunks
   section. */
static int scan(struct repair *repair, struct fault *fault)
{
    struct frame_info *info = &repair->view.info;
    bool sparse = info->sparse;
    uint64_t cbytes = info->cbytes;
    int r;

    if (is_followed(repair))
        repair->size = repair->view.base + info->frame_len;
    info->sparse = false;
    info->cbytes = repair->size - repair->view.base;
    r = repair_scan(repair, fault);
    info->sparse = sparse;
    info->cbytes = cbytes;
    return r;
}

static int add_file(void *context, const char *name)
{
    struct repair *repair = context;
    struct repair_chunk chunk = { .state = REPAIR_STORED };
    char chunk_name[FRAME_SOURCE_NAME_LEN];
    uint32_t id;

    if (sscanf(name, "%8" SCNx32, &id) != 1)
        return 0;
    frame_source_name(id, chunk_name);
    if (strcmp(name, chunk_name) != 0)
        return 0;
    chunk.place = id;
    return repair_list_add(&repair->found, &chunk);
}

static int compare_places(const void *a, const void *b)
{
    const struct repair_chunk *x = a;
    const struct repair_chunk *y = b;

    return (x->place > y->place) - (x->place < y->place);
}

/* List the chunk files in the order of their numbers. */
static int list_files(struct repair *repair, struct fault *fault)
{
    struct repair_list *found = &repair->found;
    int r;

    found->n = 0;
    r = store_list(repair->view.store, add_file, repair);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    if (found->n > 0)
        qsort(found->chunks, found->n, sizeof(found->chunks[0]),
              compare_places);
    return 0;
}

/* Is this likely the damaged index, because it lies before the trailer or at
   the offset in the header?  A readable index would have been used already. */
static bool may_be_index(const struct repair *repair,
                         const struct repair_chunk *chunk)
{
    return repair_has_entries(chunk) &&
           (chunk->place + chunk->cbytes == repair->trailer_off ||
            (chunk->place == repair->index_hint &&
             chunk->state == REPAIR_LOST));
}

/*
 * Does the trailer that was found belong to an old state, because it lies
 * before the index according to the header?  Chunks of the last state may then
 * lie behind it.
 */
static bool is_old_trailer(const struct repair *repair)
{
    return repair->trailer_off < repair->index_hint;
}

/*
 * Without an index, take the chunks in file order.  If the header or the chunks
 * show a common size, skip chunks of other sizes, because they have been
 * replaced; the last one may be shorter.
 */
static int take_found(struct repair *repair, struct fault *fault)
{
    struct repair_list *found = &repair->found;
    uint32_t chunksize = repair->header_known ? repair->view.info.chunksize : 0;
    int r = repair_drop_indexes(repair, fault);

    if (r < 0)
        return r;
    while (repair->trailer_off > 0 && !is_old_trailer(repair) && found->n > 0 &&
           found->chunks[found->n - 1].place > repair->trailer_off)
        found->n--;
    repair->result.layers_lost = is_old_trailer(repair);
    if (found->n > 0 && may_be_index(repair, &found->chunks[found->n - 1]))
        found->n--;
    if (!repair_has_size(found, chunksize))
        chunksize = repair_common_size(found);
    for (size_t i = 0; i < found->n && r == 0; i++) {
        const struct repair_chunk *chunk = &found->chunks[i];

        if (chunksize == 0 || chunk->nbytes == chunksize ||
            (chunk->nbytes < chunksize && i + 1 == found->n))
            r = repair_list_add(&repair->chunks, chunk);
        else if (chunk->state == REPAIR_GOOD)
            repair->result.nleft_over++;
    }
    repair->result.order = REPAIR_BY_PLACE;
    repair->result.nguessed = repair->chunks.n;
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

int repair_search(struct repair *repair, struct fault *fault)
{
    struct frame *view = &repair->view;
    int r = 0;

    if (repair->header_known)
        repair->index_hint = view->base + frame_index_off(&view->info);
    if (view->object)
        r = scan(repair, fault);
    view->info.cbytes = repair->size - view->base;
    if (r == 0)
        r = view->object ? repair_find_index(repair, fault) : -ENOENT;
    if (r == 0) {
        repair->result.order = REPAIR_BY_FOUND_INDEX;
        repair->result.index_may_be_old =
            repair->index_hint > 0 && repair->index_off != repair->index_hint;
    }
    if (r != -ENOENT)
        return r;
    if (view->info.sparse) {
        r = list_files(repair, fault);
        if (r == 0)
            r = repair_check_list(repair, &repair->found, fault);
    } else {
        r = 0;
    }
    return r < 0 ? r : take_found(repair, fault);
}

/* Find chunks that the index may not name; in a contiguous frame by a search of
   the file. */
static int find_orphans(struct repair *repair, struct fault *fault)
{
    struct frame *view = &repair->view;
    int r;

    if (view->info.sparse)
        r = list_files(repair, fault);
    else
        r = repair->found.n > 0 ? 0 : scan(repair, fault);
    return r < 0 ? r : repair_drop_indexes(repair, fault);
}

static int compare_pointers(const void *a, const void *b)
{
    return compare_places(*(const struct repair_chunk *const *)a,
                          *(const struct repair_chunk *const *)b);
}

/* Remove from `found` the index, lost chunks, chunks behind the trailer, and
   chunks that an entry already names. */
static int drop_named(struct repair *repair)
{
    struct repair_list *found = &repair->found;
    const struct repair_list *chunks = &repair->chunks;
    const struct repair_chunk **named = calloc(chunks->n + 1, sizeof(*named));
    size_t n = 0;
    size_t at = 0;
    size_t kept = 0;

    if (!named)
        return -ENOMEM;
    for (size_t i = 0; i < chunks->n; i++)
        if (chunks->chunks[i].state == REPAIR_GOOD ||
            chunks->chunks[i].state == REPAIR_LOST)
            named[n++] = &chunks->chunks[i];
    qsort(named, n, sizeof(*named), compare_pointers);
    for (size_t i = 0; i < found->n; i++) {
        const struct repair_chunk *chunk = &found->chunks[i];

        while (at < n && named[at]->place < chunk->place)
            at++;
        if ((at < n && named[at]->place == chunk->place) ||
            chunk->place == repair->index_off || chunk->state == REPAIR_LOST ||
            (repair->trailer_off > 0 && chunk->place > repair->trailer_off))
            continue;
        found->chunks[kept++] = *chunk;
    }
    found->n = kept;
    free(named);
    return 0;
}

int repair_place_orphans(struct repair *repair, struct fault *fault)
{
    struct repair_list *chunks = &repair->chunks;
    struct repair_list *found = &repair->found;
    uint64_t nunknown = 0;
    size_t next = 0;
    int r;

    for (size_t i = 0; i < chunks->n; i++)
        nunknown += chunks->chunks[i].state == REPAIR_UNKNOWN;
    if (nunknown == 0)
        return 0;
    r = find_orphans(repair, fault);
    if (r == 0)
        r = drop_named(repair);
    if (r == 0)
        r = repair_check_list(repair, found, fault);
    if (r < 0)
        return r;
    if (found->n > nunknown) {
        repair->result.nleft_over = found->n;
        return 0;
    }
    for (size_t i = 0; i < chunks->n && next < found->n; i++)
        if (chunks->chunks[i].state == REPAIR_UNKNOWN)
            chunks->chunks[i] = found->chunks[next++];
    repair->result.nguessed = next;
    return 0;
}
