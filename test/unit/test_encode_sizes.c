/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "chunk/chunk_encode.h"
#include "chunk/codec.h"
#include "chunk/filter.h"
#include "suite.h"

/*
 * The sizes to which c-blosc2 3.x encodes four kinds of data, with LZ4 1.9.4,
 * zlib 1.2.13 and zstd 1.5.4.
 */
enum {
    NBYTES = 1048576,
    NLEVELS = 5 /* levels 1, 3, 5, 7, 9 */
};

/* The data is generated, so that anybody can reproduce it. */
struct data {
    unsigned typesize;
    uint32_t crc;
    void (*generate)(uint8_t *dst);
};

static uint32_t draw(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed;
}

static void store_int64(uint8_t *dst, int64_t value)
{
    store_le32(dst, (uint32_t)value);
    store_le32(dst + 4, (uint32_t)(value >> 32));
}

static void generate_a(uint8_t *dst)
{
    for (uint32_t i = 0; i < NBYTES / 4; i++)
        store_le32(dst + 4 * i, i);
}

static void generate_b(uint8_t *dst)
{
    uint32_t seed = 1;
    int64_t value = 0;

    for (size_t i = 0; i < NBYTES / 8; i++) {
        value += (int64_t)((draw(&seed) >> 16) % 7) - 3;
        store_int64(dst + 8 * i, value);
    }
}

static void generate_c(uint8_t *dst)
{
    static const char *const words[51] = {
        "the",  "of",  "and",  "to",    "in",    "is",    "that", "for",
        "it",   "as",  "was",  "with",  "be",    "by",    "on",   "not",
        "he",   "his", "but",  "at",    "are",   "this",  "have", "from",
        "or",   "had", "an",   "they",  "which", "one",   "you",  "were",
        "all",  "her", "she",  "there", "would", "their", "we",   "him",
        "been", "has", "when", "who",   "will",  "no",    "more", "if",
        "out",  "so",  "up",
    };
    uint32_t seed = 2;
    size_t pos = 0;

    while (pos < NBYTES) {
        const char *word = words[(draw(&seed) >> 16) % 51];

        for (; *word && pos < NBYTES; word++)
            dst[pos++] = (uint8_t)*word;
        if (pos < NBYTES)
            dst[pos++] = ' ';
    }
}

static void generate_d(uint8_t *dst)
{
    uint32_t seed = 3;

    for (size_t i = 0; i < NBYTES; i += 2) {
        uint32_t value = draw(&seed) >> 20;

        dst[i] = (uint8_t)value;
        dst[i + 1] = (uint8_t)(value >> 8);
    }
}

static const struct data data_a = { 4, 0x73e7258b, generate_a };
static const struct data data_b = { 8, 0x0f3488b8, generate_b };
static const struct data data_c = { 1, 0xc3ef7468, generate_c };
static const struct data data_d = { 2, 0x5b0ae7e6, generate_d };

