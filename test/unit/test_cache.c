/* SPDX-License-Identifier: BSD-3-Clause */
#include "cache/buffer.h"
#include "cache_mock.h"

START_TEST(bytes_come_as_decoded_up_to_the_end_of_the_chunk)
{
    struct mock mock;
    struct cache_pin pinned;

    mock_open(&mock, 1 << 20);
    ck_assert_int_eq(pin(&mock, 3, 5000, 1 << 20, CACHE_WAIT_MEMORY, &pinned),
                     0);
    ck_assert_uint_eq(pinned.len, CHUNK - 5000);
    ck_assert(is_right(&pinned, 3, 5000));
    cache_unpin(mock.cache, &pinned, 1);
    mock_close(&mock);
}
END_TEST

START_TEST(a_large_chunk_comes_in_parts_of_a_megabyte)
{
    struct mock mock;
    struct cache_pin pinned;
    uint32_t off = 0;

    mock_open(&mock, 4 << 20);
    mock.shape.nbytes = (5 << 20) + 1;
    mock.shape.blocksize = 48 * 1024;
    mock.shape.nblocks = 107;
    while (off < mock.shape.nbytes) {
        ck_assert_int_eq(
            pin(&mock, 3, off, 8 << 20, CACHE_WAIT_MEMORY, &pinned), 0);
        ck_assert_uint_le(pinned.len, 1 << 20);
        ck_assert(is_right(&pinned, 3, off));
        off += pinned.len;
        cache_unpin(mock.cache, &pinned, 1);
    }
    ck_assert_uint_eq(off, mock.shape.nbytes);
    ck_assert_uint_eq(mock.ndescribed, 1);
    mock_close(&mock);
}
END_TEST

START_TEST(a_few_blocks_of_a_large_chunk_take_up_little)
{
    struct mock mock;
    size_t before;

    mock_open(&mock, 8 << 20);
    mock.shape.nbytes = 4 << 20;
    mock.shape.nblocks = (4 << 20) / BLOCK;
    before = stats_of(&mock).used;
    for (uint64_t i = 0; i < 16; i++)
        touch(&mock, i, (uint32_t)i * 100000, BLOCK);
    ck_assert_uint_le(stats_of(&mock).used - before, 16 * 80 * 1024);
    ck_assert_uint_eq(stats_of(&mock).evicted, 0);
    for (uint32_t off = 0; off < 4 << 20; off += 20000)
        touch(&mock, 3, off, 20000);
    mock_close(&mock);
}
END_TEST

/* Blocks of arrays have any size. */
START_TEST(a_block_of_an_odd_size_takes_up_little)
{
    struct mock mock;
    size_t before;

    mock_open(&mock, 8 << 20);
    mock.shape.blocksize = 50000;
    mock.shape.nblocks = 40;
    mock.shape.nbytes = 40 * 50000;
    before = stats_of(&mock).used;
    for (uint64_t i = 0; i < 16; i++)
        touch(&mock, i, (uint32_t)i * 100000, 50000);
    ck_assert_uint_le(stats_of(&mock).used - before, 16 * 60000);
    mock_close(&mock);
}
END_TEST

START_TEST(what_is_there_is_not_decoded_again)
{
    struct mock mock;

    mock_open(&mock, 1 << 20);
    touch(&mock, 3, 0, CHUNK);
    touch(&mock, 3, 100, 10000);
    ck_assert_uint_eq(mock.nruns, 1);
    ck_assert_uint_eq(mock.ndescribed, 1);
    ck_assert_uint_eq(stats_of(&mock).hits, 1);
    ck_assert_uint_eq(stats_of(&mock).misses, 1);
    mock_close(&mock);
}
END_TEST

