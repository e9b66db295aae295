/* SPDX-License-Identifier: BSD-3-Clause */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "file/verify.h"
#include "give_store.h"
#include "store/store.h"
#include "suite.h"

enum {
    NTHREADS = 4,
    FINDINGS_MAX = 64,

    /* Offsets of fields in the headers of frame and chunk. */
    FRAME_NBYTES = 30,
    FRAME_CHUNKSIZE = 58,
    FIRST_CHUNK = 97,
    ARRAY_LAYER = 112, /* in full-17.b2nd */
    CHUNK_NBYTES = 4,
};

/* A frame in memory to be damaged, and the findings about it. */
struct sample {
    uint8_t *bytes;
    size_t len;
    struct frame *frame;
    size_t nfindings;
    struct fault findings[FINDINGS_MAX];
    int errors[FINDINGS_MAX];
    uint64_t done;
};

static void sample_load_file(struct sample *sample, const char *folder,
                             const char *name)
{
    char path[SUITE_DATA_MAX];

    *sample = (struct sample){ 0 };
    suite_data_path(path, "%s/%s", folder, name);
    sample->bytes = suite_read(path, &sample->len);
}

static void sample_load(struct sample *sample, const char *folder,
                        const char *name)
{
    char file[256];

    snprintf(file, sizeof(file), "%s.b2frame", name);
    sample_load_file(sample, folder, file);
}

static void sample_open(struct sample *sample)
{
    struct fault fault = FAULT_NONE;
    struct store *store;

    ck_assert_int_eq(store_mem_open(sample->bytes, sample->len, &store), 0);
    ck_assert_int_eq(give_frame_open(store, 0, &sample->frame, &fault), 0);
}

static void sample_free(struct sample *sample)
{
    frame_close(sample->frame);
    free(sample->bytes);
}

static void add_finding(void *context, int error, const struct fault *fault)
{
    struct sample *sample = context;

    ck_assert_uint_lt(sample->nfindings, FINDINGS_MAX);
    sample->errors[sample->nfindings] = error;
    sample->findings[sample->nfindings++] = *fault;
}

static void set_done(void *context, uint64_t done, uint64_t nchunks)
{
    struct sample *sample = context;

    ck_assert_uint_le(done, nchunks);
    sample->done = done;
}

static void sample_verify(struct sample *sample, unsigned nthreads)
{
    const struct verify_listener listener = { add_finding, set_done, sample };

    ck_assert_int_eq(
        verify_frame(sample->frame,
                     &(struct verify_options){ .nthreads = nthreads },
                     &listener, &(struct verify_counts){ 0 }),
        0);
    ck_assert_uint_eq(sample->done, frame_get_info(sample->frame)->nchunks);
}

/*
 * Make the first stream of a block longer than its chunk.  Returns its offset
 * in the file.
 */
static uint64_t spoil_block(struct sample *sample, uint64_t chunk_no,
                            uint32_t block)
{
    struct fault fault = FAULT_NONE;
    struct frame_chunk *chunk;
    uint32_t off;
    uint32_t len;
    uint64_t place;

    ck_assert_int_eq(frame_chunk_open(sample->frame, chunk_no, &chunk, &fault),
                     0);
    chunk_block_extent(chunk->chunk, block, &off, &len);
    place = chunk->entry.place + off;
    frame_chunk_close(chunk);
    store_le32(sample->bytes + place, INT32_MAX);
    return place;
}

START_TEST(a_good_frame_has_no_fault)
{
    const char *const names[] = { "last-block-short", "medley-4",
                                  "autozero-delta",   "varchunks-zstd",
                                  "vlblocks-zstd",    "empty-file",
                                  "byte-runs-zlib",   "dict-zstd-7" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct sample sample;

        sample_load(&sample, "frames", names[i]);
        sample_open(&sample);
        sample_verify(&sample, NTHREADS);
        ck_assert_msg(sample.nfindings == 0, "%s: %s", names[i],
                      sample.findings[0].what);
        sample_free(&sample);
    }
}
END_TEST

START_TEST(each_damaged_block_of_a_chunk_is_told)
{
    const uint32_t blocks[] = { 0, 3, 8 };
    struct sample sample;
    uint64_t places[3];

    sample_load(&sample, "frames", "last-block-short");
    sample_open(&sample);
    for (size_t i = 0; i < 3; i++)
        places[i] = spoil_block(&sample, 1, blocks[i]);
    sample_verify(&sample, NTHREADS);

    ck_assert_uint_eq(sample.nfindings, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(sample.errors[i], -EBADMSG);
        ck_assert_int_eq(sample.findings[i].chunk_no, 1);
        ck_assert_uint_ge(sample.findings[i].off, places[i]);
        ck_assert_uint_le(sample.findings[i].off, places[i] + 4);
    }
    sample_free(&sample);
}
END_TEST

