/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_CACHE_WRITE_MOCK_H
#define TEST_UNIT_CACHE_WRITE_MOCK_H

#include "cache_mock.h"

/* What tests of writing to the cache share. */

enum {
    NARROW = 2 * CHUNK, /* capacity for one chunk and a bit, */
    SMALL = 8 * CHUNK,  /* for few chunks */
    LARGE = 4 << 20,
};

static uint8_t zs[CHUNK];

static inline void open_writable(struct mock *mock, size_t capacity)
{
    memset(zs, 'z', sizeof(zs));
    mock_open(mock, capacity);
    mock->shape.encode = CHUNK;
}

static inline ssize_t try_zs(struct mock *mock, uint64_t chunk_no, uint32_t off,
                             uint32_t len, struct cache_patience *patience)
{
    const struct cache_range range = {
        .file = &mock->file, .chunk_no = chunk_no, .off = off, .len = len
    };

    return cache_write(mock->cache, &range, mock, zs, patience);
}

static inline ssize_t write_zs(struct mock *mock, uint64_t chunk_no,
                               uint32_t off, uint32_t len)
{
    struct cache_patience patience = { .begun = false };

    return try_zs(mock, chunk_no, off, len, &patience);
}

/* Does a chunk have its old content, except for the written bytes? */
static inline void check_chunk(struct mock *mock, uint64_t chunk_no,
                               uint32_t off, uint32_t len)
{
    struct cache_pin pinned;

    ck_assert_int_eq(pin(mock, chunk_no, 0, CHUNK, CACHE_WAIT_MEMORY, &pinned),
                     0);
    ck_assert_uint_eq(pinned.len, CHUNK);
    for (uint32_t i = 0; i < CHUNK; i++)
        ck_assert_uint_eq(pinned.data[i], i >= off && i < off + len
                                              ? 'z'
                                              : byte_at(chunk_no, i));
    cache_unpin(mock->cache, &pinned, 1);
}

/* Begin writeback of a chunk, wherever it is in the file. */
static inline bool begin_writeback(struct mock *mock, enum cache_kind kind,
                                   struct cache_writeback *out)
{
    return cache_begin_writeback(mock->cache, &mock->file, kind, UINT64_MAX,
                                 out);
}

/* Commit a chunk that is under writeback. */
static inline void commit(struct mock *mock,
                          const struct cache_writeback *writeback)
{
    struct cache_pinned_chunk pinned;

    ck_assert_int_eq(cache_pin_chunk(mock->cache, writeback, writeback->nbytes,
                                     mock, &pinned),
                     0);
    cache_unpin_chunk(mock->cache, writeback, &pinned);
    cache_stage(mock->cache, writeback);
    cache_mark_clean(mock->cache, &mock->file);
}

#endif