START_TEST(only_blocks_that_are_touched_and_missing_are_decoded)
{
    struct mock mock;

    mock_open(&mock, 1 << 20);
    touch(&mock, 3, 5 * BLOCK + 10, BLOCK);
    ck_assert_uint_eq(stats_of(&mock).decoded, 2);
    ck_assert_uint_eq(mock.nruns, 1);
    touch(&mock, 3, 4 * BLOCK, 4 * BLOCK);
    ck_assert_uint_eq(stats_of(&mock).decoded, 4);
    ck_assert_uint_eq(mock.nruns, 3);
    mock_close(&mock);
}
END_TEST

START_TEST(the_first_block_is_decoded_first_where_others_need_it)
{
    struct mock mock;

    mock_open(&mock, 8 << 20);
    mock.shape.needs_first = true;
    mock.shape.nbytes = 3 << 20;
    mock.shape.nblocks = (3 << 20) / BLOCK;
    touch(&mock, 3, 2 << 20, BLOCK);
    ck_assert_uint_eq(stats_of(&mock).decoded, 2);
    touch(&mock, 3, 0, 1 << 20);
    touch(&mock, 4, 0, 1 << 20);
    mock_close(&mock);
}
END_TEST

START_TEST(a_bad_block_costs_only_its_own_bytes)
{
    struct mock mock;
    struct cache_pin pinned;

    mock_open(&mock, 1 << 20);
    mock.bad = 3;
    ck_assert_int_eq(pin(&mock, 0, 10, CHUNK, CACHE_WAIT_MEMORY, &pinned), 0);
    ck_assert_uint_eq(pinned.len, 3 * BLOCK - 10);
    ck_assert(is_right(&pinned, 0, 10));
    cache_unpin(mock.cache, &pinned, 1);
    ck_assert_int_eq(
        pin(&mock, 0, 3 * BLOCK, CHUNK, CACHE_WAIT_MEMORY, &pinned), -EBADMSG);
    touch(&mock, 0, 4 * BLOCK, CHUNK);
    mock_close(&mock);
}
END_TEST

static void decode_ahead(struct mock *mock, uint64_t chunk_no, uint32_t off,
                         uint32_t len)
{
    struct cache_pin pinned;

    ck_assert_int_eq(pin(mock, chunk_no, off, len, CACHE_WAIT_NEVER, &pinned),
                     0);
    cache_unpin(mock->cache, &pinned, 1);
}

START_TEST(what_is_decoded_ahead_counts_once_when_it_is_asked_for)
{
    struct mock mock;

    mock_open(&mock, 1 << 20);
    decode_ahead(&mock, 0, 0, 3 * BLOCK);
    ck_assert_uint_eq(stats_of(&mock).ahead, 3);
    ck_assert_uint_eq(stats_of(&mock).ahead_used, 0);
    ck_assert_uint_eq(stats_of(&mock).hits, 0);
    touch(&mock, 0, BLOCK, 1);
    touch(&mock, 0, BLOCK, 1);
    ck_assert_uint_eq(stats_of(&mock).ahead_used, 1);
    touch(&mock, 0, 0, CHUNK);
    ck_assert_uint_eq(stats_of(&mock).ahead_used, 3);
    ck_assert_uint_eq(stats_of(&mock).ahead, 3);
    ck_assert_uint_eq(stats_of(&mock).ahead_wasted, 0);
    mock_close(&mock);
}
END_TEST

START_TEST(what_is_decoded_ahead_and_evicted_is_wasted)
{
    struct mock mock;

    mock_open(&mock, CHUNK + ENTRY_MAX);
    decode_ahead(&mock, 0, 0, CHUNK);
    touch(&mock, 0, 0, 1);
    touch(&mock, 1, 0, CHUNK);
    ck_assert_uint_eq(stats_of(&mock).ahead, NBLOCKS);
    ck_assert_uint_eq(stats_of(&mock).ahead_used, 1);
    ck_assert_uint_eq(stats_of(&mock).ahead_wasted, NBLOCKS - 1);
    touch(&mock, 0, 0, CHUNK);
    ck_assert_uint_eq(stats_of(&mock).ahead_used, 1);
    mock_close(&mock);
}
END_TEST

