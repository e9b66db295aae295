/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_CACHE_MOCK_H
#define TEST_UNIT_CACHE_MOCK_H

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache/cache.h"
#include "suite.h"

enum {
    BLOCK = 4096,
    NBLOCKS = 16,
    CHUNK = BLOCK * NBLOCKS - 100,
    ENTRY_MAX = 4096, /* more bytes than one entry of this test uses */
};

#define NOTHING_BAD UINT64_MAX

/* A file whose chunks are computed. */
struct mock {
    struct cache *cache;
    size_t capacity;
    struct cache_file file;
    struct cache_shape shape;
    atomic_ulong ndescribed;
    atomic_ulong nruns;    /* calls of decode */
    atomic_ulong bad;      /* block of chunk 0 that decode() rejects */
    atomic_bool too_much;  /* the cache exceeded its limit */
    atomic_bool bad_first; /* decode() got a block without block 0 */
    atomic_bool shut;      /* makes decode() wait */
    int error;             /* of decode() for `bad`; 0: -EBADMSG */
};

static inline uint8_t byte_at(uint64_t chunk_no, uint64_t off)
{
    uint64_t mixed = (chunk_no * 1000003 + off) * 0x9e3779b97f4a7c15;

    return (uint8_t)(mixed >> 56);
}

/*
 * Sleep before polling again, because the awaited state has no signal of its
 * own.
 */
static inline void pause_briefly(void)
{
    const struct timespec pause = { .tv_nsec = 100000 };

    nanosleep(&pause, NULL);
}

static inline void check_limit(struct mock *mock)
{
    struct cache_stats stats;

    cache_get_stats(mock->cache, &stats);
    if (stats.used > mock->capacity)
        mock->too_much = true;
}

static inline int mock_describe(void *context, uint64_t chunk_no, bool writing,
                                struct cache_shape *shape)
{
    struct mock *mock = context;

    *shape = mock->shape;
    shape->writable = writing;
    shape->chunk = malloc(sizeof(chunk_no));
    memcpy(shape->chunk, &chunk_no, sizeof(chunk_no));
    mock->ndescribed++;
    check_limit(mock);
    return 0;
}

static inline void check_first(struct mock *mock, uint64_t chunk_no,
                               const uint8_t *first_block)
{
    if (!first_block || first_block[0] != byte_at(chunk_no, 0) ||
        first_block[BLOCK - 1] != byte_at(chunk_no, BLOCK - 1))
        mock->bad_first = true;
}

static inline int mock_decode(void *context, const struct cache_shape *shape,
                              const struct cache_run *run)
{
    struct mock *mock = context;
    uint64_t off = (uint64_t)run->first * shape->blocksize;
    uint64_t end = off + (uint64_t)run->n * shape->blocksize;
    uint8_t *dst = run->dst;
    uint64_t chunk_no;

    mock->nruns++;
    while (mock->shut && run->first == 0)
        pause_briefly();
    check_limit(mock);
    memcpy(&chunk_no, shape->chunk, sizeof(chunk_no));
    if (chunk_no == 0 && mock->bad >= run->first &&
        mock->bad - run->first < run->n)
        return mock->error < 0 ? mock->error : -EBADMSG;
    if (shape->needs_first && run->first > 0)
        check_first(mock, chunk_no, run->first_block);
    for (; off < end && off < shape->nbytes; off++)
        *dst++ = byte_at(chunk_no, off);
    return 0;
}

static inline void mock_forget(void *chunk)
{
    free(chunk);
}

static const struct cache_ops mock_ops = {
    .describe = mock_describe,
    .decode = mock_decode,
    .forget = mock_forget,
};

static inline void mock_open(struct mock *mock, size_t capacity)
{
    memset(mock, 0, sizeof(*mock));
    mock->capacity = capacity;
    mock->bad = NOTHING_BAD;
    mock->shape = (struct cache_shape){ .nbytes = CHUNK,
                                        .blocksize = BLOCK,
                                        .nblocks = NBLOCKS,
                                        .footprint = sizeof(uint64_t) };
    ck_assert_int_eq(cache_new(capacity, &mock->cache), 0);
    cache_file_init(&mock->file, &mock_ops);
}

static inline void mock_close(struct mock *mock)
{
    ck_assert(!mock->too_much);
    ck_assert(!mock->bad_first);
    cache_file_drop(mock->cache, &mock->file);
    cache_free(mock->cache);
}

static inline int pin(struct mock *mock, uint64_t chunk_no, uint32_t off,
                      uint32_t len, enum cache_wait wait, struct cache_pin *out)
{
    const struct cache_range range = {
        .file = &mock->file, .chunk_no = chunk_no, .off = off, .len = len
    };

    return cache_pin(mock->cache, &range, wait, mock, out);
}

static inline bool is_right(const struct cache_pin *pinned, uint64_t chunk_no,
                            uint64_t off)
{
    for (uint32_t i = 0; i < pinned->len; i++)
        if (pinned->data[i] != byte_at(chunk_no, off + i))
            return false;
    return true;
}

/* Pin a range, compare it, and unpin it. */
static inline void touch(struct mock *mock, uint64_t chunk_no, uint32_t off,
                         uint32_t len)
{
    struct cache_pin pinned;

    ck_assert_int_eq(pin(mock, chunk_no, off, len, CACHE_WAIT_MEMORY, &pinned),
                     0);
    ck_assert(is_right(&pinned, chunk_no, off));
    cache_unpin(mock->cache, &pinned, 1);
}

static inline struct cache_stats stats_of(struct mock *mock)
{
    struct cache_stats stats;

    cache_get_stats(mock->cache, &stats);
    return stats;
}

#endif
