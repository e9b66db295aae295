/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "chunk_examples.h"
#include "encode_samples.h"

START_TEST(every_kind_of_stream_is_as_the_reference_writes_it)
{
    struct chunk_params params = shuffled_lz4;

    for (uint32_t i = 0; i < 74; i++)
        store_le32(src + 4 * i, i | (i & 1) << 8 | 7u << 24);
    params.blocksize = 256;
    ck_assert_uint_eq(encode(&params, 296), sizeof(chunk_streams));
    ck_assert_mem_eq(chunk, chunk_streams, sizeof(chunk_streams));
}
END_TEST

START_TEST(runs_are_as_the_reference_writes_them)
{
    const struct chunk_params params = {
        .typesize = 4,
        .blocksize = 100000,
        .codec = CODEC_BLOSCLZ,
        .clevel = 5,
        .split_mode = CHUNK_SPLIT_FORWARD,
    };

    memset(src, 0xff, 100001);
    ck_assert_uint_eq(encode(&params, 100001), sizeof(chunk_runs));
    ck_assert_mem_eq(chunk, chunk_runs, sizeof(chunk_runs));
}
END_TEST

START_TEST(noise_is_copied_behind_a_header)
{
    fill_noise(NBYTES_MAX);
    for (uint8_t codec = CODEC_BLOSCLZ; codec < UINT8_MAX; codec++) {
        struct chunk_params params = shuffled_lz4;

        params.codec = codec;
        params.use_dict = true;
        if (!writes_files(codec))
            continue;
        ck_assert_uint_eq(encode(&params, NBYTES_MAX), CAP);
        ck_assert_int_eq(header_of(CAP).kind, CHUNK_COPY);
        ck_assert_uint_eq(chunk[CHUNK_OFF_BLOSC2_FLAGS], 0);
        expect_round_trip(&params, NBYTES_MAX);
    }
}
END_TEST

START_TEST(level_zero_copies)
{
    struct chunk_params params = shuffled_lz4;

    params.clevel = 0;
    fill_rising(4000);
    ck_assert_uint_eq(encode(&params, 4000), 4000 + CHUNK_OVERHEAD_MAX);
    expect_round_trip(&params, 4000);
}
END_TEST

START_TEST(a_chunk_that_does_not_fit_is_refused)
{
    fill_noise(1000);
    ck_assert_int_eq(chunk_encode(encoder, &plain_lz4,
                                  &(struct chunk_content){ src, 1000 }, chunk,
                                  1031),
                     -ERANGE);
    memset(src, 0, 1000);
    ck_assert_int_eq(chunk_encode(encoder, &plain_lz4,
                                  &(struct chunk_content){ src, 1000 }, chunk,
                                  31),
                     -ERANGE);
}
END_TEST

START_TEST(no_codec_writes_beyond_the_room_it_has)
{
    struct chunk_params params = shuffled_lz4;

    fill_mixture(6000);
    params.use_dict = true;
    for (params.codec = 0; params.codec < UINT8_MAX; params.codec++) {
        for (size_t cap = 0; writes_files(params.codec) && cap < 6032;
             cap += 5) {
            ssize_t len;

            memset(chunk + cap, 0x5a, 64);
            len =
                chunk_encode(encoder, &params,
                             &(struct chunk_content){ src, 6000 }, chunk, cap);
            ck_assert(len == -ERANGE || (len > 0 && len <= (ssize_t)cap));
            for (size_t i = 0; i < 64; i++)
                ck_assert_uint_eq(chunk[cap + i], 0x5a);
        }
    }
}
END_TEST

START_TEST(a_chunk_names_the_codec_of_its_streams)
{
    struct chunk_params params = shuffled_lz4;

    fill_mixture(6000);
    memset(src, 0, 3000);
    params.blocksize = 1000;
    for (unsigned id = 0; id < CODEC_NIDS; id++) {
        params.codec = (uint8_t)id;
        if (writes_files(id)) {
            struct chunk_header header = header_of(encode(&params, 6000));

            ck_assert_int_eq(header.kind, CHUNK_BLOCKS);
            ck_assert_uint_eq(header.codec, id);
        }
    }
}
END_TEST

START_TEST(all_codecs_and_levels_read_back)
{
    struct chunk_params params = shuffled_lz4;

    for (uint8_t codec = CODEC_BLOSCLZ; codec < UINT8_MAX; codec++) {
        params.codec = codec;
        for (uint8_t level = 0; writes_files(codec) && level <= 9; level++) {
            params.clevel = level;
            expect_round_trips(&params);
        }
    }
}
END_TEST