static const struct row {
    const struct data *data;
    enum filter_id filter;
    enum codec_id codec;
    unsigned cbytes[NLEVELS];
} rows[] = {
    { &data_a,
      FILTER_NONE,
      CODEC_BLOSCLZ,
      { 1048608, 1048608, 1048608, 1048608, 1048608 } },
    { &data_a,
      FILTER_NONE,
      CODEC_LZ4,
      { 1048608, 1048608, 1048608, 1048608, 1048608 } },
    { &data_a,
      FILTER_NONE,
      CODEC_LZ4HC,
      { 1048608, 1048608, 1048608, 1048608, 1048608 } },
    { &data_a,
      FILTER_NONE,
      CODEC_ZLIB,
      { 363334, 362856, 362677, 362639, 362619 } },
    { &data_a,
      FILTER_NONE,
      CODEC_ZSTD,
      { 653629, 693346, 693372, 693349, 693170 } },
    { &data_a,
      FILTER_SHUFFLE,
      CODEC_BLOSCLZ,
      { 9574, 9574, 8387, 6322, 4729 } },
    { &data_a, FILTER_SHUFFLE, CODEC_LZ4, { 8518, 8518, 7347, 7816, 7520 } },
    { &data_a,
      FILTER_SHUFFLE,
      CODEC_LZ4HC,
      { 17268, 10482, 9352, 8804, 8528 } },
    { &data_a, FILTER_SHUFFLE, CODEC_ZLIB, { 18595, 10005, 5466, 4628, 4248 } },
    { &data_a, FILTER_SHUFFLE, CODEC_ZSTD, { 4518, 4518, 3235, 1676, 896 } },
    { &data_a,
      FILTER_BITSHUFFLE,
      CODEC_BLOSCLZ,
      { 13885, 6945, 5713, 5030, 5030 } },
    { &data_a,
      FILTER_BITSHUFFLE,
      CODEC_LZ4,
      { 58784, 55132, 30450, 30209, 30209 } },
    { &data_a,
      FILTER_BITSHUFFLE,
      CODEC_LZ4HC,
      { 7253, 4989, 4624, 4395, 4274 } },
    { &data_a,
      FILTER_BITSHUFFLE,
      CODEC_ZLIB,
      { 13877, 8349, 4429, 2764, 2299 } },
    { &data_a, FILTER_BITSHUFFLE, CODEC_ZSTD, { 7324, 3343, 1639, 436, 353 } },
    { &data_b,
      FILTER_NONE,
      CODEC_BLOSCLZ,
      { 286281, 268708, 264292, 261892, 262236 } },
    { &data_b,
      FILTER_NONE,
      CODEC_LZ4,
      { 352864, 345269, 344185, 343476, 343476 } },
    { &data_b,
      FILTER_NONE,
      CODEC_LZ4HC,
      { 235355, 212129, 187055, 174684, 173655 } },
    { &data_b,
      FILTER_NONE,
      CODEC_ZLIB,
      { 157937, 142298, 129333, 125072, 126996 } },
    { &data_b,
      FILTER_NONE,
      CODEC_ZSTD,
      { 143952, 130972, 119456, 114597, 103944 } },
    { &data_b,
      FILTER_SHUFFLE,
      CODEC_BLOSCLZ,
      { 137062, 137062, 138485, 138330, 138353 } },
    { &data_b,
      FILTER_SHUFFLE,
      CODEC_LZ4,
      { 136925, 136905, 137648, 138070, 137993 } },
    { &data_b,
      FILTER_SHUFFLE,
      CODEC_LZ4HC,
      { 134410, 128322, 122316, 115168, 109564 } },
    { &data_b,
      FILTER_SHUFFLE,
      CODEC_ZLIB,
      { 114901, 108076, 101100, 98081, 95871 } },
    { &data_b,
      FILTER_SHUFFLE,
      CODEC_ZSTD,
      { 133724, 111082, 101653, 121566, 79670 } },
    { &data_b,
      FILTER_BITSHUFFLE,
      CODEC_BLOSCLZ,
      { 103032, 101372, 101027, 1048608, 1048608 } },
    { &data_b,
      FILTER_BITSHUFFLE,
      CODEC_LZ4,
      { 104353, 100934, 99787, 97792, 96251 } },
    { &data_b,
      FILTER_BITSHUFFLE,
      CODEC_LZ4HC,
      { 94862, 92497, 91300, 90286, 89258 } },
    { &data_b,
      FILTER_BITSHUFFLE,
      CODEC_ZLIB,
      { 95343, 92850, 85002, 82943, 81496 } },
    { &data_b,
      FILTER_BITSHUFFLE,
      CODEC_ZSTD,
      { 87522, 82810, 81962, 81930, 79106 } },
    { &data_c,
      FILTER_NONE,
      CODEC_BLOSCLZ,
      { 1048608, 831986, 830037, 828903, 829166 } },
    { &data_c,
      FILTER_NONE,
      CODEC_LZ4,
      { 675313, 647592, 545471, 536407, 534161 } },
    { &data_c,
      FILTER_NONE,
      CODEC_LZ4HC,
      { 514576, 464362, 407656, 370992, 356274 } },
    { &data_c,
      FILTER_NONE,
      CODEC_ZLIB,
      { 376505, 337634, 314620, 282704, 280765 } },
    { &data_c,
      FILTER_NONE,
      CODEC_ZSTD,
      { 341118, 325503, 299727, 278032, 245408 } },
    { &data_c,
      FILTER_SHUFFLE,
      CODEC_BLOSCLZ,
      { 1048608, 835851, 831986, 830037, 828599 } },
    { &data_c,
      FILTER_SHUFFLE,
      CODEC_LZ4,
      { 658014, 654996, 645928, 540719, 532462 } },
    { &data_c,
      FILTER_SHUFFLE,
      CODEC_LZ4HC,
      { 514576, 464362, 407656, 370992, 356274 } },
    { &data_c,
      FILTER_SHUFFLE,
      CODEC_ZLIB,
      { 376505, 337634, 314620, 282704, 280765 } },
    { &data_c,
      FILTER_SHUFFLE,
      CODEC_ZSTD,
      { 341118, 332239, 306746, 278032, 245408 } },
    { &data_c,
      FILTER_BITSHUFFLE,
      CODEC_BLOSCLZ,
      { 813391, 812400, 1048608, 1048608, 1048608 } },
    { &data_c,
      FILTER_BITSHUFFLE,
      CODEC_LZ4,
      { 793844, 791368, 791204, 790708, 790290 } },
    { &data_c,
      FILTER_BITSHUFFLE,
      CODEC_LZ4HC,
      { 785943, 773938, 767086, 760700, 756126 } },
    { &data_c,
      FILTER_BITSHUFFLE,
      CODEC_ZLIB,
      { 693078, 670621, 658103, 654806, 651866 } },
    { &data_c,
      FILTER_BITSHUFFLE,
      CODEC_ZSTD,
      { 729438, 706510, 677451, 655291, 642108 } },
    { &data_d,
      FILTER_NONE,
      CODEC_BLOSCLZ,
      { 1048608, 1048608, 1048608, 1048608, 1048608 } },
    { &data_d,
      FILTER_NONE,
      CODEC_LZ4,
      { 1048608, 1048608, 1048608, 1048608, 1048608 } },
    { &data_d,
      FILTER_NONE,
      CODEC_LZ4HC,
      { 1048608, 1048608, 1048608, 1048608, 1048608 } },
    { &data_d,
      FILTER_NONE,
      CODEC_ZLIB,
      { 906801, 908176, 900509, 900367, 900345 } },
    { &data_d,
      FILTER_NONE,
      CODEC_ZSTD,
      { 898139, 897304, 897317, 897110, 897615 } },
    { &data_d,
      FILTER_SHUFFLE,
      CODEC_BLOSCLZ,
      { 1048608, 1048608, 1048608, 1048608, 1048608 } },
    { &data_d,
      FILTER_SHUFFLE,
      CODEC_LZ4,
      { 1048608, 1048608, 1045763, 1048608, 1048608 } },
    { &data_d,
      FILTER_SHUFFLE,
      CODEC_LZ4HC,
      { 1014527, 961690, 941916, 932389, 927648 } },
    { &data_d,
      FILTER_SHUFFLE,
      CODEC_ZLIB,
      { 833793, 833676, 825176, 824233, 823703 } },
    { &data_d,
      FILTER_SHUFFLE,
      CODEC_ZSTD,
      { 787216, 805738, 810960, 796314, 786851 } },
    { &data_d,
      FILTER_BITSHUFFLE,
      CODEC_BLOSCLZ,
      { 813152, 812336, 1048608, 1048608, 1048608 } },
    { &data_d,
      FILTER_BITSHUFFLE,
      CODEC_LZ4,
      { 793056, 791504, 791168, 790960, 790960 } },
    { &data_d,
      FILTER_BITSHUFFLE,
      CODEC_LZ4HC,
      { 791199, 790723, 790643, 790605, 790586 } },
    { &data_d,
      FILTER_BITSHUFFLE,
      CODEC_ZLIB,
      { 791003, 789324, 787574, 787422, 787317 } },
    { &data_d,
      FILTER_BITSHUFFLE,
      CODEC_ZSTD,
      { 787424, 787464, 786608, 786524, 786507 } },
};

