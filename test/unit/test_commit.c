/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "change_model.h"
#include "chunk/codec.h"
#include "frame/metalayer.h"
#include "frame_open.h"
#include "give_store.h"
#include "store/store_local.h"
#include "suite.h"

/* A new directory, and the path of the frame in it. */
struct place {
    char dir[SUITE_PATH_MAX];
    char path[SUITE_PATH_MAX + 16];
    bool sparse;
};

static void make_place(struct place *place, bool sparse)
{
    suite_make_dir(place->dir);
    snprintf(place->path, sizeof(place->path), "%s/frame", place->dir);
    place->sparse = sparse;
    if (sparse)
        ck_assert_int_eq(mkdir(place->path, 0700), 0);
}

static void remove_place(const struct place *place)
{
    suite_remove_dir(place->dir);
}

static struct store *open_store(const struct place *place, unsigned flags)
{
    struct store *store;
    int r = place->sparse
                ? store_dir_open(AT_FDCWD, place->path,
                                 flags & ~(unsigned)STORE_NEW, &store)
                : store_file_open(AT_FDCWD, place->path, flags, &store);

    ck_assert_int_eq(r, 0);
    return store;
}

static struct frame_writer *create(const struct place *place)
{
    struct store *store =
        open_store(place, STORE_FOLLOW | STORE_WRITE | STORE_NEW);
    struct frame_writer *writer;
    struct fault fault;

    ck_assert_int_eq(frame_writer_new(store, &model_params, &writer, &fault),
                     0);
    store_close(store);
    return writer;
}

static struct frame *open_frame(const struct place *place, unsigned flags)
{
    struct frame *frame;
    struct fault fault;

    ck_assert_int_eq(give_frame_open(open_store(place, STORE_FOLLOW | flags), 0,
                                     &frame, &fault),
                     0);
    return frame;
}

static struct frame *commit(struct frame_writer *writer)
{
    struct frame *frame;
    struct fault fault;

    ck_assert_int_eq(frame_writer_commit(writer, &frame, &fault), 0);
    return frame;
}

/* Open the frame again, and compare it with the model. */
static void check_stored(const struct place *place, const struct model *model)
{
    struct frame *frame = open_frame(place, 0);

    model_check(model, frame);
    frame_close(frame);
}

/* A frame under change. */
struct work {
    struct place place;
    struct model model;
    struct frame_writer *writer;
    struct frame *frame; /* state of the last commit */
};

static void make_variable(struct work *work)
{
    struct fault fault;

    ck_assert_int_eq(frame_writer_make_variable(work->writer, &fault), 0);
    work->model.variable = true;
}

static void begin(struct work *work, bool sparse)
{
    memset(work, 0, sizeof(*work));
    make_place(&work->place, sparse);
    work->writer = create(&work->place);
    work->frame = commit(work->writer);
}

static void end(struct work *work)
{
    frame_writer_close(work->writer);
    frame_close(work->frame);
    remove_place(&work->place);
}

/*
 * Commit.  The previous state must stay readable until it is closed, unless an
 * empty contiguous frame overwrites it.
 */
static void commit_and_check(struct work *work, const struct model *old)
{
    struct frame *next = commit(work->writer);

    model_check(&work->model, next);
    if (work->place.sparse || work->model.nchunks > 0)
        model_check(old, work->frame);
    frame_close(work->frame);
    work->frame = next;
    frame_writer_reclaim(work->writer, true);
    check_stored(&work->place, &work->model);
}

static void reopen(struct work *work)
{
    struct fault fault;

    frame_writer_close(work->writer);
    frame_close(work->frame);
    check_stored(&work->place, &work->model);
    work->frame = open_frame(&work->place, STORE_WRITE);
    ck_assert_int_eq(frame_writer_open(work->frame, &work->writer, &fault), 0);
    if (work->model.variable)
        make_variable(work);
}

static void change_by_chance(bool sparse, bool variable, uint64_t random)
{
    struct work work;

    begin(&work, sparse);
    if (variable)
        make_variable(&work);
    for (int round = 0; round < 60; round++) {
        struct model old = work.model;

        for (uint32_t n = model_random(&random, 6); n > 0; n--)
            ck_assert_int_eq(model_step(&work.model, work.writer, &random), 0);
        if (model_random(&random, 8) == 0) {
            /* Uncommitted changes are gone. */
            work.model = old;
            reopen(&work);
        } else {
            commit_and_check(&work, &old);
        }
    }
    end(&work);
}

START_TEST(contiguous_frame_changes_by_chance)
{
    for (uint64_t i = 0; i < 30; i++)
        change_by_chance(false, false, i);
}
END_TEST