START_TEST(all_typesizes_and_split_modes_read_back)
{
    static const uint32_t typesizes[] = {
        1, 2, 3, 4, 7, 8, 12, 16, 17, 32, 100, 255, 256, 1000, 70000, 500000,
    };
    struct chunk_params params = shuffled_lz4;

    for (size_t i = 0; i < sizeof(typesizes) / sizeof(*typesizes); i++) {
        params.typesize = typesizes[i];
        for (unsigned mode = CHUNK_SPLIT_ALWAYS; mode <= CHUNK_SPLIT_FORWARD;
             mode++) {
            params.split_mode = mode;
            params.codec = CODEC_LZ4;
            expect_round_trips(&params);
            params.codec = CODEC_BLOSCLZ;
            expect_round_trips(&params);
        }
    }
}
END_TEST

/*
 * Fill with items whose bytes are in turn noise, constant, zero and slowly
 * rising.
 */
static void fill_columns(size_t typesize, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++) {
        size_t kind = i % typesize % 4;

        src[i] = kind == 0   ? (uint8_t)draw()
                 : kind == 1 ? (uint8_t)(i % typesize + 7)
                 : kind == 2 ? 0
                             : (uint8_t)(i / typesize / 100);
    }
}

START_TEST(bytes_of_an_item_that_are_streams_of_all_kinds_read_back)
{
    static const uint32_t counts[] = { 40,   64,   511,  512,  513,
                                       1023, 1025, 1088, 5000, 20000 };
    struct chunk_params params = shuffled_lz4;

    params.split_mode = CHUNK_SPLIT_ALWAYS;
    for (params.typesize = 2; params.typesize <= 16; params.typesize++) {
        for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
            params.blocksize = counts[i] * params.typesize;
            fill_columns(params.typesize, params.blocksize + 3);
            expect_round_trip(&params, params.blocksize + 3);
        }
    }
}
END_TEST

START_TEST(all_filters_alone_and_stacked_read_back)
{
    static const uint8_t pipelines[][CHUNK_NFILTERS] = {
        { 0 },
        { FILTER_BITSHUFFLE },
        { FILTER_DELTA },
        { FILTER_DELTA, FILTER_SHUFFLE },
        { 0, FILTER_SHUFFLE, 0, FILTER_BYTEDELTA },
        { FILTER_SHUFFLE, FILTER_DELTA },
        { FILTER_DELTA, FILTER_BITSHUFFLE, FILTER_SHUFFLE, FILTER_BYTEDELTA,
          FILTER_BITSHUFFLE, FILTER_BYTEDELTA },
    };
    struct chunk_params params = plain_lz4;

    for (size_t i = 0; i < sizeof(pipelines) / sizeof(*pipelines); i++) {
        memcpy(params.filters, pipelines[i], CHUNK_NFILTERS);
        for (params.typesize = 1; params.typesize <= 9; params.typesize++)
            expect_round_trips(&params);
        params.typesize = 300;
        expect_round_trips(&params);
    }
}
END_TEST

START_TEST(all_block_sizes_read_back)
{
    static const uint32_t sizes[] = { 1, 2, 3, 4, 5, 100, 4095, 32768, 500000 };
    struct chunk_params params = shuffled_lz4;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        params.blocksize = sizes[i];
        params.split_mode = CHUNK_SPLIT_ALWAYS;
        expect_round_trips(&params);
    }
}
END_TEST

START_TEST(a_lossy_filter_drops_bits_of_what_shrinks)
{
    struct chunk_params params = plain_lz4;

    params.filters[4] = FILTER_INT_TRUNC;
    params.filters_meta[4] = (uint8_t)-4;
    params.filters[5] = FILTER_SHUFFLE;
    fill_rising(4000);
    for (size_t i = 0; i < 4000; i += 4)
        src[i] |= 5;
    decode(&params, encode(&params, 4000), 4000);
    for (size_t i = 0; i < 4000; i += 4)
        src[i] &= 0xf0;
    ck_assert_mem_eq(decoded, src, 4000);
}
END_TEST

START_TEST(dictionaries_read_back_and_shrink_small_blocks)
{
    static const uint8_t codecs[] = { CODEC_LZ4, CODEC_LZ4HC, CODEC_ZSTD };
    struct chunk_params params = plain_lz4;

    for (size_t i = 0; i < sizeof(codecs); i++) {
        size_t len;

        params.codec = codecs[i];
        params.use_dict = true;
        expect_round_trips(&params);

        params.blocksize = 512;
        fill_mixture(4096);
        for (size_t pos = 4096; pos < NBYTES_MAX; pos++)
            src[pos] = src[pos % 4096];
        len = encode(&params, NBYTES_MAX);
        ck_assert(header_of(len).has_dict);
        expect_round_trip(&params, NBYTES_MAX);

        params.use_dict = false;
        ck_assert_uint_lt(len, encode(&params, NBYTES_MAX));
        params.blocksize = 0;
    }
}
END_TEST

