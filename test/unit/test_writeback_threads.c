/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <string.h>

#include "bed.h"
#include "suite.h"

enum {
    SMALL_CACHE = 1 << 20,
    SIZE = 20 * 64 * 1024 + 777,
    NTHREADS = 4,
};

/* One of several threads.  It writes every NTHREADS-th piece of a file. */
struct worker {
    pthread_t thread;
    struct bed *bed;
    unsigned number;
    uint64_t random;
};

enum {
    PIECE = 3000,
    NPIECES = SIZE / PIECE,
    NSTEPS = 300,
};

static void worker_step(struct worker *worker)
{
    struct bed *bed = worker->bed;
    uint32_t piece =
        pick(&worker->random, NPIECES / NTHREADS) * NTHREADS + worker->number;
    uint64_t off = (uint64_t)piece * PIECE;
    struct fault fault;
    int r = 0;

    switch (pick(&worker->random, 8)) {
    case 0:
        memset(bed->model + off, 0, PIECE);
        r = file_zero(bed->file, off, PIECE, &fault);
        break;
    case 1:
        if (worker->number == 0)
            r = file_sync(bed->file, &fault);
        break;
    case 2:
    case 3:
        bed_check_range(bed, off, PIECE);
        break;
    default:
        make_bytes(bed->model + off, PIECE, &worker->random);
        r = file_write(bed->file, off, bed->model + off, PIECE, &fault);
        break;
    }
    ck_assert_int_eq(r, 0);
}

static void *work(void *arg)
{
    struct worker *worker = arg;

    for (unsigned i = 0; i < NSTEPS; i++)
        worker_step(worker);
    return NULL;
}

static void *read_all(void *arg)
{
    struct worker *worker = arg;
    struct file_reader reader = { 0 };

    for (uint64_t off = 0; off < SIZE; off += 7000) {
        struct file_data data;
        struct fault fault;

        ck_assert_int_eq(file_read(worker->bed->file, &reader,
                                   &(struct file_range){ off, 50000 }, &data,
                                   &fault),
                         0);
        file_data_put(worker->bed->file, &data);
    }
    return NULL;
}

