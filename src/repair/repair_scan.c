/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/msgpack.h"
#include "chunk/chunk_format.h"
#include "chunk/chunk_sums.h"
#include "frame/blocks.h"
#include "frame/frame_source.h"
#include "frame/frame_tags.h"
#include "repair/repair_private.h"
#include "writer/frame_writer.h"

enum {
    PREFIX_LEN = 4096,
    WINDOW_LEN = 256 << 10,
    CAPACITY_MIN = 64,
    LIST_MAX = 1 << 28,    /* stored chunks, and runs of special ones */
    RUN_BYTES = 1 << 20,   /* bytes that are decoded in one call */
    BLOCK_MAX = 256 << 20, /* larger blocks are not tried */
    TRY_COST = 4096,       /* work that a failed attempt counts as, in bytes */
    WORK_MIN = 256 << 20,  /* limit on work without a result, */
    WORK_FACTOR = 16,      /* plus this for each byte of the file */
};

uint64_t repair_list_count(const struct repair_list *list)
{
    uint64_t nchunks = 0;

    for (size_t i = 0; i < list->n; i++)
        nchunks += repair_count(&list->chunks[i]);
    return nchunks;
}

/* Merge the last chunk into the one before if both are special and equal. */
static void merge_last(struct repair_list *list)
{
    struct repair_chunk *last = &list->chunks[list->n - 1];

    if (list->n < 2 || last->state != REPAIR_SPECIAL ||
        last[-1].state != REPAIR_SPECIAL || last[-1].kind != last->kind ||
        last[-1].nmore == UINT32_MAX)
        return;
    last[-1].nmore++;
    list->n--;
}

int repair_list_add(struct repair_list *list, const struct repair_chunk *chunk)
{
    if (list->n > 0)
        merge_last(list);
    if (list->n >= LIST_MAX)
        return -EFBIG;
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : CAPACITY_MIN;
        struct repair_chunk *chunks =
            realloc(list->chunks, capacity * sizeof(*chunks));

        if (!chunks)
            return -ENOMEM;
        list->chunks = chunks;
        list->capacity = capacity;
    }
    list->chunks[list->n++] = *chunk;
    return 0;
}

static int compare_places(const void *a, const void *b)
{
    const struct repair_chunk *x = a;
    const struct repair_chunk *y = b;

    return (x->place > y->place) - (x->place < y->place);
}

const struct repair_chunk *repair_list_find(const struct repair_list *list,
                                            uint64_t place)
{
    const struct repair_chunk key = { .place = place };

    if (list->n == 0)
        return NULL;
    return bsearch(&key, list->chunks, list->n, sizeof(key), compare_places);
}

/* Grow the buffer for decoded blocks. */
static int reserve(struct repair *repair, size_t size)
{
    uint8_t *blocks;

    if (size <= repair->capacity)
        return 0;
    blocks = realloc(repair->blocks, size);
    if (!blocks)
        return -ENOMEM;
    repair->blocks = blocks;
    repair->capacity = size;
    return 0;
}

/* Decode all blocks of a chunk, a few at a time. */
static int decode(struct repair *repair, const struct blocks_source *source,
                  const struct chunk *chunk, struct fault *fault)
{
    const struct blocks_plan plan = blocks_plan(chunk, RUN_BYTES);
    struct blocks_run run = { 0 };
    int r;

    if (plan.nblocks > 0 && plan.blocksize > BLOCK_MAX)
        return fault_set(fault, -ENOTSUP, 0, "block is too large to be tried");
    r = reserve(repair, plan.memory);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    while (r == 0 && blocks_next_run(&plan, repair->blocks, &run)) {
        r = blocks_decode(source, chunk, &run, repair->decoder, fault);
        repair->work += run.n * plan.blocksize;
    }
    return r;
}

/* A chunk that was found. */
struct found_chunk {
    const struct frame_source *source;
    const struct chunk *chunk;
    uint64_t place;
    uint32_t tag; /* 0 if it is not known */
};

