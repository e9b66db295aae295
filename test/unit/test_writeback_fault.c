/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file/file.h"
#include "file/file_chunk_edit.h"
#include "fixture.h"
#include "give_store.h"
#include "state/file_private.h"
#include "suite.h"
#include "writeback/writeback.h"

enum {
    CHUNKSIZE = 4096,
    SIZE = 10 * CHUNKSIZE + 100,
    CACHE = 1 << 20,
};

static void fixture_init_typed(struct fixture *fixture, bool sparse,
                               uint32_t typesize)
{
    const struct fixture_kind kind = { .sparse = sparse,
                                       .on_disk = true,
                                       .noise = true,
                                       .typesize = typesize,
                                       .chunksize = CHUNKSIZE,
                                       .cache_size = CACHE };

    fixture_init(fixture, &kind);
}

static void fixture_init_file(struct fixture *fixture, bool sparse)
{
    fixture_init_typed(fixture, sparse, 4);
}

static int write_all(struct fixture *fixture)
{
    return fixture_try_write(fixture, 0, SIZE);
}

START_TEST(what_a_full_disk_refused_is_written_later)
{
    struct fault fault;
    struct fixture fixture;
    uint64_t off;
    uint64_t end;

    for (int sparse = 0; sparse < 2; sparse++) {
        fixture_init_file(&fixture, sparse);
        ck_assert_int_eq(write_all(&fixture), 0);
        fixture_fail_calls(&fixture, 0, SIZE_MAX / 2, -ENOSPC);
        ck_assert_int_eq(file_sync(fixture.file, &fault), -ENOSPC);
        ck_assert(file_unsaved(fixture.file, &off, &end));
        ck_assert_uint_eq(off, 0);
        ck_assert_uint_eq(end, SIZE);
        fixture_check(&fixture);
        fixture_end_failing(&fixture);
        ck_assert_int_eq(file_sync(fixture.file, &fault), 0);
        ck_assert(!file_unsaved(fixture.file, &off, &end));
        fixture_check_stored(&fixture);
        fixture_fini(&fixture);
    }
}
END_TEST

/* The last chunk must be stored, because it has no whole number of items. */
START_TEST(zeros_that_a_full_disk_refused_are_zeros_later)
{
    struct fault fault;
    struct fixture fixture;

    for (int sparse = 0; sparse < 2; sparse++) {
        fixture_init_typed(&fixture, sparse, 16);
        ck_assert_int_eq(write_all(&fixture), 0);
        ck_assert_int_eq(file_sync(fixture.file, &fault), 0);
        memset(fixture.model + 8 * CHUNKSIZE, 0, SIZE - 8 * CHUNKSIZE);
        ck_assert_int_eq(file_zero(fixture.file, 8 * CHUNKSIZE, SIZE, &fault),
                         0);
        fixture_fail_calls(&fixture, 0, SIZE_MAX / 2, -ENOSPC);
        ck_assert_int_eq(file_sync(fixture.file, &fault), -ENOSPC);
        fixture_end_failing(&fixture);
        ck_assert_int_eq(file_sync(fixture.file, &fault), 0);
        fixture_check(&fixture);
        fixture_check_stored(&fixture);
        fixture_fini(&fixture);
    }
}
END_TEST

START_TEST(changes_that_free_space_do_not_report_the_lack_of_it)
{
    struct fault fault;
    struct fixture fixture;

    fixture_init_file(&fixture, false);
    ck_assert_int_eq(write_all(&fixture), 0);
    fixture_fail_calls(&fixture, 0, SIZE_MAX / 2, -ENOSPC);
    ck_assert_int_eq(writeback_flush(fixture.file), -ENOSPC);
    ck_assert_int_eq(file_zero(fixture.file, 0, CHUNKSIZE, &fault), 0);
    ck_assert_int_eq(file_truncate(fixture.file, 8 * CHUNKSIZE, &fault), 0);
    ck_assert_int_eq(file_extend(fixture.file, SIZE, &fault), 0);
    ck_assert_int_eq(file_write(fixture.file, 0, fixture.model, 1, &fault),
                     -ENOSPC);
    fixture_end_failing(&fixture);
    memset(fixture.model + 1, 0, CHUNKSIZE - 1);
    memset(fixture.model + 8 * CHUNKSIZE, 0, SIZE - 8 * CHUNKSIZE);
    ck_assert_int_eq(file_sync(fixture.file, &fault), 0);
    fixture_check_stored(&fixture);
    fixture_fini(&fixture);
}
END_TEST

