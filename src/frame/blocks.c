/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/chunk_sums.h"

/* Limits for one read; gaps up to PIECE_GAP bytes are read over. */
enum {
    PIECE_BLOCKS = 256,
    PIECE_BYTES = 8 << 20,
    CHECK_BYTES = 256 << 10, /* if they are only compared with their sums, which
                                then finds them in the CPU's caches */
    PIECE_GAP = 4096,
};

/* The bytes of one block. */
struct extent {
    uint32_t off; /* in the chunk */
    uint32_t len;
    size_t input_off; /* in the input of the piece */
};

/* Blocks that are read together. */
struct piece {
    uint32_t first; /* block */
    uint32_t n;
    struct extent extents[PIECE_BLOCKS]; /* in order of block number */
    uint16_t order[PIECE_BLOCKS];        /* indices of extents, in order of
                                            offset */
    struct store_range ranges[PIECE_BLOCKS];
    size_t nranges;
    size_t input_len;
};

int blocks_read_error(int error, uint64_t off, struct fault *fault)
{
    if (error == -ENODATA)
        return fault_set(fault, -EBADMSG, off, "file ends in the chunk");
    return fault_set(fault, error, off, NULL);
}

int blocks_open_chunk(const struct blocks_source *source,
                      const struct blocks_head *head, struct chunk **out,
                      struct fault *fault)
{
    size_t need = chunk_head_len(head->header);
    uint8_t *more;
    int r;

    if (need <= head->len)
        return chunk_open(head->header, head->bytes, head->items, out, fault);
    more = malloc(need);
    if (!more)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = store_object_read_at(source->object, source->off, more, need);
    if (r < 0)
        r = blocks_read_error(r, 0, fault);
    else
        r = chunk_open(head->header, more, head->items, out, fault);
    free(more);
    return r;
}

/* Keep `order` sorted by offset; blocks mostly come in that order already. */
static void insert_sorted(struct piece *piece, uint32_t i)
{
    uint32_t at = i;

    while (at > 0 &&
           piece->extents[piece->order[at - 1]].off > piece->extents[i].off) {
        piece->order[at] = piece->order[at - 1];
        at--;
    }
    piece->order[at] = (uint16_t)i;
}

/* Add blocks from `first` to `end` - 1, as many as fit into a piece of `most`
   bytes. */
static void gather_blocks(struct piece *piece, const struct chunk *chunk,
                          uint32_t first, uint32_t end, size_t most)
{
    size_t bytes = 0;
    uint32_t i = 0;

    while (first + i < end && i < PIECE_BLOCKS) {
        struct extent *extent = &piece->extents[i];

        chunk_block_extent(chunk, first + i, &extent->off, &extent->len);
        if (i > 0 && bytes + extent->len > most)
            break;
        bytes += extent->len;
        insert_sorted(piece, i);
        i++;
    }
    piece->first = first;
    piece->n = i;
}

/* Merge the extents into ranges, and place these one after another in the
   input. */
static void merge_ranges(struct piece *piece, uint64_t chunk_off)
{
    struct store_range *range = NULL;
    uint64_t start = 0;
    size_t range_at = 0;

    piece->nranges = 0;
    piece->input_len = 0;
    for (uint32_t i = 0; i < piece->n; i++) {
        struct extent *extent = &piece->extents[piece->order[i]];
        uint64_t end = (uint64_t)extent->off + extent->len;

        if (!range || extent->off > start + range->len + PIECE_GAP) {
            range = &piece->ranges[piece->nranges++];
            range->off = chunk_off + extent->off;
            range->len = 0;
            start = extent->off;
            range_at = piece->input_len;
        }
        if (end > start + range->len)
            range->len = (size_t)(end - start);
        extent->input_off = range_at + (size_t)(extent->off - start);
        piece->input_len = range_at + range->len;
    }
}

