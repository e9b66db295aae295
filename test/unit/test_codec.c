/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/codec_private.h"
#include "suite.h"

/* Decode between buffers that end exactly where the data ends. */
static int decode(unsigned id, const struct codec_dict *dict,
                  const uint8_t *src, size_t src_len, uint8_t *dst,
                  size_t dst_len)
{
    const struct codec *codec = codec_by_id(id);
    struct codec_context context = { 0 };
    uint8_t *in = malloc(src_len);
    uint8_t *out = malloc(dst_len);

    ck_assert_ptr_nonnull(in);
    ck_assert_ptr_nonnull(out);
    memcpy(in, src, src_len);
    const struct codec_stream stream = {
        .context = &context,
        .dict = dict,
        .src = in,
        .src_len = src_len,
        .dst = out,
        .dst_len = dst_len,
    };
    int r = codec->decode(&stream);
    if (r == 0)
        memcpy(dst, out, dst_len);
    if (codec->fini)
        codec->fini(&context);
    free(in);
    free(out);
    return r;
}

static int blosclz(const uint8_t *src, size_t src_len, uint8_t *dst,
                   size_t dst_len)
{
    return decode(CODEC_BLOSCLZ, NULL, src, src_len, dst, dst_len);
}

/* Codecs inside Blosc2 chunks, 5.5 (a). */
static const uint8_t period_of_eight[] = {
    0x27, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47,
    0x48, 0xe0, 0x8c, 0x07, 0x02, 0x46, 0x47, 0x48,
};

START_TEST(blosclz_match_repeats_a_period_of_eight)
{
    uint8_t out[160];

    ck_assert_int_eq(
        blosclz(period_of_eight, sizeof(period_of_eight), out, sizeof(out)), 0);
    for (size_t i = 0; i < sizeof(out); i += 8)
        ck_assert_mem_eq(out + i, "ABCDEFGH", 8);
}
END_TEST

/* Codecs inside Blosc2 chunks, 5.5 (b). */
START_TEST(blosclz_long_run_and_match_over_it_are_decoded)
{
    static const char src[] = "\x2a"
                              "0123456789z"
                              "\xe0\xff\x22\x00"
                              "\x00z"
                              "\xe1\x00\x35"
                              "\x10"
                              "9abcdefghijklmnop";
    uint8_t expected[336];
    uint8_t out[336];

    memcpy(expected, "0123456789", 10);
    memset(expected + 10, 'z', 300);
    memcpy(expected + 310, "0123456789abcdefghijklmnop", 26);
    ck_assert_int_eq(
        blosclz((const uint8_t *)src, sizeof(src) - 1, out, sizeof(out)), 0);
    ck_assert_mem_eq(out, expected, sizeof(out));
}
END_TEST

/* The match is that of 5.5 (c). */
START_TEST(blosclz_far_match_reaches_9040_bytes_back)
{
    uint8_t src[16384];
    uint8_t expected[9040 + 39 + 1];
    uint8_t out[sizeof(expected)];
    size_t n = 0;

    for (size_t i = 0; i < 9040; i += 16) {
        src[n++] = 15;
        for (size_t j = 0; j < 16; j++)
            src[n++] = expected[i + j] = (uint8_t)((i + j) * 2654435761u >> 13);
    }
    memcpy(src + n, "\xff\x1e\xff\x03\x50\x00!", 7);
    memcpy(expected + 9040, expected, 39);
    expected[9079] = '!';
    ck_assert_int_eq(blosclz(src, n + 7, out, sizeof(out)), 0);
    ck_assert_mem_eq(out, expected, sizeof(out));
}
END_TEST

START_TEST(blosclz_first_byte_counts_only_low_bits)
{
    uint8_t src[sizeof(period_of_eight)];
    uint8_t out[160];

    memcpy(src, period_of_eight, sizeof(src));
    for (unsigned high = 0; high < 8; high++) {
        src[0] = (uint8_t)(high << 5 | 7);
        ck_assert_int_eq(blosclz(src, sizeof(src), out, sizeof(out)), 0);
    }
}
END_TEST

START_TEST(blosclz_stream_of_a_wrong_length_is_refused)
{
    const size_t len = sizeof(period_of_eight);
    uint8_t out[161];

    ck_assert_int_eq(blosclz(period_of_eight, len, out, 159), -EBADMSG);
    ck_assert_int_eq(blosclz(period_of_eight, len, out, 161), -EBADMSG);
    for (size_t i = 1; i < len; i++)
        ck_assert_int_eq(blosclz(period_of_eight, i, out, 160), -EBADMSG);
}
END_TEST