enum {
    NROWS = sizeof(rows) / sizeof(*rows)
};

static struct chunk_params params_of(const struct row *row, unsigned clevel)
{
    return (struct chunk_params){
        .typesize = row->data->typesize,
        .codec = (uint8_t)row->codec,
        .clevel = (uint8_t)clevel,
        .filters = { 0, 0, 0, 0, 0, (uint8_t)row->filter },
        .split_mode = CHUNK_SPLIT_FORWARD,
    };
}

static void expect_same_bytes(const uint8_t *chunk, size_t len,
                              const uint8_t *src)
{
    struct chunk_decoder *decoder;
    struct fault fault = FAULT_NONE;
    uint8_t *bytes = malloc(NBYTES);

    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(chunk_decoder_new(cpu_features(), &decoder), 0);
    ck_assert_int_eq(chunk_decode(&(struct stored_chunk){ chunk, len, NULL },
                                  bytes, NBYTES, decoder, &fault),
                     NBYTES);
    ck_assert_mem_eq(bytes, src, NBYTES);
    chunk_decoder_free(decoder);
    free(bytes);
}

/* BloscLZ may differ by 5 %, because encoders have more freedom there. */
static unsigned allowed(const struct row *row, unsigned level)
{
    unsigned percent = row->codec == CODEC_BLOSCLZ ? 5 : 1;

    return row->cbytes[level] + row->cbytes[level] / 100 * percent;
}

