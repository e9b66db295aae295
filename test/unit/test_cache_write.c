/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>

#include "cache/budget.h"
#include "cache_mock.h"

enum {
    NARROW = 2 * CHUNK, /* capacity for one chunk and a bit, */
    SMALL = 8 * CHUNK,  /* for few chunks */
    LARGE = 4 << 20,
};

static uint8_t zs[CHUNK];

static void open_writable(struct mock *mock, size_t capacity)
{
    memset(zs, 'z', sizeof(zs));
    mock_open(mock, capacity);
    mock->shape.encode = CHUNK;
}

static ssize_t write_zs(struct mock *mock, uint64_t chunk_no, uint32_t off,
                        uint32_t len)
{
    const struct cache_range range = {
        .file = &mock->file, .chunk_no = chunk_no, .off = off, .len = len
    };

    return cache_write(mock->cache, &range, mock, zs);
}

/* Does a chunk have its old content, except for the written bytes? */
static void check_chunk(struct mock *mock, uint64_t chunk_no, uint32_t off,
                        uint32_t len)
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
static bool begin_writeback(struct mock *mock, enum cache_kind kind,
                            struct cache_writeback *out)
{
    return cache_begin_writeback(mock->cache, &mock->file, kind, UINT64_MAX,
                                 out);
}

/* Commit a chunk that is under writeback. */
static void commit(struct mock *mock, const struct cache_writeback *writeback)
{
    struct cache_pinned_chunk pinned;

    ck_assert_int_eq(cache_pin_chunk(mock->cache, writeback, writeback->nbytes,
                                     mock, &pinned),
                     0);
    cache_unpin_chunk(mock->cache, writeback, &pinned);
    cache_stage(mock->cache, writeback);
    cache_mark_clean(mock->cache, &mock->file);
}

START_TEST(what_surrounds_written_bytes_is_decoded)
{
    struct mock mock;

    open_writable(&mock, LARGE);
    ck_assert_int_eq(write_zs(&mock, 0, 100, 2 * BLOCK), 2 * BLOCK);
    ck_assert_uint_eq(mock.nruns, 2);
    check_chunk(&mock, 0, 100, 2 * BLOCK);
    mock_close(&mock);
}
END_TEST

START_TEST(a_chunk_that_is_written_whole_is_not_decoded)
{
    struct mock mock;

    open_writable(&mock, LARGE);
    ck_assert_int_eq(write_zs(&mock, 0, 0, CHUNK), CHUNK);
    check_chunk(&mock, 0, 0, CHUNK);
    ck_assert_uint_eq(mock.nruns, 0);
    mock_close(&mock);
}
END_TEST

START_TEST(pinned_bytes_stay_when_others_are_written)
{
    struct cache_pin pinned;
    struct mock mock;

    open_writable(&mock, LARGE);
    touch(&mock, 0, 0, 1);
    /* From here on the block is in a form that can be written to. */
    ck_assert_int_eq(write_zs(&mock, 0, 0, 1), 1);
    ck_assert_int_eq(pin(&mock, 0, BLOCK, BLOCK, CACHE_WAIT_MEMORY, &pinned),
                     0);
    ck_assert_int_eq(write_zs(&mock, 0, BLOCK + 10, 10), 10);
    ck_assert(is_right(&pinned, 0, BLOCK));
    cache_unpin(mock.cache, &pinned, 1);
    ck_assert_int_eq(pin(&mock, 0, BLOCK, BLOCK, CACHE_WAIT_MEMORY, &pinned),
                     0);
    ck_assert_uint_eq(pinned.data[10], 'z');
    cache_unpin(mock.cache, &pinned, 1);
    mock_close(&mock);
}
END_TEST

