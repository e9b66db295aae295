/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "counting_store.h"
#include "frame/index.h"
#include "frame_build.h"
#include "frame_open.h"
#include "suite.h"

enum {
    NENTRIES = 20000
};

/* An index, and the objects that it is read from. */
struct fixture {
    struct build *chunk;
    struct reads reads;
    struct store *store;
    struct store_object *object;
    struct index *index;
};

/* Open the index in `chunk`, which belongs to the fixture from then on. */
static int try_index(struct fixture *fixture, struct build *chunk,
                     struct fault *fault)
{
    struct index_source source = {
        .end = chunk->len,
        .head = chunk->bytes,
        .head_len = chunk->len < 4096 ? chunk->len : 4096,
    };

    *fixture = (struct fixture){ .chunk = chunk };
    *fault = FAULT_NONE;
    ck_assert_int_eq(counting_store_open(chunk->bytes, chunk->len,
                                         &fixture->reads, &fixture->store),
                     0);
    ck_assert_int_eq(store_open(fixture->store, "", &fixture->object), 0);
    source.object = fixture->object;
    return index_open(&source, &fixture->index, fault);
}

static void open_index(struct fixture *fixture, struct build *chunk)
{
    struct fault fault;
    int r = try_index(fixture, chunk, &fault);

    ck_assert_msg(r == 0, "%d: %s", r, fault.what);
}

static void close_index(struct fixture *fixture)
{
    index_close(fixture->index);
    store_object_close(fixture->object);
    store_close(fixture->store);
    free(fixture->chunk);
}

static void check_refused(struct build *chunk, int error, uint64_t fault_off)
{
    struct fixture fixture;
    struct fault fault;

    ck_assert_int_eq(try_index(&fixture, chunk, &fault), error);
    ck_assert_uint_eq(fault.off, fault_off);
    close_index(&fixture);
}

/* Entry i is 3 * i. */
static int64_t *make_entries(void)
{
    uint64_t *entries = calloc(NENTRIES, sizeof(*entries));

    ck_assert_ptr_nonnull(entries);
    for (uint64_t i = 0; i < NENTRIES; i++)
        entries[i] = htole64(3 * i);
    return (int64_t *)entries;
}

static struct build *make_blocks(size_t blocksize)
{
    struct build *chunk = build_new();
    int64_t *entries = make_entries();

    build_blocks(chunk, 8, entries, 8 * NENTRIES, blocksize, 0);
    free(entries);
    return chunk;
}

static struct build *make_copy(void)
{
    struct build *chunk = build_new();
    int64_t *entries = make_entries();

    build_copy(chunk, 8, entries, 8 * NENTRIES);
    free(entries);
    return chunk;
}

static void check_entries(struct index *index, uint64_t first, size_t n)
{
    struct fault fault = FAULT_NONE;
    int64_t entries[2048];

    ck_assert_uint_le(n, 2048);
    ck_assert_int_eq(index_read(index, first, n, entries, &fault), 0);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(entries[i], (int64_t)(3 * (first + i)));
}

static void check_all(struct index *index)
{
    ck_assert_uint_eq(index_nentries(index), NENTRIES);
    ck_assert_uint_eq(index_period(index), NENTRIES);
    check_entries(index, NENTRIES - 1, 1);
    check_entries(index, 0, 2048);
    check_entries(index, 2000, 100);
    for (uint64_t i = 0; i < NENTRIES; i += 777)
        check_entries(index, i, 1);
    check_entries(index, NENTRIES - 2048, 2048);
}

START_TEST(entries_are_read_from_blocks_of_any_size)
{
    static const size_t sizes[] = { 16384, 8, 160000, 96, 4 };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct fixture fixture;

        open_index(&fixture, make_blocks(sizes[i]));
        check_all(fixture.index);
        close_index(&fixture);
    }
}
END_TEST

START_TEST(entries_are_read_from_an_index_that_did_not_shrink)
{
    struct fixture fixture;

    open_index(&fixture, make_copy());
    check_all(fixture.index);
    close_index(&fixture);
}
END_TEST

START_TEST(only_the_blocks_of_the_entries_are_read_and_once)
{
    struct fixture fixture;

    open_index(&fixture, make_blocks(16384));
    ck_assert_uint_eq(fixture.reads.ncalls, 0);
    check_entries(fixture.index, 5000, 1);
    ck_assert_uint_eq(fixture.reads.ncalls, 1);
    ck_assert_uint_eq(fixture.reads.nbytes, 16384 + 4);
    check_entries(fixture.index, 5001, 100);
    check_entries(fixture.index, 4096, 1);
    ck_assert_uint_eq(fixture.reads.ncalls, 1);
    close_index(&fixture);

    open_index(&fixture, make_copy());
    check_entries(fixture.index, 5000, 1);
    check_entries(fixture.index, 4999, 2);
    ck_assert_uint_eq(fixture.reads.ncalls, 1);
    ck_assert_uint_le(fixture.reads.nbytes, 16384);
    close_index(&fixture);
}
END_TEST

START_TEST(the_blocks_used_last_are_kept)
{
    struct fixture fixture;

    open_index(&fixture, make_blocks(16384));
    for (uint64_t i = 0; i < 8; i++)
        check_entries(fixture.index, 2048 * i, 1);
    check_entries(fixture.index, 0, 1);
    ck_assert_uint_eq(fixture.reads.ncalls, 8);
    check_entries(fixture.index, 2048 * 8, 1); /* replaces block 1 */
    check_entries(fixture.index, 0, 1);
    ck_assert_uint_eq(fixture.reads.ncalls, 9);
    check_entries(fixture.index, 2048, 1);
    ck_assert_uint_eq(fixture.reads.ncalls, 10);
    close_index(&fixture);
}
END_TEST

