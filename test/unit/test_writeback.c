/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "file/file.h"
#include "file/file_chunk_edit.h"
#include "fixture.h"
#include "give_store.h"
#include "state/file_private.h"
#include "store/store_local.h"
#include "suite.h"
#include "writeback/file_writeback.h"

enum {
    CHUNKSIZE = 64 * 1024,
    SIZE = 20 * CHUNKSIZE + 777,
};

START_TEST(pinned_bytes_do_not_change)
{
    struct file_data data;
    struct fault fault;
    struct fixture fixture;
    uint8_t *old;

    fixture_new(&fixture, false);
    fixture_write(&fixture, 0, 3 * CHUNKSIZE);
    old = malloc(3 * CHUNKSIZE);
    memcpy(old, fixture.model, 3 * CHUNKSIZE);
    ck_assert_int_eq(file_read(fixture.file, NULL,
                               &(struct file_range){ 0, 3 * CHUNKSIZE }, &data,
                               &fault),
                     0);
    fixture_write(&fixture, 100, 2 * CHUNKSIZE);
    fixture_sync(&fixture);
    fixture_truncate(&fixture, CHUNKSIZE + 5);
    for (size_t i = 0, at = 0; i < data.niov; at += data.iov[i++].iov_len)
        ck_assert_mem_eq(data.iov[i].iov_base, old + at, data.iov[i].iov_len);
    ck_assert_uint_eq(data.len, 3 * CHUNKSIZE);
    fixture_check(&fixture);
    file_data_put(fixture.file, &data);
    fixture_check(&fixture);
    free(old);
    fixture_fini(&fixture);
}
END_TEST

START_TEST(zeros_take_no_space)
{
    struct fault fault;
    struct fixture fixture;
    uint64_t off;

    fixture_new(&fixture, false);
    fixture_write(&fixture, 0, 4 * CHUNKSIZE);
    fixture_zero(&fixture, CHUNKSIZE, 2 * CHUNKSIZE);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(file_seek(fixture.file, 0, true, &off, &fault), 0);
        ck_assert_uint_eq(off, CHUNKSIZE);
        ck_assert_int_eq(file_seek(fixture.file, off, false, &off, &fault), 0);
        ck_assert_uint_eq(off, 3 * CHUNKSIZE);
        fixture_sync(&fixture);
    }
    fixture_truncate(&fixture, 0);
    fixture_truncate(&fixture, SIZE);
    fixture_check(&fixture);
    ck_assert_int_eq(file_seek(fixture.file, 0, false, &off, &fault), -ENXIO);
    fixture_reopen(&fixture);
    fixture_check(&fixture);
    fixture_fini(&fixture);
}
END_TEST

static void check_meta(struct fixture *fixture, const char *name,
                       const char *want)
{
    struct frame *frame = file_frame_get(fixture->file);
    const struct metalayer *layer;
    struct metalayer_list list;
    struct fault fault;

    ck_assert_int_eq(metalayer_list_read(frame, &list, &fault), 0);
    layer = metalayer_find(&list, METALAYER_VL, name);
    ck_assert_int_eq(layer != NULL, want != NULL);
    if (layer) {
        size_t len = strlen(want);
        uint8_t *content;

        ck_assert_int_eq(metalayer_read(frame, layer, 1000, &content, &fault),
                         (ssize_t)len);
        ck_assert_mem_eq(content, want, len);
        free(content);
    }
    metalayer_list_free(&list);
    file_frame_put(fixture->file, frame);
}

START_TEST(vlmetalayers_stay_when_the_first_bytes_come)
{
    struct fault fault;
    struct fixture fixture;

    for (int sparse = 0; sparse < 2; sparse++) {
        fixture_init(&fixture, &(struct fixture_kind){ .sparse = sparse });
        ck_assert_int_eq(
            file_meta_set(fixture.file,
                          &(struct file_meta){ METALAYER_VL, "a", "alpha", 5 },
                          &fault),
            0);
        check_meta(&fixture, "a", "alpha");
        fixture_write(&fixture, 0, 100000);
        fixture_sync(&fixture);
        check_meta(&fixture, "a", "alpha");
        ck_assert_int_eq(
            file_meta_set(fixture.file,
                          &(struct file_meta){ METALAYER_VL, "b", "beta", 4 },
                          &fault),
            0);
        ck_assert_int_eq(file_meta_remove(fixture.file, "a", &fault), 0);
        ck_assert_int_eq(file_meta_remove(fixture.file, "a", &fault), -ENOENT);
        ck_assert_int_eq(
            file_meta_set(fixture.file,
                          &(struct file_meta){ METALAYER_FIXED, "c", "x", 1 },
                          &fault),
            -ENOENT);
        fixture_check(&fixture);
        fixture_reopen(&fixture);
        check_meta(&fixture, "a", NULL);
        check_meta(&fixture, "b", "beta");
        fixture_check(&fixture);
        fixture_fini(&fixture);
    }
}
END_TEST

