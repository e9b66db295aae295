/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <framefs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

enum {
    CHUNKSIZE = 4096,
    NCHUNKS_MAX = 64,
    LAYER_LEN = 4096,
};

static char dir[SUITE_PATH_MAX];
static struct framefs *fs;
static struct framefs_frame *frame;

/* The chunks that the frame should have. */
static struct {
    uint64_t keys[NCHUNKS_MAX];
    unsigned contents[NCHUNKS_MAX];
    size_t n;
    uint64_t last; /* the highest key that was ever seen */
} model;

static void ck_assert_done(int r)
{
    ck_assert_msg(r == 0, "%s", framefs_error());
}

static void setup(const char *options)
{
    suite_make_dir(dir);
    ck_assert_int_eq(chdir(dir), 0);
    ck_assert_int_eq(framefs_new("cache=16M,threads=1,commit=0", &fs), 0);
    ck_assert_done(framefs_create(fs, "a", options, &frame));
    memset(&model, 0, sizeof(model));
}

static void teardown(void)
{
    ck_assert_done(framefs_close(frame));
    framefs_free(fs);
    suite_remove_dir(dir);
}

static void open_again(void)
{
    ck_assert_done(framefs_close(frame));
    ck_assert_done(framefs_open(fs, "a", FRAMEFS_WRITE, 0, &frame));
}

/* Content number 0 is zeros, which are not stored. */
static const char *content(unsigned number)
{
    static char bytes[CHUNKSIZE];

    for (size_t i = 0; i < CHUNKSIZE; i++)
        bytes[i] = number > 0 ? (char)(number * 31 + i / 100 + i % number) : 0;
    return bytes;
}

static void ck_assert_key(uint64_t key, uint64_t chunk_no, unsigned number)
{
    char bytes[CHUNKSIZE];
    uint64_t found;

    ck_assert_done(framefs_key_find(frame, key, &found));
    ck_assert_uint_eq(found, chunk_no);
    ck_assert_int_eq(framefs_key_get(frame, key, FRAMEFS_CHUNK_DECODED, bytes,
                                     sizeof(bytes)),
                     CHUNKSIZE);
    ck_assert_mem_eq(bytes, content(number), CHUNKSIZE);
}

/* Learn the keys of new chunks, and compare everything with the model. */
static void check_model(void)
{
    struct framefs_info info;
    uint64_t last = model.last;

    ck_assert_done(framefs_sync(frame));
    ck_assert_done(framefs_info(frame, &info, sizeof(info)));
    ck_assert_uint_eq(info.nchunks, model.n);
    for (size_t i = 0; i < model.n; i++) {
        uint64_t key;

        ck_assert_done(framefs_chunk_key(frame, i, &key));
        if (model.keys[i] == 0) {
            ck_assert_uint_gt(key, last);
            model.keys[i] = key;
        }
        ck_assert_uint_eq(key, model.keys[i]);
        if (key > model.last)
            model.last = key;
        ck_assert_key(key, i, model.contents[i]);
    }
}

static void insert(size_t at, unsigned number, uint64_t key)
{
    memmove(model.keys + at + 1, model.keys + at,
            (model.n - at) * sizeof(model.keys[0]));
    memmove(model.contents + at + 1, model.contents + at,
            (model.n - at) * sizeof(model.contents[0]));
    model.n++;
    model.keys[at] = key;
    model.contents[at] = number;
}

static void drop(size_t at)
{
    model.n--;
    memmove(model.keys + at, model.keys + at + 1,
            (model.n - at) * sizeof(model.keys[0]));
    memmove(model.contents + at, model.contents + at + 1,
            (model.n - at) * sizeof(model.contents[0]));
}

static size_t below(size_t n)
{
    return (size_t)random() % n;
}

