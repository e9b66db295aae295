/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/dtype.h"
#include "array/npy.h"
#include "suite.h"

static void check(const char *text, const char *descr, uint32_t itemsize)
{
    struct dtype dtype;

    ck_assert_msg(dtype_parse(text, &dtype) == 0, "%s", text);
    ck_assert_str_eq(dtype.descr, descr);
    ck_assert_uint_eq(dtype.itemsize, itemsize);
    dtype_fini(&dtype);
}

START_TEST(type_strings_are_made_those_of_numpy)
{
    check("<i4", "'<i4'", 4);
    check(">i4", "'>i4'", 4);
    check("i4", "'<i4'", 4);
    check("=i4", "'<i4'", 4);
    check("<i1", "'|i1'", 1);
    check("|b1", "'|b1'", 1);
    check("?", "'|b1'", 1);
    check("S3", "'|S3'", 3);
    check("a3", "'|S3'", 3);
    check("<S3", "'|S3'", 3);
    check(">U5", "'>U5'", 20);
    check("|V12", "'|V12'", 12);
    check("<f2", "'<f2'", 2);
    check("<c16", "'<c16'", 16);
    check("<f16", "'<f16'", 16);
    check("<M8[ns]", "'<M8[ns]'", 8);
    check(">m8[25us]", "'>m8[25us]'", 8);
    check("<m8", "'<m8'", 8);
}
END_TEST

START_TEST(structured_types_are_lists_of_fields)
{
    check("[('a','<i4'),('b','<f8'),('s','S3')]",
          "[('a', '<i4'), ('b', '<f8'), ('s', '|S3')]", 15);
    check("[(('title', 'a'), '<i4'), ('b', '<f8', (2, 3))]",
          "[(('title', 'a'), '<i4'), ('b', '<f8', (2, 3))]", 52);
    check("[('a', '<i4', 3), ('b', ('<i2', (2,)))]",
          "[('a', '<i4', (3,)), ('b', '<i2', (2,))]", 16);
    check("[('x', [('y', '<i4'), ('z', 'S3')], (2,)), ]",
          "[('x', [('y', '<i4'), ('z', '|S3')], (2,))]", 14);
    check("[(\"it's\", '<i4'), ('\\n\\x41\\'', '|u1')]",
          "[(\"it's\", '<i4'), ('\\n\\x41\\'', '|u1')]", 5);
    check("[('\xc3\xbc', '<i4')]", "[('\xc3\xbc', '<i4')]", 4);
    check("[]", "[]", 0);
}
END_TEST

START_TEST(gaps_become_fields_without_names)
{
    check("{'names': ['a', 'b'], 'formats': ['i1', '<i4'], "
          "'offsets': [0, 4], 'itemsize': 8, 'aligned': True}",
          "[('a', '|i1'), ('', '|V3'), ('b', '<i4')]", 8);
    check("{'names':['a','b'], 'formats':['<i4',('<f8', (2,))], "
          "'offsets':[4,16], 'titles':[None,'t'], 'itemsize':40}",
          "[('', '|V4'), ('a', '<i4'), ('', '|V8'), (('t', 'b'), '<f8', (2,)), "
          "('', '|V8')]",
          40);
    check("[('a', {'names': ['q'], 'formats': ['<i4'], 'offsets': [0], "
          "'itemsize': 8})]",
          "[('a', [('q', '<i4'), ('', '|V4')])]", 8);
    check("{'names': [], 'formats': [], 'offsets': [], 'itemsize': 3}",
          "[('', '|V3')]", 3);
}
END_TEST

START_TEST(items_may_be_arrays)
{
    struct dtype dtype;

    ck_assert_int_eq(dtype_parse("('<i4', (2, 3))", &dtype), 0);
    ck_assert_str_eq(dtype.descr, "'<i4'");
    ck_assert_uint_eq(dtype.itemsize, 24);
    ck_assert_uint_eq(dtype.ndim, 2);
    ck_assert_uint_eq(dtype.shape[0], 2);
    ck_assert_uint_eq(dtype.shape[1], 3);
    dtype_fini(&dtype);
}
END_TEST

