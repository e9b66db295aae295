/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>

#include "cache_write_mock.h"

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

START_TEST(orphans_stay_in_memory_and_leave_half_of_it)
{
    struct cache_stats stats;
    struct mock mock;

    open_writable(&mock, SMALL);
    for (uint64_t i = 0; i < 3; i++)
        ck_assert_int_eq(write_zs(&mock, i, 0, CHUNK), CHUNK);
    ck_assert(cache_orphan(mock.cache, &mock.file));
    ck_assert(!cache_has_uncommitted(mock.cache, &mock.file));
    cache_get_stats(mock.cache, &stats);
    ck_assert_uint_eq(stats.uncommitted, 0);
    for (uint64_t i = 10; i < 30; i++)
        touch(&mock, i, 0, CHUNK);
    for (uint64_t i = 0; i < 3; i++)
        check_chunk(&mock, i, 0, CHUNK);
    for (uint64_t i = 3; i < 5; i++)
        ck_assert_int_eq(write_zs(&mock, i, 0, CHUNK), CHUNK);
    ck_assert(!cache_orphan(mock.cache, &mock.file));
    check_chunk(&mock, 4, 0, 0);
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
        orphans_stay_in_memory_and_leave_half_of_it,
        a_chunk_that_could_not_be_encoded_is_refused,
        readers_wait_for_blocks_that_move,
        NULL,
    };

    return suite_run("cache_write", tests);
}