static void change_order(void)
{
    uint64_t order[NCHUNKS_MAX];

    for (size_t i = 0; i < model.n; i++)
        order[i] = i;
    for (size_t i = 0; i + 1 < model.n; i++) {
        size_t k = i + below(model.n - i);
        uint64_t number = order[i];
        uint64_t key = model.keys[i];
        unsigned has = model.contents[i];

        order[i] = order[k];
        order[k] = number;
        model.keys[i] = model.keys[k];
        model.keys[k] = key;
        model.contents[i] = model.contents[k];
        model.contents[k] = has;
    }
    ck_assert_done(framefs_chunk_reorder(frame, order, model.n));
}

static void change_existing(size_t at, unsigned number)
{
    const int form = FRAMEFS_CHUNK_DECODED;

    switch (random() % 6) {
    case 0:
        ck_assert_done(
            framefs_chunk_put(frame, at, form, content(number), CHUNKSIZE));
        model.contents[at] = number;
        return;
    case 1:
        ck_assert_done(framefs_key_put(frame, model.keys[at], form,
                                       content(number), CHUNKSIZE));
        model.contents[at] = number;
        return;
    case 2:
        ck_assert_int_eq(
            framefs_pwrite(frame, content(number), CHUNKSIZE, at * CHUNKSIZE),
            CHUNKSIZE);
        model.contents[at] = number;
        return;
    case 3:
        ck_assert_done(framefs_key_delete(frame, model.keys[at]));
        drop(at);
        return;
    case 4:
        ck_assert_done(framefs_truncate(frame, at * CHUNKSIZE));
        model.n = at;
        return;
    default:
        change_order();
        return;
    }
}

static void add_one(size_t at, unsigned number)
{
    const int form = FRAMEFS_CHUNK_DECODED;
    uint64_t key = 0;

    switch (random() % 4) {
    case 0:
        ck_assert_done(
            framefs_chunk_insert(frame, at, form, content(number), CHUNKSIZE));
        insert(at, number, 0);
        return;
    case 1:
        ck_assert_done(
            framefs_key_append(frame, form, content(number), CHUNKSIZE, &key));
        ck_assert_uint_gt(key, model.last);
        insert(model.n, number, key);
        return;
    case 2:
        ck_assert_int_eq(framefs_pwrite(frame, content(number), CHUNKSIZE,
                                        model.n * CHUNKSIZE),
                         CHUNKSIZE);
        insert(model.n, number, 0);
        return;
    default:
        ck_assert_done(framefs_truncate(frame, (model.n + 2) * CHUNKSIZE));
        insert(model.n, 0, 0);
        insert(model.n, 0, 0);
        return;
    }
}

static void change_at_random(const char *options)
{
    setup(options);
    srandom(7);
    for (int i = 0; i < 150; i++) {
        unsigned number = (unsigned)below(200);

        if (model.n > 0 && (model.n + 2 > NCHUNKS_MAX || below(2) > 0))
            change_existing(below(model.n), number);
        else
            add_one(below(model.n + 1), number);
        if (i % 11 == 10)
            open_again();
        check_model();
    }
    teardown();
}

START_TEST(keys_stay_with_chunks_of_one_file)
{
    change_at_random("layout=contiguous,chunksize=4K,typesize=1");
}
END_TEST

START_TEST(keys_stay_with_chunks_in_a_directory)
{
    change_at_random("layout=sparse,chunksize=4K,typesize=1");
}
END_TEST

START_TEST(keys_of_deleted_chunks_are_not_used_again)
{
    const int form = FRAMEFS_CHUNK_DECODED;
    uint64_t first;
    uint64_t second;
    uint64_t chunk_no;

    setup("chunksize=4K,typesize=1");
    ck_assert_done(
        framefs_key_append(frame, form, content(1), CHUNKSIZE, &first));
    ck_assert_done(framefs_key_delete(frame, first));
    open_again();
    ck_assert_int_eq(framefs_key_find(frame, first, &chunk_no), -ENOENT);
    ck_assert_int_eq(framefs_key_delete(frame, first), -ENOENT);
    ck_assert_int_eq(framefs_key_put(frame, first, form, content(1), CHUNKSIZE),
                     -ENOENT);
    ck_assert_int_eq(framefs_key_get(frame, first, form, NULL, 0), -ENOENT);
    ck_assert_done(
        framefs_key_append(frame, form, content(1), CHUNKSIZE, &second));
    ck_assert_uint_gt(second, first);
    ck_assert_int_eq(framefs_key_find(frame, 0, &chunk_no), -ENOENT);
    teardown();
}
END_TEST

