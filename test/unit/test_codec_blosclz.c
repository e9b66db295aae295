/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "chunk/codec.h"
#include "suite.h"

enum {
    LEN = 65536,
    RUN = 100,
    LEVEL = 5
};

static uint8_t source[LEN];

static uint32_t draw(void)
{
    static uint32_t seed = 1;

    seed = seed * 1664525 + 1013904223;
    return seed >> 16;
}

/* Fill with bytes as in a plane of numbers whose low bits are zero. */
static void fill_noise_of_few_values(size_t start, size_t end)
{
    for (size_t i = start; i < end; i++)
        source[i] = (uint8_t)(draw() << 5);
}

static void fill_runs(size_t start, size_t end)
{
    for (size_t i = start; i < end; i++)
        source[i] = i % RUN == 0 ? (uint8_t)draw() : source[i - 1];
}

/* Encode all of the source, and check that it decodes.  Returns the size. */
static size_t encode(void)
{
    const struct codec *codec = codec_by_id(CODEC_BLOSCLZ);
    struct codec_context context = { 0 };
    uint8_t encoded[LEN];
    uint8_t decoded[LEN];
    struct codec_stream stream = {
        .context = &context,
        .level = LEVEL,
        .src = source,
        .src_len = LEN,
        .dst = encoded,
        .dst_len = LEN - 1,
    };
    ssize_t len = codec->encode(&stream);

    ck_assert_int_ge(len, 0);
    if (len > 0) {
        stream = (struct codec_stream){
            .context = &context,
            .src = encoded,
            .src_len = (size_t)len,
            .dst = decoded,
            .dst_len = LEN,
        };
        ck_assert_int_eq(codec->decode(&stream), 0);
        ck_assert_mem_eq(decoded, source, LEN);
    }
    codec->fini(&context);
    return (size_t)len;
}

/* Return a bound for the encoded size of runs: some instructions for each. */
static size_t size_of_runs(size_t len)
{
    return len / RUN * 8;
}

START_TEST(noise_of_few_values_is_not_worth_its_time)
{
    fill_noise_of_few_values(0, LEN);
    ck_assert_uint_eq(encode(), 0);
}
END_TEST

START_TEST(runs_are_searched_to_their_end)
{
    fill_runs(0, LEN);
    ck_assert_uint_lt(encode(), size_of_runs(LEN));
}
END_TEST

/*
 * At the end of the noise, the encoder skips at most a sixteenth of the stream.
 */
START_TEST(runs_behind_noise_are_found)
{
    size_t noise = LEN / 4 * 3;

    fill_noise_of_few_values(0, noise);
    fill_runs(noise, LEN);
    ck_assert_uint_lt(encode(), noise + noise / 32 + LEN / 16 +
                                    size_of_runs(LEN - noise));
}
END_TEST

/*
 * The encoder goes on through the noise, because the runs before it saved
 * enough.
 */
START_TEST(runs_between_noise_are_found)
{
    size_t noise = LEN / 2;

    for (size_t i = 0; i < LEN; i += LEN / 8) {
        fill_runs(i, i + LEN / 16);
        fill_noise_of_few_values(i + LEN / 16, i + LEN / 8);
    }
    ck_assert_uint_lt(encode(), noise + noise / 32 + size_of_runs(LEN - noise));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        noise_of_few_values_is_not_worth_its_time,
        runs_are_searched_to_their_end,
        runs_behind_noise_are_found,
        runs_between_noise_are_found,
        NULL,
    };

    return suite_run("codec_blosclz", tests);
}