START_TEST(what_numpy_would_not_print_is_refused)
{
    static const char *const texts[] = {
        "",
        " ",
        "<",
        "<i",
        "<i3",
        "<i4 ",
        "<i 4",
        "i4i4",
        "O",
        "<O8",
        "|O",
        "<b2",
        "<f1",
        "<c4",
        "<M4",
        "<M8[",
        "<M8[]",
        "<M8[ns",
        "<M8[xx]",
        "<i4[ns]",
        "<S4294967295",
        "<U1073741824",
        "<i-4",
        "'<i4'",
        "int32",
        "[",
        "]",
        "[(]",
        "[('a')]",
        "[('a',)]",
        "[('a', '<i4')",
        "[,]",
        "[('a', '<i4') ('b', '<i4')]",
        "[('a', '<i4')]]",
        "[('a', '<i4'),,]",
        "[(a, '<i4')]",
        "[('a', <i4)]",
        "[('a', '<i4', )",
        "[('a, '<i4')]",
        "[('a', '<i4', (-1,))]",
        "[('a', '<i4', (x,))]",
        "[('a', ('<i4', (2,)), (3,))]",
        "[('a\n', '<i4')]",
        "[('a\\', '<i4')]",
        "[('\\q', '<i4')]",
        "[('\\x4', '<i4')]",
        "[('\\u123', '<i4')]",
        "[('\\U00110000', '<i4')]",
        "[('\\N{DASH}', '<i4')]",
        "[('\xff', '<i4')]",
        "[('\xc3', '<i4')]",
        "[('\xc0\x80', '<i4')]",
        "[('\xed\xa0\x80', '<i4')]",
        "[('\xe0\x80\x80', '<i4')]",
        "[('\xf4\x90\x80\x80', '<i4')]",
        "[(('t', 'n', 'm'), '<i4')]",
        "[('a', '<i4', (65536, 65536))]",
        "[('a', '|V2147483647'), ('b', '|u1')]",
        "{}",
        "{'names': ['a'], 'formats': ['<i4']}",
        "{'names': ['a'], 'formats': ['<i4'], 'offsets': [0]}",
        "{'names': ['a'], 'formats': ['<i4'], 'offsets': [0], 'itemsize': 3}",
        "{'names': ['a'], 'formats': ['<i4'], 'offsets': [-1], 'itemsize': 9}",
        "{'names': ['a'], 'formats': ['<i4', '<i4'], 'offsets': [0], "
        "'itemsize': 9}",
        "{'names': ['a', 'b'], 'formats': ['<i4', '<i4'], 'offsets': [0, 2], "
        "'itemsize': 9}",
        "{'names': ['a', 'b'], 'formats': ['<i4', '<i4'], 'offsets': [4, 0], "
        "'itemsize': 8}",
        "{'names': ['a'], 'formats': ['<i4'], 'offsets': [0], 'titles': [], "
        "'itemsize': 4}",
        "{'names': ['a'], 'formats': ['<i4'], 'offsets': [0], 'itemsize': 4, "
        "'x': 1}",
        "{'names': 'a', 'formats': '<i4', 'offsets': 0, 'itemsize': 4}",
        "('<i4', (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1))",
        "('<i4',)",
        "('<i4'",
        "(('<i4', (2,)), (3,))",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct dtype dtype;

        ck_assert_msg(dtype_parse(texts[i], &dtype) == -EINVAL, "%s", texts[i]);
    }
}
END_TEST

START_TEST(fields_may_be_nested_to_a_limit)
{
    for (unsigned depth = 1; depth <= 20; depth++) {
        char text[512] = "";
        struct dtype dtype;

        for (unsigned i = 0; i < depth; i++)
            strcat(text, "[('a', ");
        strcat(text, "'<i4'");
        for (unsigned i = 0; i < depth; i++)
            strcat(text, ")]");
        if (depth <= 16)
            check(text, text, 4);
        else
            ck_assert_int_eq(dtype_parse(text, &dtype), -EINVAL);
    }
}
END_TEST

