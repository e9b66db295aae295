/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>

#include "base/clock.h"
#include "cache_mock.h"

enum {
    NTHREADS = 8
};

/* A thread that pins a range of one chunk, or of random chunks. */
struct reader {
    struct mock *mock;
    pthread_t thread;
    uint64_t chunk_no;
    uint32_t off;
    uint32_t len;
    unsigned nreads; /* number of random chunks to read, if not 0 */
    unsigned seed;
    int result;
    bool right;
};

static void *read_once(void *arg)
{
    struct reader *reader = arg;
    struct cache_pin pinned;

    reader->result = pin(reader->mock, reader->chunk_no, reader->off,
                         reader->len, CACHE_WAIT_MEMORY, &pinned);
    reader->right = false;
    if (reader->result == 0) {
        reader->right = is_right(&pinned, reader->chunk_no, reader->off);
        cache_unpin(reader->mock->cache, &pinned, 1);
    }
    return NULL;
}

static void start_all(struct reader *readers, struct mock *mock,
                      void *(*run)(void *))
{
    for (unsigned i = 0; i < NTHREADS; i++) {
        readers[i].mock = mock;
        readers[i].seed = i;
        ck_assert_int_eq(
            pthread_create(&readers[i].thread, NULL, run, &readers[i]), 0);
    }
}

static void join_all(struct reader *readers)
{
    for (unsigned i = 0; i < NTHREADS; i++)
        pthread_join(readers[i].thread, NULL);
}

static void wait_for_waiters(struct mock *mock, uint64_t n)
{
    while (stats_of(mock).waits < n)
        pause_briefly();
}

START_TEST(one_decode_serves_all_who_wait_for_it)
{
    struct mock mock;
    struct reader readers[NTHREADS] = { 0 };

    mock_open(&mock, 1 << 20);
    mock.shut = true;
    for (unsigned i = 0; i < NTHREADS; i++)
        readers[i].len = CHUNK;
    start_all(readers, &mock, read_once);
    wait_for_waiters(&mock, NTHREADS - 1);
    mock.shut = false;
    join_all(readers);

    for (unsigned i = 0; i < NTHREADS; i++) {
        ck_assert_int_eq(readers[i].result, 0);
        ck_assert(readers[i].right);
    }
    ck_assert_uint_eq(mock.nruns, 1);
    ck_assert_uint_eq(mock.ndescribed, 1);
    mock_close(&mock);
}
END_TEST

START_TEST(all_who_wait_for_a_bad_block_learn_of_it)
{
    struct mock mock;
    struct reader readers[NTHREADS] = { 0 };

    mock_open(&mock, 1 << 20);
    mock.shut = true;
    mock.bad = 0;
    for (unsigned i = 0; i < NTHREADS; i++)
        readers[i].len = BLOCK;
    start_all(readers, &mock, read_once);
    wait_for_waiters(&mock, NTHREADS - 1);
    mock.shut = false;
    join_all(readers);

    for (unsigned i = 0; i < NTHREADS; i++)
        ck_assert_int_eq(readers[i].result, -EBADMSG);
    mock.bad = NOTHING_BAD;
    touch(&mock, 0, 0, BLOCK);
    mock_close(&mock);
}
END_TEST

/* Each attempt may take long, if a server is down. */
START_TEST(a_block_that_cannot_be_read_is_tried_once_for_all_who_wait)
{
    struct mock mock;
    struct reader readers[NTHREADS] = { 0 };
    int64_t start = clock_monotonic_ns();
    int64_t took;

    mock_open(&mock, 1 << 20);
    mock.shut = true;
    mock.bad = 0;
    mock.error = -EIO;
    for (unsigned i = 0; i < NTHREADS; i++)
        readers[i].len = BLOCK;
    start_all(readers, &mock, read_once);
    wait_for_waiters(&mock, NTHREADS - 1);
    took = clock_monotonic_ns() - start;
    /* They shall have waited for most of the time. */
    while (clock_monotonic_ns() - start < 3 * took)
        pause_briefly();
    mock.shut = false;
    join_all(readers);

    for (unsigned i = 0; i < NTHREADS; i++)
        ck_assert_int_eq(readers[i].result, -EIO);
    ck_assert_uint_eq(mock.nruns, 1);
    mock.bad = NOTHING_BAD;
    touch(&mock, 0, 0, BLOCK);
    mock_close(&mock);
}
END_TEST

