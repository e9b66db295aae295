/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "counting_store.h"
#include "frame_build.h"
#include "frame_open.h"
#include "give_store.h"
#include "store/store_local.h"
#include "suite.h"

enum {
    BLOCKSIZE = 256,
    NBLOCKS = 300, /* more than one read covers */
    LEN = BLOCKSIZE * NBLOCKS - 9,
};

/* A frame of one chunk. */
struct fixture {
    uint8_t data[LEN];
    struct build *chunk;
    struct build *bytes;
    struct reads reads;
    struct frame *frame;
    struct frame_chunk *opened;
    struct chunk_decoder *decoder;
};

static struct fixture *fixture_new(void)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    ck_assert_ptr_nonnull(fixture);
    for (size_t i = 0; i < LEN; i++)
        fixture->data[i] = (uint8_t)(i * 7 + i / 251);
    fixture->chunk = build_new();
    ck_assert_int_eq(chunk_decoder_new(cpu_features(), &fixture->decoder), 0);
    return fixture;
}

/* Open the chunk of `len` bytes that the test has put into the fixture. */
static void open_fixture(struct fixture *fixture, uint32_t len)
{
    const int64_t entry = 0;
    const struct build_frame parts = {
        .chunks = fixture->chunk,
        .entries = &entry,
        .nentries = 1,
        .nbytes = len,
        .chunksize = len,
        .typesize = 1,
    };
    struct fault fault = FAULT_NONE;
    struct store *store;

    fixture->bytes = build_frame(&parts);
    ck_assert_int_eq(counting_store_open(fixture->bytes->bytes,
                                         fixture->bytes->len, &fixture->reads,
                                         &store),
                     0);
    ck_assert_int_eq(give_frame_open(store, 0, &fixture->frame, &fault), 0);
    ck_assert_int_eq(
        frame_chunk_open(fixture->frame, 0, &fixture->opened, &fault), 0);
    fixture->reads = (struct reads){ 0 };
}

static void fixture_free(struct fixture *fixture)
{
    frame_chunk_close(fixture->opened);
    frame_close(fixture->frame);
    chunk_decoder_free(fixture->decoder);
    free(fixture->bytes);
    free(fixture->chunk);
    free(fixture);
}

/* Decode some blocks, and compare them with the data. */
static void check_blocks(struct fixture *fixture, uint32_t first, uint32_t n)
{
    const struct frame_chunk *chunk = fixture->opened;
    struct fault fault = FAULT_NONE;
    size_t off = (size_t)first * chunk->blocksize;
    size_t len = (size_t)n * chunk->blocksize;
    uint8_t *dst;

    if (len > chunk->span.nbytes - off)
        len = chunk->span.nbytes - off;
    dst = malloc(len);
    ck_assert_ptr_nonnull(dst);
    ck_assert_int_eq(
        frame_chunk_decode(
            fixture->frame, chunk,
            &(struct blocks_run){ .first = first, .n = n, .dst = dst },
            fixture->decoder, &fault),
        0);
    ck_assert_mem_eq(dst, fixture->data + off, len);
    free(dst);
}

START_TEST(any_run_of_blocks_is_decoded)
{
    struct fixture *fixture = fixture_new();

    build_blocks(fixture->chunk, 1, fixture->data, LEN, BLOCKSIZE, 3);
    open_fixture(fixture, LEN);
    ck_assert_int_eq(fixture->opened->kind, CHUNK_BLOCKS);
    ck_assert_uint_eq(fixture->opened->nblocks, NBLOCKS);
    ck_assert_uint_eq(fixture->opened->blocksize, BLOCKSIZE);
    check_blocks(fixture, 0, NBLOCKS);
    check_blocks(fixture, 0, 1);
    check_blocks(fixture, NBLOCKS - 1, 1);
    check_blocks(fixture, 17, 5);
    check_blocks(fixture, 30, 270);
    fixture_free(fixture);
}
END_TEST