START_TEST(chunks_that_are_full_are_written_back_before_others)
{
    struct cache_writeback writeback;
    struct mock mock;

    open_writable(&mock, LARGE);
    ck_assert(!begin_writeback(&mock, CACHE_DIRTY, &writeback));
    write_zs(&mock, 0, 0, 10);
    write_zs(&mock, 1, BLOCK, CHUNK - BLOCK);
    ck_assert(!begin_writeback(&mock, CACHE_FULL, &writeback));
    write_zs(&mock, 1, 0, BLOCK);
    ck_assert(begin_writeback(&mock, CACHE_FULL, &writeback));
    ck_assert_uint_eq(writeback.chunk_no, 1);
    commit(&mock, &writeback);
    ck_assert(!begin_writeback(&mock, CACHE_FULL, &writeback));
    ck_assert_uint_eq(cache_count_unsaved(mock.cache, &mock.file), 10);
    ck_assert(begin_writeback(&mock, CACHE_DIRTY, &writeback));
    ck_assert_uint_eq(writeback.chunk_no, 0);
    commit(&mock, &writeback);
    ck_assert(!cache_has_uncommitted(mock.cache, &mock.file));
    ck_assert_uint_eq(cache_count_unsaved(mock.cache, &mock.file), 0);
    mock_close(&mock);
}
END_TEST

START_TEST(only_what_was_dirty_before_is_tagged)
{
    struct cache_writeback writeback;
    struct mock mock;

    open_writable(&mock, LARGE);
    write_zs(&mock, 0, 0, 10);
    ck_assert_uint_eq(cache_tag_writeback(mock.cache, &mock.file), 1);
    write_zs(&mock, 1, 0, CHUNK);
    write_zs(&mock, 0, 0, CHUNK);
    ck_assert(begin_writeback(&mock, CACHE_TAGGED, &writeback));
    ck_assert_uint_eq(writeback.chunk_no, 0);
    commit(&mock, &writeback);
    ck_assert(!begin_writeback(&mock, CACHE_TAGGED, &writeback));
    ck_assert(begin_writeback(&mock, CACHE_FULL, &writeback));
    commit(&mock, &writeback);
    mock_close(&mock);
}
END_TEST

START_TEST(a_chunk_in_writeback_stays_while_it_is_written_to)
{
    struct cache_pinned_chunk pinned;
    struct cache_writeback writeback;
    struct mock mock;

    open_writable(&mock, LARGE);
    write_zs(&mock, 0, 0, 10);
    ck_assert(begin_writeback(&mock, CACHE_DIRTY, &writeback));
    ck_assert_int_eq(cache_pin_chunk(mock.cache, &writeback, writeback.nbytes,
                                     &mock, &pinned),
                     0);
    ck_assert_uint_eq(pinned.npieces, 1);
    write_zs(&mock, 0, 20, 10);
    ck_assert_uint_eq(pinned.pieces[0][9], 'z');
    ck_assert_uint_eq(pinned.pieces[0][20], byte_at(0, 20));
    ck_assert_uint_eq(pinned.pieces[0][CHUNK - 1], byte_at(0, CHUNK - 1));

    /*
     * The chunk is dirty again, but a second thread cannot begin writeback yet.
     */
    struct cache_writeback other;

    ck_assert(!begin_writeback(&mock, CACHE_DIRTY, &other));
    cache_unpin_chunk(mock.cache, &writeback, &pinned);
    cache_stage(mock.cache, &writeback);
    cache_mark_clean(mock.cache, &mock.file);
    ck_assert(cache_has_uncommitted(mock.cache, &mock.file));
    ck_assert(begin_writeback(&mock, CACHE_DIRTY, &other));
    commit(&mock, &other);
    ck_assert(!cache_has_uncommitted(mock.cache, &mock.file));
    mock_close(&mock);
}
END_TEST

/* Commit the first bytes of chunk 0. */
static void commit_part(struct mock *mock, uint32_t nbytes)
{
    struct cache_pinned_chunk pinned;
    struct cache_writeback writeback;

    ck_assert(begin_writeback(mock, CACHE_DIRTY, &writeback));
    ck_assert_int_eq(
        cache_pin_chunk(mock->cache, &writeback, nbytes, mock, &pinned), 0);
    cache_unpin_chunk(mock->cache, &writeback, &pinned);
    cache_stage(mock->cache, &writeback);
    cache_mark_clean(mock->cache, &mock->file);
}

