/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <framefs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

enum {
    CHUNKSIZE = 4096,
    STORED_MAX = CHUNKSIZE + 64
};

static char dir[SUITE_PATH_MAX];
static struct framefs *fs;
static struct framefs_frame *frame;

static void ck_assert_done(int r)
{
    ck_assert_msg(r == 0, "%s", framefs_error());
}

static void setup(const char *options)
{
    suite_make_dir(dir);
    ck_assert_int_eq(chdir(dir), 0);
    ck_assert_int_eq(framefs_new("cache=16M,threads=1", &fs), 0);
    ck_assert_done(framefs_create(fs, "a", options, &frame));
}

static void teardown(void)
{
    ck_assert_int_eq(framefs_close(frame), 0);
    framefs_free(fs);
    suite_remove_dir(dir);
}

/* The content of a chunk: numbers that begin with its letter. */
static const char *content(char letter)
{
    static char bytes[CHUNKSIZE];

    for (size_t i = 0; i < CHUNKSIZE; i++)
        bytes[i] = i % 3 == 0 ? letter : (char)(i % 7);
    return bytes;
}

static void insert(uint64_t chunk_no, char letter)
{
    ck_assert_done(framefs_chunk_insert(frame, chunk_no, FRAMEFS_CHUNK_DECODED,
                                        content(letter), CHUNKSIZE));
}

/* The chunks have these letters, in this order. */
static void ck_assert_chunks(const char *letters)
{
    struct framefs_info info;
    struct framefs_chunk chunk;
    char bytes[CHUNKSIZE];

    ck_assert_int_eq(framefs_info(frame, &info, sizeof(info)), 0);
    ck_assert_uint_eq(info.nchunks, strlen(letters));
    for (size_t i = 0; letters[i]; i++) {
        ck_assert_int_eq(framefs_chunk_get(frame, i, FRAMEFS_CHUNK_DECODED,
                                           bytes, CHUNKSIZE),
                         CHUNKSIZE);
        ck_assert_mem_eq(bytes, content(letters[i]), CHUNKSIZE);
        ck_assert_int_eq(framefs_pread(frame, bytes, 1, i * CHUNKSIZE), 1);
        ck_assert_int_eq(bytes[0], letters[i]);
        ck_assert_int_eq(framefs_chunk_info(frame, i, &chunk, sizeof(chunk)),
                         0);
        ck_assert_uint_eq(chunk.off, i * CHUNKSIZE);
        ck_assert_uint_eq(chunk.nbytes, CHUNKSIZE);
        ck_assert_uint_lt(chunk.cbytes, CHUNKSIZE);
    }
}

START_TEST(chunks_are_put_inserted_deleted_and_reordered)
{
    const char *const layouts[] = {
        "layout=contiguous,chunksize=4K,typesize=1",
        "layout=sparse,chunksize=4K,typesize=1",
    };

    for (size_t i = 0; i < 2; i++) {
        setup(layouts[i]);
        insert(0, 'b');
        insert(1, 'd');
        insert(0, 'a');
        insert(2, 'c');
        ck_assert_chunks("abcd");
        ck_assert_done(framefs_chunk_put(frame, 1, FRAMEFS_CHUNK_DECODED,
                                         content('x'), CHUNKSIZE));
        ck_assert_done(
            framefs_chunk_reorder(frame, (uint64_t[]){ 3, 1, 0, 2 }, 4));
        ck_assert_chunks("dxac");
        ck_assert_done(framefs_chunk_delete(frame, 2));
        ck_assert_chunks("dxc");
        ck_assert_int_eq(framefs_close(frame), 0);
        ck_assert_done(framefs_open(fs, "a", FRAMEFS_WRITE, 0, &frame));
        ck_assert_chunks("dxc");
        teardown();
    }
}
END_TEST

/* The bytes between the block starts, of which there is one, and the block are
   sums, and belong to the place of the chunk. */
static void ck_assert_same_chunk(const char *a, const char *b, size_t len)
{
    const size_t head = 36;
    size_t block = (unsigned char)a[32];

    ck_assert_mem_eq(a, b, head);
    ck_assert(block >= head && block < len);
    ck_assert_mem_eq(a + block, b + block, len - block);
}

START_TEST(stored_chunks_move_between_frames_as_they_are)
{
    struct framefs_frame *other;
    char stored[STORED_MAX];
    char again[STORED_MAX];
    ssize_t len;

    setup("chunksize=4K,typesize=1,codec=zstd");
    insert(0, 'a');
    ck_assert_done(framefs_create(
        fs, "b", "layout=sparse,chunksize=4K,typesize=1", &other));
    len = framefs_chunk_get(frame, 0, FRAMEFS_CHUNK_STORED, NULL, 0);
    ck_assert_int_gt(len, 32);
    ck_assert_int_eq(framefs_chunk_get(frame, 0, FRAMEFS_CHUNK_STORED, stored,
                                       (size_t)len - 1),
                     -ERANGE);
    ck_assert_int_eq(framefs_chunk_get(frame, 0, FRAMEFS_CHUNK_STORED, stored,
                                       sizeof(stored)),
                     len);
    ck_assert_done(framefs_chunk_insert(other, 0, FRAMEFS_CHUNK_STORED, stored,
                                        (size_t)len));
    ck_assert_int_eq(
        framefs_chunk_get(other, 0, FRAMEFS_CHUNK_STORED, again, sizeof(again)),
        len);
    ck_assert_same_chunk(stored, again, (size_t)len);
    ck_assert_int_eq(framefs_pread(other, again, CHUNKSIZE, 0), CHUNKSIZE);
    ck_assert_mem_eq(again, content('a'), CHUNKSIZE);
    framefs_close(other);
    teardown();
}
END_TEST