START_TEST(a_block_that_failed_is_tried_again)
{
    struct mock mock;
    struct cache_pin pinned;

    mock_open(&mock, 1 << 20);
    mock.bad = 0;
    ck_assert_int_eq(pin(&mock, 0, 0, 1, CACHE_WAIT_MEMORY, &pinned), -EBADMSG);
    mock.bad = NOTHING_BAD;
    touch(&mock, 0, 0, CHUNK);
    mock_close(&mock);
}
END_TEST

START_TEST(the_least_recently_used_chunk_goes_first)
{
    struct mock mock;

    mock_open(&mock, 3 * (CHUNK + ENTRY_MAX));
    touch(&mock, 1, 0, CHUNK);
    touch(&mock, 2, 0, CHUNK);
    touch(&mock, 3, 0, CHUNK);
    touch(&mock, 1, 0, 1);
    touch(&mock, 4, 0, CHUNK);
    ck_assert_uint_eq(mock.nruns, 4);
    touch(&mock, 1, 0, CHUNK);
    touch(&mock, 3, 0, CHUNK);
    ck_assert_uint_eq(mock.nruns, 4);
    touch(&mock, 2, 0, CHUNK);
    ck_assert_uint_eq(mock.nruns, 5);
    mock_close(&mock);
}
END_TEST

START_TEST(what_is_pinned_stays)
{
    struct mock mock;
    struct cache_pin pins[2];
    struct cache_pin more;

    mock_open(&mock, 2 * (CHUNK + ENTRY_MAX));
    ck_assert_int_eq(pin(&mock, 1, 0, CHUNK, CACHE_WAIT_MEMORY, &pins[0]), 0);
    ck_assert_int_eq(pin(&mock, 2, 0, CHUNK, CACHE_WAIT_DECODE, &pins[1]), 0);
    ck_assert_int_eq(pin(&mock, 3, 0, CHUNK, CACHE_WAIT_DECODE, &more),
                     -EAGAIN);
    ck_assert(is_right(&pins[0], 1, 0));
    ck_assert(is_right(&pins[1], 2, 0));
    cache_unpin(mock.cache, &pins[0], 1);
    ck_assert_int_eq(pin(&mock, 3, 0, CHUNK, CACHE_WAIT_DECODE, &more), 0);
    ck_assert(is_right(&pins[1], 2, 0));
    ck_assert(is_right(&more, 3, 0));
    cache_unpin(mock.cache, &pins[1], 1);
    cache_unpin(mock.cache, &more, 1);
    mock_close(&mock);
}
END_TEST

START_TEST(a_buffer_is_used_again_for_the_next_chunk)
{
    struct mock mock;
    struct cache_pin pinned;
    const uint8_t *first;

    mock_open(&mock, CHUNK + ENTRY_MAX);
    ck_assert_int_eq(pin(&mock, 1, 0, CHUNK, CACHE_WAIT_MEMORY, &pinned), 0);
    first = pinned.data;
    cache_unpin(mock.cache, &pinned, 1);
    ck_assert_int_eq(pin(&mock, 2, 0, CHUNK, CACHE_WAIT_MEMORY, &pinned), 0);
    ck_assert_ptr_eq(pinned.data, first);
    ck_assert(is_right(&pinned, 2, 0));
    ck_assert_uint_gt(stats_of(&mock).evicted, 0);
    cache_unpin(mock.cache, &pinned, 1);
    mock_close(&mock);
}
END_TEST