/* Does the head of a chunk match its record, and this the tag of the chunk?  A
   damaged record is made again if the tag shows that the chunk is right. */
static bool is_record(const struct found_chunk *found, uint64_t place_no,
                      const uint8_t *head, uint8_t *record)
{
    const struct tagged_chunk tagged = {
        .chunk = found->chunk,
        .object = found->source->object,
        .off = found->source->off,
        .head = head,
        .place = place_no,
        .tag = found->tag,
    };
    size_t len = chunk_sums_len(chunk_get_header(found->chunk));
    bool right = chunk_sums_check_head(found->chunk, head, place_no, record);

    if (found->tag == 0 || (right && chunk_sums_tag(record, len) == found->tag))
        return right;
    return frame_tags_remake_record(&tagged, record) > 0;
}

/* Read the record of a chunk.  Does it belong to the chunk? */
static bool read_record(const struct found_chunk *found, uint64_t place_no,
                        uint8_t *record)
{
    const struct frame_source *source = found->source;
    const struct chunk *chunk = found->chunk;
    struct chunk_sums_place place = { 0 };
    size_t len = chunk_sums_head_len(chunk);
    uint8_t *head = malloc(len);
    bool right =
        head && chunk_sums_find(chunk, &place) &&
        store_object_read_at(source->object, source->off, head, len) == 0 &&
        store_object_read_at(source->object, source->off + place.off, record,
                             place.len) == 0 &&
        is_record(found, place_no, head, record);

    free(head);
    return right;
}

/*
 * Find the sums of a chunk.  If the frame has sums in force, they decide.  Else
 * those inside a chunk that is in its place still belong to it, because other
 * programs do not write them.
 *
 *  out  receives the record, which the caller frees; NULL: there is none
 */
static int find_sums(const struct repair *repair,
                     const struct found_chunk *found, uint8_t **out,
                     struct fault *fault)
{
    const struct frame_entry entry = { .place = found->place };
    const struct chunk_header *header = chunk_get_header(found->chunk);
    bool must = frame_chunk_has_sums(&repair->view, &entry);

    *out = NULL;
    if (!must && header->kind != CHUNK_BLOCKS)
        return 0;
    *out = malloc(chunk_sums_len(header));
    if (!*out)
        return fault_set(fault, -ENOMEM, 0, NULL);
    if (read_record(found, frame_place_no(&repair->view, &entry), *out))
        return 0;
    free(*out);
    *out = NULL;
    return must ? fault_set_mismatch(fault, 0, -1) : 0;
}

/* Decode a chunk, and compare it with its sums if it has any. */
static int decode_found(struct repair *repair, const struct found_chunk *found,
                        struct fault *fault)
{
    struct blocks_source blocks = { .object = found->source->object,
                                    .off = found->source->off };
    uint8_t *record;
    int r = find_sums(repair, found, &record, fault);

    if (r < 0)
        return r;
    if (record)
        blocks.sums = chunk_sums_blocks(record);
    if (chunk_kind_has_blocks(chunk_get_header(found->chunk)->kind))
        r = decode(repair, &blocks, found->chunk, fault);
    free(record);
    return r;
}

static int check_at(struct repair *repair, const struct frame_source *source,
                    struct repair_chunk *chunk, struct fault *fault)
{
    const struct blocks_source blocks = { .object = source->object,
                                          .off = source->off };
    const struct chunk_items items = repair_items(repair);
    struct chunk_header header;
    const struct blocks_head head = {
        .header = &header,
        .items = &items,
    };
    struct chunk *opened;
    int r = frame_source_header(source, &header, fault);

