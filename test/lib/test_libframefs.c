/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <framefs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"

static char dir[SUITE_PATH_MAX];
static struct framefs *fs;

static void setup(void)
{
    suite_make_dir(dir);
    ck_assert_int_eq(chdir(dir), 0);
    ck_assert_int_eq(framefs_new("cache=16M,threads=1", &fs), 0);
}

static void teardown(void)
{
    framefs_free(fs);
    suite_remove_dir(dir);
}

static struct framefs_frame *create(const char *path, const char *options)
{
    struct framefs_frame *frame;

    ck_assert_msg(framefs_create(fs, path, options, &frame) == 0, "%s",
                  framefs_error());
    return frame;
}

static struct framefs_frame *reopen(const char *path)
{
    struct framefs_frame *frame;

    ck_assert_msg(framefs_open(fs, path, FRAMEFS_WRITE, 0, &frame) == 0, "%s",
                  framefs_error());
    return frame;
}

/* Open a frame that another program wrote. */
static struct framefs_frame *open_data(const char *name)
{
    struct framefs_frame *frame;
    char path[SUITE_DATA_MAX];

    suite_data_path(path, "frames/%s", name);
    ck_assert_msg(framefs_open(fs, path, FRAMEFS_READ, 0, &frame) == 0, "%s",
                  framefs_error());
    return frame;
}

static void ck_assert_error(const char *text)
{
    ck_assert_msg(strstr(framefs_error(), text) != NULL, "%s", framefs_error());
}

START_TEST(what_is_written_is_read)
{
    const char *const layouts[] = { "layout=contiguous", "layout=sparse" };
    char text[16] = "";

    setup();
    for (size_t i = 0; i < 2; i++) {
        struct framefs_frame *frame = create("a", layouts[i]);
        struct stat st;

        ck_assert_int_eq(framefs_pwrite(frame, "end", 3, 5000000), 3);
        ck_assert_int_eq(framefs_pwrite(frame, "start", 5, 0), 5);
        ck_assert_uint_eq(framefs_size(frame), 5000003);
        ck_assert_int_eq(framefs_pread(frame, text, 5, 0), 5);
        ck_assert_str_eq(text, "start");
        ck_assert_int_eq(framefs_close(frame), 0);

        frame = reopen("a");
        ck_assert_int_eq(framefs_pread(frame, text, 16, 4999999), 4);
        ck_assert_mem_eq(text, "\0end", 4);
        ck_assert_int_eq(framefs_truncate(frame, 4), 0);
        ck_assert_int_eq(framefs_pread(frame, text, 16, 0), 4);
        ck_assert_int_eq(framefs_pread(frame, text, 16, 4), 0);
        ck_assert_int_eq(framefs_close(frame), 0);
        ck_assert_int_eq(stat("a", &st), 0);
        ck_assert_int_eq(S_ISDIR(st.st_mode), i == 1);
        ck_assert_int_eq(rename("a", i == 0 ? "b" : "c"), 0);
    }
    teardown();
}
END_TEST

/* The length is 10 MiB, more than one piece and half of the cache. */
START_TEST(long_reads_and_writes_come_whole)
{
    size_t len = 10 << 20;
    uint32_t *words = malloc(len);
    uint32_t *back = malloc(len);
    struct framefs_frame *frame;

    setup();
    ck_assert(words && back);
    for (size_t i = 0; i < len / 4; i++)
        words[i] = (uint32_t)(i * i);
    frame = create("a", "codec=lz4,typesize=4,chunksize=64K");
    ck_assert_int_eq(framefs_pwrite(frame, words, len, 0), (ssize_t)len);
    ck_assert_int_eq(framefs_sync(frame), 0);
    ck_assert_int_eq(framefs_pread(frame, back, len, 0), (ssize_t)len);
    ck_assert(memcmp(words, back, len) == 0);
    framefs_close(frame);
    free(words);
    free(back);
    teardown();
}
END_TEST