/* Decode a chunk by the runs of a plan, and compare with the whole of it. */
static void check_plan(struct frame *frame, const struct frame_chunk *chunk,
                       size_t run_size)
{
    const struct blocks_plan plan = blocks_plan(chunk->chunk, run_size);
    struct fault fault = FAULT_NONE;
    struct chunk_decoder *decoder;
    uint8_t *buf = malloc(plan.memory);
    uint8_t *whole = malloc(chunk->span.nbytes);
    struct blocks_run run = { 0 };
    size_t len;
    size_t off = 0;

    ck_assert(buf && whole);
    ck_assert_int_eq(chunk_decoder_new(cpu_features(), &decoder), 0);
    ck_assert_int_eq(read_chunk(frame, chunk->span.chunk_no, whole,
                                chunk->span.nbytes, &len, &fault),
                     0);
    while (blocks_next_run(&plan, buf, &run)) {
        size_t end = ((size_t)run.first + run.n) * plan.blocksize;

        ck_assert_uint_eq(off, run.first * plan.blocksize);
        ck_assert_int_eq(
            frame_chunk_decode(frame, chunk, &run, decoder, &fault), 0);
        if (end > len)
            end = len;
        ck_assert(run.dst + (end - off) <= buf + plan.memory);
        ck_assert_mem_eq(run.dst, whole + off, end - off);
        off = end;
    }
    ck_assert_uint_eq(off, len);
    chunk_decoder_free(decoder);
    free(whole);
    free(buf);
}

START_TEST(plan_decodes_all_blocks_with_the_first_for_those_that_need_it)
{
    static const char *const names[] = { "frames/odd-delta-ragged.b2frame",
                                         "frames/filter-order-7.b2frame" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct frame *frame = open_data(names[i]);
        struct fault fault = FAULT_NONE;
        struct frame_chunk *chunk;

        ck_assert_int_eq(frame_chunk_open(frame, 0, &chunk, &fault), 0);
        ck_assert_uint_gt(chunk->nblocks, 2);
        ck_assert_int_eq(chunk_needs_first_block(chunk->chunk), i == 0);
        check_plan(frame, chunk, 1);
        check_plan(frame, chunk, 2 * (size_t)chunk->blocksize);
        check_plan(frame, chunk, chunk->span.nbytes);
        frame_chunk_close(chunk);
        frame_close(frame);
    }
}
END_TEST

START_TEST(only_the_bytes_of_the_blocks_are_read_in_one_range)
{
    struct fixture *fixture = fixture_new();

    build_blocks(fixture->chunk, 1, fixture->data, LEN, BLOCKSIZE, 0);
    open_fixture(fixture, LEN);
    check_blocks(fixture, 100, 8);
    ck_assert_uint_eq(fixture->reads.ncalls, 1);
    ck_assert_uint_eq(fixture->reads.nranges, 1);
    ck_assert_uint_eq(fixture->reads.nbytes, 8 * (BLOCKSIZE + 4));
    fixture_free(fixture);
}
END_TEST

START_TEST(large_gaps_are_not_read)
{
    struct fixture *fixture = fixture_new();

    build_blocks(fixture->chunk, 1, fixture->data, 3 * BLOCKSIZE, BLOCKSIZE,
                 5000);
    open_fixture(fixture, 3 * BLOCKSIZE);
    check_blocks(fixture, 0, 3);
    ck_assert_uint_eq(fixture->reads.ncalls, 1);
    ck_assert_uint_eq(fixture->reads.nranges, 3);
    ck_assert_uint_lt(fixture->reads.nbytes, 3 * 2 * BLOCKSIZE);
    fixture_free(fixture);
}
END_TEST

START_TEST(a_short_chunk_is_read_once)
{
    struct fixture *fixture = fixture_new();

    build_blocks(fixture->chunk, 1, fixture->data, 2000, BLOCKSIZE, 0);
    open_fixture(fixture, 2000);
    check_blocks(fixture, 0, 8);
    check_blocks(fixture, 7, 1);
    ck_assert_uint_eq(fixture->reads.ncalls, 0);
    ck_assert_uint_ge(fixture->opened->footprint, 2000);
    fixture_free(fixture);
}
END_TEST

START_TEST(raw_bytes_are_read_in_place)
{
    struct fixture *fixture = fixture_new();

    build_copy(fixture->chunk, 1, fixture->data, LEN);
    store_le32(fixture->chunk->bytes + 8, 8192);
    open_fixture(fixture, LEN);
    ck_assert_int_eq(fixture->opened->kind, CHUNK_COPY);
    check_blocks(fixture, 0, fixture->opened->nblocks);
    ck_assert_uint_eq(fixture->reads.nbytes, LEN);
    check_blocks(fixture, 2, 3);
    ck_assert_uint_eq(fixture->reads.ncalls, 2);
    ck_assert_uint_eq(fixture->reads.nbytes, LEN + 3 * 8192);
    fixture_free(fixture);
}
END_TEST