START_TEST(chunks_are_inserted_deleted_and_reordered)
{
    static const uint64_t order[] = { 2, 0, 1 };
    uint8_t *chunk = malloc(CHUNKSIZE);
    struct fault fault;
    struct fixture fixture;

    fixture_new(&fixture, false);
    fixture_write(&fixture, 0, 2 * CHUNKSIZE);
    memset(chunk, 'x', CHUNKSIZE);
    ck_assert_int_eq(file_chunk_insert(fixture.file, 1,
                                       &(struct file_chunk_content){
                                           .bytes = chunk, .len = CHUNKSIZE },
                                       &fault),
                     0);
    memmove(fixture.model + 2 * CHUNKSIZE, fixture.model + CHUNKSIZE,
            CHUNKSIZE);
    memcpy(fixture.model + CHUNKSIZE, chunk, CHUNKSIZE);
    fixture.size += CHUNKSIZE;
    fixture_check(&fixture);

    ck_assert_int_eq(file_chunk_reorder(fixture.file, order, 3, &fault), 0);
    memcpy(chunk, fixture.model + 2 * CHUNKSIZE, CHUNKSIZE);
    memmove(fixture.model + CHUNKSIZE, fixture.model, 2 * CHUNKSIZE);
    memcpy(fixture.model, chunk, CHUNKSIZE);
    fixture_check(&fixture);

    fixture_write(&fixture, 10, 5);
    ck_assert_int_eq(file_chunk_delete(fixture.file, 1, &fault), 0);
    memmove(fixture.model + CHUNKSIZE, fixture.model + 2 * CHUNKSIZE,
            CHUNKSIZE);
    memset(fixture.model + 2 * CHUNKSIZE, 0, CHUNKSIZE);
    fixture.size -= CHUNKSIZE;
    fixture_check(&fixture);
    ck_assert_int_eq(file_chunk_delete(fixture.file, 2, &fault), -ERANGE);
    fixture_write(&fixture, CHUNKSIZE - 10, 500);
    fixture_reopen(&fixture);
    fixture_check(&fixture);
    free(chunk);
    fixture_fini(&fixture);
}
END_TEST

START_TEST(a_file_is_extended_but_not_cut)
{
    struct fault fault;
    struct fixture fixture;

    fixture_new(&fixture, false);
    fixture_write(&fixture, 0, 3 * CHUNKSIZE + 55);
    ck_assert_int_eq(file_extend(fixture.file, CHUNKSIZE, &fault), 0);
    fixture_check(&fixture);
    fixture.size = 5 * CHUNKSIZE + 7;
    ck_assert_int_eq(file_extend(fixture.file, fixture.size, &fault), 0);
    fixture_check(&fixture);
    fixture_reopen(&fixture);
    fixture_check(&fixture);
    fixture_fini(&fixture);
}
END_TEST

START_TEST(bytes_are_copied_between_files)
{
    struct fault fault;
    struct fixture from;
    struct fixture to;
    uint64_t done;

    fixture_new(&from, false);
    fixture_new(&to, true);
    fixture_write(&from, 0, 6 * CHUNKSIZE + 55);
    fixture_zero(&from, CHUNKSIZE, CHUNKSIZE);
    ck_assert_int_eq(file_copy(&(struct file_copy){ from.file, 0, to.file, 0,
                                                    UINT64_MAX / 2 },
                               &done, &fault),
                     0);
    ck_assert_uint_eq(done, from.size);
    memcpy(to.model, from.model, from.size);
    to.size = from.size;
    fixture_check(&to);
    ck_assert_int_eq(
        file_copy(&(struct file_copy){ from.file, 7, to.file, 2 * CHUNKSIZE,
                                       3 * CHUNKSIZE },
                  &done, &fault),
        0);
    memcpy(to.model + 2 * CHUNKSIZE, from.model + 7, 3 * CHUNKSIZE);
    fixture_check(&to);
    fixture_reopen(&to);
    fixture_check(&to);
    fixture_fini(&to);
    fixture_fini(&from);
}
END_TEST

static size_t count_encoded(struct file *file)
{
    size_t n = 0;

    pthread_mutex_lock(&file->gate.lock);
    list_for_each(node, &file->writeback->encoded)
        n++;
    pthread_mutex_unlock(&file->gate.lock);
    return n;
}

/* Poll, because the pool sends no signal when it has finished. */
static void await_encoded(struct file *file, size_t n)
{
    const struct timespec pause = { .tv_nsec = 1000000 };

    while (count_encoded(file) < n)
        nanosleep(&pause, NULL);
    ck_assert_uint_eq(count_encoded(file), n);
}