START_TEST(a_frame_in_memory_is_read)
{
    struct framefs_frame *frame;
    char text[8] = "";
    uint8_t bytes[4096];
    size_t len;
    FILE *file;

    setup();
    frame = create("a", "chunksize=64K,typesize=1");
    ck_assert_int_eq(framefs_pwrite(frame, "memory", 6, 300000), 6);
    framefs_close(frame);
    file = fopen("a", "rb");
    ck_assert_ptr_nonnull(file);
    len = fread(bytes, 1, sizeof(bytes), file);
    ck_assert_uint_lt(len, sizeof(bytes));
    fclose(file);
    ck_assert_int_eq(unlink("a"), 0);

    for (int flags = 0; flags <= FRAMEFS_ARRAY; flags += FRAMEFS_ARRAY) {
        ck_assert_int_eq(framefs_open_memory(fs, bytes, len, flags, &frame), 0);
        ck_assert_uint_eq(framefs_size(frame), 300006);
        ck_assert_int_eq(framefs_pread(frame, text, 8, 300000), 6);
        ck_assert_str_eq(text, "memory");
        ck_assert_int_eq(framefs_pwrite(frame, "x", 1, 0), -EROFS);
        framefs_close(frame);
    }
    for (size_t cut = 0; cut < len; cut++)
        ck_assert_int_lt(framefs_open_memory(fs, bytes, cut, 0, &frame), 0);
    ck_assert_error("memory: ");
    ck_assert_int_eq(framefs_open_memory(fs, bytes, len, FRAMEFS_WRITE, &frame),
                     -EROFS);
    teardown();
}
END_TEST

START_TEST(a_frame_is_made_in_memory)
{
    size_t len = 3 << 20;
    uint32_t *words = calloc(1, len);
    uint32_t *back = malloc(len);
    struct framefs_frame *frame;
    struct framefs_frame *copy;
    uint8_t *bytes;
    ssize_t n;

    setup();
    ck_assert(words && back);
    frame = create(NULL, "codec=zstd,typesize=4,chunksize=256K");
    for (uint32_t round = 1; round < 4; round++) {
        for (uint32_t i = 0; i < len / 4; i++)
            words[i] = i * i % (i / 1000 + round);
        ck_assert_int_eq(framefs_pwrite(frame, words, len, 0), (ssize_t)len);
        ck_assert_int_eq(framefs_meta_set(frame, "vlmeta.x", "y", 1), 0);
        n = framefs_memory_get(frame, NULL, 0);
        ck_assert_msg(n > 0, "%s", framefs_error());
        bytes = malloc((size_t)n);
        ck_assert_int_eq(framefs_memory_get(frame, bytes, (size_t)n - 1),
                         -ERANGE);
        ck_assert_int_eq(framefs_memory_get(frame, bytes, (size_t)n), n);
        ck_assert_int_eq(framefs_open_memory(fs, bytes, (size_t)n, 0, &copy),
                         0);
        ck_assert_int_eq(framefs_pread(copy, back, len, 0), (ssize_t)len);
        ck_assert(memcmp(words, back, len) == 0);
        ck_assert_int_eq(framefs_pread(frame, back, len, 0), (ssize_t)len);
        ck_assert(memcmp(words, back, len) == 0);
        framefs_close(copy);
        free(bytes);
    }
    framefs_close(frame);
    ck_assert_int_eq(framefs_create(fs, NULL, "layout=sparse", &frame),
                     -EINVAL);
    free(words);
    free(back);
    teardown();
}
END_TEST

START_TEST(errors_say_what_is_wrong)
{
    struct framefs_frame *frame;
    struct framefs *other;

    setup();
    ck_assert_int_eq(framefs_new("cache=lots", &other), -EINVAL);
    ck_assert_error("cache=lots: wants a size of at least 1");
    ck_assert_int_eq(framefs_new("cash=1M", &other), -EINVAL);
    ck_assert_error("cash=1M: unknown option");
    ck_assert_int_eq(framefs_new("cache", &other), -EINVAL);
    ck_assert_int_eq(framefs_open(fs, "none", 0, 0, &frame), -ENOENT);
    ck_assert_error("none: No such file");
    ck_assert_int_eq(framefs_open(fs, "none", 8, 0, &frame), -EINVAL);
    ck_assert_int_eq(framefs_open(fs, "/bin/sh", 0, 0, &frame), -EBADMSG);
    ck_assert_error("/bin/sh: offset ");
    ck_assert_int_eq(framefs_create(fs, "a", "codec=rar", &frame), -EINVAL);
    ck_assert_error("codec=rar");
    ck_assert_int_eq(
        framefs_create(fs, "a", "typesize=1,filters=trunc_prec:9", &frame),
        -EINVAL);
    ck_assert_int_eq(framefs_create(fs, "a", "chunksize=16M", &frame),
                     -ENOTSUP);
    ck_assert_error("(16777216 bytes with a cache of 16777216)");
    ck_assert_int_eq(access("a", F_OK), -1);
    ck_assert_int_eq(framefs_create(fs, "none/a", NULL, &frame), -ENOENT);
    framefs_close(create("a", NULL));
    ck_assert_int_eq(framefs_create(fs, "a", NULL, &frame), -EEXIST);
    ck_assert_int_eq(framefs_open(fs, "a", FRAMEFS_WRITE, 1, &frame), -EROFS);
    teardown();
}
END_TEST