START_TEST(sparse_frame_changes_by_chance)
{
    for (uint64_t i = 0; i < 30; i++)
        change_by_chance(true, false, i);
}
END_TEST

START_TEST(variable_frame_changes_by_chance)
{
    for (uint64_t i = 0; i < 30; i++)
        change_by_chance(i % 2, true, i);
}
END_TEST

START_TEST(state_that_is_overwritten_says_so)
{
    uint8_t bytes[MODEL_CHUNKSIZE];
    struct metalayer_list list;
    uint64_t random = 1;
    struct frame *empty;
    struct fault fault;
    struct work work;
    size_t len;

    begin(&work, false);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(
            model_append(&work.model, work.writer, MODEL_CHUNKSIZE, &random),
            0);
    commit_and_check(&work, &(struct model){ 0 });
    /* Compact, so that no gap is left behind the header. */
    frame_close(work.frame);
    ck_assert_int_eq(frame_writer_compact(work.writer, &work.frame, &fault), 0);
    model_empty(&work.model, work.writer);
    empty = commit(work.writer);
    model_check(&work.model, empty);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(
            read_chunk(work.frame, i, bytes, sizeof(bytes), &len, &fault),
            -ESTALE);
    ck_assert_int_eq(metalayer_list_read(work.frame, &list, &fault), -ESTALE);
    frame_close(work.frame);
    work.frame = empty;
    check_stored(&work.place, &work.model);
    end(&work);
}
END_TEST

/* Check the inode of the file and its size, if that is not 0. */
static void check_file(const struct work *work, ino_t ino, off_t size)
{
    struct stat st;

    ck_assert_int_eq(stat(work->place.path, &st), 0);
    ck_assert_uint_eq(st.st_ino, ino);
    if (size > 0)
        ck_assert_int_eq(st.st_size, size);
}

START_TEST(frame_stays_one_file_from_empty_to_empty)
{
    const struct frame_params params = {
        .chunks = { .typesize = 2,
                    .codec = CODEC_ZSTD,
                    .clevel = 1,
                    .split_mode = CHUNK_SPLIT_FORWARD },
        .chunksize = MODEL_CHUNKSIZE,
    };
    uint64_t random = 1;
    struct fault fault;
    struct work work;
    struct stat st;

    memset(&work, 0, sizeof(work));
    make_place(&work.place, false);
    work.writer = create(&work.place);
    ck_assert_int_eq(frame_writer_begin(work.writer, &work.frame, &fault), 0);
    ck_assert_int_eq(stat(work.place.path, &st), 0);
    ck_assert_int_eq(frame_writer_set_params(work.writer, &params, &fault), 0);
    for (int round = 0; round < 4; round++) {
        struct model old = work.model;

        if (round % 2 == 0) {
            ck_assert_int_eq(model_append(&work.model, work.writer,
                                          MODEL_CHUNKSIZE, &random),
                             0);
            ck_assert_int_eq(
                frame_writer_set_params(work.writer, &params, &fault), -EINVAL);
        } else {
            model_empty(&work.model, work.writer);
        }
        commit_and_check(&work, &old);
        check_file(&work, st.st_ino, round % 2 == 1 ? 132 : 0);
        ck_assert_uint_eq(frame_get_info(work.frame)->typesize, 2);
        ck_assert_uint_eq(frame_get_info(work.frame)->codec, CODEC_ZSTD);
    }
    end(&work);
}
END_TEST

/* Append a chunk, commit, and return the time of modification that the frame
   shows. */
static struct timespec commit_one(struct work *work,
                                  const struct timespec *mtime)
{
    struct model old = work->model;
    char path[SUITE_PATH_MAX + 32];
    uint64_t random = 1;
    struct stat st;

    ck_assert_int_eq(
        model_append(&work->model, work->writer, MODEL_CHUNKSIZE, &random), 0);
    frame_writer_set_mtime(work->writer, mtime);
    commit_and_check(work, &old);
    snprintf(path, sizeof(path), "%s%s", work->place.path,
             work->place.sparse ? "/chunks.b2frame" : "");
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(frame_get_stat(work->frame)->version.mtime.tv_sec,
                     st.st_mtim.tv_sec);
    return st.st_mtim;
}

START_TEST(a_commit_sets_the_time_of_modification)
{
    const struct timespec mtime = { 1234, 5678 };

    for (int sparse = 0; sparse < 2; sparse++) {
        struct timespec got;
        struct work work;

        begin(&work, sparse);
        got = commit_one(&work, &mtime);
        ck_assert_int_eq(got.tv_sec, mtime.tv_sec);
        ck_assert_int_eq(got.tv_nsec, mtime.tv_nsec);
        got = commit_one(&work, NULL);
        ck_assert_int_gt(got.tv_sec, mtime.tv_sec);
        end(&work);
    }
}
END_TEST

