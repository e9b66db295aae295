/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "base/msgpack_any.h"
#include "bundle/estore.h"
#include "bundle/zip.h"
#include "suite.h"

static struct msgpack reader_of(const char *bytes, size_t len)
{
    return (struct msgpack){ .bytes = (const uint8_t *)bytes, .len = len };
}

#define READER(literal) reader_of(literal, sizeof(literal) - 1)

START_TEST(a_number_is_read_in_each_encoding)
{
    struct msgpack reader = READER("\x7f\xcc\xff\xcd\1\0\xce\1\0\0\0"
                                   "\xcf\1\0\0\0\0\0\0\0"
                                   "\xd0\x7f\xd1\1\0\xd2\1\0\0\0"
                                   "\xd3\1\0\0\0\0\0\0\0");
    const uint64_t wanted[] = {
        127, 255, 256,     1 << 24,           UINT64_C(1) << 56,
        127, 256, 1 << 24, UINT64_C(1) << 56,
    };

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        ck_assert_uint_eq(msgpack_uint(&reader), wanted[i]);
    ck_assert(!reader.failed);
    ck_assert_uint_eq(reader.pos, reader.len);
}
END_TEST

START_TEST(a_negative_number_is_refused)
{
    const struct msgpack readers[] = {
        READER("\xff"),
        READER("\xd0\x80"),
        READER("\xd1\xff\xff"),
        READER("\xd2\x80\0\0\0"),
        READER("\xd3\x80\0\0\0\0\0\0\0"),
    };

    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
        struct msgpack reader = readers[i];

        msgpack_uint(&reader);
        ck_assert(reader.failed);
    }
}
END_TEST

START_TEST(texts_and_maps_are_read_in_each_encoding)
{
    struct msgpack reader = READER("\xa1z\xd9\1z\xda\0\1z\xdb\0\0\0\1z"
                                   "\x83\xde\0\3\xdf\0\0\0\3");

    for (int i = 0; i < 4; i++) {
        size_t len;
        const uint8_t *text = msgpack_str(&reader, &len);

        ck_assert(text && len == 1 && *text == 'z');
    }
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(msgpack_map(&reader), 3);
    ck_assert(!reader.failed);
    ck_assert_uint_eq(reader.pos, reader.len);
}
END_TEST

START_TEST(a_value_of_any_type_is_passed_over)
{
    const struct msgpack readers[] = {
        READER("\xc0"),           READER("\xc2"),
        READER("\xff"),           READER("\xca____"),
        READER("\xcb________"),   READER("\xd3________"),
        READER("\xa3___"),        READER("\xc4\2__"),
        READER("\xc6\0\0\0\2__"), READER("\xc7\2t__"),
        READER("\xd4t_"),         READER("\xd8t________________"),
        READER("\x92\1\x91\xc0"), READER("\xdc\0\2\1\2"),
        READER("\xdd\0\0\0\1\1"), READER("\x81\xa1k\x82\1\2\3\4"),
        READER("\xde\0\1\1\2"),   READER("\xdf\0\0\0\1\1\2"),
    };

    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
        struct msgpack reader = readers[i];

        msgpack_skip(&reader);
        ck_assert_msg(!reader.failed && reader.pos == reader.len, "value %zu",
                      i);
        reader = readers[i];
        reader.len--;
        msgpack_skip(&reader);
        ck_assert_msg(reader.failed, "value %zu, cut short", i);
    }
}
END_TEST

START_TEST(a_marker_without_meaning_is_refused)
{
    struct msgpack reader = READER("\xc1");

    msgpack_skip(&reader);
    ck_assert(reader.failed);
}
END_TEST

static int count_values(void *context, const struct estore_value *value)
{
    struct estore_value *last = context;

    *last = *value;
    return 0;
}

START_TEST(an_embedded_value_has_a_place_and_a_remote_one_none)
{
    static const char map[] = "\x82\xaeno embed_map!!\xc0\xa9"
                              "embed_map\x81\xa2/k\x83\xa1z\xc0\xa6length\7"
                              "\xa6offset\xcd\1\0";
    static const char remote[] = "\x81\xa9"
                                 "embed_map\x81\xa2/r\x82\xa7urlbase\xc0"
                                 "\xa4path\xa1p";
    struct fault fault = FAULT_NONE;
    struct estore_value value = { 0 };

    ck_assert_int_eq(estore_parse((const uint8_t *)map, sizeof(map) - 1,
                                  count_values, &value, &fault),
                     0);
    ck_assert(value.key_len == 2 && memcmp(value.key, "/k", 2) == 0);
    ck_assert(!value.remote && value.off == 256 && value.len == 7);
    ck_assert_int_eq(estore_parse((const uint8_t *)remote, sizeof(remote) - 1,
                                  count_values, &value, &fault),
                     0);
    ck_assert(value.remote);
}
END_TEST

START_TEST(an_archive_without_members_has_a_directory)
{
    static const uint8_t bytes[ZIP_END_LEN + 3] = {
        'P', 'K', 5, 6, [ZIP_END_COMMENT_LEN] = 3, [ZIP_END_LEN] = 'P', 'K', 5
    };
    struct fault fault = FAULT_NONE;
    struct zip_directory directory;

    ck_assert(zip_has_magic(bytes));
    ck_assert_int_eq(
        zip_find_directory(bytes, sizeof(bytes), 0, &directory, &fault), 0);
    ck_assert_uint_eq(directory.nentries, 0);
    ck_assert_int_eq(
        zip_find_directory(bytes, sizeof(bytes) - 1, 0, &directory, &fault),
        -EBADMSG);
}
END_TEST

START_TEST(an_archive_in_several_parts_is_not_read)
{
    uint8_t bytes[ZIP_END_LEN] = { 'P', 'K', 5, 6, [ZIP_END_DISK] = 1 };
    struct fault fault = FAULT_NONE;
    struct zip_directory directory;

    ck_assert_int_eq(
        zip_find_directory(bytes, sizeof(bytes), 0, &directory, &fault),
        -ENOTSUP);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_number_is_read_in_each_encoding,
        a_negative_number_is_refused,
        texts_and_maps_are_read_in_each_encoding,
        a_value_of_any_type_is_passed_over,
        a_marker_without_meaning_is_refused,
        an_embedded_value_has_a_place_and_a_remote_one_none,
        an_archive_without_members_has_a_directory,
        an_archive_in_several_parts_is_not_read,
        NULL,
    };

    return suite_run("bundle", tests);
}