START_TEST(readers_neither_make_keys_nor_need_the_right_to)
{
    uint64_t key = 77;
    uint64_t wanted;

    setup("chunksize=4K,typesize=1");
    ck_assert_int_eq(framefs_pwrite(frame, content(1), CHUNKSIZE, 0),
                     CHUNKSIZE);
    ck_assert_done(framefs_close(frame));
    ck_assert_done(framefs_open(fs, "a", FRAMEFS_READ, 0, &frame));
    ck_assert_int_eq(framefs_chunk_key(frame, 0, &key), -ENOENT);
    ck_assert_uint_eq(key, 77);
    ck_assert_int_eq(framefs_chunk_key(frame, 1, &key), -ERANGE);
    open_again();
    ck_assert_done(framefs_chunk_key(frame, 0, &wanted));
    ck_assert_done(framefs_close(frame));
    ck_assert_done(framefs_open(fs, "a", FRAMEFS_READ, 0, &frame));
    ck_assert_done(framefs_chunk_key(frame, 0, &key));
    ck_assert_uint_eq(key, wanted);
    ck_assert_int_eq(framefs_key_delete(frame, key), -EROFS);
    teardown();
}
END_TEST

/* A frame of chunks with contents 1 to 5, and the vlmetalayer of their keys. */
static size_t setup_five(const char *options, char *layer)
{
    ssize_t len;

    setup(options);
    for (unsigned i = 1; i <= 5; i++) {
        uint64_t key;

        ck_assert_done(framefs_key_append(frame, FRAMEFS_CHUNK_DECODED,
                                          content(i), CHUNKSIZE, &key));
        insert(model.n, i, key);
    }
    check_model();
    len = framefs_meta_get(frame, "vlmeta.framefs.keys", layer, LAYER_LEN);
    ck_assert_int_eq(len, 32 + 5 * 16);
    return (size_t)len;
}

/* Put the vlmetalayer back, as if a program without knowledge of keys had made
   the changes since. */
static void put_back(const char *layer, size_t len)
{
    ck_assert_done(framefs_meta_set(frame, "vlmeta.framefs.keys", layer, len));
    ck_assert_done(framefs_close(frame));
    ck_assert_done(framefs_open(fs, "a", FRAMEFS_READ, 0, &frame));
}

static void change_elsewhere(const char *options)
{
    const int form = FRAMEFS_CHUNK_DECODED;
    char layer[LAYER_LEN];
    size_t len = setup_five(options, layer);
    uint64_t chunk_no;
    uint64_t key;

    /* One is changed in its place, and the others move. */
    ck_assert_done(framefs_chunk_put(frame, 2, form, content(9), CHUNKSIZE));
    ck_assert_done(
        framefs_chunk_reorder(frame, (uint64_t[]){ 4, 0, 2, 1, 3 }, 5));
    put_back(layer, len);
    ck_assert_key(model.keys[0], 1, 1);
    ck_assert_key(model.keys[1], 3, 2);
    ck_assert_key(model.keys[2], 2, 9);
    ck_assert_key(model.keys[3], 4, 4);
    ck_assert_key(model.keys[4], 0, 5);

    /* One is deleted, and two are put at the end. */
    open_again();
    ck_assert_done(framefs_chunk_delete(frame, 0));
    ck_assert_done(framefs_chunk_insert(frame, 4, form, content(7), CHUNKSIZE));
    ck_assert_done(framefs_chunk_insert(frame, 4, form, content(8), CHUNKSIZE));
    put_back(layer, len);
    ck_assert_key(model.keys[0], 0, 1);
    ck_assert_key(model.keys[1], 2, 2);
    ck_assert_key(model.keys[3], 3, 4);
    ck_assert_int_eq(framefs_key_find(frame, model.keys[2], &chunk_no),
                     -ENOENT);
    ck_assert_int_eq(framefs_key_find(frame, model.keys[4], &chunk_no),
                     -ENOENT);
    ck_assert_int_eq(framefs_chunk_key(frame, 4, &key), -ENOENT);

    /* Chunks that have lost their keys get new ones. */
    open_again();
    ck_assert_done(framefs_chunk_key(frame, 4, &key));
    ck_assert_uint_gt(key, model.last);
    ck_assert_key(key, 4, 8);
    ck_assert_key(model.keys[3], 3, 4);
    teardown();
}