START_TEST(a_frame_opened_to_be_read_is_not_written)
{
    struct framefs_frame *frame;

    setup();
    frame = open_data("last-block-short.b2frame");
    ck_assert_int_eq(framefs_pwrite(frame, "x", 1, 0), -EROFS);
    ck_assert_error("last-block-short.b2frame: ");
    ck_assert_int_eq(framefs_truncate(frame, 0), -EROFS);
    ck_assert_int_eq(framefs_meta_set(frame, "vlmeta.a", "", 0), -EROFS);
    ck_assert_int_eq(framefs_sync(frame), 0);
    ck_assert_int_eq(framefs_close(frame), 0);
    teardown();
}
END_TEST

START_TEST(closing_tells_what_another_program_made_us_lose)
{
    struct framefs_frame *frame;
    struct framefs_frame *other;

    setup();
    frame = create("a", NULL);
    ck_assert_int_eq(framefs_pwrite(frame, "old", 3, 0), 3);
    ck_assert_int_eq(framefs_close(frame), 0);
    ck_assert_int_eq(system("cp a b"), 0);
    other = reopen("b");
    ck_assert_int_eq(framefs_pwrite(other, "other", 5, 0), 5);
    ck_assert_int_eq(framefs_close(other), 0);
    frame = reopen("a");
    ck_assert_int_eq(framefs_pwrite(frame, "new", 3, 0), 3);
    /*
     * The other program writes in spite of our lease, because it does not ask
     * for one.
     */
    ck_assert_int_eq(system("cat b >a"), 0);
    ck_assert_int_eq(framefs_close(frame), -ESTALE);
    ck_assert_error("another program");
    teardown();
}
END_TEST

START_TEST(a_frame_is_changed_by_one_handle_at_a_time)
{
    struct framefs_frame *frame;
    struct framefs_frame *other;
    char text[6] = "";

    setup();
    frame = create("a", NULL);
    other = reopen("a");
    ck_assert_int_eq(framefs_pwrite(frame, "first", 5, 0), 5);
    ck_assert_int_eq(framefs_sync(frame), 0);
    ck_assert_int_eq(framefs_pwrite(other, "other", 5, 0), -ESTALE);
    ck_assert_error("another program");
    ck_assert_int_eq(framefs_close(other), 0);
    other = reopen("a");
    ck_assert_int_eq(framefs_pwrite(other, "other", 5, 0), 5);
    ck_assert_int_eq(framefs_close(other), 0);
    ck_assert_int_eq(framefs_close(frame), 0);
    frame = reopen("a");
    ck_assert_int_eq(framefs_pread(frame, text, 5, 0), 5);
    ck_assert_str_eq(text, "other");
    framefs_close(frame);
    teardown();
}
END_TEST

START_TEST(metadata_have_the_names_of_a_mount)
{
    struct framefs_frame *frame;
    char names[64];
    char value[8];

    setup();
    frame = create("a", NULL);
    ck_assert_int_eq(framefs_meta_list(frame, NULL, 0), 0);
    ck_assert_int_eq(framefs_meta_set(frame, "vlmeta.one", "1", 1), 0);
    ck_assert_int_eq(framefs_meta_set(frame, "vlmeta.two", "22", 2), 0);
    ck_assert_int_eq(framefs_meta_list(frame, NULL, 0), 22);
    ck_assert_int_eq(framefs_meta_list(frame, names, 21), -ERANGE);
    ck_assert_int_eq(framefs_meta_list(frame, names, 64), 22);
    ck_assert_mem_eq(names, "vlmeta.one\0vlmeta.two", 22);
    ck_assert_int_eq(framefs_meta_get(frame, "vlmeta.two", value, 8), 2);
    ck_assert_mem_eq(value, "22", 2);
    ck_assert_int_eq(framefs_meta_get(frame, "meta.two", value, 8), -ENODATA);
    ck_assert_int_eq(framefs_meta_remove(frame, "vlmeta.two"), 0);
    ck_assert_int_eq(framefs_meta_remove(frame, "vlmeta.two"), -ENODATA);
    ck_assert_int_eq(framefs_meta_set(frame, "meta.no", "1", 1), -ENODATA);
    ck_assert_int_eq(framefs_meta_set(frame, "two", "1", 1), -EINVAL);
    framefs_close(frame);
    teardown();
}
END_TEST