START_TEST(a_codec_without_dictionaries_writes_none)
{
    struct chunk_params params = shuffled_lz4;

    params.codec = CODEC_ZLIB;
    params.use_dict = true;
    fill_rising(100000);
    ck_assert(!header_of(encode(&params, 100000)).has_dict);
}
END_TEST

/* BloscLZ counts positions across all streams, up to 2 GiB. */
START_TEST(tens_of_thousands_of_streams_read_back)
{
    struct chunk_params params = plain_lz4;

    params.codec = CODEC_BLOSCLZ;
    fill_mixture(NBYTES_MAX);
    for (unsigned i = 0; i < 40000; i++)
        expect_round_trip(&params, 100 + i % 50);
}
END_TEST

START_TEST(what_cannot_be_read_back_is_refused)
{
    struct chunk_params params = plain_lz4;

    ck_assert_int_eq(chunk_params_check(&params), 0);
    params.filters[0] = FILTER_INT_TRUNC;
    params.filters_meta[0] = 12;
    ck_assert_int_eq(chunk_params_check(&params), 0);
    params.filters[1] = FILTER_DELTA;
    ck_assert_int_eq(chunk_params_check(&params), -EINVAL);
    params.filters[0] = FILTER_DELTA;
    ck_assert_int_eq(chunk_params_check(&params), -EINVAL);
    params.filters[1] = FILTER_NDCELL;
    ck_assert_int_eq(chunk_params_check(&params), -EINVAL);
    params.filters[1] = FILTER_TRUNC_PREC;
    params.filters_meta[1] = 10;
    params.typesize = 2;
    ck_assert_int_eq(chunk_params_check(&params), -EINVAL);
}
END_TEST

START_TEST(parameters_out_of_range_are_refused)
{
    struct chunk_params params = plain_lz4;

    params.typesize = 0;
    ck_assert_int_eq(chunk_params_check(&params), -EINVAL);
    params = plain_lz4;
    params.clevel = 10;
    ck_assert_int_eq(chunk_params_check(&params), -EINVAL);
    params = plain_lz4;
    params.split_mode = 0;
    ck_assert_int_eq(chunk_params_check(&params), -EINVAL);
    params = plain_lz4;
    params.codec = CODEC_SNAPPY;
    ck_assert_int_eq(chunk_encode(encoder, &params,
                                  &(struct chunk_content){ src, 100 }, chunk,
                                  CAP),
                     -ENOTSUP);
    ck_assert_int_eq(chunk_encode(encoder, &plain_lz4,
                                  &(struct chunk_content){
                                      src, CHUNK_NBYTES_MAX + (size_t)1 },
                                  chunk, CAP),
                     -EINVAL);
}
END_TEST

START_TEST(automatic_block_sizes_are_those_of_the_reference)
{
    static const struct {
        uint8_t codec;
        uint8_t filter;
        uint8_t typesize;
        uint32_t expected[5]; /* for levels 1, 3, 5, 7, 9 */
    } rows[] = {
        { CODEC_LZ4,
          FILTER_SHUFFLE,
          4,
          { 131072, 131072, 262144, 524288, 2097152 } },
        { CODEC_BLOSCLZ,
          FILTER_SHUFFLE,
          8,
          { 262144, 262144, 524288, 1048576, 4194304 } },
        { CODEC_LZ4,
          FILTER_BITSHUFFLE,
          4,
          { 16384, 65536, 131072, 262144, 262144 } },
        { CODEC_BLOSCLZ,
          FILTER_SHUFFLE,
          17,
          { 16371, 65535, 131070, 262140, 262140 } },
        { CODEC_ZSTD,
          FILTER_SHUFFLE,
          8,
          { 262144, 262144, 524288, 524288, 1048576 } },
        { CODEC_LZ4HC,
          FILTER_SHUFFLE,
          4,
          { 32768, 131072, 262144, 524288, 1048576 } },
        { CODEC_ZLIB,
          FILTER_NONE,
          4,
          { 32768, 131072, 262144, 524288, 1048576 } },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct chunk_params params = plain_lz4;

        params.codec = rows[i].codec;
        params.typesize = rows[i].typesize;
        params.filters[5] = rows[i].filter;
        for (uint8_t j = 0; j < 5; j++) {
            params.clevel = (uint8_t)(2 * j + 1);
            ck_assert_uint_eq(chunk_params_blocksize(&params, 100000000),
                              rows[i].expected[j]);
        }
    }
}
END_TEST

