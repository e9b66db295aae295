/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "chunk/chunk_sums.h"
#include "frame/array_meta.h"
#include "frame/frame_chunk_private.h"
#include "frame/frame_pattern.h"
#include "frame/frame_tags.h"

/* Number of bytes that are read to open a chunk; they usually suffice. */
enum {
    PREFIX_LEN = 4096,
    PATTERN_MIN = 4096, /* minimum length of a pattern in bytes, */
    PATTERN_PART = 16,  /* or this fraction of its chunk if that is more */
};

/* Free the description of a chunk. */
static void clear(struct open_chunk *chunk)
{
    chunk_close(chunk->chunk);
    free(chunk->bytes);
    free(chunk->pattern);
    if (chunk->sums != chunk->few)
        free(chunk->sums);
    chunk->chunk = NULL;
    chunk->bytes = chunk->pattern = chunk->sums = NULL;
    chunk->pub.footprint = sizeof(*chunk);
}

/* A chunk that is being opened. */
struct opening {
    struct frame *frame;
    struct frame_source source;
    struct chunk_header header;
    uint8_t *prefix; /* room for PREFIX_LEN bytes */
    size_t prefix_len;
    uint8_t *long_head;  /* longer first bytes; NULL: the prefix suffices */
    const uint8_t *head; /* the prefix, or the longer ones */
    size_t head_len;
    bool summed; /* the chunk must match its sums */
};

static int open_special(const struct frame *frame, struct open_chunk *chunk,
                        struct fault *fault)
{
    struct frame_chunk *pub = &chunk->pub;
    uint32_t typesize = frame->info.typesize;

    pub->kind = pub->entry.kind;
    pub->pattern = frame_pattern_zeros;
    pub->pattern_len = FRAME_PATTERN_LEN;
    if (pub->kind != CHUNK_NANS)
        return 0;
    pub->pattern = frame_pattern_nans(typesize);
    if (pub->pattern && pub->span.nbytes % typesize == 0)
        return 0;
    frame_fault(frame, -EBADMSG, frame->base + FRAME_TYPESIZE_OFF,
                "chunk of NaNs is not made of items of 4 or 8 bytes", fault);
    fault->chunk_no = (int64_t)pub->span.chunk_no;
    return -EBADMSG;
}

static int read_prefix(struct opening *opening, struct fault *fault)
{
    const struct frame_source *source = &opening->source;
    int r;

    opening->prefix_len =
        source->avail < PREFIX_LEN ? (size_t)source->avail : PREFIX_LEN;
    r = store_object_read_at(source->object, source->off, opening->prefix,
                             opening->prefix_len);
    opening->head = opening->prefix;
    opening->head_len = opening->prefix_len;
    return r < 0 ? blocks_read_error(r, 0, fault) : 0;
}

/* If the head of a chunk with sums does not fit into the prefix, read it whole,
   and the sums that may follow it. */
static int read_long_head(struct opening *opening, struct fault *fault)
{
    const struct frame_source *source = &opening->source;
    size_t need =
        chunk_head_len(&opening->header) + chunk_sums_len(&opening->header);
    int r;

    if (need > source->avail)
        need = (size_t)source->avail;
    if (!opening->summed || need <= opening->prefix_len ||
        opening->header.kind == CHUNK_COPY)
        return 0;
    opening->long_head = malloc(need);
    if (!opening->long_head)
        return fault_set(fault, -ENOMEM, 0, NULL);
    opening->head = opening->long_head;
    opening->head_len = need;
    r = store_object_read_at(source->object, source->off, opening->long_head,
                             need);
    return r < 0 ? blocks_read_error(r, 0, fault) : 0;
}

/* Does the chunk fit in its place, and does it have the size that belongs
   there? */