static int read_piece(struct piece *piece, const struct blocks_source *source,
                      uint8_t *input, struct fault *fault)
{
    size_t at = 0;
    int r;

    for (size_t i = 0; i < piece->nranges; i++) {
        piece->ranges[i].buf = input + at;
        at += piece->ranges[i].len;
    }
    r = store_object_read(source->object, piece->ranges, piece->nranges);
    if (r < 0)
        return blocks_read_error(r, piece->extents[0].off, fault);
    return 0;
}

/* The chunk that is decoded, and the means to do so. */
struct decoding {
    const struct blocks_source *source;
    const struct chunk *chunk;
    struct chunk_decoder *decoder;
    struct fault *fault;
};

/* Does a block match its sum, if there is one? */
static int check_block(const struct decoding *decoding, uint32_t block_no,
                       const struct extent *extent, const uint8_t *bytes)
{
    const uint8_t *sums = decoding->source->sums;

    if (!sums || chunk_sums_check_block(sums, block_no, bytes, extent->len))
        return 0;
    return fault_set_mismatch(decoding->fault, extent->off, block_no);
}

/*
 * Decode the blocks of a piece.  If `dst` is NULL, only compare them with their
 * sums.
 *
 *  input  the bytes that were read, or the whole chunk if that is in memory
 */
static int decode_piece(const struct decoding *decoding,
                        const struct piece *piece, const uint8_t *input,
                        const uint8_t *first_block, uint8_t *dst)
{
    bool whole = decoding->source->bytes;

    for (uint32_t i = 0; i < piece->n; i++) {
        const struct extent *extent = &piece->extents[i];
        size_t off = whole ? extent->off : extent->input_off;
        const struct chunk_block block = { piece->first + i, input + off,
                                           first_block };
        ssize_t n = check_block(decoding, block.no, extent, block.src);

        if (n == 0 && dst)
            n = chunk_decode_block(decoding->chunk, &block, dst,
                                   decoding->decoder, decoding->fault);
        if (n < 0)
            return (int)n;
        if (dst)
            dst += n;
    }
    return 0;
}

static int read_and_decode(const struct decoding *decoding, struct piece *piece,
                           const uint8_t *first_block, uint8_t *dst)
{
    const struct blocks_source *source = decoding->source;
    uint8_t *input;
    int r;

    if (source->bytes)
        return decode_piece(decoding, piece, source->bytes, first_block, dst);
    merge_ranges(piece, source->off);
    input = chunk_decoder_input(decoding->decoder, piece->input_len);
    if (!input)
        return fault_set(decoding->fault, -ENOMEM, 0, NULL);
    r = read_piece(piece, source, input, decoding->fault);
    if (r == 0)
        r = decode_piece(decoding, piece, input, first_block, dst);
    chunk_decoder_input_done(decoding->decoder);
    return r;
}

/* Do the blocks of a run match their sums? */
static int check_copy(const struct decoding *decoding,
                      const struct blocks_run *run)
{
    const uint8_t *bytes = run->dst;
    int r = 0;

    for (uint32_t i = 0; i < run->n && r == 0; i++) {
        struct extent extent = { 0 };

        chunk_block_extent(decoding->chunk, run->first + i, &extent.off,
                           &extent.len);
        r = check_block(decoding, run->first + i, &extent, bytes);
        bytes += extent.len;
    }
    return r;
}

/* Read stored bytes straight into `dst`, because they need no decoding. */
static int read_copy(const struct decoding *decoding,
                     const struct blocks_run *run)
{
    const struct blocks_source *source = decoding->source;
    struct extent start = { 0 };
    struct extent last = { 0 };
    size_t len;
    int r;

    chunk_block_extent(decoding->chunk, run->first, &start.off, &start.len);
    chunk_block_extent(decoding->chunk, run->first + run->n - 1, &last.off,
                       &last.len);
    len = (size_t)last.off + last.len - start.off;
    if (source->bytes) {
        memcpy(run->dst, source->bytes + start.off, len);
        return check_copy(decoding, run);
    }
    r = store_object_read_at(source->object, source->off + start.off, run->dst,
                             len);
    if (r < 0)
        return blocks_read_error(r, start.off, decoding->fault);
    return check_copy(decoding, run);
}