START_TEST(how_chunks_are_laid_out_outlives_their_blocks)
{
    enum {
        LEAST = 4 * CHUNK / 8 / ENTRY_MAX,
        MANY = 64 * LEAST,
    };
    struct mock mock;

    /* An eighth of the cache is for chunks without blocks. */
    mock_open(&mock, 4 * CHUNK);
    for (uint64_t chunk_no = 0; chunk_no < MANY; chunk_no++)
        touch(&mock, chunk_no, 0, CHUNK);
    ck_assert_uint_eq(mock.ndescribed, MANY);
    for (uint64_t chunk_no = MANY - LEAST; chunk_no < MANY; chunk_no++)
        touch(&mock, chunk_no, 0, CHUNK);
    ck_assert_uint_eq(mock.ndescribed, MANY);
    for (uint64_t chunk_no = 0; chunk_no < LEAST; chunk_no++)
        touch(&mock, chunk_no, 0, CHUNK);
    ck_assert_uint_eq(mock.ndescribed, MANY + LEAST);
    mock_close(&mock);
}
END_TEST

/* Pin the first block of a chunk, which is not likely to be wanted again. */
static void pin_once(struct mock *mock, uint64_t chunk_no,
                     struct cache_pin *out)
{
    const struct cache_range range = {
        .file = &mock->file, .chunk_no = chunk_no, .len = BLOCK, .once = true
    };

    ck_assert_int_eq(
        cache_pin(mock->cache, &range, CACHE_WAIT_MEMORY, mock, out), 0);
    ck_assert(is_right(out, chunk_no, 0));
}

static void touch_once(struct mock *mock, uint64_t chunk_no)
{
    struct cache_pin pinned;

    pin_once(mock, chunk_no, &pinned);
    cache_unpin(mock->cache, &pinned, 1);
}

START_TEST(what_is_wanted_once_leaves_its_buffer_to_the_next)
{
    struct mock mock;
    struct cache_pin pinned;
    const uint8_t *first;

    mock_open(&mock, 8 * CHUNK);
    pin_once(&mock, 1, &pinned);
    first = pinned.data;
    cache_unpin(mock.cache, &pinned, 1);
    ck_assert_uint_gt(stats_of(&mock).evicted, 0);
    pin_once(&mock, 2, &pinned);
    ck_assert_ptr_eq(pinned.data, first);

    /* But not if it is wanted by another one meanwhile, */
    touch(&mock, 2, 0, BLOCK);
    cache_unpin(mock.cache, &pinned, 1);
    touch_once(&mock, 2);
    ck_assert_uint_eq(mock.nruns, 2);

    /* nor if it comes back soon. */
    touch_once(&mock, 1);
    ck_assert_uint_eq(mock.nruns, 3);
    touch_once(&mock, 1);
    ck_assert_uint_eq(mock.nruns, 3);
    ck_assert_uint_eq(mock.ndescribed, 2);
    mock_close(&mock);
}
END_TEST

START_TEST(what_comes_back_after_all_else_leaves_again)
{
    enum {
        MANY = 16
    };
    struct mock mock;

    mock_open(&mock, MANY / 2 * BLOCK + 2 * ENTRY_MAX * MANY);
    for (unsigned k = 1; k <= 3; k++) {
        for (uint64_t chunk_no = 0; chunk_no < MANY; chunk_no++)
            touch_once(&mock, chunk_no);
        ck_assert_uint_eq(mock.nruns, k * MANY);
    }
    mock_close(&mock);
}
END_TEST

START_TEST(spare_buffers_of_another_size_make_way)
{
    struct mock mock;

    mock_open(&mock, 4 * CHUNK);
    for (uint64_t chunk_no = 0; chunk_no < 200; chunk_no++) {
        mock.shape.nblocks = 1 + chunk_no % NBLOCKS;
        mock.shape.nbytes = mock.shape.nblocks * BLOCK;
        touch(&mock, chunk_no, 0, mock.shape.nbytes);
        ck_assert_uint_le(stats_of(&mock).used + stats_of(&mock).spare,
                          4 * CHUNK + 4 * CHUNK / 8);
    }
    mock_close(&mock);
}
END_TEST