static void expect_row(const struct row *row, struct chunk_encoder *encoder,
                       const uint8_t *src, uint8_t *chunk)
{
    for (unsigned level = 0; level < NLEVELS; level++) {
        struct chunk_params params = params_of(row, 2 * level + 1);
        ssize_t len = chunk_encode(encoder, &params,
                                   &(struct chunk_content){ src, NBYTES },
                                   chunk, NBYTES + CHUNK_OVERHEAD_MAX);

        ck_assert_int_gt(len, 0);
        ck_assert_msg(len <= allowed(row, level),
                      "typesize %u, filter %s, codec %s, level %u: %zd > %u",
                      params.typesize, filter_name(row->filter),
                      codec_name(row->codec), params.clevel, len,
                      allowed(row, level));
        expect_same_bytes(chunk, (size_t)len, src);
    }
}

static void expect_rows_of(const struct data *data)
{
    uint8_t *src = malloc(NBYTES);
    uint8_t *chunk = malloc(NBYTES + CHUNK_OVERHEAD_MAX);
    struct chunk_encoder *encoder;

    ck_assert(src && chunk);
    ck_assert_int_eq(chunk_encoder_new(cpu_features(), &encoder), 0);
    data->generate(src);
    ck_assert_uint_eq(crc32(0, src, NBYTES), data->crc);
    for (size_t i = 0; i < NROWS; i++) {
        if (rows[i].data == data)
            expect_row(&rows[i], encoder, src, chunk);
    }
    chunk_encoder_free(encoder);
    free(chunk);
    free(src);
}

START_TEST(rising_integers_take_no_more_than_the_reference_makes_them)
{
    expect_rows_of(&data_a);
}
END_TEST

START_TEST(a_random_walk_takes_no_more_than_the_reference_makes_it)
{
    expect_rows_of(&data_b);
}
END_TEST

START_TEST(words_take_no_more_than_the_reference_makes_them)
{
    expect_rows_of(&data_c);
}
END_TEST

START_TEST(noise_takes_no_more_than_the_reference_makes_it)
{
    expect_rows_of(&data_d);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        rising_integers_take_no_more_than_the_reference_makes_them,
        a_random_walk_takes_no_more_than_the_reference_makes_it,
        words_take_no_more_than_the_reference_makes_them,
        noise_takes_no_more_than_the_reference_makes_it,
        NULL,
    };

    return suite_run("encode_sizes", tests);
}