/* Some readers reject a frame in memory that has bytes behind it. */
START_TEST(nothing_follows_an_empty_frame_that_gets_shorter)
{
    const off_t sizes[] = { 300, 0, 200, 100, 0 };
    struct fault fault;
    struct work work;
    struct stat st;

    memset(&work, 0, sizeof(work));
    make_place(&work.place, false);
    work.writer = create(&work.place);
    ck_assert_int_eq(frame_writer_begin(work.writer, &work.frame, &fault), 0);
    ck_assert_int_eq(stat(work.place.path, &st), 0);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint64_t random = i;
        char text[300];

        for (off_t k = 0; k < sizes[i]; k++)
            text[k] = (char)model_random(&random, 256);
        if (sizes[i] > 0)
            ck_assert_int_eq(frame_writer_set_vlmetalayer(work.writer, "layer",
                                                          text,
                                                          (uint32_t)sizes[i]),
                             0);
        else
            ck_assert_int_eq(
                frame_writer_remove_vlmetalayer(work.writer, "layer"), 0);
        frame_close(work.frame);
        work.frame = commit(work.writer);
        frame_writer_reclaim(work.writer, false);
        check_file(&work, st.st_ino,
                   (off_t)frame_get_info(work.frame)->frame_len);
    }
    end(&work);
}
END_TEST

START_TEST(frame_that_others_changed_is_left_alone)
{
    uint8_t mine[MODEL_CHUNKSIZE + 64] = { 5, 1, 5, 4 };
    uint8_t theirs[3 * MODEL_CHUNKSIZE];
    uint8_t found[sizeof(theirs)];
    struct frame_written written;
    uint64_t random = 1;
    struct frame *frame;
    struct fault fault;
    struct work work;
    FILE *file;

    begin(&work, false);
    ck_assert_int_eq(
        model_append(&work.model, work.writer, MODEL_CHUNKSIZE, &random), 0);
    commit_and_check(&work, &(struct model){ 0 });
    model_delete(&work.model, work.writer, 0);
    ck_assert_int_eq(
        model_append(&work.model, work.writer, MODEL_CHUNKSIZE, &random), 0);
    store_le32(mine + 4, MODEL_CHUNKSIZE);
    store_le32(mine + 8, MODEL_CHUNKSIZE);
    store_le32(mine + 12, sizeof(mine));
    ck_assert_int_eq(
        frame_writer_write(work.writer, mine, sizeof(mine), &written, &fault),
        0);

    memset(theirs, 0x77, sizeof(theirs));
    file = fopen(work.place.path, "wb");
    ck_assert_uint_eq(fwrite(theirs, 1, sizeof(theirs), file), sizeof(theirs));
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(frame_writer_commit(work.writer, &frame, &fault), -ESTALE);
    frame_writer_drop(work.writer, &written);
    frame_writer_close(work.writer);
    frame_close(work.frame);
    file = fopen(work.place.path, "rb");
    ck_assert_uint_eq(fread(found, 1, sizeof(found), file), sizeof(found));
    ck_assert_int_eq(fgetc(file), EOF);
    fclose(file);
    ck_assert_mem_eq(found, theirs, sizeof(found));
    remove_place(&work.place);
}
END_TEST

START_TEST(chunks_move_into_gaps_and_the_file_becomes_shorter)
{
    const off_t len = (off_t)(32 + MODEL_CHUNKSIZE) * MODEL_CHUNKS_MAX;
    uint64_t random = 4;
    struct fault fault;
    struct work work;
    struct model old;
    struct stat st;

    begin(&work, false);
    for (size_t i = 0; i < MODEL_CHUNKS_MAX; i++)
        ck_assert_int_eq(
            model_append(&work.model, work.writer, MODEL_CHUNKSIZE, &random),
            0);
    commit_and_check(&work, &(struct model){ 0 });
    ck_assert_int_eq(frame_writer_compact_tail(work.writer, 0, &fault), 0);
    /*
     * Replace all chunks in one commit, so that the new ones lie behind the old
     * ones.
     */
    old = work.model;
    model_empty(&work.model, work.writer);
    for (size_t i = 0; i < MODEL_CHUNKS_MAX; i++)
        ck_assert_int_eq(
            model_append(&work.model, work.writer, MODEL_CHUNKSIZE, &random),
            0);
    commit_and_check(&work, &old);
    ck_assert_int_eq(stat(work.place.path, &st), 0);
    ck_assert_int_eq(
        frame_writer_compact_tail(work.writer, (uint64_t)len, &fault), 1);
    for (int i = 0; i < 2; i++)
        commit_and_check(&work, &work.model);
    check_file(&work, st.st_ino, 0);
    ck_assert_int_eq(stat(work.place.path, &st), 0);
    ck_assert_int_lt(st.st_size, len + 1000);
    end(&work);
}
END_TEST

