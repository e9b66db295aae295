/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "frame/array_meta.h"
#include "frame/blocks.h"
#include "frame/frame_pattern.h"
#include "frame/frame_private.h"
#include "frame/frame_source.h"

/* Number of bytes that are read to open a chunk; they usually suffice. */
enum {
    PREFIX_LEN = 4096,
    PATTERN_MIN = 4096, /* minimum length of a pattern in bytes, */
    PATTERN_PART = 16,  /* or this fraction of its chunk if that is more */
};

/* A chunk and the memory that it owns. */
struct open_chunk {
    struct frame_chunk pub;     /* first, so that the structs convert to each
                                   other */
    struct frame_source source; /* closed; kept to locate faults */
    struct chunk *chunk;        /* NULL if only the index knows the chunk */
    uint8_t *bytes;             /* the whole chunk if it is short, else NULL */
    uint8_t *pattern;           /* NULL if the pattern is shared */
};

/* A chunk that is being opened. */
struct opening {
    struct frame *frame;
    struct frame_source source;
    struct chunk_header header;
    uint8_t prefix[PREFIX_LEN];
    size_t prefix_len;
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
        .bytes = opening->prefix,
        .len = opening->prefix_len,
    };
    int r = read_items(opening, &items, fault);

    if (r < 0)
        return r;
    return blocks_open_chunk(&source, &head, &chunk->chunk, fault);
}

/* Keep the bytes of a chunk that was read whole, so that decoding reads nothing
   again. */
static int keep_bytes(const struct opening *opening, struct open_chunk *chunk,
                      struct fault *fault)
{
    uint32_t cbytes = opening->header.cbytes;

    if (cbytes > opening->prefix_len ||
        !chunk_kind_has_blocks(opening->header.kind))
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
        r = open_head(opening, chunk, fault);
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
    struct opening opening = { .frame = frame };
    int r = frame_source_open(frame, span->chunk_no, &chunk->pub.entry,
                              &opening.source, fault);

    if (r < 0)
        return r;
    r = open_stored(&opening, chunk, fault);
    if (r < 0)
        frame_source_fault(&opening.source, span->chunk_no, r, fault);
    r = frame_check_kept(frame, r, fault);
    frame_source_close(frame, &opening.source);
    chunk->source = opening.source;
    return r;
}

int frame_chunk_open(struct frame *frame, uint64_t chunk_no,
                     struct frame_chunk **out, struct fault *fault)
{
    struct open_chunk *chunk = calloc(1, sizeof(*chunk));
    struct frame_chunk *pub;
    int r;

    if (!chunk)
        return fault_set(fault, -ENOMEM, 0, NULL);
    pub = &chunk->pub;
    pub->footprint = sizeof(*chunk);
    r = frame_span_of(frame, chunk_no, &pub->span, fault);
    if (r == 0)
        r = frame_get_entry(frame, chunk_no, &pub->entry, fault);
    if (r == 0)
        r = pub->entry.special ? open_special(frame, chunk, fault)
                               : open_source(frame, chunk, fault);
    if (r < 0) {
        frame_chunk_close(pub);
        return r;
    }
    *out = pub;
    return 0;
}

void frame_chunk_close(struct frame_chunk *chunk)
{
    struct open_chunk *open = (struct open_chunk *)chunk;

    if (!open)
        return;
    chunk_close(open->chunk);
    free(open->bytes);
    free(open->pattern);
    free(open);
}

int frame_chunk_decode(struct frame *frame, const struct frame_chunk *chunk,
                       const struct blocks_run *run,
                       struct chunk_decoder *decoder, struct fault *fault)
{
    const struct open_chunk *open = (const struct open_chunk *)chunk;
    uint64_t chunk_no = chunk->span.chunk_no;
    struct frame_source source = open->source;
    struct blocks_source from = { .bytes = open->bytes };
    int r;

    if (!open->bytes) {
        r = frame_source_open(frame, chunk_no, &chunk->entry, &source, fault);
        if (r < 0)
            return r;
        from.object = source.object;
        from.off = source.off;
    }
    r = blocks_decode(&from, chunk->chunk, run, decoder, fault);
    if (r < 0)
        frame_source_fault(&source, chunk_no, r, fault);
    if (open->bytes)
        return r;
    frame_source_close(frame, &source);
    return frame_check_kept(frame, r, fault);
}

/* Decode a chunk, or repeat its pattern. */
static int read_whole(struct frame *frame, const struct frame_chunk *chunk,
                      uint8_t *dst, struct fault *fault)
{
    const struct blocks_run all = { .n = chunk->nblocks, .dst = dst };
    struct chunk_decoder *decoder;
    uint32_t nbytes = chunk->span.nbytes;
    int r;

    if (chunk->nblocks == 0) {
        for (uint32_t done = 0; done < nbytes;) {
            size_t n = nbytes - done < chunk->pattern_len ? nbytes - done
                                                          : chunk->pattern_len;

            memcpy(dst + done, chunk->pattern, n);
            done += (uint32_t)n;
        }
        return 0;
    }
    r = chunk_decoder_new(cpu_features(), &decoder);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = frame_chunk_decode(frame, chunk, &all, decoder, fault);
    chunk_decoder_free(decoder);
    return r;
}

int frame_chunk_read(struct frame *frame, uint64_t chunk_no, uint8_t *dst,
                     size_t len, struct fault *fault)
{
    struct frame_chunk *chunk;
    int r = frame_chunk_open(frame, chunk_no, &chunk, fault);

    if (r < 0)
        return r;
    r = chunk->span.nbytes == len
            ? read_whole(frame, chunk, dst, fault)
            : fault_set(fault, -EBADMSG, 0, "chunk has another size");
    frame_chunk_close(chunk);
    return r;
}
