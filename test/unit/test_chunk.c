/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "chunk/chunk.h"
#include "chunk/codec.h"
#include "chunk/filter.h"
#include "chunk_examples.h"
#include "suite.h"

static struct chunk_decoder *new_decoder(void)
{
    struct chunk_decoder *decoder;

    ck_assert_int_eq(chunk_decoder_new(cpu_features(), &decoder), 0);
    return decoder;
}

static struct chunk *open_chunk(const uint8_t *data, size_t len)
{
    struct fault fault = FAULT_NONE;
    struct chunk_header header;
    struct chunk *chunk;

    ck_assert_int_eq(chunk_header_parse(data, len, &header, &fault), 0);
    ck_assert_uint_le(chunk_head_len(&header), header.cbytes);
    ck_assert_int_eq(chunk_open(&header, data, NULL, &chunk, &fault), 0);
    return chunk;
}

static ssize_t decode_block(const struct chunk *chunk, uint32_t block,
                            const uint8_t *data, const uint8_t *first,
                            uint8_t *dst)
{
    struct chunk_decoder *decoder = new_decoder();
    struct fault fault = FAULT_NONE;
    uint32_t off = 0;
    uint32_t len;

    if (chunk_kind_has_blocks(chunk_get_header(chunk)->kind))
        chunk_block_extent(chunk, block, &off, &len);
    ssize_t n = chunk_decode_block(
        chunk, &(struct chunk_block){ block, data + off, first }, dst, decoder,
        &fault);
    chunk_decoder_free(decoder);
    return n;
}

/*
 * Check that a chunk decodes to these bytes, both at once and block by block.
 */
static void check_content(const uint8_t *data, size_t len,
                          const uint8_t *expected, size_t expected_len)
{
    struct chunk_decoder *decoder = new_decoder();
    struct chunk *chunk = open_chunk(data, len);
    const struct chunk_header *header = chunk_get_header(chunk);
    struct fault fault = FAULT_NONE;
    uint8_t *out = calloc(1, expected_len + 1);

    ck_assert_ptr_nonnull(out);
    ck_assert_int_eq(chunk_decode(&(struct stored_chunk){ data, len, NULL },
                                  out, expected_len, decoder, &fault),
                     (ssize_t)expected_len);
    ck_assert_mem_eq(out, expected, expected_len);

    for (uint32_t i = header->nblocks; i-- > 0;) {
        uint32_t size = chunk_block_size(chunk, i);
        size_t off = (size_t)i * header->blocksize;

        memset(out, 0x55, size);
        ck_assert_int_eq(decode_block(chunk, i, data, expected, out), size);
        ck_assert_mem_eq(out, expected + off, size);
    }
    free(out);
    chunk_close(chunk);
    chunk_decoder_free(decoder);
}

START_TEST(raw_codec_zero_and_run_streams_are_decoded)
{
    uint8_t expected[296];

    for (uint32_t i = 0; i < 74; i++)
        store_le32(expected + 4 * i, i | (i & 1) << 8 | 7u << 24);
    check_content(chunk_streams, sizeof(chunk_streams), expected,
                  sizeof(expected));
}
END_TEST

START_TEST(runs_fill_unsplit_and_split_blocks)
{
    static uint8_t expected[100001];

    memset(expected, 0xff, sizeof(expected));
    check_content(chunk_runs, sizeof(chunk_runs), expected, sizeof(expected));
    memset(expected, 7, sizeof(expected));
    check_content(chunk_split_runs, sizeof(chunk_split_runs), expected, 100000);
}
END_TEST

START_TEST(a_large_block_is_decoded_more_than_once)
{
    enum {
        SIZE = 12 << 20
    };
    struct chunk_decoder *decoder = new_decoder();
    uint8_t data[sizeof(chunk_split_runs)];
    struct fault fault = FAULT_NONE;
    uint8_t *out = malloc(SIZE);

    ck_assert_ptr_nonnull(out);
    memcpy(data, chunk_split_runs, sizeof(data));
    store_le32(data + 4, SIZE);
    store_le32(data + 8, SIZE);
    for (int i = 0; i < 2; i++) {
        memset(out, 0, SIZE);
        ck_assert_int_eq(
            chunk_decode(&(struct stored_chunk){ data, sizeof(data), NULL },
                         out, SIZE, decoder, &fault),
            SIZE);
        ck_assert(out[0] == 7 && memcmp(out, out + 1, SIZE - 1) == 0);
    }
    free(out);
    chunk_decoder_free(decoder);
}
END_TEST

