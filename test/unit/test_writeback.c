/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file/file_private.h"
#include "suite.h"

enum {
    CHUNKSIZE = 64 * 1024,
    SIZE_MAX_TEST = 20 * CHUNKSIZE + 777,
    SMALL_CACHE = 1024 * 1024,
    NTHREADS = 4,
};

/* A frame in a directory of its own, and what should be in it. */
struct bed {
    char dir[256];
    int fd;
    bool sparse;
    struct file_context *context;
    struct file *file;
    uint8_t *model; /* SIZE_MAX_TEST bytes, zero behind `size` */
    uint64_t size;
    uint64_t random;
};

static uint32_t pick(uint64_t *random, uint32_t below)
{
    *random = *random * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)((*random >> 33) % below);
}

static struct store *bed_store(struct bed *bed, bool create)
{
    struct store *store;
    int r;

    if (bed->sparse) {
        if (create)
            ck_assert_int_eq(mkdirat(bed->fd, "f.b2frame", 0700), 0);
        r = store_dir_open(bed->fd, "f.b2frame", STORE_WRITE, &store);
    } else {
        r = store_file_open(bed->fd, "f.b2frame",
                            STORE_WRITE | (create ? (unsigned)STORE_NEW : 0),
                            &store);
    }
    ck_assert_int_eq(r, 0);
    return store;
}

static void bed_context(struct bed *bed, size_t cache_size)
{
    const struct file_options options = { .cache_size = cache_size,
                                          .nthreads = 2,
                                          .readahead = 128 * 1024,
                                          .commit = 1 };

    ck_assert_int_eq(file_context_new(&options, &bed->context), 0);
}

static struct file_params params_of(uint32_t typesize)
{
    return (struct file_params){
        .chunk = { .typesize = typesize,
                   .codec = 1,
                   .clevel = 5,
                   .filters = { 0, 0, 0, 0, 0, 1 },
                   .split_mode = CHUNK_SPLIT_FORWARD },
        .chunksize = CHUNKSIZE,
    };
}