START_TEST(a_bad_block_spoils_no_other)
{
    struct fixture *fixture = fixture_new();
    struct fault fault = FAULT_NONE;
    uint8_t dst[BLOCKSIZE];
    uint32_t start;

    build_blocks(fixture->chunk, 1, fixture->data, LEN, BLOCKSIZE, 0);
    start = load_le32(fixture->chunk->bytes + 32 + 4 * 7);
    store_le32(fixture->chunk->bytes + start, 0xfffffe00);
    open_fixture(fixture, LEN);
    check_blocks(fixture, 0, 7);
    check_blocks(fixture, 8, NBLOCKS - 8);
    ck_assert_int_eq(frame_chunk_decode(
                         fixture->frame, fixture->opened,
                         &(struct blocks_run){ .first = 7, .n = 1, .dst = dst },
                         fixture->decoder, &fault),
                     -EBADMSG);
    ck_assert_int_eq(fault.chunk_no, 0);
    ck_assert_uint_ge(fault.off, 97 + start);
    ck_assert_uint_lt(fault.off, 97 + start + 8);
    fixture_free(fixture);
}
END_TEST

START_TEST(opening_a_frame_of_many_chunks_reads_little)
{
    enum {
        N = 20000
    };
    int64_t *entries = calloc(N, sizeof(*entries));
    struct build *index = build_new();
    struct build *chunks = build_new();
    struct build_frame parts = {
        .chunks = chunks,
        .index = index,
        .nbytes = 8 * N,
        .chunksize = 8,
        .typesize = 1,
    };
    struct fault fault = FAULT_NONE;
    struct reads reads = { 0 };
    struct build *bytes;
    struct store *store;
    struct frame *frame;

    ck_assert_ptr_nonnull(entries);
    build_copy(chunks, 1, "01234567", 8);
    build_blocks(index, 8, entries, 8 * N, 16384, 0);
    bytes = build_frame(&parts);
    ck_assert_int_eq(
        counting_store_open(bytes->bytes, bytes->len, &reads, &store), 0);
    ck_assert_int_eq(give_frame_open(store, 0, &frame, &fault), 0);
    ck_assert_uint_eq(reads.ncalls, 2);
    ck_assert_uint_lt(reads.nbytes, 5000);
    check_chunk(frame, N - 1, "01234567", 8);
    frame_close(frame);
    free(bytes);
    free(chunks);
    free(index);
    free(entries);
}
END_TEST

START_TEST(a_file_that_shrinks_meanwhile_is_an_error)
{
    struct fixture *fixture = fixture_new();
    char path[] = "/tmp/test_frame_chunk.XXXXXX";
    int fd = mkstemp(path);
    struct fault fault = FAULT_NONE;
    uint8_t dst[BLOCKSIZE];
    struct store *store;

    build_blocks(fixture->chunk, 1, fixture->data, LEN, BLOCKSIZE, 0);
    open_fixture(fixture, LEN);
    frame_chunk_close(fixture->opened);
    frame_close(fixture->frame);

    ck_assert_int_eq(write(fd, fixture->bytes->bytes, fixture->bytes->len),
                     (ssize_t)fixture->bytes->len);
    ck_assert_int_eq(store_file_open(AT_FDCWD, path, 0, &store), -EXDEV);
    ck_assert_int_eq(store_file_open(AT_FDCWD, path, STORE_FOLLOW, &store), 0);
    ck_assert_int_eq(give_frame_open(store, 0, &fixture->frame, &fault), 0);
    ck_assert_int_eq(
        frame_chunk_open(fixture->frame, 0, &fixture->opened, &fault), 0);
    check_blocks(fixture, 0, 1);
    ck_assert_int_eq(ftruncate(fd, 5000), 0);
    ck_assert_int_eq(
        frame_chunk_decode(fixture->frame, fixture->opened,
                           &(struct blocks_run){ .n = 1, .dst = dst },
                           fixture->decoder, &fault),
        -ESTALE);
    close(fd);
    unlink(path);
    fixture_free(fixture);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        any_run_of_blocks_is_decoded,
        plan_decodes_all_blocks_with_the_first_for_those_that_need_it,
        only_the_bytes_of_the_blocks_are_read_in_one_range,
        large_gaps_are_not_read,
        a_short_chunk_is_read_once,
        raw_bytes_are_read_in_place,
        a_bad_block_spoils_no_other,
        opening_a_frame_of_many_chunks_reads_little,
        a_file_that_shrinks_meanwhile_is_an_error,
        NULL,
    };

    return suite_run("frame_chunk", tests);
}