START_TEST(special_chunks_show_what_they_stand_for)
{
    const uint8_t nan_float[] = { 0x00, 0x00, 0xc0, 0x7f };
    const uint8_t nan_double[] = { 0, 0, 0, 0, 0, 0, 0xf8, 0x7f };
    uint8_t data[sizeof(chunk_repeated)];
    uint8_t expected[1000] = { 0 };

    check_content(chunk_zeros, sizeof(chunk_zeros), expected, 1000);
    memcpy(data, chunk_zeros, sizeof(chunk_zeros));
    data[31] = 0x40;
    check_content(data, sizeof(chunk_zeros), expected, 1000);

    for (size_t i = 0; i < 40; i++)
        expected[i] = nan_float[i % 4];
    check_content(chunk_nans, sizeof(chunk_nans), expected, 40);

    memcpy(data, chunk_nans, sizeof(chunk_nans));
    data[3] = 8;
    for (size_t i = 0; i < 40; i++)
        expected[i] = nan_double[i % 8];
    check_content(data, sizeof(chunk_nans), expected, 40);

    for (size_t i = 0; i < 400; i++)
        expected[i] = (uint8_t)(i % 4 + 1);
    check_content(chunk_repeated, sizeof(chunk_repeated), expected, 400);
}
END_TEST

START_TEST(a_special_chunk_is_filled_from_any_offset)
{
    struct chunk *chunk = open_chunk(chunk_repeated, sizeof(chunk_repeated));
    uint8_t out[64];

    ck_assert_mem_eq(chunk_value(chunk), "\1\2\3\4", 4);
    for (uint32_t off = 0; off < 8; off++) {
        for (size_t len = 0; len < sizeof(out); len++) {
            memset(out, 0x55, sizeof(out));
            chunk_fill(chunk, off, out, len);
            for (size_t i = 0; i < len; i++)
                ck_assert_uint_eq(out[i], (off + i) % 4 + 1);
            ck_assert_uint_eq(out[len], 0x55);
        }
    }
    chunk_close(chunk);
}
END_TEST

START_TEST(copied_and_empty_chunks_are_decoded)
{
    check_content(chunk_copy, sizeof(chunk_copy),
                  (const uint8_t *)"hello, blosc2", 13);
    check_content(chunk_empty, sizeof(chunk_empty), (const uint8_t *)"", 0);
}
END_TEST

START_TEST(a_copied_chunk_ignores_a_stale_dictionary_bit)
{
    uint8_t data[sizeof(chunk_copy)];

    memcpy(data, chunk_copy, sizeof(data));
    data[31] = 0x01;
    check_content(data, sizeof(data), (const uint8_t *)"hello, blosc2", 13);
}
END_TEST

START_TEST(a_copied_chunk_is_cut_into_blocks_of_a_good_size)
{
    struct fault fault = FAULT_NONE;
    struct chunk_header header;
    uint8_t data[32];

    memcpy(data, chunk_copy, sizeof(data));
    store_le32(data + 4, 10 << 20);
    store_le32(data + 12, (10 << 20) + 32);
    store_le32(data + 8, 10 << 20);
    ck_assert_int_eq(chunk_header_parse(data, 32, &header, &fault), 0);
    ck_assert_uint_eq(header.blocksize, 1 << 20);
    ck_assert_uint_eq(header.nblocks, 10);
    store_le32(data + 8, 1);
    ck_assert_int_eq(chunk_header_parse(data, 32, &header, &fault), 0);
    ck_assert_uint_eq(header.blocksize, 4096);
    ck_assert_uint_eq(chunk_head_len(&header), 32);
}
END_TEST

START_TEST(vlblocks_are_decoded_one_behind_the_other)
{
    uint8_t expected[100];

    for (size_t i = 0; i < 90; i += 3)
        memcpy(expected + i, "abc", 3);
    memcpy(expected + 90, "helloaaaaa", 10);
    check_content(chunk_vlblocks, sizeof(chunk_vlblocks), expected, 100);
}
END_TEST

START_TEST(a_dictionary_is_found_behind_the_block_starts)
{
    check_content(
        chunk_dict, sizeof(chunk_dict),
        (const uint8_t *)"the lazy dog jumps over the quick brown fox", 43);
}
END_TEST