START_TEST(a_repeated_entry_is_read_without_reading)
{
    const uint64_t zeros = htole64(0x8100000000000000);
    const uint32_t nbytes = 2147483608; /* the most that a chunk can hold */
    struct build *chunk = build_new();
    struct fault fault = FAULT_NONE;
    struct fixture fixture;
    int64_t entry[2];

    build_special(chunk, CHUNK_VALUE, 8, nbytes, &zeros, 8);
    open_index(&fixture, chunk);
    ck_assert_uint_eq(index_nentries(fixture.index), nbytes / 8);
    ck_assert_uint_eq(index_period(fixture.index), 1);
    ck_assert_int_eq(
        index_read(fixture.index, nbytes / 8 - 2, 2, entry, &fault), 0);
    ck_assert_int_eq(entry[0], (int64_t)0x8100000000000000);
    ck_assert_int_eq(entry[1], entry[0]);
    ck_assert_uint_eq(fixture.reads.ncalls, 0);
    close_index(&fixture);
}
END_TEST

START_TEST(a_repeated_value_may_be_several_entries)
{
    const uint64_t pair[] = { htole64(0), htole64(40) };
    struct build *chunk = build_new();
    struct fault fault = FAULT_NONE;
    struct fixture fixture;
    int64_t entries[3];

    build_special(chunk, CHUNK_VALUE, 8, 64, pair, 16);
    open_index(&fixture, chunk);
    ck_assert_uint_eq(index_period(fixture.index), 2);
    ck_assert_int_eq(index_read(fixture.index, 3, 3, entries, &fault), 0);
    ck_assert_int_eq(entries[0], 40);
    ck_assert_int_eq(entries[1], 0);
    ck_assert_int_eq(entries[2], 40);
    close_index(&fixture);
}
END_TEST

START_TEST(an_index_that_breaks_the_format_is_refused)
{
    struct build *chunk = make_copy();

    chunk->bytes[3] = 4; /* typesize */
    check_refused(chunk, -EBADMSG, 0);

    chunk = build_new();
    build_copy(chunk, 8, "0123456789ab", 12);
    check_refused(chunk, -EBADMSG, 0);

    chunk = build_new();
    build_copy(chunk, 8, "", 0);
    check_refused(chunk, -EBADMSG, 0);

    chunk = make_copy();
    chunk->len--; /* longer than its room */
    check_refused(chunk, -EBADMSG, 0);

    chunk = make_copy();
    chunk->len = 31;
    check_refused(chunk, -EBADMSG, 31);
}
END_TEST

START_TEST(blocks_too_large_to_decode_in_memory_are_refused)
{
    struct build *chunk = make_blocks(160000);

    store_le32(chunk->bytes + 4, (8 << 20) + 8);
    store_le32(chunk->bytes + 8, (8 << 20) + 8);
    check_refused(chunk, -ENOTSUP, 0);
}
END_TEST

START_TEST(a_bad_block_spoils_no_other)
{
    struct build *chunk = make_blocks(16384);
    struct fault fault = FAULT_NONE;
    struct fixture fixture;
    int64_t entry;
    uint32_t start = load_le32(chunk->bytes + 32 + 4);

    store_le32(chunk->bytes + start, 0xfffffe00); /* a run of -512 */
    open_index(&fixture, chunk);
    check_entries(fixture.index, 2047, 1);
    check_entries(fixture.index, 4096, 1);
    ck_assert_int_eq(index_read(fixture.index, 2048, 1, &entry, &fault),
                     -EBADMSG);
    ck_assert_uint_ge(fault.off, start);
    ck_assert_uint_lt(fault.off, start + 8);
    close_index(&fixture);
}
END_TEST

/* A thread that reads entries all over the index. */
static void *read_all_over(void *argument)
{
    struct index *index = argument;
    struct fault fault = FAULT_NONE;
    int64_t entry;

    for (uint64_t i = 0; i < 3000; i++) {
        uint64_t n = i * 7919 % NENTRIES;

        if (index_read(index, n, 1, &entry, &fault) < 0 ||
            entry != (int64_t)(3 * n))
            return argument;
    }
    return NULL;
}

START_TEST(threads_read_at_the_same_time)
{
    struct build *chunk = make_blocks(8192);
    struct index_source source = { .end = chunk->len,
                                   .head = chunk->bytes,
                                   .head_len = 4096 };
    struct store_object *object;
    struct fault fault = FAULT_NONE;
    struct store *store;
    struct index *index;
    pthread_t threads[4];

    ck_assert_int_eq(store_mem_open(chunk->bytes, chunk->len, &store), 0);
    ck_assert_int_eq(store_open(store, "", &object), 0);
    source.object = object;
    ck_assert_int_eq(index_open(&source, &index, &fault), 0);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, read_all_over, index), 0);
    for (size_t i = 0; i < 4; i++) {
        void *failed;

        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    index_close(index);
    store_object_close(object);
    store_close(store);
    free(chunk);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        entries_are_read_from_blocks_of_any_size,
        entries_are_read_from_an_index_that_did_not_shrink,
        only_the_blocks_of_the_entries_are_read_and_once,
        the_blocks_used_last_are_kept,
        a_repeated_entry_is_read_without_reading,
        a_repeated_value_may_be_several_entries,
        an_index_that_breaks_the_format_is_refused,
        blocks_too_large_to_decode_in_memory_are_refused,
        a_bad_block_spoils_no_other,
        threads_read_at_the_same_time,
        NULL,
    };

    return suite_run("index", tests);
}
