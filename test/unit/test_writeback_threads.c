/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <string.h>

#include "fixture.h"
#include "suite.h"

enum {
    SMALL_CACHE = 1 << 20,
    SIZE = 20 * 64 * 1024 + 777,
    NTHREADS = 4,
};

/* One of several threads.  It writes every NTHREADS-th piece of a file. */
struct worker {
    pthread_t thread;
    struct fixture *fixture;
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
    struct fixture *fixture = worker->fixture;
    uint32_t piece =
        pick(&worker->random, NPIECES / NTHREADS) * NTHREADS + worker->number;
    uint64_t off = (uint64_t)piece * PIECE;
    struct fault fault;
    int r = 0;

    switch (pick(&worker->random, 8)) {
    case 0:
        memset(fixture->model + off, 0, PIECE);
        r = file_zero(fixture->file, off, PIECE, &fault);
        break;
    case 1:
        if (worker->number == 0)
            r = file_sync(fixture->file, &fault);
        break;
    case 2:
    case 3:
        fixture_check_range(fixture, off, PIECE);
        break;
    default:
        make_bytes(fixture->model + off, PIECE, &worker->random);
        r = file_write(fixture->file, off, fixture->model + off, PIECE, &fault);
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

        ck_assert_int_eq(file_read(worker->fixture->file, &reader,
                                   &(struct file_range){ off, 50000 }, &data,
                                   &fault),
                         0);
        file_data_put(worker->fixture->file, &data);
    }
    file_reader_end(&reader);
    return NULL;
}

static void check_threads(const struct fixture_kind *kind)
{
    struct worker workers[NTHREADS];
    struct worker reader = { 0 };
    struct fixture fixture;

    fixture_init(&fixture, kind);
    fixture_truncate(&fixture, SIZE);
    for (unsigned i = 0; i < NTHREADS; i++) {
        workers[i] = (struct worker){ .fixture = &fixture,
                                      .number = i,
                                      .random = i + 1 };
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    reader.fixture = &fixture;
    pthread_create(&reader.thread, NULL, read_all, &reader);
    for (unsigned i = 0; i < NTHREADS; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_join(reader.thread, NULL);
    fixture_check(&fixture);
    fixture_reopen(&fixture);
    fixture_check(&fixture);
    fixture_fini(&fixture);
}

START_TEST(threads_that_share_chunks_do_not_disturb_each_other)
{
    struct fixture_kind kind = { .typesize = 1, .commit = 1 };

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

        ck_assert_int_eq(file_write(worker->fixture->file, off, bytes,
                                    sizeof(bytes), &fault),
                         0);
        if (i % 50 == 0)
            ck_assert_int_eq(file_sync(worker->fixture->file, &fault), 0);
    }
    return NULL;
}

START_TEST(a_file_grown_by_threads_has_no_gaps)
{
    struct worker workers[NTHREADS];
    struct fixture fixture;

    fixture_new(&fixture, false);
    for (unsigned i = 0; i < NTHREADS; i++) {
        workers[i] = (struct worker){ .fixture = &fixture, .number = i };
        pthread_create(&workers[i].thread, NULL, append, &workers[i]);
    }
    for (unsigned i = 0; i < NTHREADS; i++)
        pthread_join(workers[i].thread, NULL);
    fixture.size = 200 * NTHREADS * 1000;
    for (size_t i = 0; i < fixture.size; i++)
        fixture.model[i] = (uint8_t)('a' + i / 1000 % NTHREADS);
    fixture_check(&fixture);
    fixture_reopen(&fixture);
    fixture_check(&fixture);
    fixture_fini(&fixture);
}
END_TEST

enum {
    NROUNDS = 200,
    CHUNKSIZE = 1 << 20,
    LEN = CHUNKSIZE + 100, /* bytes that are zeroed; other bytes are appended */
};

static void *zero_all(void *arg)
{
    struct fixture *fixture = arg;
    struct fault fault;

    ck_assert_int_eq(file_zero(fixture->file, 0, LEN, &fault), 0);
    return NULL;
}

/* The last chunk then must not be zeroed as a whole. */
START_TEST(what_is_appended_while_all_else_becomes_zero_stays)
{
    struct fixture_kind kind = { .typesize = 1, .chunksize = CHUNKSIZE };
    const size_t n = CHUNKSIZE - 100;
    struct fault fault;
    pthread_t thread;
    struct fixture fixture;

    fixture_init(&fixture, &kind);
    for (int i = 0; i < NROUNDS; i++) {
        fixture_truncate(&fixture, 0);
        fixture_truncate(&fixture, LEN);
        make_bytes(fixture.model + LEN, n, &fixture.random);
        pthread_create(&thread, NULL, zero_all, &fixture);
        ck_assert_int_eq(
            file_write(fixture.file, LEN, fixture.model + LEN, n, &fault), 0);
        pthread_join(thread, NULL);
        fixture.size = LEN + n;
        fixture_check(&fixture);
    }
    fixture_fini(&fixture);
}
END_TEST

enum {
    NLAYERS = 30,
    LAYER_LEN = 1000, /* too large for the space of an empty frame */
    TIGHT = 4 << 20,  /* chunk size that leaves a cache with few chunks */
};

static void *set_layers(void *arg)
{
    struct fixture *fixture = arg;
    uint8_t content[LAYER_LEN];
    struct fault fault;

    for (unsigned i = 0; i < NLAYERS; i++) {
        make_bytes(content, LAYER_LEN, &fixture->random);
        ck_assert_int_eq(
            file_meta_set(fixture->file,
                          &(struct file_meta){ METALAYER_VL, "layer", content,
                                               LAYER_LEN },
                          &fault),
            0);
    }
    fixture->flushing = false;
    return NULL;
}

START_TEST(a_frame_may_be_touched_while_it_is_rewritten)
{
    pthread_t thread;
    struct fixture fixture;

    fixture_new(&fixture, false);
    fixture.flushing = true;
    pthread_create(&thread, NULL, set_layers, &fixture);
    while (fixture.flushing)
        file_note_touch(fixture.file);
    pthread_join(thread, NULL);
    fixture_check(&fixture);
    fixture_fini(&fixture);
}
END_TEST

/*
 * The last chunk is dirty, the cache has no capacity for another dirty chunk,
 * and a commit beside an extending writer must not keep it dirty.
 */
START_TEST(a_writer_that_waits_for_memory_beyond_the_end_gets_it)
{
    const struct fixture_kind kind = {
        .chunksize = TIGHT, .typesize = 1, .nchunks = 4, .cache_size = 3 * TIGHT
    };
    struct fixture fixture;

    fixture_init(&fixture, &kind);
    fixture_truncate(&fixture, 2 * TIGHT + 1000);
    fixture_write(&fixture, 0, 2 * TIGHT + 900);
    fixture_sync(&fixture);
    fixture_write(&fixture, 2 * TIGHT + 100, 100);
    fixture_write(&fixture, 2 * TIGHT - 100, 10000);
    fixture_check(&fixture);
    fixture_fini(&fixture);
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