START_TEST(a_blosc1_header_is_understood)
{
    struct fault fault = FAULT_NONE;
    struct chunk_header header;

    ck_assert_int_eq(chunk_header_parse(chunk_blosc1_head,
                                        sizeof(chunk_blosc1_head), &header,
                                        &fault),
                     0);
    ck_assert_int_eq(header.kind, CHUNK_BLOCKS);
    ck_assert_uint_eq(header.header_len, 16);
    ck_assert_uint_eq(header.codec, CODEC_ZSTD);
    ck_assert_uint_eq(header.filters[5], FILTER_SHUFFLE);
    ck_assert_uint_eq(header.nblocks, 4);
    ck_assert_uint_eq(header.blocksize, 0x100000);
    ck_assert_uint_eq(chunk_head_len(&header), 32);
}
END_TEST

START_TEST(filters_of_a_short_header_are_its_flags)
{
    uint8_t data[sizeof(chunk_blosc1_head)];
    struct fault fault = FAULT_NONE;
    struct chunk_header header;

    memcpy(data, chunk_blosc1_head, sizeof(data));
    data[2] = 0x94;
    ck_assert_int_eq(chunk_header_parse(data, 16, &header, &fault), 0);
    ck_assert_uint_eq(header.filters[5], FILTER_BITSHUFFLE);
    ck_assert_uint_eq(header.filters[4], FILTER_NONE);
    data[2] = 0x98;
    ck_assert_int_eq(chunk_header_parse(data, 16, &header, &fault), 0);
    ck_assert_uint_eq(header.filters[5], FILTER_NONE);
    ck_assert_uint_eq(header.filters[4], FILTER_DELTA);
}
END_TEST

/*
 * Make a chunk of raw streams with a short header: `nbytes` bytes that count
 * up, in blocks of `blocksize`, each of `nstreams` streams.
 */
static size_t make_raw(uint8_t *data, uint8_t version, uint8_t flags,
                       uint8_t typesize, uint32_t nbytes, uint32_t blocksize,
                       uint32_t nstreams)
{
    uint32_t nblocks = (nbytes + blocksize - 1) / blocksize;
    uint32_t pos = 16 + 4 * nblocks;
    uint8_t value = 0;

    memset(data, 0, 16);
    data[0] = version;
    data[2] = flags;
    data[3] = typesize;
    store_le32(data + 4, nbytes);
    store_le32(data + 8, blocksize);
    for (uint32_t i = 0; i < nblocks; i++) {
        uint32_t left = nbytes - i * blocksize;
        uint32_t size = left < blocksize ? left : blocksize;
        uint32_t n = left < blocksize ? 1 : nstreams;

        store_le32(data + 16 + 4 * i, pos);
        for (uint32_t j = 0; j < n; j++) {
            store_le32(data + pos, size / n);
            pos += 4;
            for (uint32_t k = 0; k < size / n; k++)
                data[pos++] = value++;
        }
    }
    store_le32(data + 12, pos);
    return pos;
}

static void check_raw(uint8_t version, uint8_t flags, uint8_t typesize,
                      uint32_t nbytes, uint32_t blocksize, uint32_t nstreams)
{
    static uint8_t data[1 << 16], expected[1 << 15];
    size_t len =
        make_raw(data, version, flags, typesize, nbytes, blocksize, nstreams);

    for (uint32_t i = 0; i < nbytes; i++)
        expected[i] = (uint8_t)i;
    check_content(data, len, expected, nbytes);
}

START_TEST(old_chunks_split_only_blocks_of_128_items_up_to_16_bytes)
{
    check_raw(2, 0, 4, 1300, 512, 4);
    check_raw(2, 0, 4, 1300, 508, 1);
    check_raw(2, 0, 16, 4096 + 17, 2048, 16);
    check_raw(2, 0, 17, 17 * 300, 17 * 150, 1);
    check_raw(1, 0, 4, 1300, 508, 1);
    check_raw(5, 0, 4, 1300, 508, 4);
    check_raw(5, 0, 17, 17 * 300, 17 * 150, 17);
    check_raw(2, 0x10, 4, 1300, 512, 1);
}
END_TEST

START_TEST(blocks_stored_in_any_order_are_found)
{
    static uint8_t data[4096];
    size_t len = make_raw(data, 2, 0x10, 1, 100, 10, 1);
    uint8_t expected[100];

    for (uint32_t i = 0; i < 10; i++)
        store_le32(data + 16 + 4 * i, 56 + 14 * (9 - i));
    for (uint32_t i = 0; i < 100; i++)
        expected[i] = (uint8_t)(10 * (9 - i / 10) + i % 10);
    check_content(data, len, expected, 100);

    struct chunk *chunk = open_chunk(data, len);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t off;
        uint32_t size;

        chunk_block_extent(chunk, i, &off, &size);
        ck_assert_uint_eq(off, 56 + 14 * (9 - i));
        ck_assert_uint_eq(size, 14);
    }
    ck_assert_uint_ge(chunk_footprint(chunk), 2 * 10 * sizeof(uint32_t));
    chunk_close(chunk);
}
END_TEST

