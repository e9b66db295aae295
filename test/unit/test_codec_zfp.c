/* SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "chunk/chunk_params.h"
#include "chunk/codec.h"
#include "chunk/filter.h"
#include "suite.h"

/* The example of the format: 12 floats in three modes. */
enum {
    NITEMS = 12,
    LEN = 4 * NITEMS,
    STREAM_LEN = 24,
    SKIPPED = 77 /* exit status */
};

static const float items_in[NITEMS] = {
    0,      0.795f, 1.558f, 2.259f, 2.869f, 3.366f,
    3.728f, 3.942f, 3.998f, 3.895f, 3.637f, 3.234f,
};

static const struct chunk_items items = { 4, { 1, { NITEMS } } };

static const struct example {
    enum codec_id id;
    uint8_t meta;
    uint8_t stream[STREAM_LEN];
    float items[NITEMS];
} examples
    [] = {
        { CODEC_ZFP_ACC,
          0xfe,
          { 0x03, 0xa9, 0x61, 0x69, 0x05, 0xbf, 0x30, 0xd0, 0xe0, 0x24, 0x16,
            0x57, 0xa2, 0x03, 0x0d, 0xba, 0x34, 0x20, 0x3a },
          { -0.0009765625f, 0.7939453125f, 1.5576171875f, 2.2587890625f,
            2.87060546875f, 3.36572265625f, 3.72802734375f, 3.94189453125f,
            3.998046875f, 3.892578125f, 3.638671875f, 3.236328125f } },
        { CODEC_ZFP_PREC,
          6,
          { 0x03, 0xa9, 0x61, 0x69, 0x05, 0x3f, 0xd0, 0xe0, 0x24, 0x16, 0x57,
            0x03, 0x0d, 0xba, 0x34, 0x20, 0x02 },
          { -0.009765625f, 0.783203125f, 1.560546875f, 2.259765625f, 2.8671875f,
            3.3671875f, 3.7265625f, 3.9453125f, 3.9921875f, 3.8828125f,
            3.6328125f, 3.2421875f } },
        { CODEC_ZFP_RATE,
          50,
          { 0x03, 0xa9, 0x61, 0x69, 0x05, 0xbf, 0x10, 0xb1,
            0x03, 0x0d, 0x4e, 0x62, 0x71, 0x25, 0xca, 0x1f,
            0x03, 0x0d, 0xba, 0x34, 0x20, 0x3a, 0xf0, 0xea },
          { 0.00006103515625f, 0.79510498046875f, 1.55792236328125f,
            2.25921630859375f, 2.8690185546875f, 3.3663330078125f,
            3.7279052734375f, 3.9420166015625f, 3.99810791015625f,
            3.89495849609375f, 3.63702392578125f, 3.23406982421875f } },
    };

enum {
    NEXAMPLES = sizeof(examples) / sizeof(examples[0])
};

static struct codec_state *state;

static void to_bytes(const float *floats, uint8_t *bytes)
{
    for (size_t i = 0; i < NITEMS; i++) {
        uint32_t bits;

        memcpy(&bits, &floats[i], sizeof(bits));
        store_le32(bytes + 4 * i, bits);
    }
}

static struct codec_stream stream_of(const struct example *example,
                                     const uint8_t *src, size_t src_len,
                                     uint8_t *dst, size_t dst_len)
{
    return (struct codec_stream){
        .context = codec_get_context(state, codec_by_id(example->id)),
        .items = &items,
        .meta = example->meta,
        .level = 5,
        .src = src,
        .src_len = src_len,
        .dst = dst,
        .dst_len = dst_len,
    };
}

START_TEST(the_examples_are_decoded_at_any_address)
{
    for (size_t i = 0; i < NEXAMPLES; i++) {
        const struct example *example = &examples[i];
        uint8_t want[LEN];
        uint8_t room[LEN + 1];

        to_bytes(example->items, want);
        for (size_t shift = 0; shift < 2; shift++) {
            struct codec_stream stream = stream_of(
                example, example->stream, STREAM_LEN, room + shift, LEN);

            ck_assert_ptr_null(codec_by_id(example->id)->refuse(&stream));
            ck_assert_int_eq(codec_by_id(example->id)->decode(&stream), 0);
            ck_assert_mem_eq(room + shift, want, LEN);
        }
    }
}
END_TEST