    if (r < 0)
        return r;
    chunk->nbytes = header.nbytes;
    chunk->kind = (uint8_t)header.kind;
    chunk->header_len = header.header_len;
    chunk->typesize = header.typesize;
    if (header.cbytes > source->avail)
        return fault_set(fault, -EBADMSG, 0, "chunk is cut short");
    chunk->cbytes = header.cbytes;
    if (items.block.ndim == 0 && chunk_uses_shape(&header))
        return fault_set(fault, -ENOTSUP, 0, "shape of blocks is lost");
    repair->work += chunk_head_len(&header);
    r = blocks_open_chunk(&blocks, &head, &opened, fault);
    if (r < 0)
        return r;
    r = decode_found(
        repair,
        &(struct found_chunk){ source, opened, chunk->place, chunk->tag },
        fault);
    chunk_close(opened);
    return r;
}

int repair_check(struct repair *repair, struct repair_chunk *chunk,
                 struct fault *fault)
{
    const struct frame_entry entry = { .place = chunk->place };
    struct frame_source source;
    uint64_t work = repair->work;
    int r;

    chunk->nbytes = chunk->cbytes = 0;
    r = frame_source_open(&repair->view, 0, &entry, &source, fault);
    if (r < 0)
        return r;
    r = check_at(repair, &source, chunk, fault);
    if (r < 0)
        frame_source_fault(&source, 0, r, fault);
    else
        repair->work = work;
    frame_source_close(&repair->view, &source);
    return r;
}

/* A part of the file, in memory. */
struct window {
    struct repair *repair;
    uint64_t off;
    size_t len;
    uint8_t bytes[WINDOW_LEN];
};

/* Let the window hold CHUNK_LONG_HEADER_LEN bytes from `off` on, or up to the
   end of the file.  Returns NULL and sets `error` if that fails. */
static const uint8_t *look_at(struct window *window, uint64_t off, int *error)
{
    uint64_t rest = window->repair->size - off;

    if (off >= window->off &&
        off - window->off + CHUNK_LONG_HEADER_LEN <= window->len)
        return window->bytes + (off - window->off);
    window->off = off;
    window->len = rest < WINDOW_LEN ? (size_t)rest : WINDOW_LEN;
    *error = store_object_read_at(window->repair->view.object, off,
                                  window->bytes, window->len);
    return *error < 0 ? NULL : window->bytes;
}

/* Could a chunk start here?  In a frame, no stored chunk consists of a header
   alone.  Format: frame.md, 5.2. */
static bool is_plausible(const uint8_t *head, uint64_t avail)
{
    uint32_t nbytes = load_le32(head + CHUNK_OFF_NBYTES);
    uint32_t blocksize = load_le32(head + CHUNK_OFF_BLOCKSIZE);
    uint32_t cbytes = load_le32(head + CHUNK_OFF_CBYTES);
    unsigned flags = head[CHUNK_OFF_FLAGS];
    bool is_long = (flags & CHUNK_FLAG_LONG_HEADER) == CHUNK_FLAG_LONG_HEADER;

    return head[CHUNK_OFF_VERSION] - 1u < CHUNK_VERSION_MAX &&
           head[CHUNK_OFF_TYPESIZE] != 0 && nbytes - 1 < CHUNK_NBYTES_MAX &&
           blocksize - 1 < CHUNK_BLOCKSIZE_MAX && cbytes <= avail &&
           cbytes > (is_long ? CHUNK_LONG_HEADER_LEN : CHUNK_SHORT_HEADER_LEN);
}

/* Could a trailer start here?  Format: frame.md, 7; history.md, 3. */
static bool is_trailer(const uint8_t *bytes)
{
    return bytes[0] == (MSGPACK_FIXARRAY | 4) &&
           bytes[1] <= FRAME_TRAILER_VERSION &&
           ((bytes[2] == (MSGPACK_FIXARRAY | 3) &&
             bytes[3] == MSGPACK_UINT16) ||
            bytes[2] == MSGPACK_BIN32);
}

/* Is a chunk that does not decode followed by another chunk, a trailer, or the
   end of the file? */