START_TEST(faults_come_in_the_order_of_the_chunks)
{
    struct sample sample;
    uint64_t nchunks;

    sample_load(&sample, "frames", "tiny-chunks-1-byte");
    sample_open(&sample);
    nchunks = 40;
    ck_assert_uint_gt(frame_get_info(sample.frame)->nchunks, nchunks);
    for (uint64_t i = 0; i < nchunks; i++) {
        struct frame_entry entry;
        struct fault fault = FAULT_NONE;

        ck_assert_int_eq(frame_get_entry(sample.frame, i, &entry, &fault), 0);
        store_le32(sample.bytes + entry.place + CHUNK_NBYTES, UINT32_MAX);
    }
    sample.nfindings = 0;
    sample_verify(&sample, 8);

    ck_assert_uint_ge(sample.nfindings, nchunks);
    for (size_t i = 0; i < nchunks; i++)
        ck_assert_int_eq(sample.findings[i].chunk_no, (int64_t)i);
    sample_free(&sample);
}
END_TEST

START_TEST(a_damaged_first_block_is_all_that_a_delta_chunk_tells)
{
    struct sample sample;

    sample_load(&sample, "frames", "solid-blosclz-delta-bits-t3");
    sample_open(&sample);
    spoil_block(&sample, 1, 0);
    sample_verify(&sample, 1);
    ck_assert_uint_eq(sample.nfindings, 1);
    ck_assert_int_eq(sample.findings[0].chunk_no, 1);
    sample_free(&sample);
}
END_TEST

START_TEST(holes_are_passed_in_one_step)
{
    struct sample sample;

    sample_load(&sample, "frames", "zeros-1tib-64k-chunks");
    sample_open(&sample);
    sample_verify(&sample, NTHREADS);
    ck_assert_uint_eq(sample.nfindings, 0);
    sample_free(&sample);
}
END_TEST

/* 100000 entries of the index refer to one chunk of 8 MiB. */
START_TEST(a_chunk_that_all_entries_name_is_decoded_once)
{
    struct sample sample;

    sample_load(&sample, "bad", "0015-bomb");
    sample_open(&sample);
    sample_verify(&sample, NTHREADS);
    ck_assert_uint_ge(sample.nfindings, 1);
    sample_free(&sample);
}
END_TEST

/*
 * Blocks that differ in size are all decoded at once.  The other three chunks
 * do not have the size that the header now says.
 */
START_TEST(blocks_that_take_too_much_memory_are_told)
{
    const uint32_t size = 300 << 20;
    struct sample sample;
    uint64_t nbytes = htobe64((uint64_t)size * 4);
    uint32_t chunksize = htobe32(size);
    size_t i = 0;

    sample_load(&sample, "frames", "vlblocks-equal-zstd");
    memcpy(sample.bytes + FRAME_NBYTES, &nbytes, sizeof(nbytes));
    memcpy(sample.bytes + FRAME_CHUNKSIZE, &chunksize, sizeof(chunksize));
    store_le32(sample.bytes + FIRST_CHUNK + CHUNK_NBYTES, size);
    sample_open(&sample);
    sample_verify(&sample, NTHREADS);
    while (i < sample.nfindings && sample.errors[i] != -ENOMEM)
        i++;
    ck_assert_uint_lt(i, sample.nfindings);
    ck_assert_int_eq(sample.findings[i].chunk_no, 0);
    sample_free(&sample);
}
END_TEST

/* Offsets count from the start of the metalayer. */
START_TEST(a_damaged_shape_is_told_with_its_offset)
{
    static const struct {
        size_t off;
        uint8_t byte;
        uint64_t fault_off;
        const char *what;
    } changes[] = {
        { 0, 0xff, 1, "an array has a metalayer of an unknown kind" },
        { 2, 16, 3, "metalayer of an array is damaged" },
        { 14, 0x80, 22, "an extent of an array is negative" },
        { 34, 1, 0, "an array has more chunks than its frame" },
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct sample sample;
        sample_load_file(&sample, "frames", "full-17.b2nd");
        sample.bytes[ARRAY_LAYER + changes[i].off] = changes[i].byte;
        sample_open(&sample);
        sample_verify(&sample, NTHREADS);
        ck_assert_uint_eq(sample.nfindings, 1);
        ck_assert_int_eq(sample.errors[0], -EBADMSG);
        ck_assert_str_eq(sample.findings[0].what, changes[i].what);
        ck_assert_uint_eq(sample.findings[0].off,
                          ARRAY_LAYER + changes[i].fault_off);
        sample_free(&sample);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_good_frame_has_no_fault,
        each_damaged_block_of_a_chunk_is_told,
        faults_come_in_the_order_of_the_chunks,
        a_damaged_first_block_is_all_that_a_delta_chunk_tells,
        holes_are_passed_in_one_step,
        a_chunk_that_all_entries_name_is_decoded_once,
        blocks_that_take_too_much_memory_are_told,
        a_damaged_shape_is_told_with_its_offset,
        NULL,
    };

    return suite_run("verify", tests);
}
