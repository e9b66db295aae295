/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>

#include "cache/budget.h"
#include "cache_write_mock.h"

/* Helpers of a thread that flushes on request; its flushes succeed, or fail. */
static void flush_all(struct mock *mock)
{
    struct cache_writeback writeback;

    while (begin_writeback(mock, CACHE_DIRTY, &writeback))
        commit(mock, &writeback);
}

/*
 * Wait until the file has to be flushed.  Returns false at the end of the test.
 */
static bool await_pressure(struct mock *mock)
{
    bool going = true;
    uint64_t seen;

    do {
        seen = cache_flush_event(mock->cache);
        if (cache_pressure(mock->cache, mock->file.domain) !=
            CACHE_PRESSURE_NONE)
            return true;
        going = cache_await_flush(mock->cache, seen, NULL);
    } while (going);
    return false;
}

static void *flush_when_asked(void *arg)
{
    struct mock *mock = arg;

    while (await_pressure(mock)) {
        flush_all(mock);
        cache_end_flush(mock->cache, mock->file.domain, CACHE_FLUSHED);
    }
    return NULL;
}

static void *fail_when_asked(void *arg)
{
    struct mock *mock = arg;

    while (!mock->shut && await_pressure(mock)) {
        pause_briefly();
        cache_end_flush(mock->cache, mock->file.domain, CACHE_FLUSH_NO_SPACE);
    }
    return NULL;
}

/*
 * Write `nchunks` chunks through a cache, including parts that must be decoded.
 */
static void write_through(struct mock *mock, uint64_t nchunks)
{
    pthread_t flusher;

    pthread_create(&flusher, NULL, flush_when_asked, mock);
    for (uint64_t i = 0; i < nchunks; i++) {
        ck_assert_int_eq(write_zs(mock, i, 0, CHUNK), CHUNK);
        ck_assert_int_eq(write_zs(mock, i / 2, 1, 1), 1);
    }
    cache_stop_flushes(mock->cache);
    pthread_join(flusher, NULL);
    flush_all(mock);
    check_limit(mock);
}

START_TEST(writers_wait_for_flushes)
{
    struct mock mock;

    open_writable(&mock, SMALL);
    write_through(&mock, 200);
    mock_close(&mock);
}
END_TEST

START_TEST(the_least_cache_is_large_enough)
{
    struct mock mock;

    open_writable(&mock, LARGE);
    for (size_t encode = CHUNK; encode < 4 * CACHE_WORK_MAX; encode *= 3) {
        struct cache_shape shape = mock.shape;
        struct mock small;

        shape.encode = encode;
        open_writable(&small, cache_least(&shape));
        small.shape.encode = encode;
        small.shape.scratch = BLOCK;
        write_through(&small, 200);
        mock_close(&small);
    }
    mock_close(&mock);
}
END_TEST

static void *commit_dirty(void *arg)
{
    struct cache_writeback writeback;

    if (begin_writeback(arg, CACHE_DIRTY, &writeback))
        commit(arg, &writeback);
    return NULL;
}

static bool is_urgent(struct mock *mock)
{
    bool urgent;

    pthread_mutex_lock(&mock->cache->lock);
    urgent = mock->cache->nurgent > 0;
    pthread_mutex_unlock(&mock->cache->lock);
    return urgent;
}

/*
 * A commit waits for memory to pin a chunk that has no blocks in memory.  A
 * write to the chunk meanwhile uses the memory that the commit was waiting for.
 */
START_TEST(what_is_written_while_pinning_waits_needs_no_memory_again)
{
    struct cache_shape shape = { .nbytes = CHUNK,
                                 .blocksize = BLOCK,
                                 .nblocks = NBLOCKS,
                                 .encode = CACHE_WORK_MAX + CHUNK };
    struct cache_pin pinned;
    struct mock mock;
    pthread_t thread;

    open_writable(&mock, cache_least(&shape) + 2 * ENTRY_MAX);
    mock.shape.encode = shape.encode;
    write_zs(&mock, 0, 0, 1);
    flush_all(&mock);
    ck_assert(cache_mark_dirty(mock.cache, &mock.file, 0, CHUNK));
    ck_assert_int_eq(pin(&mock, 1, 0, BLOCK, CACHE_WAIT_MEMORY, &pinned), 0);
    touch(&mock, 2, 0, BLOCK);
    ck_assert_int_eq(pthread_create(&thread, NULL, commit_dirty, &mock), 0);
    while (!is_urgent(&mock))
        pause_briefly();
    ck_assert_int_eq(write_zs(&mock, 0, 0, CHUNK), CHUNK);
    cache_unpin(mock.cache, &pinned, 1);
    pthread_join(thread, NULL);
    mock_close(&mock);
}
END_TEST

START_TEST(writers_give_up_when_flushes_fail)
{
    struct mock mock;
    pthread_t flusher;
    ssize_t r = 0;

    open_writable(&mock, SMALL);
    pthread_create(&flusher, NULL, fail_when_asked, &mock);
    for (uint64_t i = 0; i < 200 && r >= 0; i++)
        r = write_zs(&mock, i, 0, CHUNK);
    ck_assert_int_eq(r, -EAGAIN);
    mock.shut = true;
    cache_stop_flushes(mock.cache);
    pthread_join(flusher, NULL);
    mock.shut = false;
    flush_all(&mock);
    cache_end_flush(mock.cache, NULL, CACHE_FLUSHED);
    ck_assert_int_eq(write_zs(&mock, 1000, 0, CHUNK), CHUNK);
    mock_close(&mock);
}
END_TEST

