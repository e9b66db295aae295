/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file/file.h"
#include "fixture.h"
#include "give_store.h"
#include "state/file_private.h"
#include "store/store_local.h"
#include "suite.h"

enum {
    CHUNKSIZE = 64 * 1024,
    SIZE = 20 * CHUNKSIZE + 777,
};

/* Change the frame as another program would. */
static void write_by_others(struct fixture *fixture, uint64_t off,
                            const void *bytes, size_t len)
{
    struct file_context *context;
    struct fault fault;
    struct file *file;

    ck_assert_int_eq(file_context_new(&file_default_options, &context), 0);
    ck_assert_int_eq(
        give_file_open_writable(context, fixture_store(fixture, STORE_WRITE),
                                &file, &fault),
        0);
    ck_assert_int_eq(file_write(file, off, bytes, len, &fault), 0);
    ck_assert_int_eq(file_close(file), 0);
    file_context_free(context);
    memcpy(fixture->model + off, bytes, len);
}

static void change_by_others(struct fixture *fixture)
{
    write_by_others(fixture, fixture->size, "other", 5);
}

/* The same, by a program that knows nothing of leases. */
static void change_without_lease(struct fixture *fixture)
{
    struct frame_writer *writer;
    struct frame *frame;
    struct frame *next;
    struct fault fault;

    ck_assert_int_eq(
        give_frame_open(fixture_store(fixture, STORE_WRITE), 0, &frame, &fault),
        0);
    ck_assert_int_eq(frame_writer_open(frame, &writer, &fault), 0);
    ck_assert_int_eq(frame_writer_set_vlmetalayer(writer, "other", "x", 1), 0);
    ck_assert_int_eq(frame_writer_commit(writer, &next, &fault), 0);
    frame_writer_close(writer);
    frame_close(frame);
    frame_close(next);
}

START_TEST(what_was_written_to_a_frame_that_others_changed_is_dropped)
{
    struct fault fault;
    struct fixture fixture;
    uint64_t off;
    uint64_t end;

    for (int sparse = 0; sparse < 2; sparse++) {
        fixture_new(&fixture, sparse);
        fixture_write(&fixture, 0, 3 * CHUNKSIZE + 10);
        fixture_sync(&fixture);
        ck_assert_int_eq(file_write(fixture.file, CHUNKSIZE, "lost", 4, &fault),
                         0);
        change_without_lease(&fixture);
        ck_assert_int_eq(file_sync(fixture.file, &fault), -ESTALE);
        ck_assert_ptr_nonnull(fault.what);
        ck_assert_uint_eq(file_dirty(fixture.file), 0);
        ck_assert(file_unsaved(fixture.file, &off, &end));
        ck_assert_uint_eq(off, CHUNKSIZE);
        ck_assert_uint_eq(end, 2 * CHUNKSIZE);
        ck_assert_int_eq(file_write(fixture.file, 0, "x", 1, &fault), -ESTALE);
        ck_assert_int_eq(file_truncate(fixture.file, 0, &fault), -ESTALE);
        ck_assert_int_eq(file_sync(fixture.file, &fault), -ESTALE);
        file_discard(fixture.file);
        ck_assert_int_eq(
            give_file_open_writable(fixture.context,
                                    fixture_store(&fixture, STORE_WRITE),
                                    &fixture.file, &fault),
            0);
        fixture_check(&fixture);
        fixture_fini(&fixture);
    }
}
END_TEST

START_TEST(a_frame_that_others_changed_since_it_was_opened_is_not_changed)
{
    struct fault fault;
    struct fixture fixture;

    for (int sparse = 0; sparse < 2; sparse++) {
        fixture_new(&fixture, sparse);
        fixture_write(&fixture, 0, 3 * CHUNKSIZE + 10);
        fixture_reopen(&fixture);
        change_by_others(&fixture);
        ck_assert_int_eq(file_write(fixture.file, CHUNKSIZE, "x", 1, &fault),
                         -ESTALE);
        ck_assert_ptr_nonnull(fault.what);
        ck_assert_int_eq(file_truncate(fixture.file, 0, &fault), -ESTALE);
        ck_assert(!file_is_own(fixture.file));
        fixture.size += 5;
        fixture_reopen(&fixture);
        fixture_check(&fixture);
        fixture_fini(&fixture);
    }
}
END_TEST

START_TEST(a_superseded_file_writes_nothing_any_more)
{
    struct fault fault;
    struct fixture fixture;

    for (int sparse = 0; sparse < 2; sparse++)
        for (int begun = 0; begun < 2; begun++) {
            fixture_new(&fixture, sparse);
            fixture_write(&fixture, 0, 3 * CHUNKSIZE + 10);
            fixture_reopen(&fixture);
            /*
             * Write half a chunk, because a thread might be storing a whole one
             * already.
             */
            if (begun)
                ck_assert_int_eq(file_write(fixture.file, 0, fixture.model + 1,
                                            CHUNKSIZE / 2, &fault),
                                 0);
            ck_assert_int_eq(file_supersede(fixture.file, false), !begun);
            if (begun) {
                change_without_lease(&fixture);
                ck_assert(file_supersede(fixture.file, false));
            }
            ck_assert_uint_eq(file_dirty(fixture.file), 0);
            ck_assert_int_eq(file_sync(fixture.file, &fault),
                             begun ? -ESTALE : 0);
            ck_assert_int_eq(file_write(fixture.file, 9, "x", 1, &fault),
                             -ESTALE);
            ck_assert(!file_is_own(fixture.file));
            fixture_reopen(&fixture);
            fixture_check(&fixture);
            fixture_fini(&fixture);
        }
}
END_TEST

