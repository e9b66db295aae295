/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FRAME_BUILD_H
#define TEST_FRAME_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/chunk.h"

/* Chunks and frames, put together byte by byte as the documents of the format
   have them, for what no other program writes. */

struct build {
    size_t len;
    uint8_t bytes[512 << 10];
};

/* An empty one, on the heap. */
struct build *build_new(void);

/* Append bytes. */
void build_bytes(struct build *build, const void *bytes, size_t len);

/* Append a chunk that holds `len` bytes as they are. */
void build_copy(struct build *build, unsigned typesize, const void *data,
                size_t len);

/* The same in blocks, each of one stream that is stored as it is; from the
   last to the first, with `gap` bytes behind each. */
void build_blocks(struct build *build, unsigned typesize, const void *data,
                  size_t len, size_t blocksize, size_t gap);

/* Append a special chunk; `item` is for CHUNK_VALUE. */
void build_special(struct build *build, enum chunk_kind kind, unsigned typesize,
                   uint32_t nbytes, const void *item, size_t item_len);

/* What a frame is made of. */
struct build_frame {
    const struct build *chunks; /* NULL: none */
    const int64_t *entries;     /* stored as they are; or */
    size_t nentries;
    const struct build *index; /* the index chunk */
    uint64_t nbytes;
    uint32_t chunksize; /* 0 for chunks that differ */
    uint32_t typesize;
    bool sparse;
};

/* Header, chunks, index, trailer. */
struct build *build_frame(const struct build_frame *parts);

/* The usual kind: contiguous, of items of four bytes. */
struct build *build_items(const struct build *chunks, const int64_t *entries,
                          size_t nentries, uint64_t nbytes, uint32_t chunksize);

#endif