START_TEST(keys_follow_chunks_that_other_programs_move)
{
    change_elsewhere("layout=contiguous,chunksize=4K,typesize=1");
    change_elsewhere("layout=sparse,chunksize=4K,typesize=1");
}
END_TEST

/* Whatever the layer is: keys lead to chunks that exist, and the frame can be
   changed. */
static void try_layer(const char *layer, size_t len)
{
    struct framefs_info info;
    uint64_t chunk_no = 0;
    uint64_t key = 0;
    int r;

    put_back(layer, len);
    ck_assert_done(framefs_info(frame, &info, sizeof(info)));
    r = framefs_chunk_key(frame, 0, &key);
    ck_assert(r == 0 || r == -EBADMSG || r == -ENOTSUP || r == -ENOENT);
    if (r == 0) {
        ck_assert_done(framefs_key_find(frame, key, &chunk_no));
        ck_assert_uint_eq(chunk_no, 0);
    }
    open_again();
    ck_assert_done(framefs_chunk_put(frame, 0, FRAMEFS_CHUNK_DECODED,
                                     content(3), CHUNKSIZE));
}

START_TEST(damaged_keys_harm_nothing)
{
    char layer[LAYER_LEN];
    char bad[LAYER_LEN];
    size_t len = setup_five("layout=sparse,chunksize=4K,typesize=1", layer);
    uint64_t key;

    for (size_t i = 0; i < len; i++) {
        memcpy(bad, layer, len);
        bad[i] = (char)(bad[i] ^ 0xff);
        try_layer(bad, len);
    }
    for (size_t cut = 0; cut < len; cut += 7)
        try_layer(layer, cut);
    memcpy(bad, layer, len);
    memcpy(bad + 40, bad + 32, 8); /* the same key twice */
    try_layer(bad, len);
    ck_assert_int_eq(framefs_chunk_key(frame, 0, &key), -EBADMSG);
    ck_assert_done(framefs_meta_remove(frame, "vlmeta.framefs.keys"));
    ck_assert_done(framefs_chunk_key(frame, 0, &key));
    teardown();
}
END_TEST

START_TEST(a_frame_with_keys_has_a_limit)
{
    uint64_t key;

    setup("chunksize=4K,typesize=1");
    ck_assert_done(framefs_key_append(frame, FRAMEFS_CHUNK_DECODED, content(1),
                                      CHUNKSIZE, &key));
    ck_assert_done(framefs_truncate(frame, ((uint64_t)CHUNKSIZE << 20) + 1));
    ck_assert_int_eq(framefs_sync(frame), -EFBIG);
    ck_assert_done(framefs_truncate(frame, (uint64_t)CHUNKSIZE << 20));
    ck_assert_done(framefs_sync(frame));
    ck_assert_done(framefs_chunk_key(frame, (1 << 20) - 1, &key));
    ck_assert_key(key, (1 << 20) - 1, 0);
    teardown();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        keys_stay_with_chunks_of_one_file,
        keys_stay_with_chunks_in_a_directory,
        keys_of_deleted_chunks_are_not_used_again,
        readers_neither_make_keys_nor_need_the_right_to,
        keys_follow_chunks_that_other_programs_move,
        damaged_keys_harm_nothing,
        a_frame_with_keys_has_a_limit,
        NULL,
    };

    return suite_run("libframefs keys", tests);
}