static int check_header(const struct opening *opening,
                        const struct frame_span *span, struct fault *fault)
{
    if (opening->header.cbytes > opening->source.avail)
        return fault_set(fault, -EBADMSG, 0,
                         opening->frame->info.sparse
                             ? "chunk file is too short"
                             : "chunk leaves the chunks section");
    if (opening->header.nbytes != span->nbytes)
        return fault_set(fault, -EBADMSG, 0,
                         "chunk has not the size that it should have");
    return 0;
}

/* Find out what chunk_open() is to be told of the items. */
static int read_items(const struct opening *opening, struct chunk_items *items,
                      struct fault *fault)
{
    const struct frame_info *info = &opening->frame->info;

    *items = (struct chunk_items){ info->typesize, info->block };
    /* The chunk may have another codec or other filters than the header. */
    if (items->block.ndim > 0 || !chunk_uses_shape(&opening->header))
        return 0;
    return array_meta_read_block(opening->frame, &items->block, fault);
}

static int open_head(const struct opening *opening, struct open_chunk *chunk,
                     struct fault *fault)
{
    struct chunk_items items;
    const struct blocks_source source = {
        .object = opening->source.object,
        .off = opening->source.off,
    };
    const struct blocks_head head = {
        .header = &opening->header,
        .items = &items,
        .bytes = opening->head,
        .len = opening->head_len,
    };
    int r = read_items(opening, &items, fault);

    if (r < 0)
        return r;
    return blocks_open_chunk(&source, &head, &chunk->chunk, fault);
}

static int read_record(const struct opening *opening,
                       const struct chunk_sums_place *place, uint8_t *record,
                       struct fault *fault)
{
    const struct frame_source *source = &opening->source;
    int r;

    if (size_within(place->off, place->len, opening->head_len)) {
        memcpy(record, opening->head + place->off, place->len);
        return 0;
    }
    r = store_object_read_at(source->object, source->off + place->off, record,
                             place->len);
    return r < 0 ? blocks_read_error(r, place->off, fault) : 0;
}

/* Is it the chunk that the index means, and not an older one that was put back
   in its place?  `tag` is 0 if that is unknown. */
static bool is_newest(const struct opening *opening,
                      const struct open_chunk *chunk, uint32_t tag)
{
    return tag == 0 ||
           chunk_sums_tag(chunk->sums, chunk_sums_len(&opening->header)) == tag;
}

/* The record does not belong to the chunk that is wanted.  If only the record
   is damaged, make it again. */
static int remake_record(const struct opening *opening,
                         struct open_chunk *chunk, uint32_t tag,
                         struct fault *fault)
{
    const struct tagged_chunk tagged = {
        .chunk = chunk->chunk,
        .object = opening->source.object,
        .off = opening->source.off,
        .head = opening->head,
        .place = frame_place_no(opening->frame, &chunk->pub.entry),
        .tag = tag,
    };
    bool right = chunk_sums_check_head(chunk->chunk, opening->head,
                                       tagged.place, chunk->sums);
    int r = tag > 0 ? frame_tags_remake_record(&tagged, chunk->sums) : 0;

    if (r < 0)
        return blocks_read_error(r, 0, fault);
    if (r == 0)
        fault_set_mismatch(fault, 0, -1);
    if (r == 0 && right)
        fault->what = "an older chunk is in the place of this one";
    return r > 0 ? 0 : -EBADMSG;
}

/* Make room for the record of sums. */
static int make_room(struct open_chunk *chunk, size_t len, struct fault *fault)
{
    if (len <= sizeof(chunk->few)) {
        chunk->sums = chunk->few;
        return 0;
    }
    chunk->sums = malloc(len);
    if (!chunk->sums)
        return fault_set(fault, -ENOMEM, 0, NULL);
    chunk->pub.footprint += len;
    return 0;
}

/* Read the sums, and compare the head of the chunk with them, and them with the
   tag of the chunk. */
static int open_sums(const struct opening *opening, struct open_chunk *chunk,
                     struct fault *fault)
{
    struct frame *frame = opening->frame;
    struct chunk_sums_place place;
    uint32_t tag = 0;
    int r;