static void bed_new(struct bed *bed, bool sparse, size_t cache_size,
                    uint32_t typesize)
{
    const struct file_params params = params_of(typesize);
    struct fault fault;

    *bed = (struct bed){ .sparse = sparse, .random = 42 };
    snprintf(bed->dir, sizeof(bed->dir), "%s/test_writeback.XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(bed->dir));
    bed->fd = open(bed->dir, O_RDONLY | O_DIRECTORY);
    bed->model = calloc(1, SIZE_MAX_TEST);
    bed_context(bed, cache_size);
    ck_assert_int_eq(file_create(bed->context, bed_store(bed, true), &params,
                                 &bed->file, &fault),
                     0);
}

static void bed_reopen(struct bed *bed)
{
    struct fault fault;

    ck_assert_int_eq(file_close(bed->file), 0);
    ck_assert_int_eq(file_open_writable(bed->context, bed_store(bed, false),
                                        &bed->file, &fault),
                     0);
}

static void bed_free(struct bed *bed)
{
    char command[300];

    ck_assert_int_eq(file_close(bed->file), 0);
    file_context_free(bed->context);
    close(bed->fd);
    snprintf(command, sizeof(command), "rm -rf %s", bed->dir);
    ck_assert_int_eq(system(command), 0);
    free(bed->model);
}

/* Does the file read as it should? */
static void check_range(struct bed *bed, uint64_t off, size_t len)
{
    while (len > 0) {
        struct file_data data;
        struct fault fault;
        size_t at = 0;
        int error;

        ck_assert_int_eq(
            file_read(bed->file, NULL, off, len, &data, &error, &fault), 0);
        ck_assert_int_eq(error, 0);
        ck_assert_uint_gt(data.len, 0);
        for (size_t i = 0; i < data.niov; i++) {
            const uint8_t *want = bed->model + off + at;
            const uint8_t *got = data.iov[i].iov_base;

            size_t n = data.iov[i].iov_len;
            size_t k = 0;

            while (k < n && got[k] == want[k])
                k++;
            ck_assert_msg(k == n, "byte %lu is %d, not %d",
                          (unsigned long)(off + at + k), got[k], want[k]);
            at += n;
        }
        off += data.len;
        len -= data.len;
        file_data_put(bed->file, &data);
    }
}

static void check_all(struct bed *bed)
{
    ck_assert_uint_eq(file_size(bed->file), bed->size);
    check_range(bed, 0, bed->size);
}

/* Bytes that compress, but not to nothing. */
static void make_bytes(uint8_t *bytes, size_t len, uint64_t *random)
{
    uint32_t kind = pick(random, 3);
    uint32_t value = pick(random, 1 << 30);

    for (size_t i = 0; i < len; i++)
        bytes[i] = kind == 0   ? (uint8_t)(pick(random, 256))
                   : kind == 1 ? (uint8_t)((value + i / 4) >> (8 * (i % 4)))
                               : (uint8_t)value;
}

static void do_write(struct bed *bed, uint64_t off, size_t len)
{
    struct fault fault;
    int r;

    make_bytes(bed->model + off, len, &bed->random);
    r = file_write(bed->file, off, bed->model + off, len, &fault);
    ck_assert_int_eq(r, 0);
    if (off + len > bed->size)
        bed->size = off + len;
}

static void do_truncate(struct bed *bed, uint64_t size)
{
    struct fault fault;

    ck_assert_int_eq(file_truncate(bed->file, size, &fault), 0);
    if (size < bed->size)
        memset(bed->model + size, 0, bed->size - size);
    bed->size = size;
}

static void do_zero(struct bed *bed, uint64_t off, uint64_t len)
{
    struct fault fault;

    ck_assert_int_eq(file_zero(bed->file, off, len, &fault), 0);
    if (off < bed->size)
        memset(bed->model + off, 0,
               len < bed->size - off ? len : bed->size - off);
}

static void do_sync(struct bed *bed)
{
    struct fault fault;

    ck_assert_int_eq(file_sync(bed->file, &fault), 0);
}

static void random_step(struct bed *bed)
{
    uint64_t off = pick(&bed->random, SIZE_MAX_TEST);
    uint32_t most = pick(&bed->random, 4) == 0 ? 4 * CHUNKSIZE : 5000;
    size_t len = 1 + pick(&bed->random, most);

    if (len > SIZE_MAX_TEST - off)
        len = SIZE_MAX_TEST - off;
    switch (pick(&bed->random, 16)) {
    case 0:
        do_truncate(bed, off);
        break;
    case 1:
        do_truncate(bed, off - off % CHUNKSIZE);
        break;
    case 2:
        do_zero(bed, off, len);
        break;
    case 3:
        do_zero(bed, off - off % CHUNKSIZE, 2 * CHUNKSIZE);
        break;
    case 4:
        do_sync(bed);
        break;
    case 5:
        if (pick(&bed->random, 4) == 0)
            bed_reopen(bed);
        break;
    case 6:
    case 7:
        if (off < bed->size)
            check_range(bed, off,
                        len < bed->size - off ? len : bed->size - off);
        break;
    default:
        do_write(bed, off, len);
        break;
    }
}

static void random_changes(bool sparse, size_t cache_size, uint32_t typesize,
                           unsigned nsteps)
{
    struct bed bed;

    bed_new(&bed, sparse, cache_size, typesize);
    for (unsigned i = 0; i < nsteps; i++) {
        random_step(&bed);
        if (i % 32 == 0)
            check_all(&bed);
    }
    check_all(&bed);
    bed_reopen(&bed);
    check_all(&bed);
    bed_free(&bed);
}

START_TEST(file_holds_what_was_written)
{
    random_changes(false, 16 << 20, 4, 400);
    random_changes(true, 16 << 20, 4, 100);
}
END_TEST

START_TEST(file_larger_than_cache_holds_what_was_written)
{
    random_changes(false, SMALL_CACHE, 0, 400);
    random_changes(true, SMALL_CACHE, 0, 100);
}
END_TEST

/* One of several threads, which has every NTHREADS-th piece of a file. */
struct worker {
    pthread_t thread;
    struct bed *bed;
    unsigned number;
    uint64_t random;
};

enum {
    PIECE = 3000,
    NPIECES = SIZE_MAX_TEST / PIECE,
    NSTEPS = 300,
};

static void worker_step(struct worker *worker)
{
    struct bed *bed = worker->bed;
    uint32_t piece =
        pick(&worker->random, NPIECES / NTHREADS) * NTHREADS + worker->number;
    uint64_t off = (uint64_t)piece * PIECE;
    struct fault fault;
    int r = 0;

    switch (pick(&worker->random, 8)) {
    case 0:
        memset(bed->model + off, 0, PIECE);
        r = file_zero(bed->file, off, PIECE, &fault);
        break;
    case 1:
        if (worker->number == 0)
            r = file_sync(bed->file, &fault);
        break;
    case 2:
    case 3:
        check_range(bed, off, PIECE);
        break;
    default:
        make_bytes(bed->model + off, PIECE, &worker->random);
        r = file_write(bed->file, off, bed->model + off, PIECE, &fault);
        break;
    }
    ck_assert_int_eq(r, 0);
}

static void *work(void *arg)
{
    struct worker *worker = arg;

    for (unsigned i = 0; i < NSTEPS; i++)
        worker_step(worker);
    return NULL;
}

static void *read_all(void *arg)
{
    struct worker *worker = arg;
    struct file_reader reader = { 0 };

    for (uint64_t off = 0; off < SIZE_MAX_TEST; off += 7000) {
        struct file_data data;
        struct fault fault;
        int error;

        ck_assert_int_eq(file_read(worker->bed->file, &reader, off, 50000,
                                   &data, &error, &fault),
                         0);
        file_data_put(worker->bed->file, &data);
    }
    return NULL;
}

static void check_threads(bool sparse, size_t cache_size)
{
    struct worker workers[NTHREADS];
    struct worker reader = { 0 };
    struct bed bed;

    bed_new(&bed, sparse, cache_size, 1);
    do_truncate(&bed, SIZE_MAX_TEST);
    for (unsigned i = 0; i < NTHREADS; i++) {
        workers[i] =
            (struct worker){ .bed = &bed, .number = i, .random = i + 1 };
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    reader.bed = &bed;
    pthread_create(&reader.thread, NULL, read_all, &reader);
    for (unsigned i = 0; i < NTHREADS; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_join(reader.thread, NULL);
    check_all(&bed);
    bed_reopen(&bed);
    check_all(&bed);
    bed_free(&bed);
}

START_TEST(threads_that_share_chunks_do_not_disturb_each_other)
{
    check_threads(false, SMALL_CACHE);
    check_threads(true, SMALL_CACHE);
    check_threads(false, 16 << 20);
}
END_TEST

/* Threads that append, each in its turn, while others sync and read. */
static void *append(void *arg)
{
    struct worker *worker = arg;
    uint8_t bytes[1000];
    struct fault fault;

    memset(bytes, 'a' + (int)worker->number, sizeof(bytes));
    for (unsigned i = 0; i < 200; i++) {
        uint64_t off =
            ((uint64_t)i * NTHREADS + worker->number) * sizeof(bytes);

        ck_assert_int_eq(
            file_write(worker->bed->file, off, bytes, sizeof(bytes), &fault),
            0);
        if (i % 50 == 0)
            ck_assert_int_eq(file_sync(worker->bed->file, &fault), 0);
    }
    return NULL;
}

START_TEST(a_file_grown_by_threads_has_no_gaps)
{
    struct worker workers[NTHREADS];
    struct bed bed;

    bed_new(&bed, false, SMALL_CACHE, 1);
    for (unsigned i = 0; i < NTHREADS; i++) {
        workers[i] = (struct worker){ .bed = &bed, .number = i };
        pthread_create(&workers[i].thread, NULL, append, &workers[i]);
    }
    for (unsigned i = 0; i < NTHREADS; i++)
        pthread_join(workers[i].thread, NULL);
    bed.size = 200 * NTHREADS * 1000;
    for (size_t i = 0; i < bed.size; i++)
        bed.model[i] = (uint8_t)('a' + i / 1000 % NTHREADS);
    check_all(&bed);
    bed_reopen(&bed);
    check_all(&bed);
    bed_free(&bed);
}
END_TEST

START_TEST(pinned_bytes_do_not_change)
{
    struct file_data data;
    struct fault fault;
    struct bed bed;
    uint8_t *old;
    int error;

    bed_new(&bed, false, 16 << 20, 1);
    do_write(&bed, 0, 3 * CHUNKSIZE);
    old = malloc(3 * CHUNKSIZE);
    memcpy(old, bed.model, 3 * CHUNKSIZE);
    ck_assert_int_eq(
        file_read(bed.file, NULL, 0, 3 * CHUNKSIZE, &data, &error, &fault), 0);
    do_write(&bed, 100, 2 * CHUNKSIZE);
    do_sync(&bed);
    do_truncate(&bed, CHUNKSIZE + 5);
    for (size_t i = 0, at = 0; i < data.niov; at += data.iov[i++].iov_len)
        ck_assert_mem_eq(data.iov[i].iov_base, old + at, data.iov[i].iov_len);
    ck_assert_uint_eq(data.len, 3 * CHUNKSIZE);
    check_all(&bed);
    file_data_put(bed.file, &data);
    check_all(&bed);
    free(old);
    bed_free(&bed);
}
END_TEST

START_TEST(zeros_take_no_space)
{
    struct fault fault;
    struct bed bed;
    uint64_t off;

    bed_new(&bed, false, 16 << 20, 1);
    do_write(&bed, 0, 4 * CHUNKSIZE);
    do_zero(&bed, CHUNKSIZE, 2 * CHUNKSIZE);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(file_seek(bed.file, 0, true, &off, &fault), 0);
        ck_assert_uint_eq(off, CHUNKSIZE);
        ck_assert_int_eq(file_seek(bed.file, off, false, &off, &fault), 0);
        ck_assert_uint_eq(off, 3 * CHUNKSIZE);
        do_sync(&bed);
    }
    do_truncate(&bed, 0);
    do_truncate(&bed, SIZE_MAX_TEST);
    check_all(&bed);
    ck_assert_int_eq(file_seek(bed.file, 0, false, &off, &fault), -ENXIO);
    bed_reopen(&bed);
    check_all(&bed);
    bed_free(&bed);
}
END_TEST

static void check_meta(struct bed *bed, const char *name, const char *want)
{
    struct frame *frame = file_frame_get(bed->file);
    const struct metalayer *layer;
    struct metalayer_list list;
    struct fault fault;

    ck_assert_int_eq(metalayer_list_read(frame, &list, &fault), 0);
    layer = metalayer_find(&list, METALAYER_VL, name);
    ck_assert_int_eq(layer != NULL, want != NULL);
    if (layer) {
        uint8_t *content;
        size_t len;

        ck_assert_int_eq(
            metalayer_read(frame, layer, 1000, &content, &len, &fault), 0);
        ck_assert_uint_eq(len, strlen(want));
        ck_assert_mem_eq(content, want, len);
        free(content);
    }
    metalayer_list_free(&list);
    file_frame_put(bed->file, frame);
}

START_TEST(vlmetalayers_stay_when_the_first_bytes_come)
{
    struct fault fault;
    struct bed bed;

    for (int sparse = 0; sparse < 2; sparse++) {
        bed_new(&bed, sparse, 16 << 20, 0);
        ck_assert_int_eq(
            file_meta_set(bed.file, METALAYER_VL, "a", "alpha", 5, &fault), 0);
        check_meta(&bed, "a", "alpha");
        do_write(&bed, 0, 100000);
        do_sync(&bed);
        check_meta(&bed, "a", "alpha");
        ck_assert_int_eq(
            file_meta_set(bed.file, METALAYER_VL, "b", "beta", 4, &fault), 0);
        ck_assert_int_eq(file_meta_remove(bed.file, "a", &fault), 0);
        ck_assert_int_eq(file_meta_remove(bed.file, "a", &fault), -ENOENT);
        ck_assert_int_eq(
            file_meta_set(bed.file, METALAYER_FIXED, "c", "x", 1, &fault),
            -ENOENT);
        check_all(&bed);
        bed_reopen(&bed);
        check_meta(&bed, "a", NULL);
        check_meta(&bed, "b", "beta");
        check_all(&bed);
        bed_free(&bed);
    }
}
END_TEST

START_TEST(chunks_are_inserted_deleted_and_reordered)
{
    static const uint64_t order[] = { 2, 0, 1 };
    uint8_t *chunk = malloc(CHUNKSIZE);
    struct fault fault;
    struct bed bed;

    bed_new(&bed, false, 16 << 20, 1);
    do_write(&bed, 0, 2 * CHUNKSIZE);
    memset(chunk, 'x', CHUNKSIZE);
    ck_assert_int_eq(file_chunk_insert(bed.file, 1, chunk, CHUNKSIZE, &fault),
                     0);
    memmove(bed.model + 2 * CHUNKSIZE, bed.model + CHUNKSIZE, CHUNKSIZE);
    memcpy(bed.model + CHUNKSIZE, chunk, CHUNKSIZE);
    bed.size += CHUNKSIZE;
    check_all(&bed);

    ck_assert_int_eq(file_chunk_reorder(bed.file, order, 3, &fault), 0);
    memcpy(chunk, bed.model + 2 * CHUNKSIZE, CHUNKSIZE);
    memmove(bed.model + CHUNKSIZE, bed.model, 2 * CHUNKSIZE);
    memcpy(bed.model, chunk, CHUNKSIZE);
    check_all(&bed);

    do_write(&bed, 10, 5);
    ck_assert_int_eq(file_chunk_delete(bed.file, 1, &fault), 0);
    memmove(bed.model + CHUNKSIZE, bed.model + 2 * CHUNKSIZE, CHUNKSIZE);
    memset(bed.model + 2 * CHUNKSIZE, 0, CHUNKSIZE);
    bed.size -= CHUNKSIZE;
    check_all(&bed);
    ck_assert_int_eq(file_chunk_delete(bed.file, 2, &fault), -ERANGE);
    do_write(&bed, CHUNKSIZE - 10, 500);
    bed_reopen(&bed);
    check_all(&bed);
    free(chunk);
    bed_free(&bed);
}
END_TEST

START_TEST(bytes_are_copied_between_files)
{
    struct fault fault;
    struct bed from;
    struct bed to;
    uint64_t done;

    bed_new(&from, false, 16 << 20, 1);
    bed_new(&to, true, 16 << 20, 1);
    do_write(&from, 0, 6 * CHUNKSIZE + 55);
    do_zero(&from, CHUNKSIZE, CHUNKSIZE);
    ck_assert_int_eq(
        file_copy(from.file, 0, to.file, 0, UINT64_MAX / 2, &done, &fault), 0);
    ck_assert_uint_eq(done, from.size);
    memcpy(to.model, from.model, from.size);
    to.size = from.size;
    check_all(&to);
    ck_assert_int_eq(file_copy(from.file, 7, to.file, 2 * CHUNKSIZE,
                               3 * CHUNKSIZE, &done, &fault),
                     0);
    memcpy(to.model + 2 * CHUNKSIZE, from.model + 7, 3 * CHUNKSIZE);
    check_all(&to);
    bed_reopen(&to);
    check_all(&to);
    bed_free(&to);
    bed_free(&from);
}
END_TEST

START_TEST(files_not_opened_for_writing_are_not_changed)
{
    struct fault fault;
    struct bed bed;
    struct store *store;
    struct file *file;

    bed_new(&bed, false, 16 << 20, 1);
    do_write(&bed, 0, 1000);
    do_sync(&bed);
    ck_assert_int_eq(store_file_open(bed.fd, "f.b2frame", 0, &store), 0);
    ck_assert_int_eq(file_open(bed.context, store, 0, &file, &fault), 0);
    ck_assert_int_eq(file_write(file, 0, "x", 1, &fault), -EROFS);
    ck_assert_int_eq(file_truncate(file, 0, &fault), -EROFS);
    ck_assert_uint_eq(file_size(file), 1000);
    ck_assert_int_eq(file_close(file), 0);
    bed_free(&bed);
}
END_TEST

START_TEST(typesize_is_that_of_the_content)
{
    struct fault fault;
    struct frame *frame;
    struct bed bed;
    uint32_t *numbers = malloc(CHUNKSIZE);

    bed_new(&bed, false, 16 << 20, 0);
    for (uint32_t i = 0; i < CHUNKSIZE / 4; i++)
        numbers[i] = i * 77;
    ck_assert_int_eq(file_write(bed.file, 0, numbers, CHUNKSIZE, &fault), 0);
    do_sync(&bed);
    frame = file_frame_get(bed.file);
    ck_assert_uint_eq(frame_get_info(frame)->typesize, 4);
    file_frame_put(bed.file, frame);
    free(numbers);
    bed_free(&bed);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        file_holds_what_was_written,
        file_larger_than_cache_holds_what_was_written,
        threads_that_share_chunks_do_not_disturb_each_other,
        a_file_grown_by_threads_has_no_gaps,
        pinned_bytes_do_not_change,
        zeros_take_no_space,
        vlmetalayers_stay_when_the_first_bytes_come,
        chunks_are_inserted_deleted_and_reordered,
        bytes_are_copied_between_files,
        files_not_opened_for_writing_are_not_changed,
        typesize_is_that_of_the_content,
        NULL,
    };

    return suite_run("writeback", tests);
}