START_TEST(closing_reports_what_is_lost)
{
    struct fixture fixture;

    fixture_init_file(&fixture, false);
    ck_assert_int_eq(write_all(&fixture), 0);
    fixture_fail_calls(&fixture, 0, SIZE_MAX / 2, -EIO);
    ck_assert_int_eq(fixture_close(&fixture), -EIO);
    fixture_fini(&fixture);
}
END_TEST

START_TEST(bytes_that_are_accepted_do_not_bring_an_older_error)
{
    struct fault fault;
    struct fixture fixture;

    fixture_init_file(&fixture, false);
    ck_assert_int_eq(write_all(&fixture), 0);
    fixture_fail_calls(&fixture, 0, SIZE_MAX / 2, -ENOSPC);
    ck_assert_int_eq(writeback_flush(fixture.file), -ENOSPC);
    ck_assert_int_eq(file_accept(fixture.file, 0, fixture.model, SIZE, &fault),
                     0);
    ck_assert_int_eq(file_write(fixture.file, 0, fixture.model, SIZE, &fault),
                     -ENOSPC);
    ck_assert_int_eq(file_take_error(fixture.file, &fault), 0);
    fixture_end_failing(&fixture);
    fixture_fini(&fixture);
}
END_TEST

/* Let one call of two commits fail.  Returns false if there are fewer calls. */
static bool fail_one(bool sparse, size_t call)
{
    struct fault fault;
    struct fixture fixture;
    bool reached;
    int r;

    fixture_init_file(&fixture, sparse);
    fixture_fail_calls(&fixture, call, 1, -EIO);
    /* A write first checks the frame on the disk, and that call may fail. */
    if (write_all(&fixture) < 0)
        ck_assert_int_eq(write_all(&fixture), 0);
    r = file_sync(fixture.file, &fault);
    ck_assert(r == 0 || r == -EIO);
    fixture_check(&fixture);
    if (write_all(&fixture) < 0)
        ck_assert_int_eq(write_all(&fixture), 0);
    if (file_sync(fixture.file, &fault) < 0)
        ck_assert_int_eq(file_sync(fixture.file, &fault), 0);
    reached = fixture_end_failing(&fixture);
    fixture_check(&fixture);
    fixture_check_stored(&fixture);
    ck_assert_int_eq(fixture_close(&fixture), 0);
    fixture_check_stored(&fixture);
    fixture_fini(&fixture);
    return reached;
}

START_TEST(any_call_that_fails_once_does_no_harm)
{
    fixture_fail_each(fail_one, 10);
}
END_TEST

/* Make a file with the metalayers "fixed" and "var", of one byte each. */
static void fixture_with_meta(struct fixture *fixture, bool sparse)
{
    const struct frame_params params = {
        .chunks = { .typesize = 4,
                    .codec = 1,
                    .clevel = 5,
                    .split_mode = CHUNK_SPLIT_FORWARD },
        .chunksize = CHUNKSIZE,
    };
    struct store *store;
    struct frame_writer *writer;
    struct frame *frame;
    struct fault fault;

    fixture_init_file(fixture, sparse);
    ck_assert_int_eq(fixture_close(fixture), 0);
    disk_free(fixture->disk);
    fixture->disk = disk_new(sparse);
    store = disk_store(fixture->disk);
    ck_assert_int_eq(frame_writer_new(store, &params, &writer, &fault), 0);
    ck_assert_int_eq(frame_writer_set_metalayer(writer, "fixed", "0", 1), 0);
    ck_assert_int_eq(frame_writer_set_vlmetalayer(writer, "var", "0", 1), 0);
    ck_assert_int_eq(frame_writer_commit(writer, &frame, &fault), 0);
    frame_close(frame);
    frame_writer_close(writer);
    ck_assert_int_eq(give_file_open_writable(fixture->context, store,
                                             &fixture->file, &fault),
                     0);
    ck_assert_int_eq(write_all(fixture), 0);
    ck_assert_int_eq(file_sync(fixture->file, &fault), 0);
}

static void check_layer(struct frame *frame, const struct metalayer_list *list,
                        enum metalayer_kind kind, const char *name, char want)
{
    const struct metalayer *layer = metalayer_find(list, kind, name);
    struct fault fault;
    uint8_t *content;

    ck_assert_int_eq(layer != NULL, want != 0);
    if (!layer)
        return;
    ck_assert_int_eq(metalayer_read(frame, layer, 9, &content, &fault), 1);
    ck_assert_int_eq(content[0], want);
    free(content);
}

