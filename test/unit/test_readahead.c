/* SPDX-License-Identifier: BSD-3-Clause */
#include <semaphore.h>

#include "file/readahead.h"
#include "file_sample.h"

static uint64_t blocks_decoded(const struct sample *sample)
{
    struct cache_stats stats;

    cache_get_stats(sample->context->cache, &stats);
    return stats.decoded;
}

static void read_piece(const struct sample *sample, struct file_reader *reader,
                       uint64_t off, size_t len)
{
    struct file_data data;
    struct fault fault;

    ck_assert_int_eq(file_read(sample->file, reader,
                               &(struct file_range){ off, len }, &data, &fault),
                     0);
    ck_assert_uint_eq(data.len, len);
    file_data_put(sample->file, &data);
}

/* Wait until more than `n` blocks are decoded. */
static void wait_for_blocks(const struct sample *sample, uint64_t n)
{
    const struct timespec pause = { .tv_nsec = 100000 };

    while (blocks_decoded(sample) <= n)
        nanosleep(&pause, NULL);
}

/* Return the number of blocks that a read without a reader decodes. */
static uint64_t blocks_of(uint64_t off, size_t len)
{
    struct sample sample;
    uint64_t n;

    sample_open_store(&sample, open_store("total-24mib"), BIG_CACHE, 0);
    read_piece(&sample, NULL, off, len);
    n = blocks_decoded(&sample);
    sample_close(&sample);
    return n;
}

START_TEST(decoding_runs_ahead_of_a_sequential_reader)
{
    struct sample sample;
    struct file_reader reader = { 0 };
    uint64_t all = blocks_of(0, 24 << 20);

    sample_open_store(&sample, open_store("total-24mib"), BIG_CACHE, 8 << 20);
    for (uint64_t off = 0; off < 4 << 20; off += 128 * 1024)
        read_piece(&sample, &reader, off, 128 * 1024);
    wait_for_blocks(&sample, blocks_of(0, 6 << 20));
    for (uint64_t off = 4 << 20; off < 24 << 20; off += 128 * 1024)
        read_piece(&sample, &reader, off, 128 * 1024);
    ck_assert_uint_eq(blocks_decoded(&sample), all);
    file_reader_end(&reader);
    sample_close(&sample);
}
END_TEST

START_TEST(reads_out_of_order_by_a_few_are_still_sequential)
{
    struct sample sample;
    struct file_reader reader = { 0 };
    size_t len = 128 * 1024;

    sample_open_store(&sample, open_store("total-24mib"), BIG_CACHE, 8 << 20);
    for (uint64_t off = 0; off < 4 << 20; off += 4 * len) {
        read_piece(&sample, &reader, off + len, len);
        read_piece(&sample, &reader, off, len);
        read_piece(&sample, &reader, off + 3 * len, len);
        read_piece(&sample, &reader, off + 2 * len, len);
    }
    wait_for_blocks(&sample, blocks_of(0, 6 << 20));
    file_reader_end(&reader);
    sample_close(&sample);
}
END_TEST

START_TEST(nothing_is_decoded_ahead_of_a_random_reader)
{
    struct sample sample;
    struct file_reader reader = { 0 };
    unsigned seed = 1;

    sample_open_store(&sample, open_store("total-24mib"), BIG_CACHE, 8 << 20);
    for (int i = 0; i < 200; i++) {
        uint64_t page = (unsigned)rand_r(&seed) % (24 * 256);

        read_piece(&sample, &reader, page * 4096, 4096);
        ck_assert_uint_eq(reader.ahead_off, 0);
    }
    sample_close(&sample);
}
END_TEST

static void scan(const struct sample *sample)
{
    struct file_reader reader = { 0 };

    for (uint64_t off = 0; off < 24 << 20; off += 128 * 1024)
        read_piece(sample, &reader, off, 128 * 1024);
    file_reader_end(&reader);
}

START_TEST(a_file_that_the_cache_holds_stays_in_it)
{
    struct sample sample;
    uint64_t n;

    sample_open_store(&sample, open_store("total-24mib"), BIG_CACHE, 2 << 20);
    scan(&sample);
    n = blocks_decoded(&sample);
    scan(&sample);
    ck_assert_uint_eq(blocks_decoded(&sample), n);
    sample_close(&sample);
}
END_TEST