static void check_threads(const struct bed_kind *kind)
{
    struct worker workers[NTHREADS];
    struct worker reader = { 0 };
    struct bed bed;

    bed_init(&bed, kind);
    bed_truncate(&bed, SIZE);
    for (unsigned i = 0; i < NTHREADS; i++) {
        workers[i] =
            (struct worker){ .bed = &bed, .number = i, .random = i + 1 };
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    reader.bed = &bed;
    pthread_create(&reader.thread, NULL, read_all, &reader);
    for (unsigned i = 0; i < NTHREADS; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_join(reader.thread, NULL);
    bed_check(&bed);
    bed_reopen(&bed);
    bed_check(&bed);
    bed_fini(&bed);
}

START_TEST(threads_that_share_chunks_do_not_disturb_each_other)
{
    struct bed_kind kind = { .typesize = 1, .commit = 1 };

    check_threads(&kind);
    kind.cache_size = SMALL_CACHE;
    check_threads(&kind);
    kind.sparse = true;
    check_threads(&kind);
    kind.flushed_always = true;
    check_threads(&kind);
}
END_TEST

/* Threads append, each in its turn, while other threads sync and read. */
static void *append(void *arg)
{
    struct worker *worker = arg;
    uint8_t bytes[1000];
    struct fault fault;

    memset(bytes, 'a' + (int)worker->number, sizeof(bytes));
    for (unsigned i = 0; i < 200; i++) {
        uint64_t off =
            ((uint64_t)i * NTHREADS + worker->number) * sizeof(bytes);

        ck_assert_int_eq(
            file_write(worker->bed->file, off, bytes, sizeof(bytes), &fault),
            0);
        if (i % 50 == 0)
            ck_assert_int_eq(file_sync(worker->bed->file, &fault), 0);
    }
    return NULL;
}

START_TEST(a_file_grown_by_threads_has_no_gaps)
{
    struct worker workers[NTHREADS];
    struct bed bed;

    bed_new(&bed, false);
    for (unsigned i = 0; i < NTHREADS; i++) {
        workers[i] = (struct worker){ .bed = &bed, .number = i };
        pthread_create(&workers[i].thread, NULL, append, &workers[i]);
    }
    for (unsigned i = 0; i < NTHREADS; i++)
        pthread_join(workers[i].thread, NULL);
    bed.size = 200 * NTHREADS * 1000;
    for (size_t i = 0; i < bed.size; i++)
        bed.model[i] = (uint8_t)('a' + i / 1000 % NTHREADS);
    bed_check(&bed);
    bed_reopen(&bed);
    bed_check(&bed);
    bed_fini(&bed);
}
END_TEST

enum {
    NROUNDS = 200,
    CHUNKSIZE = 1 << 20,
    LEN = CHUNKSIZE + 100, /* bytes that are zeroed; other bytes are appended */
};

static void *zero_all(void *arg)
{
    struct bed *bed = arg;
    struct fault fault;

    ck_assert_int_eq(file_zero(bed->file, 0, LEN, &fault), 0);
    return NULL;
}

/* The last chunk then must not be zeroed as a whole. */
START_TEST(what_is_appended_while_all_else_becomes_zero_stays)
{
    struct bed_kind kind = { .typesize = 1, .chunksize = CHUNKSIZE };
    const size_t n = CHUNKSIZE - 100;
    struct fault fault;
    pthread_t thread;
    struct bed bed;

    bed_init(&bed, &kind);
    for (int i = 0; i < NROUNDS; i++) {
        bed_truncate(&bed, 0);
        bed_truncate(&bed, LEN);
        make_bytes(bed.model + LEN, n, &bed.random);
        pthread_create(&thread, NULL, zero_all, &bed);
        ck_assert_int_eq(file_write(bed.file, LEN, bed.model + LEN, n, &fault),
                         0);
        pthread_join(thread, NULL);
        bed.size = LEN + n;
        bed_check(&bed);
    }
    bed_fini(&bed);
}
END_TEST

enum {
    NLAYERS = 30,
    LAYER_LEN = 1000, /* too large for the space of an empty frame */
    TIGHT = 4 << 20,  /* chunk size that leaves a cache with few chunks */
};

static void *set_layers(void *arg)
{
    struct bed *bed = arg;
    uint8_t content[LAYER_LEN];
    struct fault fault;

    for (unsigned i = 0; i < NLAYERS; i++) {
        make_bytes(content, LAYER_LEN, &bed->random);
        ck_assert_int_eq(
            file_meta_set(bed->file,
                          &(struct file_meta){ METALAYER_VL, "layer", content,
                                               LAYER_LEN },
                          &fault),
            0);
    }
    bed->flushing = false;
    return NULL;
}

START_TEST(a_frame_may_be_touched_while_it_is_rewritten)
{
    pthread_t thread;
    struct bed bed;

    bed_new(&bed, false);
    bed.flushing = true;
    pthread_create(&thread, NULL, set_layers, &bed);
    while (bed.flushing)
        file_note_touch(bed.file);
    pthread_join(thread, NULL);
    bed_check(&bed);
    bed_fini(&bed);
}
END_TEST

/*
 * The last chunk is dirty, the cache has no capacity for another dirty chunk,
 * and a commit beside an extending writer must not keep it dirty.
 */
START_TEST(a_writer_that_waits_for_memory_beyond_the_end_gets_it)
{
    const struct bed_kind kind = {
        .chunksize = TIGHT, .typesize = 1, .nchunks = 4, .cache_size = 3 * TIGHT
    };
    struct bed bed;

    bed_init(&bed, &kind);
    bed_truncate(&bed, 2 * TIGHT + 1000);
    bed_write(&bed, 0, 2 * TIGHT + 900);
    bed_sync(&bed);
    bed_write(&bed, 2 * TIGHT + 100, 100);
    bed_write(&bed, 2 * TIGHT - 100, 10000);
    bed_check(&bed);
    bed_fini(&bed);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        threads_that_share_chunks_do_not_disturb_each_other,
        a_file_grown_by_threads_has_no_gaps,
        what_is_appended_while_all_else_becomes_zero_stays,
        a_frame_may_be_touched_while_it_is_rewritten,
        a_writer_that_waits_for_memory_beyond_the_end_gets_it,
        NULL,
    };

    return suite_run("writeback_threads", tests);
}