static bool is_followed(struct window *window, const struct repair_chunk *chunk)
{
    uint64_t next = chunk->place + chunk->cbytes;
    uint64_t size = window->repair->size;
    const uint8_t *bytes;
    int error;

    if (next == size)
        return true;
    if (size - next < CHUNK_LONG_HEADER_LEN)
        return false;
    bytes = look_at(window, next, &error);
    return bytes && (is_plausible(bytes, size - next) || is_trailer(bytes));
}

/* Is a chunk the content of a metalayer?  Format: frame.md, 3 and 7. */
static bool is_content(const struct repair *repair,
                       const struct repair_chunk *chunk)
{
    uint8_t head[FRAME_VALUE_HEAD_LEN];

    return chunk->place >= sizeof(head) &&
           store_object_read_at(repair->view.object,
                                chunk->place - sizeof(head), head,
                                sizeof(head)) == 0 &&
           head[0] == MSGPACK_BIN32 && load_be32(head + 1) == chunk->cbytes;
}

/* Try to decode a chunk at an offset.  Returns its length, 0 if there is none,
   or a negative errno. */
static int64_t try_chunk(struct window *window, uint64_t off)
{
    struct repair *repair = window->repair;
    struct repair_chunk chunk = { .place = off, .state = REPAIR_GOOD };
    struct fault ignored;
    int r = repair_check(repair, &chunk, &ignored);

    if (r < 0 && r != -EBADMSG && r != -ENOTSUP)
        return r;
    if (r == -EBADMSG)
        chunk.state = REPAIR_LOST;
    if (r < 0 && (chunk.cbytes == 0 || !is_followed(window, &chunk))) {
        repair->work += TRY_COST;
        return 0;
    }
    r = 0;
    if (!is_content(repair, &chunk))
        r = repair_list_add(&repair->found, &chunk);
    return r < 0 ? r : (int64_t)chunk.cbytes;
}

static int scan_from(struct window *window, uint64_t off)
{
    struct repair *repair = window->repair;
    uint64_t work_max = WORK_MIN + WORK_FACTOR * repair->size;
    int error = 0;

    while (off + CHUNK_LONG_HEADER_LEN <= repair->size &&
           repair->work <= work_max) {
        const uint8_t *bytes = look_at(window, off, &error);
        int64_t len = 0;

        if (!bytes)
            return error;
        if (is_trailer(bytes))
            repair->trailer_off = off;
        else if (is_plausible(bytes, repair->size - off))
            len = try_chunk(window, off);
        if (len < 0)
            return (int)len;
        off += len > 0 ? (uint64_t)len : 1;
        if (len > 0 || off % WINDOW_LEN == 0)
            error = repair_progress(repair, off, repair->size);
        if (error < 0)
            return error;
    }
    return 0;
}

/*
 * Find the offset at which to start: behind the header if a chunk seems to
 * start there, because metalayers in the header might look like a chunk; else
 * behind the shortest header.
 */
static int find_start(struct window *window, uint64_t *out)
{
    const struct frame *view = &window->repair->view;
    uint64_t off = view->base + view->info.header_len;
    const uint8_t *bytes = NULL;
    int error = 0;

    *out = view->base + FRAME_A_METALAYERS_OFF;
    if (off + CHUNK_LONG_HEADER_LEN > window->repair->size)
        return 0;
    bytes = look_at(window, off, &error);
    if (bytes && is_plausible(bytes, window->repair->size - off))
        *out = off;
    return error;
}

int repair_scan(struct repair *repair, struct fault *fault)
{
    struct window *window = calloc(1, sizeof(*window));
    uint64_t start;
    int r;

    if (!window)
        return fault_set(fault, -ENOMEM, 0, NULL);
    window->repair = repair;
    r = find_start(window, &start);
    if (r == 0)
        r = scan_from(window, start);
    free(window);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}