START_TEST(a_scan_of_a_larger_file_drives_out_nothing)
{
    struct sample sample;
    struct cache_stats stats;
    struct file_data pinned;
    struct fault fault;

    sample_open_store(&sample, open_store("total-24mib"), BIG_CACHE / 2,
                      2 << 20);
    scan(&sample);
    cache_get_stats(sample.context->cache, &stats);
    ck_assert_uint_lt(stats.used, 12 << 20);

    /*
     * A block that is pinned when the scan passes it is dropped once it is
     * unpinned.
     */
    ck_assert_int_eq(file_read(sample.file, NULL,
                               &(struct file_range){ 4 << 20, 4096 }, &pinned,
                               &fault),
                     0);
    scan(&sample);
    file_data_put(sample.file, &pinned);
    cache_get_stats(sample.context->cache, &stats);
    ck_assert_uint_lt(stats.used, 12 << 20);
    sample_close(&sample);
}
END_TEST

START_TEST(many_readers_get_as_much_as_fits_in_the_cache)
{
    enum {
        NREADERS = 8,
        LEN = 128 * 1024,
        PART = 6 << 20, /* read by each */
        STEP = 2 << 20  /* from the start of one to that of the next */
    };
    struct sample sample;
    struct file_reader readers[NREADERS] = { 0 };
    struct file_reader *first = &readers[0];

    sample_open_store(&sample, open_store("total-24mib"), 20 << 20, 5 << 20);
    for (uint64_t off = 0; off < PART; off += LEN) {
        for (uint64_t i = 0; i < NREADERS; i++)
            read_piece(&sample, &readers[i], i * STEP + off, LEN);
    }
    for (int i = 0; i < NREADERS; i++)
        ck_assert_uint_le(readers[i].ahead_off, readers[i].next_off);
    /* One of them goes on alone. */
    for (uint64_t off = PART; off < 2 * PART; off += LEN)
        read_piece(&sample, first, off, LEN);
    ck_assert_uint_gt(first->ahead_off, first->next_off);
    for (int i = 0; i < NREADERS; i++)
        file_reader_end(&readers[i]);
    sample_close(&sample);
}
END_TEST

/* Keeps a worker busy until it may end. */
struct busy {
    struct pool_task task;
    sem_t *go_on;
};

static void be_busy(struct pool_task *task)
{
    sem_wait(((struct busy *)(void *)task)->go_on);
}

static void wait_for_tasks(const struct sample *sample)
{
    struct readahead *ahead = sample->file->constant.ahead;

    pthread_mutex_lock(&ahead->lock);
    while (ahead->ntasks > 0)
        pthread_cond_wait(&ahead->finished, &ahead->lock);
    pthread_mutex_unlock(&ahead->lock);
}

START_TEST(a_pool_that_is_late_decodes_nothing_again)
{
    struct sample sample;
    struct file_reader reader = { 0 };
    struct busy busy[2]; /* as many as there are workers */
    uint64_t all = blocks_of(0, 24 << 20);
    sem_t go_on;

    sem_init(&go_on, 0, 0);
    /* The cache is so small that the chunks behind the reader are dropped, and
       the read-ahead so short that its first tasks are many windows late. */
    sample_open_store(&sample, open_store("total-24mib"), BIG_CACHE / 2,
                      256 << 10);
    for (int i = 0; i < 2; i++) {
        busy[i] = (struct busy){ .task = { .run = be_busy }, .go_on = &go_on };
        pool_submit(sample.context->pool, &busy[i].task);
    }
    for (uint64_t off = 0; off < 24 << 20; off += 128 * 1024)
        read_piece(&sample, &reader, off, 128 * 1024);
    ck_assert_uint_eq(blocks_decoded(&sample), all);
    for (int i = 0; i < 2; i++)
        sem_post(&go_on);
    wait_for_tasks(&sample);
    ck_assert_uint_eq(blocks_decoded(&sample), all);
    file_reader_end(&reader);
    sample_close(&sample);
    sem_destroy(&go_on);
}
END_TEST

START_TEST(a_file_can_be_closed_while_it_is_decoded_ahead)
{
    struct sample sample;

    for (int i = 0; i < 20; i++) {
        struct file_reader reader = { 0 };

        sample_open_store(&sample, open_store("total-24mib"), BIG_CACHE,
                          8 << 20);
        for (uint64_t off = 0; off < 5 << 16; off += 1 << 16)
            read_piece(&sample, &reader, off, 1 << 16);
        ck_assert_uint_gt(reader.ahead_off, 0);
        sample_close(&sample);
        file_reader_end(&reader);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        decoding_runs_ahead_of_a_sequential_reader,
        reads_out_of_order_by_a_few_are_still_sequential,
        nothing_is_decoded_ahead_of_a_random_reader,
        a_file_that_the_cache_holds_stays_in_it,
        a_scan_of_a_larger_file_drives_out_nothing,
        many_readers_get_as_much_as_fits_in_the_cache,
        a_pool_that_is_late_decodes_nothing_again,
        a_file_can_be_closed_while_it_is_decoded_ahead,
        NULL,
    };

    return suite_run("readahead", tests);
}