/* Decode a run whose `first_block` is there if it is needed. */
static int decode_run(const struct decoding *decoding,
                      const struct blocks_run *run)
{
    const struct chunk_header *header = chunk_get_header(decoding->chunk);
    const uint8_t *first_block = run->first == 0 ? run->dst : run->first_block;
    struct piece piece;
    uint32_t done = 0;
    int r = 0;

    while (done < run->n && r == 0) {
        gather_blocks(&piece, decoding->chunk, run->first + done,
                      run->first + run->n, PIECE_BYTES);
        r = read_and_decode(decoding, &piece, first_block,
                            run->dst + (size_t)done * header->blocksize);
        done += piece.n;
    }
    return r;
}

/* Decode block 0 in memory of its own, and then the run. */
static int decode_after_first(const struct decoding *decoding,
                              const struct blocks_run *run)
{
    const struct chunk_header *header = chunk_get_header(decoding->chunk);
    struct blocks_run first = { .n = 1, .dst = malloc(header->blocksize) };
    struct blocks_run rest = *run;
    int r;

    if (!first.dst)
        return fault_set(decoding->fault, -ENOMEM, 0, NULL);
    rest.first_block = first.dst;
    r = decode_run(decoding, &first);
    if (r == 0)
        r = decode_run(decoding, &rest);
    free(first.dst);
    return r;
}

int blocks_check(const struct blocks_source *source, const struct chunk *chunk,
                 const struct blocks_run *run, struct chunk_decoder *decoder,
                 struct fault *fault)
{
    const struct decoding decoding = { source, chunk, decoder, fault };
    uint32_t done = 0;
    struct piece piece;
    int r = 0;

    while (done < run->n && r == 0) {
        gather_blocks(&piece, chunk, run->first + done, run->first + run->n,
                      CHECK_BYTES);
        r = read_and_decode(&decoding, &piece, NULL, NULL);
        done += piece.n;
    }
    return r;
}

int blocks_decode(const struct blocks_source *source, const struct chunk *chunk,
                  const struct blocks_run *run, struct chunk_decoder *decoder,
                  struct fault *fault)
{
    const struct decoding decoding = { source, chunk, decoder, fault };

    if (chunk_get_header(chunk)->kind == CHUNK_COPY)
        return read_copy(&decoding, run);
    if (run->first > 0 && !run->first_block && chunk_needs_first_block(chunk))
        return decode_after_first(&decoding, run);
    return decode_run(&decoding, run);
}

struct blocks_plan blocks_plan(const struct chunk *chunk, size_t run_size)
{
    const struct chunk_header *header = chunk_get_header(chunk);
    struct blocks_plan plan = {
        .blocksize = header->blocksize,
        .nblocks = header->nblocks,
        .nrun = 1,
        .keeps_first = chunk_needs_first_block(chunk),
    };

    if (header->blocksize > 0 && header->blocksize < run_size)
        plan.nrun = (uint32_t)(run_size / header->blocksize);
    if (plan.nrun > header->nblocks)
        plan.nrun = header->nblocks;
    plan.memory = ((size_t)plan.nrun + plan.keeps_first) * plan.blocksize;
    return plan;
}

bool blocks_next_run(const struct blocks_plan *plan, uint8_t *buf,
                     struct blocks_run *run)
{
    uint32_t first = run->first + run->n;
    uint32_t left = plan->nblocks - first;

    if (left == 0)
        return false;
    *run = (struct blocks_run){
        .first = first,
        .n = left < plan->nrun ? left : plan->nrun,
        .dst = buf,
    };
    if (plan->keeps_first && first == 0) {
        run->n = 1;
    } else if (plan->keeps_first) {
        run->first_block = buf;
        run->dst = buf + plan->blocksize;
    }
    return true;
}