/* Check the metalayers on the disk.  0 means that a layer does not exist. */
static void check_meta(struct fixture *fixture, char fixed, char var, char new)
{
    struct metalayer_list list;
    struct frame *frame;
    struct fault fault;

    ck_assert_int_eq(
        give_frame_open(disk_store(fixture->disk), 0, &frame, &fault), 0);
    ck_assert_int_eq(metalayer_list_read(frame, &list, &fault), 0);
    check_layer(frame, &list, METALAYER_FIXED, "fixed", fixed);
    check_layer(frame, &list, METALAYER_VL, "var", var);
    check_layer(frame, &list, METALAYER_VL, "new", new);
    metalayer_list_free(&list);
    frame_close(frame);
}

static int edit_meta(struct file *file, int which)
{
    struct fault fault;

    if (which == 0)
        return file_meta_set(
            file, &(struct file_meta){ METALAYER_FIXED, "fixed", "1", 1 },
            &fault);
    if (which == 1)
        return file_meta_set(
            file, &(struct file_meta){ METALAYER_VL, "var", "1", 1 }, &fault);
    if (which == 2)
        return file_meta_set(
            file, &(struct file_meta){ METALAYER_VL, "new", "1", 1 }, &fault);
    return file_meta_remove(file, "var", &fault);
}

/* Let one call of an edit fail.  Returns false if there are fewer calls. */
static bool fail_to_edit(bool sparse, int which, size_t call)
{
    struct fault fault;
    struct fixture fixture;
    bool reached;
    int r;

    fixture_with_meta(&fixture, sparse);
    fixture_fail_calls(&fixture, call, 1, -ENOSPC);
    r = edit_meta(fixture.file, which);
    reached = fixture_end_failing(&fixture);
    if (r < 0) {
        ck_assert_int_eq(r, -ENOSPC);
        ck_assert_int_eq(write_all(&fixture), 0);
        ck_assert_int_eq(file_sync(fixture.file, &fault), 0);
        check_meta(&fixture, '0', '0', 0);
        ck_assert_int_eq(edit_meta(fixture.file, which), 0);
    }
    check_meta(&fixture, which == 0 ? '1' : '0', "010"[which],
               which == 2 ? '1' : 0);
    fixture_check_stored(&fixture);
    fixture_fini(&fixture);
    return reached;
}

START_TEST(metalayers_that_could_not_be_set_stay_as_they_were)
{
    for (int sparse = 0; sparse < 2; sparse++)
        for (int which = 0; which < 4; which++) {
            size_t call = 0;

            while (fail_to_edit(sparse, which, call))
                call++;
            ck_assert_uint_gt(call, 4);
        }
}
END_TEST

/*
 * Repeat a call until it succeeds, because only a few calls of the disk fail.
 */
#define RETRY(call)                       \
    do {                                  \
        int tries = 0;                    \
                                          \
        while ((call) < 0)                \
            ck_assert_int_lt(tries++, 5); \
    } while (0)

static void sync_and_check(struct fixture *fixture)
{
    struct fault fault;

    RETRY(file_sync(fixture->file, &fault));
    fixture_check_durable(fixture);
}

/* Change a file in every possible way. */
static void change_all(struct fixture *fixture)
{
    struct fault fault;

    RETRY(write_all(fixture));
    sync_and_check(fixture);
    memset(fixture->model + 100, 0, 5 * CHUNKSIZE);
    RETRY(file_zero(fixture->file, 100, 5 * CHUNKSIZE, &fault));
    memset(fixture->model + SIZE - 50, 0, 50);
    RETRY(file_truncate(fixture->file, SIZE - 50, &fault));
    RETRY(file_truncate(fixture->file, SIZE, &fault));
    memset(fixture->model + CHUNKSIZE - 5, 'x', 10);
    RETRY(file_write(fixture->file, CHUNKSIZE - 5,
                     fixture->model + CHUNKSIZE - 5, 10, &fault));
    RETRY(file_meta_set(fixture->file,
                        &(struct file_meta){ METALAYER_VL, "a", "b", 1 },
                        &fault));
    fixture_check(fixture);
    fixture_check_durable(fixture);
    RETRY(file_truncate(fixture->file, 0, &fault));
    fixture->size = 0;
    sync_and_check(fixture);
    for (int i = 0; i < 2; i++) {
        RETRY(write_all(fixture));
        sync_and_check(fixture);
    }
}

static void reopen(struct fixture *fixture)
{
    ck_assert_int_eq(fixture_close(fixture), 0);
    fixture_check_durable(fixture);
    fixture_open(fixture);
}