    if (!opening->summed)
        return 0;
    if (!chunk_sums_find(chunk->chunk, &place) ||
        !size_within(place.off, place.len, opening->source.avail))
        return fault_set_mismatch(fault, 0, -1);
    chunk->pub.summed = true;
    r = make_room(chunk, place.len, fault);
    if (r == 0)
        r = read_record(opening, &place, chunk->sums, fault);
    if (r == 0)
        r = frame_get_tag(frame, chunk->pub.span.chunk_no, &tag, fault);
    if (r == 0 && (!is_newest(opening, chunk, tag) ||
                   !chunk_sums_check_head(
                       chunk->chunk, opening->head,
                       frame_place_no(frame, &chunk->pub.entry), chunk->sums)))
        r = remake_record(opening, chunk, tag, fault);
    return r;
}

/* Do all blocks of a chunk in memory match their sums? */
static bool are_right(const struct open_chunk *chunk, const uint8_t *bytes)
{
    for (uint32_t i = 0; chunk->sums && i < chunk->pub.nblocks; i++) {
        uint32_t off;
        uint32_t len;

        chunk_block_extent(chunk->chunk, i, &off, &len);
        if (!chunk_sums_check_block(chunk_sums_blocks(chunk->sums), i,
                                    bytes + off, len))
            return false;
    }
    return true;
}

/* Keep the bytes of a chunk that was read whole, so that decoding reads nothing
   again; but not if they are wrong, because they may be right later. */
static int keep_bytes(const struct opening *opening, struct open_chunk *chunk,
                      struct fault *fault)
{
    uint32_t cbytes = opening->header.cbytes;

    if (cbytes > opening->prefix_len ||
        !chunk_kind_has_blocks(opening->header.kind) ||
        !are_right(chunk, opening->prefix))
        return 0;
    chunk->bytes = malloc(cbytes);
    if (!chunk->bytes)
        return fault_set(fault, -ENOMEM, 0, NULL);
    memcpy(chunk->bytes, opening->prefix, cbytes);
    chunk->pub.footprint += cbytes;
    return 0;
}

/* Choose the length of a pattern, so that it stays small compared to its
   chunk. */
static size_t pattern_size(uint32_t nbytes)
{
    size_t size = nbytes / PATTERN_PART;

    if (size < PATTERN_MIN)
        return PATTERN_MIN;
    return size < FRAME_PATTERN_LEN ? size : FRAME_PATTERN_LEN;
}

/* Repeat the chunk's item up to that length. */
static int make_pattern(const struct opening *opening, struct open_chunk *chunk,
                        struct fault *fault)
{
    uint32_t item_len = opening->header.value_len;
    size_t len = pattern_size(opening->header.nbytes) / item_len * item_len;

    if (len > opening->header.nbytes)
        len = opening->header.nbytes;
    if (len <= item_len) {
        chunk->pub.pattern = chunk_value(chunk->chunk);
        chunk->pub.pattern_len = item_len;
        return 0;
    }
    chunk->pattern = malloc(len);
    if (!chunk->pattern)
        return fault_set(fault, -ENOMEM, 0, NULL);
    chunk_fill(chunk->chunk, 0, chunk->pattern, len);
    chunk->pub.pattern = chunk->pattern;
    chunk->pub.pattern_len = len;
    chunk->pub.footprint += len;
    return 0;
}

static int set_pattern(const struct opening *opening, struct open_chunk *chunk,
                       struct fault *fault)
{
    switch (opening->header.kind) {
    case CHUNK_VALUE:
        return make_pattern(opening, chunk, fault);
    case CHUNK_NANS:
        chunk->pub.pattern = frame_pattern_nans(opening->header.typesize);
        chunk->pub.pattern_len = FRAME_PATTERN_LEN;
        return 0;
    default:
        chunk->pub.pattern = frame_pattern_zeros;
        chunk->pub.pattern_len = FRAME_PATTERN_LEN;
        return 0;
    }
}

