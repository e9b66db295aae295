/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "encode_samples.h"
#include "store/store.h"
#include "writer/put_sums.h"

enum {
    NBYTES = 30000,
    OFF = 1000, /* in the object */
    FROM = 10,  /* places */
    TO = 20,
};

static struct store *store;
static struct store_object *object;

static void begin(void)
{
    ck_assert_int_eq(store_buffer_new(&store), 0);
    ck_assert_int_eq(store_draft(store, "", &object), 0);
}

static void end(void)
{
    store_discard(store, object);
    store_close(store);
}

/* Write the chunk that was encoded.  Returns its length with the record. */
static size_t put(size_t len, uint64_t place)
{
    struct put_sums put;

    ck_assert_int_eq(put_sums_init(&put, chunk, len, true), 0);
    ck_assert(put.summed);
    ck_assert_uint_ge(put.len, len);
    ck_assert_int_eq(put_sums_write(&put, object, OFF, place), 0);
    len = put.len;
    put_sums_fini(&put);
    return len;
}

/* Offset of the record in what is stored. */
static size_t record_off(size_t len)
{
    static uint8_t bytes[CAP + 4096];
    struct chunk_sums_place where;
    struct chunk_header header;
    struct chunk *opened;
    struct fault fault;

    ck_assert_int_eq(store_object_read_at(object, OFF, bytes, len), 0);
    ck_assert_int_eq(chunk_header_parse(bytes, len, &header, &fault), 0);
    ck_assert_int_eq(chunk_open(&header, bytes, NULL, &opened, &fault), 0);
    ck_assert(chunk_sums_find(opened, &where));
    chunk_close(opened);
    return where.off;
}

/* Does what is stored match its record at a place? */
static bool is_right(size_t len, uint64_t place)
{
    static uint8_t bytes[CAP + 4096];
    struct chunk_sums_place where;
    struct chunk_header header;
    struct chunk *opened;
    struct fault fault;
    bool right;

    ck_assert_int_eq(store_object_read_at(object, OFF, bytes, len), 0);
    ck_assert_int_eq(chunk_header_parse(bytes, len, &header, &fault), 0);
    ck_assert_int_eq(chunk_open(&header, bytes, NULL, &opened, &fault), 0);
    ck_assert(chunk_sums_find(opened, &where));
    ck_assert_uint_le(where.off + where.len, len);
    right = chunk_sums_check_head(opened, bytes, place, bytes + where.off);
    for (uint32_t i = 0;
         i < header.nblocks && chunk_kind_has_blocks(header.kind); i++) {
        uint32_t off;
        uint32_t n;

        chunk_block_extent(opened, i, &off, &n);
        right = right &&
                chunk_sums_check_block(chunk_sums_blocks(bytes + where.off), i,
                                       bytes + off, n);
    }
    chunk_close(opened);
    return right;
}

/* A record that a tag refutes, or proves to be damaged itself. */
static void check_tags(size_t len, uint32_t tag)
{
    struct moved_chunk moved = {
        .object = object, .off = OFF, .from = TO, .to = FROM, .tag = tag + 1
    };
    uint8_t record[8];

    /* It is another chunk: its sums stay invalid at the new place. */
    ck_assert_int_eq(put_sums_move(&moved), 0);
    ck_assert_uint_eq(moved.tag, tag + 1);
    ck_assert(is_right(len, TO));
    /* The record alone is damaged. */
    ck_assert_int_eq(store_object_read_at(object, OFF + record_off(len) + 8,
                                          record, sizeof(record)),
                     0);
    record[0] ^= 7;
    ck_assert_int_eq(store_object_write(object, OFF + record_off(len) + 8,
                                        record, sizeof(record)),
                     0);
    moved.tag = 0;
    ck_assert_int_eq(put_sums_move(&moved), 0);
    ck_assert(!is_right(len, FROM));
    moved.tag = tag;
    ck_assert_int_eq(put_sums_move(&moved), 0);
    ck_assert(is_right(len, FROM));
    ck_assert_uint_ne(moved.tag, tag);
}

/* Put the bytes in `src`, and move them. */
static void check(const struct chunk_params *params)
{
    struct moved_chunk moved = { .off = OFF, .from = FROM, .to = TO };
    uint32_t tag;
    size_t len;

    begin();
    len = put(encode(params, NBYTES), FROM);
    ck_assert(is_right(len, FROM));
    ck_assert(!is_right(len, TO));
    moved.object = object;
    ck_assert_int_eq(put_sums_move(&moved), 0);
    ck_assert(is_right(len, TO));
    /* A record that is not right is not made right. */
    tag = moved.tag;
    ck_assert_int_eq(put_sums_move(&moved), 0);
    ck_assert(is_right(len, TO));
    ck_assert_uint_eq(moved.tag, tag);
    check_tags(len, tag);
    end();
}

START_TEST(chunks_of_each_kind_get_sums_that_move)
{
    struct chunk_params params = shuffled_lz4;

    fill_mixture(NBYTES);
    for (int sums = 0; sums < 2; sums++) {
        params.sums = sums;
        check(&params);
    }
    params.blocksize = 4096;
    check(&params);
    fill_noise(NBYTES);
    check(&params);
    fill_repeated("abcd", 4, NBYTES);
    check(&params);
}
END_TEST

START_TEST(without_sums_a_chunk_is_stored_as_it_is)
{
    struct put_sums put;
    size_t len;

    fill_noise(NBYTES);
    len = encode(&plain_lz4, NBYTES);
    ck_assert_int_eq(put_sums_init(&put, chunk, len, false), 0);
    ck_assert(!put.summed);
    ck_assert_uint_eq(put.len, len);
    put_sums_fini(&put);
}
END_TEST

START_TEST(bytes_that_are_no_chunk_get_no_sums)
{
    static uint8_t right[CAP];
    struct chunk_params params = shuffled_lz4;
    size_t len;

    params.blocksize = 4096;
    fill_mixture(NBYTES);
    len = encode(&params, NBYTES);
    memcpy(right, chunk, len);
    begin();
    for (size_t i = 0; i < 200; i++) {
        struct put_sums put;

        chunk[i] ^= (uint8_t)(1 + draw() % 255);
        ck_assert_int_eq(put_sums_init(&put, chunk, len, true), 0);
        ck_assert_int_eq(put_sums_write(&put, object, OFF, FROM), 0);
        put_sums_fini(&put);
        /* What lies at a place may be no chunk, either. */
        for (size_t shift = 0; shift < 2; shift++) {
            struct moved_chunk moved = { object, OFF + shift * i, FROM, TO, 0 };

            ck_assert_int_eq(put_sums_move(&moved), 0);
        }
        chunk[i] = right[i];
    }
    end();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        chunks_of_each_kind_get_sums_that_move,
        without_sums_a_chunk_is_stored_as_it_is,
        bytes_that_are_no_chunk_get_no_sums,
        NULL,
    };

    return run_encode_suite("put_sums", tests);
}