/* Let some calls fail, from one on.  Returns false if there are fewer calls. */
static bool fail_some(bool sparse, size_t call, size_t n, int error)
{
    struct fixture fixture;
    bool reached;

    fixture_init_file(&fixture, sparse);
    if (error == -EIO)
        disk_forget(fixture.disk);
    fixture_fail_calls(&fixture, call, n, error);
    change_all(&fixture);
    reopen(&fixture);
    RETRY(write_all(&fixture));
    sync_and_check(&fixture);
    reopen(&fixture);
    reached = fixture_end_failing(&fixture);
    fixture_check(&fixture);
    ck_assert_int_eq(fixture_close(&fixture), 0);
    fixture_check_durable(&fixture);
    fixture_fini(&fixture);
    return reached;
}

/* Let `n` calls fail, beginning with every `step`-th call in turn. */
static void fail_everywhere(bool sparse, size_t n, int error, size_t step)
{
    size_t call = 0;

    while (fail_some(sparse, call, n, error))
        call += step;
    ck_assert_uint_gt(call, 50);
}

static void fail_in_every_way(bool sparse)
{
    fail_everywhere(sparse, 1, -EIO, 1);
    fail_everywhere(sparse, 3, -ENOSPC, 7);
}

/* Two tests, because the time of each is limited. */
START_TEST(calls_that_fail_do_no_harm_to_contiguous_frames)
{
    fail_in_every_way(false);
}
END_TEST

START_TEST(calls_that_fail_do_no_harm_to_sparse_frames)
{
    fail_in_every_way(true);
}
END_TEST

/* Does a file hold these bytes? */
static bool holds(struct file *file, const uint8_t *bytes, uint64_t size)
{
    struct file_data data;
    struct fault fault;
    bool same = file_size(file) == size;

    if (!same)
        return false;
    ck_assert_int_eq(
        file_read(file, NULL, &(struct file_range){ 0, size }, &data, &fault),
        0);
    for (size_t i = 0, at = 0; i < data.niov; at += data.iov[i++].iov_len)
        same = same && memcmp(data.iov[i].iov_base, bytes + at,
                              data.iov[i].iov_len) == 0;
    file_data_put(file, &data);
    return same;
}

/*
 * Let one call of deleting a chunk fail.  Returns false if there are fewer
 * calls.
 */
static bool fail_delete(bool sparse, size_t call)
{
    struct fault fault;
    struct fixture fixture;
    bool reached;
    int r;

    fixture_init_file(&fixture, sparse);
    ck_assert_int_eq(write_all(&fixture), 0);
    ck_assert_int_eq(file_sync(fixture.file, &fault), 0);
    fixture_fail_calls(&fixture, call, 1, -EIO);
    r = file_chunk_delete(fixture.file, 0, &fault);
    reached = fixture_end_failing(&fixture);
    if (r < 0) {
        /*
         * Until the file has recovered, nobody knows whether the chunk is gone.
         */
        ck_assert_int_eq(r, -EIO);
        ck_assert_int_eq(
            file_write(fixture.file, CHUNKSIZE, fixture.model, 0, &fault), 0);
    }
    ck_assert((r < 0 && holds(fixture.file, fixture.model, SIZE)) ||
              holds(fixture.file, fixture.model + CHUNKSIZE, SIZE - CHUNKSIZE));
    ck_assert_int_eq(write_all(&fixture), 0);
    ck_assert_int_eq(file_sync(fixture.file, &fault), 0);
    fixture_check_stored(&fixture);
    ck_assert_int_eq(fixture_close(&fixture), 0);
    fixture_check_stored(&fixture);
    fixture_fini(&fixture);
    return reached;
}

START_TEST(a_file_goes_on_when_chunks_could_not_be_moved)
{
    fixture_fail_each(fail_delete, 5);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_a_full_disk_refused_is_written_later,
        zeros_that_a_full_disk_refused_are_zeros_later,
        changes_that_free_space_do_not_report_the_lack_of_it,
        closing_reports_what_is_lost,
        bytes_that_are_accepted_do_not_bring_an_older_error,
        any_call_that_fails_once_does_no_harm,
        metalayers_that_could_not_be_set_stay_as_they_were,
        calls_that_fail_do_no_harm_to_contiguous_frames,
        calls_that_fail_do_no_harm_to_sparse_frames,
        a_file_goes_on_when_chunks_could_not_be_moved,
        NULL,
    };

    return suite_run("writeback_fault", tests);
}