START_TEST(frame_with_two_names_is_not_rewritten)
{
    uint64_t random = 1;
    struct frame *frame;
    struct fault fault;
    struct work work;
    struct stat st;
    char name[SUITE_PATH_MAX + 16];

    begin(&work, false);
    ck_assert_int_eq(
        model_append(&work.model, work.writer, MODEL_CHUNKSIZE, &random), 0);
    snprintf(name, sizeof(name), "%s/link", work.place.dir);
    ck_assert_int_eq(link(work.place.path, name), 0);
    ck_assert_int_eq(stat(name, &st), 0);
    ck_assert_int_eq(frame_writer_compact(work.writer, &frame, &fault),
                     -EMLINK);
    commit_and_check(&work, &(struct model){ 0 });
    check_file(&work, st.st_ino, 0);
    ck_assert_int_eq(rename(name, work.place.path), 0);
    ck_assert_int_eq(unlink(name), 0);
    ck_assert_int_eq(frame_writer_compact(work.writer, &frame, &fault), 0);
    frame_close(frame);
    check_stored(&work.place, &work.model);
    end(&work);
}
END_TEST

enum {
    NWRITERS = 3,
    NWRITTEN = 200, /* by each thread */
};

/* A thread that writes chunks while other threads write and commit. */
struct writer {
    pthread_t thread;
    struct frame_writer *writer;
    struct frame_written written[NWRITTEN];
    uint8_t byte;
};

static void *write_chunks(void *context)
{
    struct writer *writer = context;
    uint8_t chunk[32 + MODEL_CHUNKSIZE] = { 5, 1, 7, 4 };
    struct fault fault;

    chunk[4] = chunk[8] = MODEL_CHUNKSIZE & 0xFF;
    chunk[5] = chunk[9] = MODEL_CHUNKSIZE >> 8;
    chunk[12] = sizeof(chunk) & 0xFF;
    chunk[13] = sizeof(chunk) >> 8;
    memset(chunk + 32, writer->byte, MODEL_CHUNKSIZE);
    for (size_t i = 0; i < NWRITTEN; i++)
        if (frame_writer_write(writer->writer, chunk, sizeof(chunk),
                               &writer->written[i], &fault) < 0)
            return writer;
    return NULL;
}

static void write_by_threads(bool sparse)
{
    struct writer writers[NWRITERS];
    uint8_t bytes[MODEL_CHUNKSIZE];
    uint64_t random = 1;
    struct work work;

    begin(&work, sparse);
    /*
     * Begin with one chunk, because each commit of an empty frame rewrites it.
     */
    ck_assert_int_eq(
        model_append(&work.model, work.writer, MODEL_CHUNKSIZE, &random), 0);
    for (size_t i = 0; i < NWRITERS; i++) {
        writers[i].writer = work.writer;
        writers[i].byte = (uint8_t)(i + 1);
        pthread_create(&writers[i].thread, NULL, write_chunks, &writers[i]);
    }
    for (int i = 0; i < 20; i++) {
        struct frame *next = commit(work.writer);

        frame_close(work.frame);
        work.frame = next;
    }
    for (size_t i = 0; i < NWRITERS; i++) {
        void *failed;

        pthread_join(writers[i].thread, &failed);
        ck_assert_ptr_null(failed);
        for (size_t j = 0; j < NWRITTEN; j++)
            ck_assert_int_eq(
                frame_writer_insert(work.writer, 0, &writers[i].written[j]), 0);
    }
    frame_close(work.frame);
    work.frame = commit(work.writer);
    for (size_t i = 0; i < NWRITERS * NWRITTEN; i++) {
        memset(bytes, (int)(NWRITERS - i / NWRITTEN), sizeof(bytes));
        check_chunk(work.frame, i, bytes, sizeof(bytes));
    }
    end(&work);
}

START_TEST(threads_write_chunks_beside_commits)
{
    write_by_threads(false);
    write_by_threads(true);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        contiguous_frame_changes_by_chance,
        sparse_frame_changes_by_chance,
        variable_frame_changes_by_chance,
        state_that_is_overwritten_says_so,
        frame_stays_one_file_from_empty_to_empty,
        a_commit_sets_the_time_of_modification,
        nothing_follows_an_empty_frame_that_gets_shorter,
        frame_that_others_changed_is_left_alone,
        chunks_move_into_gaps_and_the_file_becomes_shorter,
        frame_with_two_names_is_not_rewritten,
        threads_write_chunks_beside_commits,
        NULL,
    };

    return suite_run("commit", tests);
}
