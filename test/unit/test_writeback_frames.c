/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"
#include "give_store.h"
#include "store/store_local.h"
#include "suite.h"

/* Changes of frames that other programs have made. */

static void open_frame(struct fixture *fixture, const char *name)
{
    char path[SUITE_DATA_MAX];

    suite_data_path(path, "frames/%s", name);
    fixture_copy_of(fixture, path);
}

/* Overwrite pieces all over the file, some of them more than once. */
static void overwrite(struct fixture *fixture)
{
    for (int i = 0; i < 40; i++) {
        uint64_t off = pick(&fixture->random, (uint32_t)fixture->size);
        size_t len = 1 + pick(&fixture->random, i % 4 == 0 ? 50000 : 100);

        if (len > fixture->size - off)
            len = fixture->size - off;
        fixture_write(fixture, off, len);
        if (i % 10 == 9)
            fixture_sync(fixture);
    }
    fixture_check(fixture);
    fixture_reopen(fixture);
    fixture_check(fixture);
}

START_TEST(frames_of_variable_chunks_are_overwritten_but_keep_their_size)
{
    static const char *const names[] = {
        "varchunks-zstd.b2frame",       "varchunks-blosclz.b2frame",
        "varchunks-edited-lz4.b2frame", "varchunks-with-value.b2frame",
        "v300-varchunks-dir.b2frame",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct fault fault;
        struct fixture fixture;

        open_frame(&fixture, names[i]);
        overwrite(&fixture);
        fixture_zero(&fixture, 3, fixture.size / 2);
        ck_assert_int_eq(file_truncate(fixture.file, fixture.size + 1, &fault),
                         -ENOTSUP);
        ck_assert_int_eq(file_truncate(fixture.file, 0, &fault), -ENOTSUP);
        ck_assert_int_eq(
            file_write(fixture.file, fixture.size - 1, "xy", 2, &fault),
            -ENOTSUP);
        fixture_check(&fixture);
        fixture_reopen(&fixture);
        fixture_check(&fixture);
        fixture_fini(&fixture);
    }
}
END_TEST

START_TEST(frames_of_old_formats_are_changed_in_every_way)
{
    static const char *const names[] = {
        "beta1-meta.b2frame",          "beta3-usermeta.b2frame",
        "beta4-plain.b2frame",         "dev20210111-neg.b2eframe",
        "dev20210204-le-dir.b2eframe", "dev20210204-le.b2frame",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct fixture fixture;

        open_frame(&fixture, names[i]);
        overwrite(&fixture);
        fixture_truncate(&fixture, fixture.size / 2 + 1);
        fixture_sync(&fixture);
        fixture_truncate(&fixture, fixture.capacity);
        fixture_write(&fixture, fixture.size - 10, 10);
        fixture_reopen(&fixture);
        fixture_check(&fixture);
        fixture_fini(&fixture);
    }
}
END_TEST

START_TEST(frames_of_variable_blocks_are_not_opened_to_be_changed)
{
    struct file_context *context;
    struct store *store;
    struct file *file;
    struct fault fault;
    char path[SUITE_DATA_MAX];

    suite_data_path(path, "frames/%s", "vlblocks-zstd.b2frame");
    ck_assert_int_eq(file_context_new(&file_default_options, &context), 0);
    ck_assert_int_eq(store_path_open(path, 0, &store), 0);
    ck_assert_int_eq(file_open_writable(context, store, &file, &fault),
                     -ENOTSUP);
    ck_assert_ptr_nonnull(fault.what);
    ck_assert_int_eq(give_file_open(context, store, 0, &file, &fault), 0);
    ck_assert_int_eq(file_close(file), 0);
    file_context_free(context);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        frames_of_variable_chunks_are_overwritten_but_keep_their_size,
        frames_of_old_formats_are_changed_in_every_way,
        frames_of_variable_blocks_are_not_opened_to_be_changed,
        NULL,
    };

    return suite_run("writeback_frames", tests);
}