static void make_noise(uint64_t *bytes, uint64_t *random)
{
    for (size_t i = 0; i < CHUNKSIZE / sizeof(bytes[0]); i++)
        bytes[i] =
            (uint64_t)pick(random, 1U << 31) << 33 ^ pick(random, 1U << 31);
}

/* The new index is as large as before, so the header is the same, too. */
START_TEST(a_sparse_frame_whose_index_others_replaced_is_not_changed)
{
    uint64_t *noise = malloc(CHUNKSIZE);
    struct fault fault;
    struct fixture fixture;

    fixture_new(&fixture, true);
    make_noise(noise, &fixture.random);
    ck_assert_int_eq(file_write(fixture.file, 0, noise, CHUNKSIZE, &fault), 0);
    fixture_sync(&fixture);
    fixture.size = CHUNKSIZE;
    make_noise(noise, &fixture.random);
    write_by_others(&fixture, 0, noise, CHUNKSIZE);
    ck_assert(!file_is_own(fixture.file));
    ck_assert_int_eq(file_write(fixture.file, 1, "lost", 4, &fault), -ESTALE);
    fixture_reopen(&fixture);
    fixture_check(&fixture);
    fixture_fini(&fixture);
    free(noise);
}
END_TEST

static off_t stored_size(const struct fixture *fixture)
{
    struct stat st;

    ck_assert_int_eq(fstatat(fixture->fd, "f.b2frame", &st, 0), 0);
    return st.st_size;
}

/* A frame with more unused than used space is rewritten when it is closed. */
START_TEST(a_frame_that_others_have_opened_keeps_its_place)
{
    uint64_t *noise = malloc(CHUNKSIZE);
    struct fault fault;
    struct file *other;
    struct fixture fixture;
    off_t size;

    fixture_new(&fixture, false);
    make_noise(noise, &fixture.random);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(file_write(fixture.file, (uint64_t)i * CHUNKSIZE,
                                    noise, CHUNKSIZE, &fault),
                         0);
    fixture_sync(&fixture);
    ck_assert_int_eq(file_zero(fixture.file, 0, 3 * CHUNKSIZE, &fault), 0);
    fixture_sync(&fixture);
    size = stored_size(&fixture);
    ck_assert_int_gt(size, 4 * CHUNKSIZE);
    ck_assert_int_eq(give_file_open_writable(
                         fixture.context, fixture_store(&fixture, STORE_WRITE),
                         &other, &fault),
                     0);
    ck_assert_int_eq(file_close(fixture.file), 0);
    ck_assert_int_eq(stored_size(&fixture), size);
    ck_assert_int_eq(file_write(other, 0, "x", 1, &fault), 0);
    ck_assert_int_eq(file_close(other), 0);
    ck_assert_int_lt(stored_size(&fixture), 2 * CHUNKSIZE);
    fixture.model[0] = 'x';
    memcpy(fixture.model + 3 * CHUNKSIZE, noise, CHUNKSIZE);
    fixture.size = 4 * CHUNKSIZE;
    ck_assert_int_eq(give_file_open_writable(
                         fixture.context, fixture_store(&fixture, STORE_WRITE),
                         &fixture.file, &fault),
                     0);
    fixture_check(&fixture);
    fixture_fini(&fixture);
    free(noise);
}
END_TEST

START_TEST(a_file_that_nobody_has_changed_is_ones_own)
{
    struct file *other;
    struct fault fault;
    struct fixture fixture;

    for (int sparse = 0; sparse < 2; sparse++) {
        fixture_new(&fixture, sparse);
        fixture_write(&fixture, 0, 1000);
        ck_assert(file_is_own(fixture.file));
        fixture_reopen(&fixture);
        ck_assert(file_is_own(fixture.file));
        ck_assert_int_eq(
            give_file_open_writable(fixture.context,
                                    fixture_store(&fixture, STORE_WRITE),
                                    &other, &fault),
            0);
        ck_assert_int_eq(file_write(other, 1000, "x", 1, &fault), 0);
        ck_assert_int_eq(file_close(other), 0);
        ck_assert(!file_is_own(fixture.file));
        fixture_fini(&fixture);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_was_written_to_a_frame_that_others_changed_is_dropped,
        a_frame_that_others_changed_since_it_was_opened_is_not_changed,
        a_superseded_file_writes_nothing_any_more,
        a_sparse_frame_whose_index_others_replaced_is_not_changed,
        a_frame_that_others_have_opened_keeps_its_place,
        a_file_that_nobody_has_changed_is_ones_own,
        NULL,
    };

    return suite_run("writeback_others", tests);
}