START_TEST(an_extent_is_never_much_larger_than_its_block)
{
    static uint8_t data[4096];
    size_t len = make_raw(data, 2, 0x10, 1, 10, 10, 1);

    store_le32(data + 12, 0x7fffffff);
    struct chunk *chunk = open_chunk(data, len);
    uint32_t off;
    uint32_t size;

    chunk_block_extent(chunk, 0, &off, &size);
    ck_assert_uint_eq(off, 20);
    ck_assert_uint_le(size, 128);
    chunk_close(chunk);
}
END_TEST

/* Chunk Format, 13.1: the header says 6, but the blocks have 4 bytes. */
START_TEST(blocks_cut_at_whole_items_are_found_despite_the_header)
{
    static uint8_t data[4096];
    uint8_t expected[26];
    size_t len = make_raw(data, 5, 0x10, 4, 26, 4, 1);

    for (uint8_t i = 0; i < sizeof(expected); i++)
        expected[i] = i;
    store_le32(data + 8, 6);
    check_content(data, len, expected, sizeof(expected));

    len = make_raw(data, 5, 0x10, 40, 26, 1, 1);
    store_le32(data + 8, 20);
    check_content(data, len, expected, sizeof(expected));
}
END_TEST

/* Filters of Blosc2 chunks, 5: typesize 2, blocks of 20 bytes. */
START_TEST(delta_takes_the_first_block_as_reference)
{
    static const uint8_t first[] = {
        0x05, 0x10, 0x1e, 0x36, 0x2a, 0x1a, 0x76, 0x6e, 0x1a, 0x3a,
        0x2e, 0x16, 0xfa, 0xea, 0x16, 0x3e, 0x2a, 0x6a, 0x7e, 0x16,
    };
    static const uint8_t second[] = {
        0xe4, 0xfc, 0xec, 0x24, 0x3c, 0x24, 0x64, 0x7c, 0x64, 0x2c,
        0x3c, 0x24, 0xec, 0xe4, 0xe4, 0x2c, 0x24, 0x5c, 0x6c, 0x64,
    };
    static uint8_t data[4096];
    uint8_t expected[40];
    size_t len = make_raw(data, 2, 0x18, 2, 40, 20, 1);

    memcpy(data + 28, first, 20);
    memcpy(data + 52, second, 20);
    for (uint32_t i = 0; i < 40; i++)
        expected[i] = (uint8_t)(11 * i + 5);
    check_content(data, len, expected, 40);

    struct chunk *chunk = open_chunk(data, len);
    ck_assert(chunk_needs_first_block(chunk));
    chunk_close(chunk);
    len = make_raw(data, 2, 0x18, 2, 20, 20, 1);
    chunk = open_chunk(data, len);
    ck_assert(!chunk_needs_first_block(chunk));
    chunk_close(chunk);
}
END_TEST

START_TEST(version_3_has_no_sixth_filter)
{
    uint8_t data[sizeof(chunk_runs)];
    struct fault fault = FAULT_NONE;
    struct chunk_header header;

    memcpy(data, chunk_runs, sizeof(data));
    data[0] = 3;
    data[21] = 77;
    data[29] = 1;
    ck_assert_int_eq(chunk_header_parse(data, 32, &header, &fault), 0);
    ck_assert_uint_eq(header.filters[5], 0);
    ck_assert_uint_eq(header.filters_meta[5], 0);
    chunk_close(open_chunk(data, sizeof(data)));
}
END_TEST

START_TEST(filters_of_an_instrumented_chunk_stay_applied)
{
    uint8_t data[sizeof(chunk_streams)];
    uint8_t out[40];

    memcpy(data, chunk_streams, sizeof(data));
    data[31] = 0x80;
    struct chunk *chunk = open_chunk(data, sizeof(data));
    ck_assert_int_eq(decode_block(chunk, 1, data, NULL, out), 40);
    ck_assert_mem_eq(out, data + 0x89, 40);
    chunk_close(chunk);
}
END_TEST