START_TEST(more_than_the_cache_can_hold_is_refused)
{
    struct mock mock;
    struct cache_pin pinned;

    mock_open(&mock, 1 << 20);
    touch(&mock, 1, 0, CHUNK);

    mock.shape.blocksize = mock.shape.nbytes = 1 << 20;
    mock.shape.nblocks = 1;
    ck_assert_int_eq(pin(&mock, 2, 0, 1, CACHE_WAIT_MEMORY, &pinned), -ENOTSUP);
    mock.shape.blocksize = mock.shape.nbytes = 1 << 19;
    mock.shape.scratch = CACHE_WORK_MAX + (1 << 19);
    ck_assert_int_eq(pin(&mock, 3, 0, 1, CACHE_WAIT_MEMORY, &pinned), -ENOTSUP);
    mock.shape.scratch = 0;
    mock.shape.nbytes = mock.shape.nblocks = 1u << 31;
    mock.shape.blocksize = 1;
    ck_assert_int_eq(pin(&mock, 4, 0, 1, CACHE_WAIT_MEMORY, &pinned), -ENOTSUP);

    touch(&mock, 1, 0, CHUNK);
    ck_assert_uint_eq(mock.nruns, 1);
    mock_close(&mock);
}
END_TEST

START_TEST(chunks_without_blocks_are_kept_and_evicted_too)
{
    struct mock mock;
    struct cache_pin pinned;

    mock_open(&mock, 64 * 1024);
    mock.shape.nbytes = 1 << 30;
    mock.shape.blocksize = mock.shape.nblocks = 0;
    for (uint64_t chunk_no = 0; chunk_no < 2000; chunk_no++) {
        ck_assert_int_eq(
            pin(&mock, chunk_no, 7, UINT32_MAX, CACHE_WAIT_MEMORY, &pinned), 0);
        ck_assert_ptr_null(pinned.data);
        ck_assert_uint_eq(pinned.len, (1 << 30) - 7);
        cache_unpin(mock.cache, &pinned, 1);
    }
    ck_assert_int_eq(pin(&mock, 1999, 7, 1, CACHE_WAIT_MEMORY, &pinned), 0);
    cache_unpin(mock.cache, &pinned, 1);
    ck_assert_uint_eq(mock.ndescribed, 2000);
    ck_assert_int_eq(pin(&mock, 0, 7, 1, CACHE_WAIT_MEMORY, &pinned), 0);
    cache_unpin(mock.cache, &pinned, 1);
    ck_assert_uint_eq(mock.ndescribed, 2001);
    ck_assert_uint_le(stats_of(&mock).used, 64 * 1024);
    mock_close(&mock);
}
END_TEST

START_TEST(chunks_give_way_to_what_others_take_up)
{
    struct mock mock;
    size_t counted = 0;

    mock_open(&mock, 8 * (CHUNK + ENTRY_MAX));
    for (uint64_t chunk_no = 0; chunk_no < 8; chunk_no++)
        touch(&mock, chunk_no, 0, CHUNK);
    ck_assert_uint_ge(stats_of(&mock).used, 7 * CHUNK);
    cache_count_other(mock.cache, &counted, 4 * (CHUNK + ENTRY_MAX));
    ck_assert_uint_le(stats_of(&mock).used, 4 * (CHUNK + ENTRY_MAX));
    for (uint64_t chunk_no = 0; chunk_no < 8; chunk_no++)
        touch(&mock, chunk_no, 0, CHUNK);
    ck_assert_uint_le(stats_of(&mock).used, 4 * (CHUNK + ENTRY_MAX));

    /* A count that exceeds the whole cache blocks nobody. */
    cache_count_other(mock.cache, &counted, 100 * CHUNK);
    ck_assert_uint_eq(stats_of(&mock).other, 100 * CHUNK);
    touch(&mock, 0, 0, CHUNK);
    cache_count_other(mock.cache, &counted, 0);
    for (uint64_t chunk_no = 0; chunk_no < 8; chunk_no++)
        touch(&mock, chunk_no, 0, CHUNK);
    ck_assert_uint_ge(stats_of(&mock).used, 7 * CHUNK);
    mock_close(&mock);
}
END_TEST

