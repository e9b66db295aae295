/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_H
#define CHUNK_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "chunk/chunk_items.h"

enum {
    CHUNK_NFILTERS = 6
};

/*
 * Limits that keep memory bounded whatever a chunk claims.  A chunk is rejected
 * with -ENOTSUP if its block starts or its repeated item take more bytes than
 * CHUNK_HEAD_MAX, or if a block to decode is larger than CHUNK_BLOCK_MAX.
 * Writers stay far below by default, because the reference library chooses
 * blocks of at most 4 MiB.
 */
enum {
    CHUNK_HEAD_MAX = 16 * 1024 * 1024,
    CHUNK_BLOCK_MAX = 128 * 1024 * 1024,
};

/* How a chunk stores its content. */
enum chunk_kind {
    CHUNK_BLOCKS,   /* block starts, then streams */
    CHUNK_VLBLOCKS, /* the same, but each block has a size of its own */
    CHUNK_COPY,     /* the bytes as they are ("memcpyed") */
    CHUNK_ZEROS,    /* nothing: all bytes are zero */
    CHUNK_NANS,     /* nothing: every item is a quiet NaN */
    CHUNK_VALUE,    /* one item, repeated */
    CHUNK_UNINIT,   /* nothing: the content was never set and reads as zeros */
};

/* Return the name of a kind: "blocks", "vlblocks" and so on. */
const char *chunk_kind_name(enum chunk_kind kind);

/* Do chunks of this kind have blocks, or are they special? */
bool chunk_kind_has_blocks(enum chunk_kind kind);

/*
 * The header of a chunk, after all checks.
 *
 * Format: Blosc2 Chunk Format, 2 "Header".
 */
struct chunk_header {
    enum chunk_kind kind;
    uint8_t version;
    uint8_t flags;
    uint8_t typesize;   /* 1 to 255 */
    uint8_t codec;      /* codec number, CODEC_BLOSCLZ and so on */
    uint8_t codec_meta; /* parameter of the codec */
    uint8_t filters[CHUNK_NFILTERS];
    uint8_t filters_meta[CHUNK_NFILTERS];
    bool has_dict;      /* a dictionary follows the block starts */
    bool instrumented;  /* the filters must not be undone */
    uint8_t header_len; /* 16 or 32 */
    uint32_t nbytes;    /* decoded size */
    uint32_t cbytes;    /* size of the chunk, header included */
    uint32_t blocksize; /* decoded size of a full block; at most nbytes,
                           unless that is 0.  CHUNK_VLBLOCKS: nbytes.
                           CHUNK_COPY, which can be cut anywhere: the size in
                           the header, but at least 4 KiB and at most 1 MiB */
    uint32_t nblocks;   /* number of blocks; see chunk_decode_block() */
    uint32_t nvlblocks; /* CHUNK_VLBLOCKS: their number, else 0 */
    uint32_t value_len; /* CHUNK_VALUE: size of the item, else 0 */
};

/*
 * Parse and check the header of a chunk.
 *
 *  data  first bytes of the chunk
 *  len   their number; 32 always suffice, a chunk may have fewer
 *
 * The caller must check that there really are `cbytes` bytes.  Returns 0 or
 *  -EBADMSG  the bytes are no chunk header
 *  -ENOTSUP  the chunk is of a newer format or beyond the limits above
 * An unknown codec or filter is no error yet, because decoding the chunk may
 * never need it.
 */
int chunk_header_parse(const uint8_t *data, size_t len,
                       struct chunk_header *out, struct fault *fault);

/*
 * Write the header of a chunk.  It is a long one of version 5.
 *
 *  header  the kind, typesize, nbytes, cbytes and blocksize; of chunks that are
 *          not special also codec and filters with their parameters.  For
 *          CHUNK_BLOCKS also `has_dict`, and `flags`, which say how the blocks
 *          are cut: CHUNK_FLAG_UNSPLIT, CHUNK_FLAG_DELTA.  All else must be 0
 *  dst     room for CHUNK_LONG_HEADER_LEN bytes
 */
void chunk_header_write(const struct chunk_header *header, uint8_t *dst);

/*
 * Return how many bytes from the start of the chunk chunk_open() needs: the
 * header, the block starts and the largest possible dictionary, or the repeated
 * item.  At most `cbytes`, and little more than CHUNK_HEAD_MAX.
 */
size_t chunk_head_len(const struct chunk_header *header);

/* Must the codec or a filter of the chunk know the shape of its blocks?  False
   if this build lacks them. */
bool chunk_uses_shape(const struct chunk_header *header);

/*
 * A chunk that is ready to be decoded: its header, the positions of its blocks
 * and its dictionary.  It is constant once opened, so any number of threads may
 * use it.
 */
struct chunk;

