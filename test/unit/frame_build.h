/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FRAME_BUILD_H
#define TEST_FRAME_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/chunk.h"

/*
 * Chunks and frames that are put together byte by byte, as the format documents
 * describe them, for cases that no other program writes.
 */

struct build {
    size_t len;
    uint8_t bytes[512 << 10];
};

/* Return an empty one, allocated. */
struct build *build_new(void);

/* Append bytes. */
void build_bytes(struct build *build, const void *bytes, size_t len);

/* Append a chunk that stores `len` bytes uncompressed. */
void build_copy(struct build *build, unsigned typesize, const void *data,
                size_t len);

/*
 * Append such a chunk in blocks, each of one uncompressed stream, from the last
 * block to the first, with `gap` bytes behind each.
 */
void build_blocks(struct build *build, unsigned typesize, const void *data,
                  size_t len, size_t blocksize, size_t gap);

/* Append a special chunk.  `item` is used for CHUNK_VALUE. */
void build_special(struct build *build, enum chunk_kind kind, unsigned typesize,
                   uint32_t nbytes, const void *item, size_t item_len);

/* The parts of a frame. */
struct build_frame {
    const struct build *chunks; /* NULL: none */
    const int64_t *entries;     /* stored uncompressed; or */
    size_t nentries;
    const struct build *index; /* the index chunk */
    uint64_t nbytes;
    uint32_t chunksize; /* 0 if chunks differ in size */
    uint32_t typesize;
    bool sparse;
};

/* Put header, chunks, index and trailer together. */
struct build *build_frame(const struct build_frame *parts);

/* Put the most common kind together: contiguous, with items of four bytes. */
struct build *build_items(const struct build *chunks, const int64_t *entries,
                          size_t nentries, uint64_t nbytes, uint32_t chunksize);

#endif