START_TEST(an_open_chunk_says_what_memory_it_holds)
{
    struct chunk *plain = open_chunk(chunk_copy, sizeof(chunk_copy));
    struct chunk *blocks = open_chunk(chunk_runs, sizeof(chunk_runs));
    struct chunk *value = open_chunk(chunk_repeated, sizeof(chunk_repeated));
    struct chunk *dict = open_chunk(chunk_dict, sizeof(chunk_dict));
    size_t least = chunk_footprint(plain);

    ck_assert_uint_eq(chunk_footprint(blocks), least + 8);
    ck_assert_uint_eq(chunk_footprint(value), least + 4);
    ck_assert_uint_ge(chunk_footprint(dict), least + 4 + 45);
    chunk_close(plain);
    chunk_close(blocks);
    chunk_close(value);
    chunk_close(dict);
}
END_TEST

START_TEST(a_header_that_is_written_names_its_codec)
{
    static const uint8_t formats[][2] = {
        { CODEC_BLOSCLZ, 0 }, { CODEC_LZ4HC, 1 }, { CODEC_ZLIB, 3 },
        { CODEC_ZSTD, 4 },    { CODEC_NDLZ, 6 },  { 200, 6 },
    };
    uint8_t data[sizeof(chunk_streams)];
    struct fault fault = FAULT_NONE;
    struct chunk_header header;

    ck_assert_int_eq(chunk_header_parse(chunk_streams, sizeof(chunk_streams),
                                        &header, &fault),
                     0);
    header.flags = 0;
    for (unsigned id = 0; id < CODEC_NIDS; id++) {
        header.codec = (uint8_t)id;
        chunk_header_write(&header, data);
        ck_assert_int_eq(
            chunk_header_parse(data, sizeof(data), &header, &fault), 0);
        ck_assert_uint_eq(header.codec, id);
        header.flags = 0;
    }
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        header.codec = formats[i][0];
        chunk_header_write(&header, data);
        ck_assert_uint_eq(data[2] >> 5, formats[i][1]);
        ck_assert_uint_eq(data[22], formats[i][0]);
    }
}
END_TEST

static void check_kind_of_written(enum chunk_kind kind, uint32_t cbytes)
{
    const struct chunk_header wanted = {
        .kind = kind,
        .typesize = 8,
        .nbytes = 80,
        .cbytes = cbytes,
        .blocksize = 40,
    };
    struct fault fault = FAULT_NONE;
    struct chunk_header header;
    uint8_t data[32];

    chunk_header_write(&wanted, data);
    ck_assert_int_eq(chunk_header_parse(data, sizeof(data), &header, &fault),
                     0);
    ck_assert_int_eq(header.kind, kind);
    ck_assert_uint_eq(header.typesize, 8);
    ck_assert_uint_eq(header.nbytes, 80);
    ck_assert_uint_eq(header.cbytes, cbytes);
}

START_TEST(a_header_that_is_written_names_its_kind)
{
    check_kind_of_written(CHUNK_BLOCKS, 100);
    check_kind_of_written(CHUNK_COPY, 112);
    check_kind_of_written(CHUNK_ZEROS, 32);
    check_kind_of_written(CHUNK_NANS, 32);
    check_kind_of_written(CHUNK_VALUE, 40);
    check_kind_of_written(CHUNK_UNINIT, 32);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        raw_codec_zero_and_run_streams_are_decoded,
        a_header_that_is_written_names_its_codec,
        a_header_that_is_written_names_its_kind,
        runs_fill_unsplit_and_split_blocks,
        a_large_block_is_decoded_more_than_once,
        special_chunks_show_what_they_stand_for,
        a_special_chunk_is_filled_from_any_offset,
        copied_and_empty_chunks_are_decoded,
        a_copied_chunk_ignores_a_stale_dictionary_bit,
        a_copied_chunk_is_cut_into_blocks_of_a_good_size,
        vlblocks_are_decoded_one_behind_the_other,
        a_dictionary_is_found_behind_the_block_starts,
        a_blosc1_header_is_understood,
        filters_of_a_short_header_are_its_flags,
        old_chunks_split_only_blocks_of_128_items_up_to_16_bytes,
        blocks_stored_in_any_order_are_found,
        an_extent_is_never_much_larger_than_its_block,
        blocks_cut_at_whole_items_are_found_despite_the_header,
        delta_takes_the_first_block_as_reference,
        version_3_has_no_sixth_filter,
        filters_of_an_instrumented_chunk_stay_applied,
        an_open_chunk_says_what_memory_it_holds,
        NULL,
    };

    return suite_run("chunk", tests);
}