START_TEST(a_stored_chunk_that_is_damaged_is_refused)
{
    char stored[STORED_MAX];
    char spoilt[STORED_MAX];
    ssize_t len;
    size_t n;

    setup("chunksize=4K,typesize=1");
    insert(0, 'a');
    len = framefs_chunk_get(frame, 0, FRAMEFS_CHUNK_STORED, stored,
                            sizeof(stored));
    ck_assert_int_gt(len, 40);
    n = (size_t)len;
    for (size_t cut = 0; cut < n; cut++)
        ck_assert_int_lt(
            framefs_chunk_put(frame, 0, FRAMEFS_CHUNK_STORED, stored, cut), 0);
    memcpy(spoilt, stored, n);
    memset(spoilt + 32, 0xff, 4);
    ck_assert_int_eq(
        framefs_chunk_put(frame, 0, FRAMEFS_CHUNK_STORED, spoilt, n), -EBADMSG);
    ck_assert_chunks("a");
    ck_assert_done(
        framefs_chunk_put(frame, 0, FRAMEFS_CHUNK_STORED, stored, n));
    ck_assert_chunks("a");
    teardown();
}
END_TEST

START_TEST(wrong_changes_of_chunks_are_refused)
{
    char bytes[CHUNKSIZE];

    setup("chunksize=4K,typesize=1");
    insert(0, 'a');
    insert(1, 'b');
    ck_assert_int_eq(
        framefs_chunk_get(frame, 2, FRAMEFS_CHUNK_DECODED, bytes, CHUNKSIZE),
        -ERANGE);
    ck_assert_int_eq(framefs_chunk_get(frame, 0, 2, bytes, CHUNKSIZE), -EINVAL);
    ck_assert_int_eq(
        framefs_chunk_put(frame, 2, FRAMEFS_CHUNK_DECODED, bytes, CHUNKSIZE),
        -ERANGE);
    ck_assert_int_eq(framefs_chunk_put(frame, 0, FRAMEFS_CHUNK_DECODED, bytes,
                                       CHUNKSIZE - 1),
                     -EINVAL);
    ck_assert_int_eq(
        framefs_chunk_insert(frame, 0, FRAMEFS_CHUNK_DECODED, bytes, 0),
        -EINVAL);
    ck_assert_int_eq(framefs_chunk_delete(frame, 2), -ERANGE);
    ck_assert_int_eq(framefs_chunk_reorder(frame, (uint64_t[]){ 0, 0 }, 2),
                     -EINVAL);
    ck_assert_int_eq(framefs_chunk_reorder(frame, (uint64_t[]){ 0 }, 1),
                     -EINVAL);
    ck_assert_chunks("ab");
    framefs_close(frame);
    ck_assert_done(framefs_open(fs, "a", FRAMEFS_READ, 0, &frame));
    ck_assert_int_eq(framefs_chunk_delete(frame, 0), -EROFS);
    ck_assert_chunks("ab");
    teardown();
}
END_TEST

START_TEST(chunks_of_an_array_keep_their_size_and_place)
{
    const struct framefs_array array = {
        .ndim = 1,
        .itemsize = 1,
        .shape = { 5000 },
        .chunks = { CHUNKSIZE },
        .blocks = { 512 },
    };
    struct framefs_frame *other;
    char byte;

    setup(NULL);
    ck_assert_done(framefs_array_create(fs, "b", NULL, &array, &other));
    ck_assert_int_eq(framefs_chunk_insert(other, 0, FRAMEFS_CHUNK_DECODED,
                                          content('a'), CHUNKSIZE),
                     -EPERM);
    ck_assert_int_eq(framefs_chunk_put(other, 1, FRAMEFS_CHUNK_DECODED,
                                       content('a'), 5000 - CHUNKSIZE),
                     -EINVAL);
    ck_assert_done(framefs_chunk_put(other, 1, FRAMEFS_CHUNK_DECODED,
                                     content('a'), CHUNKSIZE));
    ck_assert_int_eq(framefs_pread(other, &byte, 1, CHUNKSIZE), 1);
    ck_assert_int_eq(byte, 'a');
    framefs_close(other);
    teardown();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        chunks_are_put_inserted_deleted_and_reordered,
        stored_chunks_move_between_frames_as_they_are,
        a_stored_chunk_that_is_damaged_is_refused,
        wrong_changes_of_chunks_are_refused,
        chunks_of_an_array_keep_their_size_and_place,
        NULL,
    };

    return suite_run("libframefs chunks", tests);
}