/* Check the version and the text of a header, without its trailing blanks. */
static void check_header(const struct array *array, unsigned version,
                         const char *text)
{
    size_t start = version == 1 ? 10 : 12;
    size_t said;
    uint8_t *header;
    size_t len;

    ck_assert_int_eq(npy_header(array, &header, &len), 0);
    ck_assert_uint_eq(len % 64, 0);
    ck_assert_mem_eq(header, "\x93NUMPY", 6);
    ck_assert_uint_eq(header[6], version);
    ck_assert_uint_eq(header[7], 0);
    said = header[8] + ((size_t)header[9] << 8);
    if (version > 1)
        said += ((size_t)header[10] << 16) + ((size_t)header[11] << 24);
    ck_assert_uint_eq(start + said, len);
    ck_assert_mem_eq(header + start, text, strlen(text));
    for (size_t i = start + strlen(text); i < len - 1; i++)
        ck_assert_uint_eq(header[i], ' ');
    ck_assert_uint_eq(header[len - 1], '\n');
    free(header);
}

START_TEST(a_header_names_dtype_and_shape)
{
    struct array array = {
        .shape = { .ndim = 2, .items = { 5, 7 } },
        .layout = { .itemsize = 4 },
        .dtype = (char *)(uintptr_t) "<i4",
    };

    check_header(&array, 1,
                 "{'descr': '<i4', 'fortran_order': False, 'shape': (5, 7), }");
    array.shape.ndim = 1;
    check_header(&array, 1,
                 "{'descr': '<i4', 'fortran_order': False, 'shape': (5,), }");
    array.shape.ndim = 0;
    check_header(&array, 1,
                 "{'descr': '<i4', 'fortran_order': False, 'shape': (), }");
    array.dtype = (char *)(uintptr_t) "('<i2', (2,))";
    check_header(&array, 1,
                 "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }");
    array.dtype = (char *)(uintptr_t) "[('\xc3\xbc', '<i4')]";
    check_header(&array, 3,
                 "{'descr': [('\xc3\xbc', '<i4')], 'fortran_order': False, "
                 "'shape': (), }");
}
END_TEST

START_TEST(items_of_unknown_dtype_are_bytes)
{
    struct array array = {
        .shape = { .ndim = 1, .items = { 5 } },
        .layout = { .itemsize = 12 },
    };
    const char *expected =
        "{'descr': '|V12', 'fortran_order': False, 'shape': (5,), }";

    check_header(&array, 1, expected);
    array.dtype = (char *)(uintptr_t) "|u1"; /* not the size of an item */
    check_header(&array, 1, expected);
    array.dtype = (char *)(uintptr_t) "nonsense";
    check_header(&array, 1, expected);
}
END_TEST

START_TEST(a_long_description_takes_version_2)
{
    enum {
        NFIELDS = 5000
    };
    struct array array = { .layout = { .itemsize = NFIELDS } };
    char *text = malloc(20 * NFIELDS);
    char *expected = malloc(20 * NFIELDS + 100);
    size_t len = 0;

    for (unsigned i = 0; i < NFIELDS; i++)
        len += (size_t)sprintf(text + len, "%s('f%04u', '|u1')",
                               i == 0 ? "[" : ", ", i);
    strcpy(text + len, "]");
    sprintf(expected, "{'descr': %s, 'fortran_order': False, 'shape': (), }",
            text);
    array.dtype = text;
    check_header(&array, 2, expected);
    free(text);
    free(expected);
}
END_TEST

/* Make the header of a .npy file of version 1. */
static size_t write_header(const char *text, uint8_t *header)
{
    size_t len = strlen(text);

    memcpy(header, "\x93NUMPY\1\0", 8);
    header[8] = (uint8_t)len;
    header[9] = (uint8_t)(len >> 8);
    memcpy(header + 10, text, len);
    ck_assert_uint_eq(npy_header_len(header), len + 10);
    return len + 10;
}

