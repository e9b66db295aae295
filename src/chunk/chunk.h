/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_H
#define CHUNK_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"

enum {
    CHUNK_NFILTERS = 6
};

/*
 * What is refused, with -ENOTSUP, so that memory stays bounded whatever a
 * chunk claims: more bytes than this of block starts, or in a repeated item;
 * a larger block to decode.  No writer comes near by itself: the blocks that
 * the reference library chooses have at most 4 MiB.
 */
enum {
    CHUNK_HEAD_MAX = 16 * 1024 * 1024,
    CHUNK_BLOCK_MAX = 128 * 1024 * 1024,
};

/* What the body of a chunk is. */
enum chunk_kind {
    CHUNK_BLOCKS,   /* block starts, then streams */
    CHUNK_VLBLOCKS, /* the same with blocks of sizes of their own */
    CHUNK_COPY,     /* the bytes as they are ("memcpyed") */
    CHUNK_ZEROS,    /* nothing: all bytes are zero */
    CHUNK_NANS,     /* nothing: every item is a quiet NaN */
    CHUNK_VALUE,    /* one item, repeated */
    CHUNK_UNINIT,   /* nothing: content was never set; shown as zeros */
};

/* The word for a kind: "blocks", "vlblocks" and so on. */
const char *chunk_kind_name(enum chunk_kind kind);

/*
 * The header of a chunk, checked.
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
    bool has_dict;      /* a dictionary lies behind the block starts */
    bool instrumented;  /* filters are not to be undone */
    uint8_t header_len; /* 16 or 32 */
    uint32_t nbytes;    /* decoded size */
    uint32_t cbytes;    /* size of the chunk, header included */
    uint32_t blocksize; /* decoded size of a full block, at most nbytes
                              unless that is 0; of CHUNK_VLBLOCKS: nbytes; of
                              CHUNK_COPY, which can be cut anywhere: the one
                              in the chunk, but 4 KiB to 1 MiB */
    uint32_t nblocks;   /* number of blocks; see chunk_decode_block() */
    uint32_t nvlblocks; /* CHUNK_VLBLOCKS: how many there are, else 0 */
    uint32_t value_len; /* CHUNK_VALUE: size of the item, else 0 */
};

/*
 * Parse and check the header of a chunk.
 *
 *  data  first bytes of the chunk
 *  len   how many there are; 32 always suffice, fewer may be all there is
 *
 * That `cbytes` bytes are really there is the caller's to check.  Returns 0 or
 *  -EBADMSG  the bytes are no chunk header
 *  -ENOTSUP  a kind of chunk from the future, or one beyond the limits above
 * An unknown codec or filter is no error yet: the chunk may never need it.
 */
int chunk_header_parse(const uint8_t *data, size_t len,
                       struct chunk_header *out, struct fault *fault);

/*
 * How many bytes at the start of the chunk chunk_open() needs: the header,
 * block starts and as much as a dictionary may take, or the repeated item.  At
 * most `cbytes`, and little more than CHUNK_HEAD_MAX.
 */
size_t chunk_head_len(const struct chunk_header *header);

/*
 * A chunk that is ready to decode: its header, where its blocks are, its
 * dictionary.  Constant once opened; any number of threads may use it.
 */
struct chunk;

/*
 * Prepare a chunk for decoding.
 *
 *  head       its first chunk_head_len() bytes; they are copied
 *  item_size  typesize of the frame around it, which some filters take, or 0
 *
 * Returns 0 or
 *  -EBADMSG  block starts, dictionary or item break the format
 *  -ENOTSUP  the chunk names a filter that this build lacks
 *  -ENOMEM
 */
int chunk_open(const struct chunk_header *header, const uint8_t *head,
               uint32_t item_size, struct chunk **out, struct fault *fault);

/* Accepts NULL. */
void chunk_close(struct chunk *chunk);

/* The header it was opened with; valid until chunk_close(). */
const struct chunk_header *chunk_get_header(const struct chunk *chunk);

/* Bytes of memory that the opened chunk holds. */
size_t chunk_footprint(const struct chunk *chunk);

/* The repeated item of a CHUNK_VALUE, value_len bytes. */
const uint8_t *chunk_value(const struct chunk *chunk);

/*
 * Does decoding a block other than the first need the first, decoded?  True
 * for the delta filter, whose reference the first block is.
 */
bool chunk_needs_first_block(const struct chunk *chunk);

/* Decoded size of a block; the last one may be shorter than blocksize. */
uint32_t chunk_block_size(const struct chunk *chunk, uint32_t block);

/*
 * Where the bytes of one block lie in the chunk, which is of the kinds
 * CHUNK_BLOCKS, CHUNK_VLBLOCKS or CHUNK_COPY: from its block start to the next
 * higher one, but never more than a block of its decoded size can take.
 * Blocks lie in any order.
 */
void chunk_block_extent(const struct chunk *chunk, uint32_t block,
                        uint32_t *off, uint32_t *len);

/* What one thread needs to decode: codec contexts, scratch, kernels. */
struct chunk_decoder;

/*
 * Make a decoder.
 *
 *  cpu  instruction sets that kernels may use, see cpu_features()
 *
 * Returns 0 or -ENOMEM.  The shuffle kernels are chosen here, once.
 */
int chunk_decoder_new(unsigned cpu, struct chunk_decoder **out);

/* Accepts NULL. */
void chunk_decoder_free(struct chunk_decoder *decoder);

/*
 * Memory of the decoder's for `len` stored bytes that it is to decode, until
 * they are done with.  Returns NULL if there is none.
 */
uint8_t *chunk_decoder_input(struct chunk_decoder *decoder, size_t len);
void chunk_decoder_input_done(struct chunk_decoder *decoder);

/*
 * Decode one block.
 *
 *  block  block number, 0 to nblocks - 1.  All blocks of a CHUNK_VLBLOCKS are
 *         one block here, since none can be placed without its predecessors.
 *  src    the bytes of chunk_block_extent()
 *  first  the first block, decoded, if chunk_needs_first_block() and `block`
 *         is not 0; else ignored
 *  dst    room for chunk_block_size() bytes
 *
 * Returns the number of bytes written to `dst`, or
 *  -EBADMSG  a stream leaves the block or is refused by its codec; `dst` then
 *            holds rubbish
 *  -ENOTSUP  a stream needs a codec that this build lacks
 *  -ENOMEM   for scratch, which is at most as large as the block
 * Fault offsets count from the start of the chunk.
 *
 * Special chunks (zeros, NaN, value, uninit) decode too; `src` is then unused.
 *
 * Format: Blosc2 Chunk Format, 4 to 9.
 */
ssize_t chunk_decode_block(const struct chunk *chunk, uint32_t block,
                           const uint8_t *src, const uint8_t *first,
                           uint8_t *dst, struct chunk_decoder *decoder,
                           struct fault *fault);

/*
 * Fill `dst` with the content of a special chunk (zeros, NaN, value, uninit).
 *
 *  off  position of dst[0] in the decoded chunk
 */
void chunk_fill(const struct chunk *chunk, uint32_t off, uint8_t *dst,
                size_t len);

/*
 * Decode a whole chunk that lies in memory.
 *
 *  data, len  the chunk; bytes behind its `cbytes` are ignored
 *  dst, cap   room for the decoded bytes
 *
 * Returns their number, or an error as above; -ERANGE if `cap` is too small.
 */
ssize_t chunk_decode(const uint8_t *data, size_t len, uint32_t item_size,
                     uint8_t *dst, size_t cap, struct chunk_decoder *decoder,
                     struct fault *fault);

#endif
