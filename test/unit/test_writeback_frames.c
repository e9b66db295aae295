/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bed.h"
#include "give_store.h"
#include "store/store_local.h"
#include "suite.h"

/* Changes of frames that other programs have made. */

static void open_frame(struct bed *bed, const char *name)
{
    char path[SUITE_DATA_MAX];

    suite_data_path(path, "frames/%s", name);
    bed_copy_of(bed, path);
}

/* Overwrite pieces all over the file, some of them more than once. */
static void overwrite(struct bed *bed)
{
    for (int i = 0; i < 40; i++) {
        uint64_t off = pick(&bed->random, (uint32_t)bed->size);
        size_t len = 1 + pick(&bed->random, i % 4 == 0 ? 50000 : 100);

        if (len > bed->size - off)
            len = bed->size - off;
        bed_write(bed, off, len);
        if (i % 10 == 9)
            bed_sync(bed);
    }
    bed_check(bed);
    bed_reopen(bed);
    bed_check(bed);
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
        struct bed bed;

        open_frame(&bed, names[i]);
        overwrite(&bed);
        bed_zero(&bed, 3, bed.size / 2);
        ck_assert_int_eq(file_truncate(bed.file, bed.size + 1, &fault),
                         -ENOTSUP);
        ck_assert_int_eq(file_truncate(bed.file, 0, &fault), -ENOTSUP);
        ck_assert_int_eq(file_write(bed.file, bed.size - 1, "xy", 2, &fault),
                         -ENOTSUP);
        bed_check(&bed);
        bed_reopen(&bed);
        bed_check(&bed);
        bed_fini(&bed);
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
        struct bed bed;

        open_frame(&bed, names[i]);
        overwrite(&bed);
        bed_truncate(&bed, bed.size / 2 + 1);
        bed_sync(&bed);
        bed_truncate(&bed, bed.capacity);
        bed_write(&bed, bed.size - 10, 10);
        bed_reopen(&bed);
        bed_check(&bed);
        bed_fini(&bed);
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