START_TEST(what_lies_behind_the_end_stays_dirty)
{
    struct mock mock;

    open_writable(&mock, LARGE);
    write_zs(&mock, 0, 0, 2 * BLOCK);
    commit_part(&mock, BLOCK + 1);
    ck_assert_uint_eq(mock.nruns, 0);
    ck_assert(cache_has_uncommitted(mock.cache, &mock.file));
    ck_assert_uint_eq(cache_count_unsaved(mock.cache, &mock.file), BLOCK - 1);
    commit_part(&mock, 2 * BLOCK);
    ck_assert(!cache_has_uncommitted(mock.cache, &mock.file));
    check_chunk(&mock, 0, 0, 2 * BLOCK);
    mock_close(&mock);
}
END_TEST

START_TEST(what_was_cut_off_does_not_stay_dirty)
{
    struct mock mock;

    open_writable(&mock, LARGE);
    write_zs(&mock, 0, 0, 2 * BLOCK);
    ck_assert(cache_mark_dirty(mock.cache, &mock.file, 0, BLOCK));
    commit_part(&mock, BLOCK);
    ck_assert(!cache_has_uncommitted(mock.cache, &mock.file));
    mock_close(&mock);
}
END_TEST

START_TEST(what_was_written_back_beyond_the_end_is_dirty_again)
{
    struct cache_pinned_chunk pinned;
    struct cache_writeback writeback;
    struct mock mock;

    open_writable(&mock, LARGE);
    write_zs(&mock, 0, 0, 2 * BLOCK);
    ck_assert(begin_writeback(&mock, CACHE_DIRTY, &writeback));
    ck_assert_int_eq(
        cache_pin_chunk(mock.cache, &writeback, 2 * BLOCK, &mock, &pinned), 0);
    cache_unpin_chunk(mock.cache, &writeback, &pinned);
    cache_redirty(mock.cache, &writeback);
    commit_part(&mock, BLOCK);
    ck_assert(cache_has_uncommitted(mock.cache, &mock.file));
    commit_part(&mock, 2 * BLOCK);
    ck_assert(!cache_has_uncommitted(mock.cache, &mock.file));
    mock_close(&mock);
}
END_TEST

START_TEST(what_could_not_be_encoded_is_dirty_again)
{
    struct cache_writeback writeback;
    struct mock mock;

    open_writable(&mock, LARGE);
    write_zs(&mock, 0, 0, CHUNK);
    ck_assert(begin_writeback(&mock, CACHE_FULL, &writeback));
    cache_redirty(mock.cache, &writeback);
    ck_assert(!begin_writeback(&mock, CACHE_FULL, &writeback));
    ck_assert(begin_writeback(&mock, CACHE_DIRTY, &writeback));
    commit(&mock, &writeback);
    mock_close(&mock);
}
END_TEST

START_TEST(a_chunk_that_can_not_be_pinned_stays_dirty)
{
    struct cache_pinned_chunk pinned;
    struct cache_writeback writeback;
    struct mock mock;

    open_writable(&mock, LARGE);
    write_zs(&mock, 0, 0, BLOCK);
    mock.bad = 3;
    ck_assert(begin_writeback(&mock, CACHE_DIRTY, &writeback));
    ck_assert_int_eq(cache_pin_chunk(mock.cache, &writeback, writeback.nbytes,
                                     &mock, &pinned),
                     -EBADMSG);
    cache_redirty(mock.cache, &writeback);
    mock.bad = NOTHING_BAD;
    ck_assert(begin_writeback(&mock, CACHE_DIRTY, &writeback));
    commit(&mock, &writeback);
    check_chunk(&mock, 0, 0, BLOCK);
    mock_close(&mock);
}
END_TEST