START_TEST(the_examples_are_encoded_as_others_do)
{
    uint8_t src[LEN];

    to_bytes(items_in, src);
    for (size_t i = 0; i < NEXAMPLES; i++) {
        uint8_t dst[LEN];
        struct codec_stream stream =
            stream_of(&examples[i], src, LEN, dst, LEN - 1);

        ck_assert_int_eq(codec_by_id(examples[i].id)->encode(&stream),
                         STREAM_LEN);
        ck_assert_mem_eq(dst, examples[i].stream, STREAM_LEN);
        stream.dst_len = STREAM_LEN - 1;
        ck_assert_int_eq(codec_by_id(examples[i].id)->encode(&stream), 0);
    }
}
END_TEST

#ifdef HAVE_DEEPBIND
/* A function that libzfp exports and calls, in another version, as a program
   has it that links a library with a copy of libzfp. */
unsigned zfp_decode_block_float_1(void *zfp, float *block);

__attribute__((visibility("default"))) unsigned zfp_decode_block_float_1(
    void *zfp __attribute__((unused)), float *block)
{
    *block = 1;
    return 1;
}

START_TEST(functions_of_another_libzfp_are_not_used)
{
    uint8_t want[LEN];
    uint8_t dst[LEN];
    struct codec_stream stream =
        stream_of(&examples[0], examples[0].stream, STREAM_LEN, dst, LEN);

    ck_assert_ptr_nonnull(dlsym(RTLD_DEFAULT, "zfp_decode_block_float_1"));
    to_bytes(examples[0].items, want);
    ck_assert_int_eq(codec_by_id(CODEC_ZFP_ACC)->decode(&stream), 0);
    ck_assert_mem_eq(dst, want, LEN);
}
END_TEST
#endif

START_TEST(zeros_follow_a_stream_that_is_shorter_than_the_last_one)
{
    const struct codec *codec = codec_by_id(CODEC_ZFP_PREC);
    struct codec_context fresh = { 0 };
    uint8_t want[LEN];
    uint8_t dst[LEN];
    struct codec_stream stream =
        stream_of(&examples[1], examples[1].stream, 16, want, LEN);

    stream.context = &fresh;
    codec->decode(&stream);
    codec->fini(&fresh);
    stream = stream_of(&examples[1], examples[1].stream, STREAM_LEN, dst, LEN);
    ck_assert_int_eq(codec->decode(&stream), 0);
    ck_assert(memcmp(dst, want, LEN) != 0);
    stream.src_len = 16;
    codec->decode(&stream);
    ck_assert_mem_eq(dst, want, LEN);
}
END_TEST

START_TEST(a_cut_stream_is_refused)
{
    uint8_t dst[LEN];

    for (size_t len = 1; len <= 8; len++) {
        struct codec_stream stream =
            stream_of(&examples[2], examples[2].stream, len, dst, LEN);

        ck_assert_int_eq(codec_by_id(CODEC_ZFP_RATE)->decode(&stream),
                         -EBADMSG);
    }
}
END_TEST

START_TEST(any_bytes_decode_or_are_refused)
{
    static const struct block_shape shapes[] = {
        { 1, { 64 } },
        { 2, { 1, 64 } },
        { 3, { 2, 5, 7 } },
        { 4, { 1, 1, 1, 33 } },
    };
    uint32_t random = 1;

    for (int i = 0; i < 3000; i++) {
        const struct codec *codec =
            codec_by_id((unsigned)(CODEC_ZFP_ACC + i % 3));
        struct chunk_items some = { i % 2 ? 4 : 8, shapes[i / 3 % 4] };
        size_t len = chunk_items_per_block(&some) * some.size;
        uint8_t *dst = malloc(len);
        uint8_t src[200];
        struct codec_stream stream = {
            .context = codec_get_context(state, codec),
            .items = &some,
            .meta = (uint8_t)(random >> 24),
            .src = src,
            .src_len = 1 + (random >> 8) % sizeof(src),
            .dst = dst,
            .dst_len = len,
        };
        int r;

        for (size_t k = 0; k < sizeof(src); k++) {
            random = random * 1664525 + 1013904223;
            src[k] = (uint8_t)(random >> 24);
        }
        r = codec->decode(&stream);
        ck_assert(r == 0 || r == -EBADMSG);
        free(dst);
    }
}
END_TEST