START_TEST(blosclz_stream_may_not_end_with_a_match)
{
    uint8_t out[157];

    ck_assert_int_eq(blosclz(period_of_eight, 12, out, sizeof(out)), -EBADMSG);
}
END_TEST

START_TEST(blosclz_match_before_the_output_is_refused)
{
    const uint8_t before[] = { 0x00, 'a', 0x20, 0x01, 0x00, 'b' };
    const uint8_t at_start[] = { 0x00, 'a', 0x20, 0x00, 0x00, 'b' };
    uint8_t out[5];

    ck_assert_int_eq(blosclz(before, sizeof(before), out, 5), -EBADMSG);
    ck_assert_int_eq(blosclz(at_start, sizeof(at_start), out, 5), 0);
    ck_assert_mem_eq(out, "aaaab", 5);
}
END_TEST

/* The decoder of Codecs inside Blosc2 chunks, 5.4, word for word. */
static bool model(const uint8_t *in, size_t m, uint8_t *out, size_t n)
{
    size_t ip = 1;
    size_t op = 0;
    unsigned ctrl = in[0] & 0x1f;

    for (;; ctrl = in[ip++]) {
        if (ctrl < 32) {
            size_t k = ctrl + 1;

            if (k > n - op || k > m - ip)
                return false;
            for (; k > 0; k--)
                out[op++] = in[ip++];
            if (ip == m)
                return op == n;
            continue;
        }

        size_t len = (ctrl >> 5) + 2;
        uint8_t e = (ctrl >> 5) == 7 ? 255 : 0;
        for (; e == 255; len += e) {
            if (m - ip < 2)
                return false;
            e = in[ip++];
        }
        if (m - ip < 2)
            return false;
        uint8_t c = in[ip++];
        size_t dist = 256 * (size_t)(ctrl & 31) + c + 1;
        if ((ctrl & 31) == 31 && c == 255) {
            if (m - ip < 2)
                return false;
            dist = 8192 + 256 * (size_t)in[ip] + in[ip + 1];
            ip += 2;
        }
        if (len > n - op || dist > op || ip == m)
            return false;
        for (; len > 0; len--, op++)
            out[op] = out[op - dist];
    }
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/*
 * Make a stream of random instructions, most of which are valid.  Returns its
 * length; `decoded` receives the approximate number of bytes that it decodes
 * to.
 */
static size_t random_stream(uint32_t *seed, uint8_t *src, size_t cap,
                            size_t *decoded)
{
    size_t n = 0;
    size_t made = 0;

    while (n + 64 < cap) {
        bool is_match = n > 0 && next_random(seed) % 2;
        uint32_t distance = 1 + next_random(seed) % 40;
        uint32_t count = next_random(seed) % 32;

        if (!is_match) {
            src[n++] = (uint8_t)count;
            for (uint32_t i = 0; i <= count; i++)
                src[n++] = (uint8_t)next_random(seed);
            made += count + 1;
            continue;
        }
        if (next_random(seed) % 4 == 0)
            distance = 1 + next_random(seed) % 12000;
        if (distance > made && next_random(seed) % 256)
            distance = (uint32_t)made;
        uint32_t near = distance - 1;
        uint32_t code = 1 + next_random(seed) % 7;
        bool is_far = distance >= 8192;
        src[n++] = (uint8_t)(code << 5 | (is_far ? 31 : near >> 8));
        made += code + 2;
        if (code == 7) {
            uint32_t more = next_random(seed) % 600;

            made += more;
            for (; more >= 255; more -= 255)
                src[n++] = 255;
            src[n++] = (uint8_t)more;
        }
        src[n++] = (uint8_t)(is_far ? 255 : near);
        if (is_far) {
            src[n++] = (uint8_t)((distance - 8192) >> 8);
            src[n++] = (uint8_t)(distance - 8192);
        }
    }
    memcpy(src + n, "\x02xyz", 4);
    *decoded = made + 3;
    return n + 4;
}

START_TEST(blosclz_agrees_with_its_description_on_random_streams)
{
    enum {
        ROUNDS = 4000,
        SRC_CAP = 800,
        DST_CAP = 1 << 17
    };
    static uint8_t src[SRC_CAP], expected[DST_CAP], out[DST_CAP];
    unsigned naccepted = 0;
    uint32_t seed = 1;

    for (int i = 0; i < ROUNDS; i++) {
        size_t cap = 80 + next_random(&seed) % (SRC_CAP - 80);
        size_t len;
        size_t n = random_stream(&seed, src, cap, &len);

        if (next_random(&seed) % 4 == 0)
            src[next_random(&seed) % n] ^=
                (uint8_t)(1 << next_random(&seed) % 8);
        ck_assert_uint_le(len, DST_CAP);
        bool accepted = model(src, n, expected, len);
        ck_assert_int_eq(blosclz(src, n, out, len), accepted ? 0 : -EBADMSG);
        if (accepted)
            ck_assert_mem_eq(out, expected, len);
        naccepted += accepted;
    }
    ck_assert_uint_gt(naccepted, ROUNDS / 2);
    ck_assert_uint_lt(naccepted, ROUNDS);
}
END_TEST

/* Python's zlib, lz4 and zstandard modules encoded the following streams. */
static const char line[] =
    "the quick brown fox jumps over the lazy dog; the quick brown cat does not\n"
    "the quick brown fox jumps over the lazy dog; the quick brown cat does not\n"
    "the quick brown fox jumps over the lazy dog; the quick brown cat does "
    "not\n";

static const uint8_t line_zlib[] = {
    0x78, 0x9c, 0x2b, 0xc9, 0x48, 0x55, 0x28, 0x2c, 0xcd, 0x4c, 0xce, 0x56,
    0x48, 0x2a, 0xca, 0x2f, 0xcf, 0x53, 0x48, 0xcb, 0xaf, 0x50, 0xc8, 0x2a,
    0xcd, 0x2d, 0x28, 0x56, 0xc8, 0x2f, 0x4b, 0x2d, 0x52, 0x28, 0x01, 0x4a,
    0xe7, 0x24, 0x56, 0x55, 0x2a, 0xa4, 0xe4, 0xa7, 0x5b, 0x83, 0x79, 0xc8,
    0x8a, 0x93, 0x13, 0x4b, 0x80, 0x12, 0xa9, 0xc5, 0x0a, 0x79, 0xf9, 0x25,
    0x5c, 0xe8, 0x92, 0x83, 0xc1, 0x24, 0x00, 0x21, 0xf7, 0x50, 0x29,
};

static const uint8_t line_zstd[] = {
    0x28, 0xb5, 0x2f, 0xfd, 0x20, 0xde, 0x4d, 0x02, 0x00, 0x94, 0x03, 0x74,
    0x68, 0x65, 0x20, 0x71, 0x75, 0x69, 0x63, 0x6b, 0x20, 0x62, 0x72, 0x6f,
    0x77, 0x6e, 0x20, 0x66, 0x6f, 0x78, 0x20, 0x6a, 0x75, 0x6d, 0x70, 0x73,
    0x20, 0x6f, 0x76, 0x65, 0x72, 0x20, 0x74, 0x68, 0x65, 0x20, 0x6c, 0x61,
    0x7a, 0x79, 0x20, 0x64, 0x6f, 0x67, 0x3b, 0x63, 0x61, 0x74, 0x20, 0x64,
    0x6f, 0x65, 0x73, 0x20, 0x6e, 0x6f, 0x74, 0x0a, 0x04, 0x00, 0x81, 0x26,
    0x50, 0x00, 0x50, 0xc8, 0x43, 0xc5, 0x81, 0xd1, 0xce, 0x32,
};

static const uint8_t line_lz4[] = {
    0xf0, 0x10, 0x74, 0x68, 0x65, 0x20, 0x71, 0x75, 0x69, 0x63, 0x6b,
    0x20, 0x62, 0x72, 0x6f, 0x77, 0x6e, 0x20, 0x66, 0x6f, 0x78, 0x20,
    0x6a, 0x75, 0x6d, 0x70, 0x73, 0x20, 0x6f, 0x76, 0x65, 0x72, 0x20,
    0x1f, 0x00, 0x91, 0x6c, 0x61, 0x7a, 0x79, 0x20, 0x64, 0x6f, 0x67,
    0x3b, 0x0e, 0x00, 0x08, 0x2d, 0x00, 0xdf, 0x63, 0x61, 0x74, 0x20,
    0x64, 0x6f, 0x65, 0x73, 0x20, 0x6e, 0x6f, 0x74, 0x0a, 0x4a, 0x00,
    0x7c, 0x50, 0x20, 0x6e, 0x6f, 0x74, 0x0a,
};

static const struct {
    enum codec_id id;
    const uint8_t *bytes;
    size_t len;
} lines[] = {
    { CODEC_ZLIB, line_zlib, sizeof(line_zlib) },
    { CODEC_ZSTD, line_zstd, sizeof(line_zstd) },
    { CODEC_LZ4, line_lz4, sizeof(line_lz4) },
    { CODEC_LZ4HC, line_lz4, sizeof(line_lz4) },
};

enum {
    NLINES = sizeof(lines) / sizeof(lines[0])
};

START_TEST(streams_of_other_programs_are_decoded)
{
    uint8_t out[sizeof(line) - 1];

    for (size_t i = 0; i < NLINES; i++) {
        memset(out, 0, sizeof(out));
        ck_assert_int_eq(decode(lines[i].id, NULL, lines[i].bytes, lines[i].len,
                                out, sizeof(out)),
                         0);
        ck_assert_mem_eq(out, line, sizeof(out));
    }
}
END_TEST

START_TEST(every_codec_refuses_a_stream_of_another_length)
{
    uint8_t out[sizeof(line)];

    for (size_t i = 0; i < NLINES; i++) {
        const uint8_t *src = lines[i].bytes;
        size_t len = lines[i].len;

        ck_assert_int_eq(
            decode(lines[i].id, NULL, src, len, out, sizeof(line) - 2),
            -EBADMSG);
        ck_assert_int_eq(decode(lines[i].id, NULL, src, len, out, sizeof(line)),
                         -EBADMSG);
        ck_assert_int_eq(
            decode(lines[i].id, NULL, src, len - 1, out, sizeof(line) - 1),
            -EBADMSG);
    }
}
END_TEST

#define CODEC_ADDRESS(name) &codec_##name

enum {
    SQUARES = 2000
};

/* Encode bytes that every codec makes smaller.  Returns their encoded size. */
static size_t encode_squares(const struct codec *codec, uint8_t *dst,
                             size_t dst_len)
{
    struct codec_context context = { 0 };
    uint8_t src[SQUARES];
    ssize_t n;

    for (size_t i = 0; i < sizeof(src); i++)
        src[i] = (uint8_t)(i < sizeof(src) / 2 ? i * i / 64 : 0);
    const struct codec_stream stream = {
        .context = &context,
        .typesize = 1,
        .level = 5,
        .src = src,
        .src_len = sizeof(src),
        .dst = dst,
        .dst_len = dst_len,
    };
    n = codec->encode(&stream);
    if (codec->fini)
        codec->fini(&context);
    ck_assert_msg(n > 0, "%s does not encode", codec->name);
    return (size_t)n;
}

/* The buffers of decode() are exactly as long as they are said to be, so a
   sanitizer sees what goes beyond. */
START_TEST(every_codec_decodes_to_one_length_alone)
{
    static const struct codec *const codecs[] = { CODEC_LIST(CODEC_ADDRESS) };
    uint8_t bytes[SQUARES];
    uint8_t out[2 * SQUARES];

    for (size_t i = 0; i < sizeof(codecs) / sizeof(codecs[0]); i++) {
        unsigned id = codecs[i]->id;
        size_t len;

        if (!codecs[i]->encode || codecs[i]->uses_shape)
            continue;
        len = encode_squares(codecs[i], bytes, sizeof(bytes));
        ck_assert_int_eq(decode(id, NULL, bytes, len, out, SQUARES), 0);
        for (size_t other = 1; other < sizeof(out); other += other / 8 + 1)
            if (other != SQUARES)
                ck_assert_msg(
                    decode(id, NULL, bytes, len, out, other) == -EBADMSG,
                    "%s decodes to %zu bytes", codecs[i]->name, other);
        for (size_t cut = 1; cut < len; cut++)
            decode(id, NULL, bytes, len - cut, out, SQUARES);
    }
}
END_TEST

START_TEST(a_context_that_met_bad_bytes_goes_on_with_good_ones)
{
    struct codec_state *state;
    uint8_t out[sizeof(line) - 1];

    ck_assert_int_eq(codec_state_new(&state), 0);
    for (size_t i = 0; i < NLINES; i++) {
        const struct codec *codec = codec_by_id(lines[i].id);
        struct codec_stream stream = {
            .context = codec_get_context(state, codec),
            .src = lines[i].bytes,
            .src_len = lines[i].len - 8,
            .dst = out,
            .dst_len = sizeof(out),
        };

        ck_assert_int_eq(codec->decode(&stream), -EBADMSG);
        stream.src_len = lines[i].len;
        ck_assert_int_eq(codec->decode(&stream), 0);
        ck_assert_mem_eq(out, line, sizeof(out));
    }
    codec_state_free(state);
}
END_TEST

static const char dict_bytes[] =
    "the quick brown fox jumps over the lazy dog; ";
static const char dict_line[] = "the lazy dog jumps over the quick brown fox";

static const uint8_t dict_lz4[] = {
    0x08, 0x0e, 0x00, 0x0c, 0x26, 0x00, 0x06, 0x45,
    0x00, 0x50, 0x6e, 0x20, 0x66, 0x6f, 0x78,
};

static const uint8_t dict_zstd[] = {
    0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x2b, 0x5d, 0x00, 0x00, 0x00,
    0x03, 0x40, 0x00, 0x48, 0xe8, 0x92, 0x42, 0x82, 0x9b, 0x01,
};

static void check_dict(enum codec_id id, const uint8_t *src, size_t len)
{
    const struct codec *codec = codec_by_id(id);
    uint8_t out[sizeof(dict_line) - 1];
    struct codec_dict *dict;

    ck_assert_int_eq(codec->new_dict((const uint8_t *)dict_bytes,
                                     sizeof(dict_bytes) - 1, &dict),
                     0);
    ck_assert_uint_ge(codec->dict_footprint(dict), sizeof(dict_bytes) - 1);
    ck_assert_int_eq(decode(id, dict, src, len, out, sizeof(out)), 0);
    ck_assert_mem_eq(out, dict_line, sizeof(out));
    ck_assert_int_eq(decode(id, NULL, src, len, out, sizeof(out)), -EBADMSG);
    codec->free_dict(dict);
}

START_TEST(dictionaries_are_history_before_the_stream)
{
    check_dict(CODEC_LZ4, dict_lz4, sizeof(dict_lz4));
    check_dict(CODEC_LZ4HC, dict_lz4, sizeof(dict_lz4));
    check_dict(CODEC_ZSTD, dict_zstd, sizeof(dict_zstd));
    ck_assert(!codec_by_id(CODEC_ZLIB)->new_dict);
    ck_assert(!codec_by_id(CODEC_BLOSCLZ)->new_dict);
}
END_TEST

START_TEST(a_damaged_zstd_dictionary_is_refused)
{
    const uint8_t bytes[16] = { 0x37, 0xa4, 0x30, 0xec, 1, 2, 3, 4 };
    struct codec_dict *dict;

    ck_assert_int_eq(
        codec_by_id(CODEC_ZSTD)->new_dict(bytes, sizeof(bytes), &dict),
        -EBADMSG);
}
END_TEST

START_TEST(codecs_are_found_by_number_and_name)
{
    ck_assert_ptr_eq(codec_by_name("lz4hc"), codec_by_id(CODEC_LZ4HC));
    ck_assert_ptr_ne(codec_by_id(CODEC_LZ4HC), codec_by_id(CODEC_LZ4));
    ck_assert_ptr_null(codec_by_id(CODEC_OPENZL));
    ck_assert_ptr_null(codec_by_name("openzl"));
    ck_assert_str_eq(codec_name(CODEC_OPENZL), "openzl");
    ck_assert_str_eq(codec_name(CODEC_ZSTD), "zstd");
    ck_assert_str_eq(codec_name(200), "unknown");
}
END_TEST

START_TEST(the_list_of_the_build_has_the_names_and_each_number_once)
{
#define CODEC_STRING(name) #name
    static const char *const names[] = { CODEC_LIST(CODEC_STRING) };
    static const struct codec *const codecs[] = { CODEC_LIST(CODEC_ADDRESS) };

    for (size_t i = 0; i < sizeof(codecs) / sizeof(codecs[0]); i++) {
        ck_assert_str_eq(codecs[i]->name, names[i]);
        ck_assert_ptr_eq(codec_by_id(codecs[i]->id), codecs[i]);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        blosclz_match_repeats_a_period_of_eight,
        blosclz_long_run_and_match_over_it_are_decoded,
        blosclz_far_match_reaches_9040_bytes_back,
        blosclz_first_byte_counts_only_low_bits,
        blosclz_stream_of_a_wrong_length_is_refused,
        blosclz_stream_may_not_end_with_a_match,
        blosclz_match_before_the_output_is_refused,
        blosclz_agrees_with_its_description_on_random_streams,
        streams_of_other_programs_are_decoded,
        every_codec_refuses_a_stream_of_another_length,
        every_codec_decodes_to_one_length_alone,
        a_context_that_met_bad_bytes_goes_on_with_good_ones,
        dictionaries_are_history_before_the_stream,
        a_damaged_zstd_dictionary_is_refused,
        codecs_are_found_by_number_and_name,
        the_list_of_the_build_has_the_names_and_each_number_once,
        NULL,
    };

    return suite_run("codec", tests);
}