START_TEST(blocks_are_of_whole_items_and_within_the_chunk)
{
    struct chunk_params params = plain_lz4;

    params.typesize = 12;
    ck_assert_uint_eq(chunk_params_blocksize(&params, 0), 1);
    ck_assert_uint_eq(chunk_params_blocksize(&params, 11), 1);
    ck_assert_uint_eq(chunk_params_blocksize(&params, 100), 96);
    params.blocksize = 50;
    ck_assert_uint_eq(chunk_params_blocksize(&params, 1000), 48);
    ck_assert_uint_eq(chunk_params_blocksize(&params, 40), 36);
    params.blocksize = 5;
    ck_assert_uint_eq(chunk_params_blocksize(&params, 1000), 5);
    ck_assert(!chunk_params_split(&params, 5));
}
END_TEST

/* Encode the same content from pieces that each end where their memory ends. */
static void check_pieces(const struct chunk_params *params, size_t nbytes,
                         size_t piece_len)
{
    static uint8_t whole[CAP];
    ssize_t want = chunk_encode(
        encoder, params, &(struct chunk_content){ src, nbytes }, whole, CAP);
    size_t npieces = (nbytes + piece_len - 1) / piece_len;
    const uint8_t **list = calloc(npieces, sizeof(*list));
    const struct chunk_pieces pieces = { list, piece_len, nbytes };

    for (size_t i = 0; i < npieces; i++) {
        size_t off = i * piece_len;
        size_t len = nbytes - off < piece_len ? nbytes - off : piece_len;
        uint8_t *piece = malloc(len);

        memcpy(piece, src + off, len);
        list[i] = piece;
    }
    ck_assert_int_eq(chunk_encode_pieces(encoder, params, &pieces, chunk, CAP),
                     want);
    ck_assert_mem_eq(chunk, whole, (size_t)want);
    for (size_t i = 0; i < npieces; i++)
        free((void *)(uintptr_t)list[i]);
    free(list);
}

static void check_all_pieces(const struct chunk_params *params, size_t nbytes)
{
    check_pieces(params, nbytes, nbytes);
    check_pieces(params, nbytes, nbytes - 1);
    check_pieces(params, nbytes, 65536);
    check_pieces(params, nbytes, 4096);
    check_pieces(params, nbytes, 1001);
}

START_TEST(content_in_pieces_is_encoded_like_content_in_one)
{
    static const float nan_item = NAN;
    struct chunk_params params = shuffled_lz4;
    size_t nbytes = 300004;

    params.blocksize = 8192;
    fill_mixture(nbytes);
    check_all_pieces(&params, nbytes);
    fill_noise(nbytes);
    check_all_pieces(&params, nbytes);
    fill_repeated(&nan_item, 4, nbytes);
    check_all_pieces(&params, nbytes);
    fill_repeated("1234", 4, nbytes);
    check_all_pieces(&params, nbytes);
    src[200000]++;
    check_all_pieces(&params, nbytes);
    memset(src, 0, nbytes);
    check_all_pieces(&params, nbytes);
    fill_rising(nbytes);
    params.codec = CODEC_ZSTD;
    params.use_dict = true;
    params.filters[4] = FILTER_DELTA;
    check_all_pieces(&params, nbytes);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        every_kind_of_stream_is_as_the_reference_writes_it,
        runs_are_as_the_reference_writes_them,
        noise_is_copied_behind_a_header,
        level_zero_copies,
        a_chunk_that_does_not_fit_is_refused,
        no_codec_writes_beyond_the_room_it_has,
        a_chunk_names_the_codec_of_its_streams,
        all_codecs_and_levels_read_back,
        all_typesizes_and_split_modes_read_back,
        bytes_of_an_item_that_are_streams_of_all_kinds_read_back,
        all_filters_alone_and_stacked_read_back,
        all_block_sizes_read_back,
        a_lossy_filter_drops_bits_of_what_shrinks,
        dictionaries_read_back_and_shrink_small_blocks,
        a_codec_without_dictionaries_writes_none,
        tens_of_thousands_of_streams_read_back,
        what_cannot_be_read_back_is_refused,
        parameters_out_of_range_are_refused,
        automatic_block_sizes_are_those_of_the_reference,
        blocks_are_of_whole_items_and_within_the_chunk,
        content_in_pieces_is_encoded_like_content_in_one,
        NULL,
    };

    return run_encode_suite("encode", tests);
}
