/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file/file.h"
#include "give_store.h"
#include "store/store_local.h"
#include "suite.h"
#include "writeback/writeback.h"

enum {
    CHUNKSIZE = 64 * 1024,
    NCHUNKS = 20,
    ODD_BYTES = 777, /* at the end of the model */
    CACHE_SIZE = 16 << 20,
    TRIES = 5, /* of a call while calls of the disk fail */
};

uint32_t pick(uint64_t *random, uint32_t below)
{
    *random = *random * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)((*random >> 33) % below);
}

static void make_noise(uint8_t *bytes, size_t len, uint64_t *random)
{
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)pick(random, 256);
}

void make_bytes(uint8_t *bytes, size_t len, uint64_t *random)
{
    uint32_t kind = pick(random, 3);
    uint32_t value = pick(random, 1 << 30);

    for (size_t i = 0; i < len; i++)
        bytes[i] = kind == 0   ? (uint8_t)(pick(random, 256))
                   : kind == 1 ? (uint8_t)((value + i / 4) >> (8 * (i % 4)))
                               : (uint8_t)value;
}

struct store *fixture_store(struct fixture *fixture, unsigned flags)
{
    struct store *store;
    int r;

    if (fixture->kind.on_disk)
        return disk_store(fixture->disk);
    flags |= file_store_flags(fixture->context);
    if (fixture->kind.sparse)
        r = store_dir_open(fixture->fd, "f.b2frame", flags, &store);
    else
        r = store_file_open(fixture->fd, "f.b2frame", flags, &store);
    ck_assert_int_eq(r, 0);
    return store;
}

static void *flush(void *arg)
{
    struct fixture *fixture = arg;

    while (fixture->flushing) {
        ck_assert_int_eq(writeback_flush(fixture->file), 0);
        sched_yield();
    }
    return NULL;
}

static void start_flusher(struct fixture *fixture)
{
    if (!fixture->kind.flushed_always)
        return;
    fixture->flushing = true;
    ck_assert_int_eq(pthread_create(&fixture->flusher, NULL, flush, fixture),
                     0);
}

static void stop_flusher(struct fixture *fixture)
{
    if (!fixture->kind.flushed_always)
        return;
    fixture->flushing = false;
    pthread_join(fixture->flusher, NULL);
}