static const char *refuse(uint32_t size, struct block_shape block, size_t len)
{
    const struct chunk_items some = { size, block };
    const struct codec_stream stream = { .items = &some, .dst_len = len };

    return codec_by_id(CODEC_ZFP_ACC)->refuse(&stream);
}

START_TEST(blocks_that_do_not_suit_are_refused)
{
    struct block_shape thin = { 4, { 1, 1, 1, 3 } };

    ck_assert_ptr_null(refuse(8, thin, 24));
    ck_assert_ptr_nonnull(refuse(8, thin, 16));
    ck_assert_ptr_nonnull(refuse(8, thin, 32));
    ck_assert_ptr_nonnull(refuse(2, thin, 6));
    ck_assert_ptr_nonnull(refuse(0, thin, 24));
    ck_assert_ptr_nonnull(
        refuse(8, (struct block_shape){ 5, { 1, 1, 1, 1, 3 } }, 24));
    ck_assert_ptr_nonnull(refuse(8, (struct block_shape){ 0, { 0 } }, 24));
    ck_assert_ptr_nonnull(refuse(8, (struct block_shape){ 2, { 3, 0 } }, 24));
}
END_TEST

static int check(enum codec_id id, uint8_t meta, uint32_t extent,
                 uint8_t filter)
{
    const struct chunk_params params = {
        .typesize = 8,
        .blocksize = 8 * 8 * extent,
        .block = { 2, { extent, 8 } },
        .codec = (uint8_t)id,
        .codec_meta = meta,
        .split_mode = CHUNK_SPLIT_FORWARD,
        .filters = { filter },
        .filters_meta = { filter == FILTER_TRUNC_PREC ? 3 : 2 },
    };

    return chunk_params_check(&params);
}

START_TEST(parameters_that_others_cannot_write_are_refused)
{
    ck_assert_int_eq(check(CODEC_ZFP_ACC, 0x80, 4, FILTER_NONE), 0);
    ck_assert_int_eq(check(CODEC_ZFP_PREC, 255, 4, FILTER_TRUNC_PREC), 0);
    ck_assert_int_eq(check(CODEC_ZFP_RATE, 1, 4, FILTER_NDCELL), 0);
    ck_assert_int_eq(check(CODEC_ZFP_RATE, 100, 4, FILTER_NONE), 0);
    ck_assert_int_eq(check(CODEC_ZFP_RATE, 0, 4, FILTER_NONE), -EINVAL);
    ck_assert_int_eq(check(CODEC_ZFP_RATE, 101, 4, FILTER_NONE), -EINVAL);
    ck_assert_int_eq(check(CODEC_ZFP_ACC, 0, 3, FILTER_NONE), -EINVAL);
    ck_assert_int_eq(check(CODEC_ZFP_ACC, 0, 4, FILTER_SHUFFLE), -EINVAL);
    ck_assert_int_eq(check(CODEC_ZFP_ACC, 0, 4, FILTER_BITSHUFFLE), -EINVAL);
    ck_assert_int_eq(check(CODEC_ZFP_ACC, 0, 4, FILTER_DELTA), -EINVAL);
    ck_assert_int_eq(check(CODEC_ZFP_ACC, 0, 4, FILTER_BYTEDELTA), -EINVAL);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_examples_are_decoded_at_any_address,
        the_examples_are_encoded_as_others_do,
#ifdef HAVE_DEEPBIND
        functions_of_another_libzfp_are_not_used,
#endif
        zeros_follow_a_stream_that_is_shorter_than_the_last_one,
        a_cut_stream_is_refused,
        any_bytes_decode_or_are_refused,
        blocks_that_do_not_suit_are_refused,
        parameters_that_others_cannot_write_are_refused,
        NULL,
    };
    int r;

    if (!codec_by_id(CODEC_ZFP_ACC))
        return SKIPPED; /* built without libzfp */
    if (codec_state_new(&state) < 0)
        return EXIT_FAILURE;
    r = suite_run("zfp", tests);
    codec_state_free(state);
    return r;
}