static int try_npy(const char *text, struct npy *npy)
{
    uint8_t header[1024];
    size_t len = write_header(text, header);

    return npy_parse(header, len, npy);
}

START_TEST(headers_are_parsed)
{
    struct npy npy;

    ck_assert_int_eq(try_npy("{'descr': '<f8', 'fortran_order': False, "
                             "'shape': (3, 4), }          \n",
                             &npy),
                     0);
    ck_assert_str_eq(npy.dtype, "<f8");
    ck_assert_uint_eq(npy.itemsize, 8);
    ck_assert_uint_eq(npy.shape.ndim, 2);
    ck_assert_uint_eq(npy.shape.items[0], 3);
    ck_assert_uint_eq(npy.shape.items[1], 4);
    ck_assert(!npy.fortran);
    npy_fini(&npy);

    /* Names are Latin-1 before version 3, and one dimension has no order. */
    ck_assert_int_eq(try_npy("{'shape':(5,),'fortran_order':True,"
                             "'descr':[('\xfc', '|S3')]}\n",
                             &npy),
                     0);
    ck_assert_str_eq(npy.dtype, "[('\xc3\xbc', '|S3')]");
    ck_assert(!npy.fortran);
    npy_fini(&npy);

    ck_assert_int_eq(try_npy("{'descr': '<f8', 'fortran_order': True, "
                             "'shape': (3, 4)}",
                             &npy),
                     0);
    ck_assert(npy.fortran);
    npy_fini(&npy);

    ck_assert_int_eq(try_npy("{'descr': '|b1', 'fortran_order': False, "
                             "'shape': ()}",
                             &npy),
                     0);
    ck_assert_uint_eq(npy.shape.ndim, 0);
    npy_fini(&npy);
}
END_TEST

START_TEST(headers_of_other_kinds_are_refused)
{
    static const char *const texts[] = {
        "",
        "{}",
        "{'descr': '<f8', 'shape': (3,)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f8, 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': ', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '|V0', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': ('<f8', (2,)), 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (3,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 3}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '<f8', 'fortran_order': False, "
        "'shape': (9223372036854775808,)}",
        "{'descr': '<f8', 'fortran_order': False, "
        "'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)",
    };
    uint8_t other[NPY_HEAD_LEN] = "\x93NUMPX\1";
    struct npy npy;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        ck_assert_msg(try_npy(texts[i], &npy) == -EINVAL, "%s", texts[i]);
    ck_assert_uint_eq(npy_header_len(other), 0);
    memcpy(other, "\x93NUMPY\4", 7);
    ck_assert_uint_eq(npy_header_len(other), 0);
}
END_TEST

START_TEST(a_header_that_was_made_is_parsed)
{
    struct array array = {
        .shape = { .ndim = 3, .items = { 5, 0, INT64_MAX } },
        .layout = { .itemsize = 12 },
        .dtype = (char *)(uintptr_t) "[('\xe6\x97\xa5', '<i4'), ('b', '<f8')]",
    };
    struct npy npy;
    uint8_t *header;
    size_t len;

    ck_assert_int_eq(npy_header(&array, &header, &len), 0);
    ck_assert_uint_eq(npy_header_len(header), len);
    ck_assert_int_eq(npy_parse(header, len, &npy), 0);
    ck_assert_str_eq(npy.dtype, array.dtype);
    ck_assert_uint_eq(npy.shape.items[2], INT64_MAX);
    npy_fini(&npy);
    free(header);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        type_strings_are_made_those_of_numpy,
        structured_types_are_lists_of_fields,
        gaps_become_fields_without_names,
        items_may_be_arrays,
        what_numpy_would_not_print_is_refused,
        fields_may_be_nested_to_a_limit,
        a_header_names_dtype_and_shape,
        items_of_unknown_dtype_are_bytes,
        a_long_description_takes_version_2,
        headers_are_parsed,
        headers_of_other_kinds_are_refused,
        a_header_that_was_made_is_parsed,
        NULL,
    };

    return suite_run("dtype", tests);
}