static void make_dir(struct fixture *fixture)
{
    suite_make_dir(fixture->dir);
    fixture->fd = open(fixture->dir, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(fixture->fd, 0);
}

static void make_context(struct fixture *fixture)
{
    const struct file_options options = {
        .cache_size = fixture->kind.cache_size,
        .nthreads = fixture->kind.on_disk ? 1 : 2,
        .readahead = fixture->kind.on_disk ? 0 : fixture->kind.cache_size / 8,
        .commit = fixture->kind.commit,
        .lock = fixture->kind.lock,
        .lock_timeout = fixture->kind.lock_timeout,
    };

    ck_assert_int_eq(file_context_new(&options, &fixture->context), 0);
}

static void make_file(struct fixture *fixture)
{
    const struct file_params params = {
        .chunk = { .typesize = fixture->kind.typesize,
                   .codec = 1,
                   .clevel = 5,
                   .filters = { 0, 0, 0, 0, 0, fixture->kind.on_disk ? 0 : 1 },
                   .split_mode = CHUNK_SPLIT_FORWARD },
        .chunksize = fixture->kind.chunksize,
    };
    unsigned flags = STORE_WRITE;
    struct fault fault;

    if (fixture->kind.sparse && !fixture->kind.on_disk)
        ck_assert_int_eq(mkdirat(fixture->fd, "f.b2frame", 0700), 0);
    else
        flags |= STORE_NEW;
    ck_assert_int_eq(give_file_create(fixture->context,
                                      fixture_store(fixture, flags), &params,
                                      &fixture->file, &fault),
                     0);
}

void fixture_init(struct fixture *fixture, const struct fixture_kind *kind)
{
    *fixture = (struct fixture){ .kind = *kind, .random = 42 };
    if (kind->chunksize == 0)
        fixture->kind.chunksize = CHUNKSIZE;
    if (kind->nchunks == 0)
        fixture->kind.nchunks = NCHUNKS;
    if (kind->cache_size == 0)
        fixture->kind.cache_size = CACHE_SIZE;
    fixture->capacity =
        (uint64_t)fixture->kind.nchunks * fixture->kind.chunksize + ODD_BYTES;
    fixture->model = calloc(1, fixture->capacity);
    make_context(fixture);
    if (kind->on_disk)
        fixture->disk = disk_new(kind->sparse);
    else
        make_dir(fixture);
    make_file(fixture);
    start_flusher(fixture);
}

void fixture_new(struct fixture *fixture, bool sparse)
{
    const struct fixture_kind kind = { .sparse = sparse, .typesize = 1 };

    fixture_init(fixture, &kind);
}

void fixture_new_on_disk(struct fixture *fixture, bool sparse)
{
    const struct fixture_kind kind = { .sparse = sparse,
                                       .on_disk = true,
                                       .noise = true,
                                       .typesize = 4,
                                       .chunksize = BED_CHUNKSIZE,
                                       .nchunks = 300,
                                       .cache_size = 2 * CACHE_SIZE };

    fixture_init(fixture, &kind);
}

/* Copy the file's content into the model. */
static void read_model(struct fixture *fixture)
{
    while (fixture->size < file_size(fixture->file)) {
        struct file_data data;
        struct fault fault;

        ck_assert_int_eq(
            file_read(fixture->file, NULL,
                      &(struct file_range){ fixture->size, 1 << 20 }, &data,
                      &fault),
            0);
        for (size_t i = 0; i < data.niov; i++) {
            memcpy(fixture->model + fixture->size, data.iov[i].iov_base,
                   data.iov[i].iov_len);
            fixture->size += data.iov[i].iov_len;
        }
        file_data_put(fixture->file, &data);
    }
}

void fixture_copy_of(struct fixture *fixture, const char *path)
{
    struct fault fault;
    struct stat st;
    char command[5000];

    *fixture = (struct fixture){ .random = 42, .kind.cache_size = CACHE_SIZE };
    ck_assert_msg(stat(path, &st) == 0, "%s", path);
    fixture->kind.sparse = S_ISDIR(st.st_mode);
    make_context(fixture);
    make_dir(fixture);
    snprintf(command, sizeof(command),
             "cp -r --no-preserve=mode %s %s/f.b2frame", path, fixture->dir);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(give_file_open_writable(
                         fixture->context, fixture_store(fixture, STORE_WRITE),
                         &fixture->file, &fault),
                     0);
    fixture->capacity = file_size(fixture->file) + ODD_BYTES;
    fixture->model = calloc(1, fixture->capacity);
    read_model(fixture);
}

void fixture_fini(struct fixture *fixture)
{
    if (fixture->file)
        ck_assert_int_eq(fixture_close(fixture), 0);
    file_context_free(fixture->context);
    if (fixture->kind.on_disk) {
        disk_free(fixture->disk);
    } else {
        close(fixture->fd);
        suite_remove_dir(fixture->dir);
    }
    free(fixture->model);
}

int fixture_close(struct fixture *fixture)
{
    int r;

    stop_flusher(fixture);
    r = file_close(fixture->file);
    fixture->file = NULL;
    return r;
}

/* May a call fail that has been tried this often? */
static bool may_fail(const struct fixture *fixture, int tries)
{
    return fixture->failing && tries < TRIES;
}

void fixture_open(struct fixture *fixture)
{
    struct fault fault;
    int r;

    for (int tries = 1;; tries++) {
        r = give_file_open_writable(fixture->context,
                                    fixture_store(fixture, STORE_WRITE),
                                    &fixture->file, &fault);
        if (r == 0)
            break;
        ck_assert_msg(may_fail(fixture, tries), "error %d", r);
    }
    start_flusher(fixture);
}

static void report(void *context, int error, const struct fault *fault)
{
    (void)context;
    ck_abort_msg("error %d: %s", error, fault->what ? fault->what : "");
}

static void check_frame(struct fixture *fixture)
{
    struct store *store = fixture_store(fixture, 0);
    struct frame *frame;
    struct fault fault;

    ck_assert_int_eq(give_frame_open(store, 0, &frame, &fault), 0);
    ck_assert_int_eq(frame_check(frame, report, NULL), 0);
    frame_close(frame);
}

void fixture_reopen(struct fixture *fixture)
{
    ck_assert_int_eq(fixture_close(fixture), 0);
    check_frame(fixture);
    fixture_open(fixture);
}

/* Compare bytes with those of the model from `off` on. */
static void compare(const struct fixture *fixture, uint64_t off,
                    const uint8_t *got, size_t len)
{
    const uint8_t *want = fixture->model + off;
    size_t k = 0;

    if (memcmp(got, want, len) == 0)
        return;
    while (got[k] == want[k])
        k++;
    ck_abort_msg("byte %lu is %d, not %d", (unsigned long)(off + k), got[k],
                 want[k]);
}

/* Read some of a range, at least one byte. */
static void read_some(struct fixture *fixture, struct file *file, uint64_t off,
                      size_t len, struct file_data *data)
{
    struct fault fault;

    for (int tries = 1;; tries++) {
        int r;

        *data = (struct file_data){ 0 };
        r = file_read(file, NULL, &(struct file_range){ off, len }, data,
                      &fault);
        if (r == 0 && data->error == 0 && data->len > 0)
            return;
        ck_assert_msg(may_fail(fixture, tries), "error %d or %d", r,
                      data->error);
        file_data_put(file, data);
    }
}

static void check_range(struct fixture *fixture, struct file *file,
                        uint64_t off, size_t len)
{
    while (len > 0) {
        struct file_data data;
        size_t at = 0;

        read_some(fixture, file, off, len, &data);
        for (size_t i = 0; i < data.niov; at += data.iov[i++].iov_len)
            compare(fixture, off + at, data.iov[i].iov_base,
                    data.iov[i].iov_len);
        off += data.len;
        len -= data.len;
        file_data_put(file, &data);
    }
}

static void check_all(struct fixture *fixture, struct file *file)
{
    ck_assert_uint_eq(file_size(file), fixture->size);
    check_range(fixture, file, 0, fixture->size);
}

void fixture_check_range(struct fixture *fixture, uint64_t off, size_t len)
{
    check_range(fixture, fixture->file, off, len);
}

void fixture_check(struct fixture *fixture)
{
    check_all(fixture, fixture->file);
}

/* Check the frame of a store, and close the store. */
static void check_store(struct fixture *fixture, struct store *store)
{
    struct fault fault;
    struct file *file;

    ck_assert_int_eq(give_file_open(fixture->context, store, 0, &file, &fault),
                     0);
    check_all(fixture, file);
    ck_assert_int_eq(file_close(file), 0);
}

void fixture_check_stored(struct fixture *fixture)
{
    if (fixture->file)
        fixture_check(fixture);
    check_store(fixture, fixture_store(fixture, 0));
}

static bool drop_all(void *context, size_t i)
{
    (void)context;
    (void)i;
    return true;
}

void fixture_check_durable(struct fixture *fixture)
{
    struct image *image = disk_crash(fixture->disk, disk_nops(fixture->disk),
                                     false, drop_all, NULL);

    check_store(fixture, image_store(image));
    image_free(image);
}

void fixture_fail_calls(struct fixture *fixture, size_t call, size_t n,
                        int error)
{
    fixture->failing = true;
    fixture->bad_call = disk_ncalls(fixture->disk) + call;
    disk_fail(fixture->disk, fixture->bad_call, n, error);
}

bool fixture_end_failing(struct fixture *fixture)
{
    fixture->failing = false;
    disk_fail(fixture->disk, 0, 0, 0);
    return disk_ncalls(fixture->disk) > fixture->bad_call;
}

void fixture_fail_each(bool (*trial)(bool variant, size_t call),
                       size_t ncalls_min)
{
    for (int variant = 0; variant < 2; variant++) {
        size_t call = 0;

        while (trial(variant, call))
            call++;
        ck_assert_uint_gt(call, ncalls_min);
    }
}

int fixture_try_write(struct fixture *fixture, uint64_t off, size_t len)
{
    struct fault fault;
    int r;

    if (fixture->kind.noise)
        make_noise(fixture->model + off, len, &fixture->random);
    else
        make_bytes(fixture->model + off, len, &fixture->random);
    r = file_write(fixture->file, off, fixture->model + off, len, &fault);
    if (off + len > fixture->size)
        fixture->size = off + len;
    return r;
}

void fixture_write(struct fixture *fixture, uint64_t off, size_t len)
{
    int r = fixture_try_write(fixture, off, len);

    if (r < 0 && fixture->failing)
        r = fixture_try_write(fixture, off, len);
    ck_assert_int_eq(r, 0);
}

void fixture_truncate(struct fixture *fixture, uint64_t size)
{
    struct fault fault;

    ck_assert_int_eq(file_truncate(fixture->file, size, &fault), 0);
    if (size < fixture->size)
        memset(fixture->model + size, 0, fixture->size - size);
    fixture->size = size;
}

void fixture_zero(struct fixture *fixture, uint64_t off, uint64_t len)
{
    struct fault fault;

    ck_assert_int_eq(file_zero(fixture->file, off, len, &fault), 0);
    if (off < fixture->size)
        memset(fixture->model + off, 0,
               len < fixture->size - off ? len : fixture->size - off);
}

void fixture_copy(struct fixture *fixture, uint64_t from, uint64_t to,
                  uint64_t len)
{
    struct fault fault;
    uint64_t done;

    ck_assert_int_eq(file_copy(&(struct file_copy){ fixture->file, from,
                                                    fixture->file, to, len },
                               &done, &fault),
                     0);
    if (from >= fixture->size)
        len = 0;
    else if (len > fixture->size - from)
        len = fixture->size - from;
    ck_assert_uint_eq(done, len);
    memcpy(fixture->model + to, fixture->model + from, done);
    if (done > 0 && to + done > fixture->size)
        fixture->size = to + done;
}

void fixture_sync(struct fixture *fixture)
{
    struct fault fault;

    ck_assert_int_eq(file_sync(fixture->file, &fault), 0);
}