/*
 * Prepare a chunk for decoding.
 *
 *  head   first chunk_head_len() bytes of the chunk; they are copied
 *  items  as the frame around the chunk describes them.  The shape of blocks is
 *         needed only if chunk_uses_shape().  NULL if there is no frame
 *
 * Returns 0 or
 *  -EBADMSG  the block starts, the block size or the dictionary break the
 *            format
 *  -ENOTSUP  the chunk names a filter that this build lacks
 *  -ENOMEM
 */
int chunk_open(const struct chunk_header *header, const uint8_t *head,
               const struct chunk_items *items, struct chunk **out,
               struct fault *fault);

/* Accepts NULL. */
void chunk_close(struct chunk *chunk);

/* Return the chunk's header, which is valid until chunk_close(). */
const struct chunk_header *chunk_get_header(const struct chunk *chunk);

/* Return the bytes of memory that the opened chunk takes up. */
size_t chunk_footprint(const struct chunk *chunk);

/* Return the repeated item of a CHUNK_VALUE, value_len bytes. */
const uint8_t *chunk_value(const struct chunk *chunk);

/*
 * Must the first block be decoded before any other?  True for a chunk of
 * several blocks with the delta filter, because that filter uses the first
 * block as its reference.
 */
bool chunk_needs_first_block(const struct chunk *chunk);

/* Return the decoded size of a block; only the last may be shorter than
   blocksize. */
uint32_t chunk_block_size(const struct chunk *chunk, uint32_t block);

/*
 * Find the stored bytes of one block.  They reach from its block start to the
 * next higher one or to the end of the chunk, but are never more than a block
 * of this decoded size can take.  Blocks may lie in any order.  The chunk must
 * be a CHUNK_BLOCKS, CHUNK_VLBLOCKS or CHUNK_COPY.
 */
void chunk_block_extent(const struct chunk *chunk, uint32_t block,
                        uint32_t *off, uint32_t *len);

/* The codec contexts, scratch and kernels with which one thread decodes. */
struct chunk_decoder;

/*
 * Make a decoder, and choose its shuffle kernels once for all blocks.
 *
 *  cpu  instruction sets that kernels may use, see cpu_features()
 *
 * Returns 0 or -ENOMEM.
 */
int chunk_decoder_new(unsigned cpu, struct chunk_decoder **out);

/* Accepts NULL. */
void chunk_decoder_free(struct chunk_decoder *decoder);

/*
 * Borrow memory of the decoder for `len` stored bytes that it is going to
 * decode.  The caller returns it with chunk_decoder_input_done().  Returns NULL
 * if there is no memory.
 */
uint8_t *chunk_decoder_input(struct chunk_decoder *decoder, size_t len);
void chunk_decoder_input_done(struct chunk_decoder *decoder);

/* A block that is to be decoded. */
struct chunk_block {
    uint32_t no;          /* 0 to nblocks - 1.  All blocks of a CHUNK_VLBLOCKS
                             are one block here, because the position of each
                             depends on the sizes of those before it */
    const uint8_t *src;   /* the bytes that chunk_block_extent() finds */
    const uint8_t *first; /* the first block, decoded, if
                             chunk_needs_first_block() and `no` is not 0; else
                             ignored */
};

/*
 * Decode one block.
 *
 *  dst  room for chunk_block_size() bytes
 *
 * Returns the number of bytes written to `dst`, or
 *  -EBADMSG  a stream leaves the block, or its codec rejects it, or a filter
 *            does not suit the block; `dst` then holds rubbish
 *  -ENOTSUP  a stream needs a codec that this build lacks, or filters must be
 *            undone in a VL-block larger than CHUNK_BLOCK_MAX
 *  -ENOMEM   for scratch, which is at most as large as the block, or for the
 *            codec
 * Fault offsets count from the start of the chunk.
 *
 * Special chunks (zeros, NaN, value, uninit) can be decoded too; `block->src`
 * is then unused.
 *
 * Format: Blosc2 Chunk Format, 4 to 9.
 */
ssize_t chunk_decode_block(const struct chunk *chunk,
                           const struct chunk_block *block, uint8_t *dst,
                           struct chunk_decoder *decoder, struct fault *fault);

/*
 * Fill `dst` with the content of a special chunk (zeros, NaN, value, uninit).
 *
 *  off  position of dst[0] in the decoded chunk
 */
void chunk_fill(const struct chunk *chunk, uint32_t off, uint8_t *dst,
                size_t len);

/* A whole chunk that lies in memory. */
struct stored_chunk {
    const uint8_t *bytes;
    size_t len; /* bytes after the chunk's `cbytes` are ignored */
    const struct chunk_items *items; /* as for chunk_open() */
};

/*
 * Decode a whole chunk.
 *
 *  dst, cap  room for the decoded bytes
 *
 * Returns their number, or an error as above; -ERANGE if `cap` is too small.
 */
ssize_t chunk_decode(const struct stored_chunk *stored, uint8_t *dst,
                     size_t cap, struct chunk_decoder *decoder,
                     struct fault *fault);

#endif