START_TEST(a_dropped_file_leaves_nothing_behind)
{
    struct mock mock;
    size_t before;

    mock_open(&mock, 16 << 20);
    before = stats_of(&mock).used;
    for (uint64_t chunk_no = 0; chunk_no < 150; chunk_no++)
        touch(&mock, chunk_no, 0, CHUNK);
    ck_assert_uint_gt(stats_of(&mock).used, before);
    cache_file_drop(mock.cache, &mock.file);
    ck_assert_uint_eq(stats_of(&mock).used, before);
    touch(&mock, 1, 0, CHUNK);
    mock_close(&mock);
}
END_TEST

START_TEST(buffers_of_a_row_lie_apart_and_fill_it)
{
    static const size_t sizes[] = { 64 << 10, 256 << 10, 1 << 20 };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t size = sizes[i];
        struct buffer_stack rest = { 0 };
        uint8_t *first = buffer_new_row(size, &rest);
        uint8_t *end = first + BUFFER_ROW;

        ck_assert_ptr_nonnull(first);
        ck_assert_uint_eq((uintptr_t)first % BUFFER_ROW, 0);
        ck_assert_uint_eq(rest.nbytes, BUFFER_ROW - size);
        memset(first, 1, size);
        for (uint8_t *next = first + size; next < end; next += size) {
            uint8_t *buf = buffer_take(&rest, size);

            ck_assert_ptr_eq(buf, next);
            memset(buf, 2, size);
            ck_assert_uint_eq(buf[-1], buf == first + size ? 1 : 0);
            memset(buf, 0, size);
        }
        ck_assert_uint_eq(rest.count, 0);
        for (uint8_t *next = first; next < end; next += size)
            buffer_free(next, size);
    }
}
END_TEST

START_TEST(buffers_that_fill_no_row_come_one_by_one)
{
    static const size_t sizes[] = { 1024, 68 << 10, 2 << 20, 3 << 20 };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct buffer_stack rest = { 0 };
        uint8_t *buf = buffer_new_row(sizes[i], &rest);

        ck_assert_ptr_nonnull(buf);
        ck_assert_uint_eq(rest.count, 0);
        memset(buf, 1, sizes[i]);
        buffer_free(buf, sizes[i]);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        bytes_come_as_decoded_up_to_the_end_of_the_chunk,
        a_large_chunk_comes_in_parts_of_a_megabyte,
        a_few_blocks_of_a_large_chunk_take_up_little,
        a_block_of_an_odd_size_takes_up_little,
        what_is_there_is_not_decoded_again,
        only_blocks_that_are_touched_and_missing_are_decoded,
        the_first_block_is_decoded_first_where_others_need_it,
        a_bad_block_costs_only_its_own_bytes,
        what_is_decoded_ahead_counts_once_when_it_is_asked_for,
        what_is_decoded_ahead_and_evicted_is_wasted,
        a_block_that_failed_is_tried_again,
        the_least_recently_used_chunk_goes_first,
        what_is_pinned_stays,
        a_buffer_is_used_again_for_the_next_chunk,
        how_chunks_are_laid_out_outlives_their_blocks,
        what_is_wanted_once_leaves_its_buffer_to_the_next,
        what_comes_back_after_all_else_leaves_again,
        spare_buffers_of_another_size_make_way,
        more_than_the_cache_can_hold_is_refused,
        chunks_without_blocks_are_kept_and_evicted_too,
        buffers_of_a_row_lie_apart_and_fill_it,
        buffers_that_fill_no_row_come_one_by_one,
        chunks_give_way_to_what_others_take_up,
        a_dropped_file_leaves_nothing_behind,
        NULL,
    };

    return suite_run("cache", tests);
}