/* Flushes that fail, each after a writer that it waits for has given way. */
struct yielding {
    struct mock mock;
    atomic_uint nyielded;
    atomic_bool ending;
};

static void *yield_and_fail(void *arg)
{
    struct yielding *yielding = arg;
    struct mock *mock = &yielding->mock;

    while (!yielding->ending && await_pressure(mock)) {
        unsigned nyielded = yielding->nyielded;

        cache_yield(mock->cache, &mock->file);
        while (yielding->nyielded == nyielded && !yielding->ending)
            pause_briefly();
        cache_end_flush(mock->cache, mock->file.domain, CACHE_FLUSH_FAILED);
        cache_end_yield(mock->cache, &mock->file);
    }
    return NULL;
}

static ssize_t write_yielding(struct yielding *yielding, uint64_t chunk_no)
{
    struct cache_patience patience = { .begun = false };
    ssize_t r;

    while ((r = try_zs(&yielding->mock, chunk_no, 0, CHUNK, &patience)) ==
           -EINTR)
        yielding->nyielded++;
    return r;
}

START_TEST(writers_that_give_way_give_up_when_flushes_fail)
{
    struct yielding yielding = { .nyielded = 0 };
    pthread_t flusher;
    ssize_t r = 0;

    open_writable(&yielding.mock, SMALL);
    pthread_create(&flusher, NULL, yield_and_fail, &yielding);
    for (uint64_t i = 0; i < 200 && r >= 0; i++)
        r = write_yielding(&yielding, i);
    ck_assert_int_eq(r, -EAGAIN);
    ck_assert_uint_ge(yielding.nyielded, CACHE_FAILURES_MAX);
    yielding.ending = true;
    cache_stop_flushes(yielding.mock.cache);
    pthread_join(flusher, NULL);
    mock_close(&yielding.mock);
}
END_TEST

/* Two files, one of which is on a full disk. */
struct two {
    struct mock full;
    struct mock good;
    struct cache_domain domains[2];
    unsigned nfailures; /* of the full disk before the good one is flushed */
    atomic_bool ending;
    pthread_t flusher;
};

/*
 * Flush the files for which that is requested, if possible.  Returns whether
 * one was requested.
 */
static bool flush_two(struct two *two)
{
    struct cache *cache = two->full.cache;
    bool full =
        cache_pressure(cache, &two->domains[0]) == CACHE_PRESSURE_THROTTLED;
    bool good = cache_pressure(cache, &two->domains[1]) != CACHE_PRESSURE_NONE;

    if (full)
        cache_end_flush(cache, &two->domains[0], CACHE_FLUSH_NO_SPACE);
    if (good) {
        for (unsigned i = 0; i < two->nfailures; i++) {
            cache_end_flush(cache, &two->domains[0], CACHE_FLUSH_NO_SPACE);
            pause_briefly();
        }
        flush_all(&two->good);
        cache_end_flush(cache, &two->domains[1], CACHE_FLUSHED);
    }
    return full || good;
}

static void *flush_two_when_asked(void *arg)
{
    struct two *two = arg;

    while (!two->ending) {
        uint64_t seen = cache_flush_event(two->full.cache);

        if (!flush_two(two))
            cache_await_flush(two->full.cache, seen, NULL);
    }
    return NULL;
}

static void open_two(struct two *two, size_t capacity, unsigned nfailures)
{
    memset(two, 0, sizeof(*two));
    two->nfailures = nfailures;
    open_writable(&two->full, capacity);
    two->good = two->full;
    cache_file_init(&two->good.file, &mock_ops);
    two->full.file.domain = &two->domains[0];
    two->good.file.domain = &two->domains[1];
    pthread_create(&two->flusher, NULL, flush_two_when_asked, two);
}

static void close_two(struct two *two)
{
    two->ending = true;
    cache_stop_flushes(two->full.cache);
    pthread_join(two->flusher, NULL);
    cache_file_drop(two->good.cache, &two->good.file);
    mock_close(&two->full);
}

START_TEST(a_full_disk_leaves_memory_for_others)
{
    struct two two;
    ssize_t r = 0;

    open_two(&two, SMALL, 0);
    for (uint64_t i = 0; i < 200 && r >= 0; i++)
        r = write_zs(&two.full, i, 0, CHUNK);
    ck_assert_int_eq(r, -EAGAIN);
    for (uint64_t i = 0; i < 200; i++)
        ck_assert_int_eq(write_zs(&two.good, i, 0, CHUNK), CHUNK);
    ck_assert_int_eq(write_zs(&two.full, 300, 0, CHUNK), -EAGAIN);
    close_two(&two);
}
END_TEST

START_TEST(a_full_disk_fails_no_request_of_others)
{
    struct two two;
    struct cache_pin pinned;

    open_two(&two, NARROW, CACHE_FAILURES_MAX + 1);
    for (uint64_t i = 0; i < 20; i++) {
        ck_assert_int_eq(write_zs(&two.good, i, 0, CHUNK), CHUNK);
        ck_assert_int_eq(
            pin(&two.good, 100 + i, 0, CHUNK, CACHE_WAIT_MEMORY, &pinned), 0);
        cache_unpin(two.good.cache, &pinned, 1);
    }
    close_two(&two);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        writers_wait_for_flushes,
        what_is_written_while_pinning_waits_needs_no_memory_again,
        the_least_cache_is_large_enough,
        writers_give_up_when_flushes_fail,
        writers_that_give_way_give_up_when_flushes_fail,
        a_full_disk_leaves_memory_for_others,
        a_full_disk_fails_no_request_of_others,
        NULL,
    };

    return suite_run("cache_flush", tests);
}