START_TEST(decoding_ahead_does_not_wait_for_other_decoders)
{
    struct mock mock;
    struct reader reader = { .mock = &mock, .len = BLOCK };
    struct cache_pin pinned;

    mock_open(&mock, 1 << 20);
    mock.shut = true;
    ck_assert_int_eq(pthread_create(&reader.thread, NULL, read_once, &reader),
                     0);
    while (mock.nruns == 0)
        pause_briefly();
    ck_assert_int_eq(pin(&mock, 0, 0, BLOCK, CACHE_WAIT_NEVER, &pinned), 0);
    ck_assert_uint_eq(pinned.len, BLOCK);
    cache_unpin(mock.cache, &pinned, 1);
    mock.shut = false;
    pthread_join(reader.thread, NULL);
    ck_assert(reader.right);
    ck_assert_uint_eq(mock.nruns, 1);
    mock_close(&mock);
}
END_TEST

START_TEST(what_another_thread_decodes_counts_before_a_bad_block)
{
    struct mock mock;
    struct reader first = { .mock = &mock, .len = BLOCK };
    struct reader all = { .mock = &mock, .len = CHUNK };

    mock_open(&mock, 1 << 20);
    mock.shut = true;
    mock.bad = 3;
    ck_assert_int_eq(pthread_create(&first.thread, NULL, read_once, &first), 0);
    while (mock.nruns == 0)
        pause_briefly();
    ck_assert_int_eq(pthread_create(&all.thread, NULL, read_once, &all), 0);
    while (mock.nruns < 5)
        pause_briefly();
    mock.shut = false;
    pthread_join(first.thread, NULL);
    pthread_join(all.thread, NULL);
    ck_assert_int_eq(all.result, 0);
    ck_assert(all.right);
    mock_close(&mock);
}
END_TEST

static void *read_at_random(void *arg)
{
    struct reader *reader = arg;

    reader->right = true;
    for (unsigned i = 0; i < reader->nreads; i++) {
        reader->chunk_no = 1 + (unsigned)rand_r(&reader->seed) % 20;
        reader->off = (uint32_t)rand_r(&reader->seed) % CHUNK;
        reader->len = 1 + (uint32_t)rand_r(&reader->seed) % CHUNK;
        struct cache_pin pinned;

        reader->result = pin(reader->mock, reader->chunk_no, reader->off,
                             reader->len, CACHE_WAIT_MEMORY, &pinned);
        if (reader->result < 0)
            break;
        reader->right &= is_right(&pinned, reader->chunk_no, reader->off);
        cache_unpin(reader->mock->cache, &pinned, 1);
    }
    return NULL;
}

/* Read with all threads.  Each request needs most of `capacity`. */
static void read_in_a_tight_cache(size_t capacity, bool needs_first)
{
    struct mock mock;
    struct reader readers[NTHREADS] = { 0 };

    mock_open(&mock, capacity);
    mock.shape.needs_first = needs_first;
    mock.shape.scratch = 2 * BLOCK;
    for (unsigned i = 0; i < NTHREADS; i++)
        readers[i].nreads = 300;
    start_all(readers, &mock, read_at_random);
    join_all(readers);
    for (unsigned i = 0; i < NTHREADS; i++) {
        ck_assert_int_eq(readers[i].result, 0);
        ck_assert(readers[i].right);
    }
    mock_close(&mock);
}

START_TEST(threads_that_need_all_memory_take_turns)
{
    read_in_a_tight_cache(CHUNK + 2 * BLOCK + ENTRY_MAX, false);
    read_in_a_tight_cache(CHUNK + 2 * BLOCK + ENTRY_MAX, true);
}
END_TEST

START_TEST(the_limit_holds_while_threads_compete)
{
    read_in_a_tight_cache(5 * CHUNK, false);
    read_in_a_tight_cache(5 * CHUNK + CHUNK / 2, true);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        one_decode_serves_all_who_wait_for_it,
        all_who_wait_for_a_bad_block_learn_of_it,
        a_block_that_cannot_be_read_is_tried_once_for_all_who_wait,
        decoding_ahead_does_not_wait_for_other_decoders,
        what_another_thread_decodes_counts_before_a_bad_block,
        threads_that_need_all_memory_take_turns,
        the_limit_holds_while_threads_compete,
        NULL,
    };

    return suite_run("cache_threads", tests);
}
