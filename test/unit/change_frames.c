/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes frames, changes them at random, and writes the content that each must
 * have beside it, so that another program can compare.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "change_model.h"
#include "store/store_local.h"
#include "suite.h"

enum {
    ROUNDS = 12
};

static struct store *open_store(const char *path, bool sparse)
{
    struct store *store;
    int r;

    if (sparse) {
        ck_assert_int_eq(mkdir(path, 0777), 0);
        r = store_dir_open(AT_FDCWD, path, STORE_FOLLOW | STORE_WRITE, &store);
    } else {
        r = store_file_open(AT_FDCWD, path,
                            STORE_FOLLOW | STORE_WRITE | STORE_NEW, &store);
    }
    ck_assert_int_eq(r, 0);
    return store;
}

static void write_raw(const char *path, const struct model *model)
{
    FILE *file = fopen(path, "wb");

    ck_assert_ptr_nonnull(file);
    for (size_t i = 0; i < model->nchunks; i++)
        ck_assert_uint_eq(
            fwrite(model->chunks[i].bytes, 1, model->chunks[i].len, file),
            model->chunks[i].len);
    ck_assert_int_eq(fclose(file), 0);
}

static void make_frame(const char *path, bool sparse, bool variable,
                       uint64_t random, struct model *model)
{
    struct store *store = open_store(path, sparse);
    struct frame_writer *writer;
    struct frame *frame;
    struct fault fault;

    ck_assert_int_eq(frame_writer_new(store, &model_params, &writer, &fault),
                     0);
    store_close(store);
    if (variable)
        ck_assert_int_eq(frame_writer_make_variable(writer, &fault), 0);
    memset(model, 0, sizeof(*model));
    model->variable = variable;
    if (model_random(&random, 2) == 0) {
        ck_assert_int_eq(frame_writer_begin(writer, &frame, &fault), 0);
        frame_close(frame);
    }
    for (int round = 0; round < ROUNDS; round++) {
        if (model_random(&random, 8) == 0)
            model_empty(model, writer);
        else
            for (uint32_t n = model_random(&random, 6); n > 0; n--)
                ck_assert_int_eq(model_step(model, writer, &random), 0);
        if (model_random(&random, 4) == 0)
            ck_assert_int_ge(frame_writer_compact_tail(writer, 2000, &fault),
                             0);
        ck_assert_int_eq(frame_writer_commit(writer, &frame, &fault), 0);
        frame_close(frame);
    }
    frame_writer_close(writer);
}

static const char *directory;
static int count;

START_TEST(frames_are_made)
{
    static struct model model;

    for (int i = 0; i < count; i++) {
        char path[4096];

        snprintf(path, sizeof(path), "%s/%d.b2frame", directory, i);
        make_frame(path, i % 2, i % 3 == 2, (uint64_t)i, &model);
        snprintf(path, sizeof(path), "%s/%d.raw", directory, i);
        write_raw(path, &model);
    }
}
END_TEST

int main(int argc, char **argv)
{
    const TTest *const tests[] = { frames_are_made, NULL };

    if (argc != 3) {
        fprintf(stderr, "usage: change_frames DIRECTORY COUNT\n");
        return 2;
    }
    directory = argv[1];
    count = atoi(argv[2]);
    return suite_run("change frames", tests);
}