START_TEST(an_invalidated_chunk_is_what_it_was)
{
    struct cache_pinned_chunk pinned;
    struct cache_writeback writeback;
    struct mock mock;

    open_writable(&mock, LARGE);
    write_zs(&mock, 0, 0, 10);
    write_zs(&mock, 1, 0, 10);
    write_zs(&mock, 2, 0, 10);
    ck_assert(begin_writeback(&mock, CACHE_DIRTY, &writeback));
    cache_invalidate(mock.cache, &mock.file, 0, 2);
    ck_assert_int_eq(cache_pin_chunk(mock.cache, &writeback, writeback.nbytes,
                                     &mock, &pinned),
                     -ERESTART);
    cache_redirty(mock.cache, &writeback);
    check_chunk(&mock, 0, 0, 0);
    check_chunk(&mock, 1, 0, 0);
    cache_invalidate(mock.cache, &mock.file, 0, UINT64_MAX);
    check_chunk(&mock, 2, 0, 0);
    ck_assert(!cache_has_uncommitted(mock.cache, &mock.file));
    mock_close(&mock);
}
END_TEST

START_TEST(a_chunk_that_could_not_be_encoded_is_refused)
{
    struct mock mock;

    open_writable(&mock, CHUNK);
    ck_assert_int_eq(write_zs(&mock, 0, 0, 1), -ENOTSUP);
    mock_close(&mock);
    open_writable(&mock, SMALL);
    mock.shape.encode = CACHE_WORK_MAX + SMALL;
    ck_assert_int_eq(write_zs(&mock, 0, 0, 1), -ENOTSUP);
    mock_close(&mock);
    open_writable(&mock, SMALL);
    ck_assert_int_eq(write_zs(&mock, 0, 0, 1), 1);
    mock_close(&mock);
}
END_TEST

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

static void *pin_often(void *arg)
{
    struct mock *mock = arg;

    for (int i = 0; i < 3000; i++) {
        struct cache_pin pinned;

        ck_assert_int_eq(pin(mock, 0, 0, CHUNK, CACHE_WAIT_MEMORY, &pinned), 0);
        ck_assert_uint_eq(pinned.data[CHUNK - 1], byte_at(0, CHUNK - 1));
        cache_unpin(mock->cache, &pinned, 1);
    }
    return NULL;
}

START_TEST(readers_wait_for_blocks_that_move)
{
    struct mock mock;
    pthread_t readers[3];

    open_writable(&mock, LARGE);
    write_zs(&mock, 0, 0, 10);
    for (int i = 0; i < 3; i++)
        pthread_create(&readers[i], NULL, pin_often, &mock);
    for (int i = 0; i < 3000; i++)
        ck_assert_int_eq(write_zs(&mock, 0, BLOCK, 100), 100);
    for (int i = 0; i < 3; i++)
        pthread_join(readers[i], NULL);
    mock_close(&mock);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_surrounds_written_bytes_is_decoded,
        a_chunk_that_is_written_whole_is_not_decoded,
        pinned_bytes_stay_when_others_are_written,
        chunks_that_are_full_are_written_back_before_others,
        only_what_was_dirty_before_is_tagged,
        a_chunk_in_writeback_stays_while_it_is_written_to,
        what_lies_behind_the_end_stays_dirty,
        what_was_cut_off_does_not_stay_dirty,
        what_was_written_back_beyond_the_end_is_dirty_again,
        what_could_not_be_encoded_is_dirty_again,
        a_chunk_that_can_not_be_pinned_stays_dirty,
        an_invalidated_chunk_is_what_it_was,
        a_chunk_that_could_not_be_encoded_is_refused,
        writers_wait_for_flushes,
        what_is_written_while_pinning_waits_needs_no_memory_again,
        the_least_cache_is_large_enough,
        writers_give_up_when_flushes_fail,
        a_full_disk_leaves_memory_for_others,
        a_full_disk_fails_no_request_of_others,
        readers_wait_for_blocks_that_move,
        NULL,
    };

    return suite_run("cache_write", tests);
}
