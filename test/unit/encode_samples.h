/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_ENCODE_SAMPLES_H
#define TEST_UNIT_ENCODE_SAMPLES_H

#include <string.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "chunk/chunk_encode.h"
#include "chunk/chunk_format.h"
#include "chunk/codec.h"
#include "chunk/filter.h"
#include "suite.h"

/* Content to encode, and checks of the result, for the suites of the
   encoder. */

enum {
    NBYTES_MAX = 400000,
    CAP = NBYTES_MAX + CHUNK_OVERHEAD_MAX
};

/*
 * These examples are from Blosc2 Chunk Format, and were made by c-blosc2 3.x.
 */
static const struct chunk_params plain_lz4 = {
    .typesize = 4,
    .codec = CODEC_LZ4,
    .clevel = 5,
    .split_mode = CHUNK_SPLIT_FORWARD,
};

static const struct chunk_params shuffled_lz4 = {
    .typesize = 4,
    .codec = CODEC_LZ4,
    .clevel = 5,
    .filters = { 0, 0, 0, 0, 0, FILTER_SHUFFLE },
    .split_mode = CHUNK_SPLIT_FORWARD,
};

static struct chunk_encoder *encoder;
static struct chunk_decoder *decoder;
static uint8_t src[NBYTES_MAX];
static uint8_t chunk[CAP];
static uint8_t decoded[NBYTES_MAX];

static inline uint32_t draw(void)
{
    static uint32_t seed = 1;

    seed = seed * 1664525 + 1013904223;
    return seed >> 16;
}

static inline void fill_noise(size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        src[i] = (uint8_t)draw();
}

/* Fill with runs and repetitions of all lengths, and noise between them. */
static inline void fill_mixture(size_t nbytes)
{
    size_t pos = 0;

    while (pos < nbytes) {
        size_t len = 1 + draw() % (draw() % 8 ? 20 : 5000);
        size_t distance = 1 + draw() % (pos + 1);
        unsigned kind = draw() % 3;

        for (; len > 0 && pos < nbytes; len--, pos++)
            src[pos] = kind == 0 || distance > pos ? (uint8_t)draw()
                       : kind == 1                 ? src[pos - distance]
                                                   : src[pos - 1];
    }
}

static inline void fill_rising(size_t nbytes)
{
    for (size_t i = 0; i + 4 <= nbytes; i += 4)
        store_le32(src + i, (uint32_t)i);
}

static inline void fill_repeated(const void *item, size_t item_len,
                                 size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i += item_len)
        memcpy(src + i, item, item_len);
}

/* Can the codec encode any bytes, not only those of an array? */
static inline bool writes_files(unsigned id)
{
    const struct codec *codec = codec_by_id(id);

    return codec && codec->encode && !codec->uses_shape;
}

static inline size_t encode(const struct chunk_params *params, size_t nbytes)
{
    ssize_t len =
        chunk_encode(encoder, params, &(struct chunk_content){ src, nbytes },
                     chunk, nbytes + CHUNK_OVERHEAD_MAX);

    ck_assert_int_ge(len, CHUNK_LONG_HEADER_LEN);
    ck_assert_uint_le((size_t)len, nbytes + CHUNK_OVERHEAD_MAX);
    return (size_t)len;
}

static inline void decode(const struct chunk_params *params, size_t len,
                          size_t nbytes)
{
    const struct chunk_items items = chunk_params_items(params);
    struct fault fault = FAULT_NONE;
    ssize_t r = chunk_decode(&(struct stored_chunk){ chunk, len, &items },
                             decoded, NBYTES_MAX, decoder, &fault);

    ck_assert_msg(r == (ssize_t)nbytes, "%zd: %s", r,
                  fault.what ? fault.what : "");
}

static inline void expect_round_trip(const struct chunk_params *params,
                                     size_t nbytes)
{
    decode(params, encode(params, nbytes), nbytes);
    ck_assert_msg(memcmp(decoded, src, nbytes) == 0,
                  "codec %u, level %u, typesize %u, %zu bytes", params->codec,
                  params->clevel, params->typesize, nbytes);
}

/* Chunks of several sizes, each of another mixture of bytes, must read back. */
static inline void expect_round_trips(const struct chunk_params *params)
{
    static const size_t sizes[] = {
        1,    2,    3,    7,     15,    16,    31,    32,     33,
        65,   66,   255,  256,   1000,  4096,  4099,  32767,  32768,
        8192, 8191, 8193, 65535, 65536, 65537, 99991, 262144, 300001,
    };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        fill_mixture(sizes[i]);
        expect_round_trip(params, sizes[i]);
    }
}

static inline struct chunk_header header_of(size_t len)
{
    struct fault fault = FAULT_NONE;
    struct chunk_header header;

    ck_assert_int_eq(chunk_header_parse(chunk, len, &header, &fault), 0);
    return header;
}

/* Run a suite with an encoder and a decoder. */
static inline int run_encode_suite(const char *name, const TTest *const *tests)
{
    int status = 1;

    if (chunk_encoder_new(cpu_features(), &encoder) == 0 &&
        chunk_decoder_new(cpu_features(), &decoder) == 0)
        status = suite_run(name, tests);
    chunk_encoder_free(encoder);
    chunk_decoder_free(decoder);
    return status;
}

#endif