START_TEST(chunks_that_are_full_are_encoded_before_a_commit)
{
    struct fixture fixture;

    for (int sparse = 0; sparse < 2; sparse++)
        for (uint32_t typesize = 0; typesize < 2; typesize++) {
            const struct fixture_kind kind = { .sparse = sparse,
                                               .typesize = typesize };

            fixture_init(&fixture, &kind);
            for (int i = 0; i < 4; i++)
                fixture_write(&fixture, (uint64_t)i * CHUNKSIZE, CHUNKSIZE);
            fixture_write(&fixture, 4 * CHUNKSIZE, CHUNKSIZE - 1);
            /*
             * The chunk from which the typesize was chosen is left to the
             * commit.
             */
            await_encoded(fixture.file, typesize == 0 ? 3 : 4);
            fixture_write(&fixture, CHUNKSIZE, CHUNKSIZE);
            fixture_truncate(&fixture, 2 * CHUNKSIZE + 5);
            fixture_sync(&fixture);
            ck_assert_uint_eq(count_encoded(fixture.file), 0);
            fixture_check(&fixture);
            fixture_reopen(&fixture);
            fixture_check(&fixture);
            fixture_fini(&fixture);
        }
}
END_TEST

START_TEST(chunks_too_large_for_the_cache_are_refused_at_open)
{
    const struct file_options options = { .cache_size = 1 << 20,
                                          .nthreads = 1 };
    const struct file_params params = { .chunk = { .typesize = 1 },
                                        .chunksize = 1 << 20 };
    struct file_context *small;
    struct fault fault;
    struct store *store;
    struct file *file;
    struct fixture fixture;
    char text[256];

    fixture_init(&fixture,
                 &(struct fixture_kind){ .typesize = 1, .chunksize = 1 << 20 });
    fixture_write(&fixture, 0, 100);
    fixture_sync(&fixture);
    ck_assert_int_eq(file_context_new(&options, &small), 0);
    store = fixture_store(&fixture, STORE_WRITE);
    ck_assert_int_eq(file_open_writable(small, store, &file, &fault), -ENOTSUP);
    fault_format(&fault, -ENOTSUP, text, sizeof(text));
    ck_assert_str_eq(text, "offset 0: chunks are too large to be written "
                           "(1048576 bytes with a cache of 1048576)");
    ck_assert_int_eq(file_create(small, store, &params, &file, &fault),
                     -ENOTSUP);
    store_close(store);
    file_context_free(small);
    fixture_fini(&fixture);
}
END_TEST

START_TEST(files_not_opened_for_writing_are_not_changed)
{
    struct fault fault;
    struct fixture fixture;
    struct store *store;
    struct file *file;

    fixture_new(&fixture, false);
    fixture_write(&fixture, 0, 1000);
    fixture_sync(&fixture);
    store = fixture_store(&fixture, 0);
    ck_assert_int_eq(give_file_open(fixture.context, store, 0, &file, &fault),
                     0);
    ck_assert_int_eq(file_write(file, 0, "x", 1, &fault), -EROFS);
    ck_assert_int_eq(file_truncate(file, 0, &fault), -EROFS);
    ck_assert_uint_eq(file_size(file), 1000);
    ck_assert_int_eq(file_close(file), 0);
    fixture_fini(&fixture);
}
END_TEST

/* Otherwise it would be opened a second time while its first change is made. */
START_TEST(typesize_is_that_of_the_content)
{
    struct fault fault;
    struct frame *frame;
    struct fixture fixture;
    uint32_t *numbers = malloc(CHUNKSIZE);

    fixture_init(&fixture, &(struct fixture_kind){ .sparse = false });
    for (uint32_t i = 0; i < CHUNKSIZE / 4; i++)
        numbers[i] = i * 77;
    ck_assert_int_eq(file_write(fixture.file, 0, numbers, CHUNKSIZE, &fault),
                     0);
    fixture_sync(&fixture);
    frame = file_frame_get(fixture.file);
    ck_assert_uint_eq(frame_get_info(frame)->typesize, 4);
    file_frame_put(fixture.file, frame);
    free(numbers);
    fixture_fini(&fixture);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        pinned_bytes_do_not_change,
        zeros_take_no_space,
        vlmetalayers_stay_when_the_first_bytes_come,
        chunks_are_inserted_deleted_and_reordered,
        a_file_is_extended_but_not_cut,
        bytes_are_copied_between_files,
        chunks_that_are_full_are_encoded_before_a_commit,
        chunks_too_large_for_the_cache_are_refused_at_open,
        files_not_opened_for_writing_are_not_changed,
        typesize_is_that_of_the_content,
        NULL,
    };

    return suite_run("writeback", tests);
}
