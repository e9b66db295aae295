/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/codec.h"
#include "chunk/huffman.h"
#include "suite.h"

/* Streams that were put together after the format.  Frames of test/data have
   some that other programs wrote. */
static const struct example {
    size_t len;
    uint8_t stream[48];
    const char *content;
} examples[] = {
    /* The kind of LZ4: four literals, and six bytes from four bytes back. */
    { 25,
      { 10, 0,    0, 0, 0, 0,   0,   0,   0,   0, 0, 1,  0,
        0,  0x24, 7, 0, 0, 'a', 'b', 'c', 'd', 4, 0, 'x' },
      "abcdabcdabx" },
    /* The same with more literals than a token can say. */
    { 43,
      { 39,  0,   0,   0,    0,   0,   0,   0,   0,   0,   0,
        1,   0,   0,   0x0f, 25,  0,   0,   7,   'a', 'b', 'c',
        'd', 'e', 'f', 'g',  'h', 'i', 'j', 'k', 'l', 'm', 'n',
        'o', 'p', 'q', 'r',  's', 't', 'u', 'v', 22,  0 },
      "abcdefghijklmnopqrstuvabcd" },
    /* The other kind: four literals and six bytes, then three bytes more. */
    { 25,
      { 20, 0, 0, 0,    0,    2, 0, 0, 4,   0,   0,   0,  0,
        2,  0, 0, 0x34, 0x98, 4, 0, 0, 'a', 'b', 'c', 'd' },
      "abcdabcdabcda" },
    /* Bytes that are not compressed, and 16 of them from two bytes back. */
    { 28,
      { 41, 0x80, 2, 0, 0, 'a', 'b', 0, 0, 0, 0, 0, 0, 0,
        3,  0,    0, 2, 0, 0,   1,   0, 0, 0, 1, 0, 0, 'x' },
      "abababababababababx" },
};

enum {
    NEXAMPLES = sizeof(examples) / sizeof(examples[0])
};

static struct codec_state *state;

static int decode(const uint8_t *src, size_t src_len, uint8_t *dst,
                  size_t dst_len)
{
    const struct codec *lizard = codec_by_id(CODEC_LIZARD);
    const struct codec_stream stream = {
        .context = codec_get_context(state, lizard),
        .src = src,
        .src_len = src_len,
        .dst = dst,
        .dst_len = dst_len,
    };

    return lizard->decode(&stream);
}

/* Decode from memory of exactly the length, so that sanitizers see more. */
static int decode_copy(const uint8_t *src, size_t src_len, uint8_t *dst,
                       size_t dst_len)
{
    uint8_t *copy = malloc(src_len);
    int r;

    memcpy(copy, src, src_len);
    r = decode(copy, src_len, dst, dst_len);
    free(copy);
    return r;
}

START_TEST(both_kinds_of_tokens_are_decoded)
{
    for (size_t i = 0; i < NEXAMPLES; i++) {
        size_t len = strlen(examples[i].content);
        const uint8_t *src = examples[i].stream;
        size_t src_len = examples[i].len;
        uint8_t dst[64];

        ck_assert_msg(decode_copy(src, src_len, dst, len) == 0, "%zu", i);
        ck_assert_mem_eq(dst, examples[i].content, len);
        ck_assert_int_eq(decode_copy(src, src_len, dst, len - 1), -EBADMSG);
        ck_assert_int_eq(decode_copy(src, src_len, dst, len + 1), -EBADMSG);
        for (size_t cut = 1; cut < src_len; cut++)
            ck_assert_int_eq(decode_copy(src, cut, dst, len), -EBADMSG);
    }
}
END_TEST

START_TEST(changed_bytes_do_no_harm)
{
    for (size_t i = 0; i < NEXAMPLES; i++) {
        size_t len = strlen(examples[i].content);
        uint8_t src[sizeof(examples[i].stream)];
        uint8_t dst[64];
        size_t src_len = examples[i].len;

        memcpy(src, examples[i].stream, src_len);
        for (size_t off = 0; off < src_len; off++) {
            uint8_t right = src[off];

            for (unsigned value = 0; value <= UINT8_MAX; value++) {
                src[off] = (uint8_t)value;
                int r = decode_copy(src, src_len, dst, len);

                ck_assert(r == 0 || r == -EBADMSG);
            }
            src[off] = right;
        }
    }
}
END_TEST

START_TEST(matches_before_the_start_are_refused)
{
    uint8_t src[sizeof(examples[0].stream)];
    uint8_t dst[64];
    size_t len = examples[0].len;

    memcpy(src, examples[0].stream, len);
    src[22] = 5;
    ck_assert_int_eq(decode(src, len, dst, 11), -EBADMSG);
    src[22] = 0;
    ck_assert_int_eq(decode(src, len, dst, 11), -EBADMSG);
    src[22] = 4;
    ck_assert_int_eq(decode(src, len, dst, 11), 0);
    src[0] = 9;
    ck_assert_int_eq(decode(src, len, dst, 11), -EBADMSG);
    src[0] = 50;
    ck_assert_int_eq(decode(src, len, dst, 11), -EBADMSG);
}
END_TEST

/* Two symbols of one bit each, and four streams of two symbols. */
static const uint8_t coded[] = {
    0x80, 0x10, 1, 0, 1, 0, 1, 0, 0x05, 0x06, 0x07, 0x04,
};

START_TEST(plain_weights_of_a_tree_are_read)
{
    static const uint8_t want[] = { 0, 1, 1, 0, 1, 1, 0, 0 };
    uint8_t dst[8];

    ck_assert_int_eq(huffman_decode(coded, sizeof(coded), dst, 8), 0);
    ck_assert_mem_eq(dst, want, sizeof(want));
    ck_assert_int_eq(huffman_decode(coded, sizeof(coded), dst, 7), -EBADMSG);
    ck_assert_int_eq(huffman_decode(coded, sizeof(coded), dst, 1), -EBADMSG);
    for (size_t len = 0; len < sizeof(coded); len++)
        ck_assert_int_eq(huffman_decode(coded, len, dst, 8), -EBADMSG);
}
END_TEST

START_TEST(any_bytes_of_a_tree_do_no_harm)
{
    uint32_t random = 1;

    for (int i = 0; i < 200000; i++) {
        uint8_t src[48];
        uint8_t dst[40];

        for (size_t k = 0; k < sizeof(src); k++) {
            random = random * 1664525 + 1013904223;
            src[k] = (uint8_t)(random >> 24);
        }
        src[0] &= i % 2 ? 0x0f : 0x9f;
        huffman_decode(src, 1 + (random >> 8) % sizeof(src), dst, sizeof(dst));
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        both_kinds_of_tokens_are_decoded,     changed_bytes_do_no_harm,
        matches_before_the_start_are_refused, plain_weights_of_a_tree_are_read,
        any_bytes_of_a_tree_do_no_harm,       NULL,
    };
    int r;

    if (codec_state_new(&state) < 0)
        return EXIT_FAILURE;
    r = suite_run("lizard", tests);
    codec_state_free(state);
    return r;
}