START_TEST(a_description_is_a_struct_or_a_text)
{
    struct framefs_frame *frame;
    struct framefs_info info;
    char larger[sizeof(info) + 8];
    char text[4096];
    ssize_t len;

    setup();
    frame = open_data("last-block-short.b2frame");
    ck_assert_int_eq(framefs_info(frame, &info, sizeof(info)), 0);
    ck_assert_uint_eq(info.size, framefs_size(frame));
    ck_assert_uint_eq(info.nchunks,
                      (info.size + info.chunksize - 1) / info.chunksize);
    ck_assert_int_eq(framefs_info(frame, (void *)larger, sizeof(larger)),
                     -EINVAL);
    len = framefs_info_json(frame, NULL, 0);
    ck_assert_int_gt(len, 0);
    ck_assert_int_eq(framefs_info_json(frame, text, (size_t)len), -ERANGE);
    ck_assert_int_eq(framefs_info_json(frame, text, (size_t)len + 1), len);
    ck_assert_uint_eq(strlen(text), (size_t)len);
    ck_assert_ptr_nonnull(strstr(text, info.codec));
    framefs_close(frame);
    teardown();
}
END_TEST

static void *fail_elsewhere(void *context)
{
    struct framefs_frame *frame;

    (void)context;
    ck_assert_str_eq(framefs_error(), "");
    ck_assert_int_eq(framefs_open(fs, "theirs", 0, 0, &frame), -ENOENT);
    ck_assert_error("theirs: ");
    return NULL;
}

START_TEST(each_thread_has_its_own_message)
{
    struct framefs_frame *frame;
    pthread_t thread;

    setup();
    ck_assert_int_eq(framefs_open(fs, "mine", 0, 0, &frame), -ENOENT);
    ck_assert_int_eq(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_error("mine: ");
    teardown();
}
END_TEST

/* Make the first of several chunks of 4096 bytes longer than the file. */
static void spoil_first_chunk(const char *path)
{
    static const char nbytes[] = { 0x00, 0x10, 0x00, 0x00 };
    char bytes[1024];
    FILE *file = fopen(path, "r+b");
    char *found;

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(bytes, 1, sizeof(bytes), file), sizeof(bytes));
    found = memmem(bytes + 97, sizeof(bytes) - 97, nbytes, sizeof(nbytes));
    ck_assert_ptr_nonnull(found);
    ck_assert_int_eq(fseek(file, found - bytes + 8, SEEK_SET), 0);
    fputs("\xff\xff\xff\xff", file);
    fclose(file);
}

/*
 * A read that meets a damaged chunk fails, and a read behind the chunk
 * succeeds.
 */
START_TEST(a_damaged_chunk_costs_only_its_own_bytes)
{
    struct framefs_frame *frame;
    uint8_t buf[3 * 4096];

    setup();
    for (size_t i = 0; i < sizeof(buf); i++)
        buf[i] = (uint8_t)(i * i >> 3);
    frame = create("a", "chunksize=4K,typesize=1,filters=none");
    ck_assert_int_eq(framefs_pwrite(frame, buf, sizeof(buf), 0), 3 * 4096);
    framefs_close(frame);
    spoil_first_chunk("a");
    ck_assert_int_eq(framefs_open(fs, "a", FRAMEFS_READ, 0, &frame), 0);
    ck_assert_int_eq(framefs_pread(frame, buf, sizeof(buf), 0), -EBADMSG);
    ck_assert_error("a: chunk 0, offset ");
    ck_assert_int_eq(framefs_pread(frame, buf, sizeof(buf), 4096), 2 * 4096);
    framefs_close(frame);
    teardown();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_is_written_is_read,
        long_reads_and_writes_come_whole,
        a_frame_in_memory_is_read,
        a_frame_is_made_in_memory,
        errors_say_what_is_wrong,
        a_frame_opened_to_be_read_is_not_written,
        closing_tells_what_another_program_made_us_lose,
        a_frame_is_changed_by_one_handle_at_a_time,
        metadata_have_the_names_of_a_mount,
        a_description_is_a_struct_or_a_text,
        each_thread_has_its_own_message,
        a_damaged_chunk_costs_only_its_own_bytes,
        NULL,
    };

    return suite_run("libframefs", tests);
}