/* Offsets of faults count from the start of the chunk. */
static int open_stored(struct opening *opening, struct open_chunk *chunk,
                       struct fault *fault)
{
    struct chunk_header *header = &opening->header;
    struct frame_chunk *pub = &chunk->pub;
    int r = read_prefix(opening, fault);

    if (r == 0)
        r = chunk_header_parse(opening->prefix, opening->prefix_len, header,
                               fault);
    if (r == 0)
        r = check_header(opening, &pub->span, fault);
    if (r == 0)
        r = read_long_head(opening, fault);
    if (r == 0)
        r = open_head(opening, chunk, fault);
    if (r == 0)
        r = open_sums(opening, chunk, fault);
    if (r < 0)
        return r;

    pub->kind = header->kind;
    pub->cbytes = header->cbytes;
    pub->chunk = chunk->chunk;
    pub->footprint += chunk_footprint(chunk->chunk);
    if (!chunk_kind_has_blocks(header->kind))
        return set_pattern(opening, chunk, fault);
    pub->blocksize = header->blocksize;
    pub->nblocks = header->nblocks;
    return keep_bytes(opening, chunk, fault);
}

static int open_source(struct frame *frame, struct open_chunk *chunk,
                       struct fault *fault)
{
    const struct frame_span *span = &chunk->pub.span;
    struct chunk_settling settling = { 0 };
    uint8_t prefix[PREFIX_LEN];
    struct opening opening = {
        .frame = frame,
        .prefix = prefix,
        .summed = frame_chunk_has_sums(frame, &chunk->pub.entry),
    };
    int r = frame_source_open(frame, span->chunk_no, &chunk->pub.entry,
                              &opening.source, fault);

    if (r < 0)
        return r;
    do {
        clear(chunk);
        r = open_stored(&opening, chunk, fault);
        free(opening.long_head);
        opening.long_head = NULL;
    } while (frame_chunk_settle(opening.source.object, r, &settling, fault));
    if (r < 0)
        frame_source_fault(&opening.source, span->chunk_no, r, fault);
    frame_source_close(frame, &opening.source);
    chunk->source = opening.source;
    return r;
}

static int open_chunk(struct frame *frame, uint64_t chunk_no,
                      struct open_chunk *chunk, struct fault *fault)
{
    struct frame_chunk *pub = &chunk->pub;
    int r;

    clear(chunk);
    r = frame_span_of(frame, chunk_no, &pub->span, fault);
    if (r == 0)
        r = frame_get_entry_unchecked(frame, chunk_no, &pub->entry, fault);
    if (r == 0)
        r = pub->entry.special ? open_special(frame, chunk, fault)
                               : open_source(frame, chunk, fault);
    return r;
}

/* Open a chunk, and check it, or leave the look at the file to the caller. */
static int open_checked(struct frame *frame, uint64_t chunk_no, bool later,
                        struct frame_chunk **out, struct fault *fault)
{
    struct open_chunk *chunk = calloc(1, sizeof(*chunk));
    int r;

    if (!chunk)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = open_chunk(frame, chunk_no, chunk, fault);
    chunk->pub.unchecked = later && r == 0 && !frame->generation;
    if (!chunk->pub.unchecked)
        r = frame_check_kept(frame, r, fault);
    if (r < 0) {
        frame_chunk_close(&chunk->pub);
        return r;
    }
    *out = &chunk->pub;
    return 0;
}

int frame_chunk_open(struct frame *frame, uint64_t chunk_no,
                     struct frame_chunk **out, struct fault *fault)
{
    return open_checked(frame, chunk_no, false, out, fault);
}

int frame_chunk_open_unchecked(struct frame *frame, uint64_t chunk_no,
                               struct frame_chunk **out, struct fault *fault)
{
    return open_checked(frame, chunk_no, true, out, fault);
}

void frame_chunk_close(struct frame_chunk *chunk)
{
    struct open_chunk *open = (struct open_chunk *)chunk;

    if (!open)
        return;
    clear(open);
    free(open);
}
