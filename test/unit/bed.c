/* SPDX-License-Identifier: BSD-3-Clause */
#include "bed.h"

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

struct store *bed_store(struct bed *bed, unsigned flags)
{
    struct store *store;
    int r;

    if (bed->kind.on_disk)
        return disk_store(bed->disk);
    flags |= file_store_flags(bed->context);
    if (bed->kind.sparse)
        r = store_dir_open(bed->fd, "f.b2frame", flags, &store);
    else
        r = store_file_open(bed->fd, "f.b2frame", flags, &store);
    ck_assert_int_eq(r, 0);
    return store;
}

static void *flush(void *arg)
{
    struct bed *bed = arg;

    while (bed->flushing) {
        ck_assert_int_eq(writeback_flush(bed->file), 0);
        sched_yield();
    }
    return NULL;
}

static void start_flusher(struct bed *bed)
{
    if (!bed->kind.flushed_always)
        return;
    bed->flushing = true;
    ck_assert_int_eq(pthread_create(&bed->flusher, NULL, flush, bed), 0);
}

static void stop_flusher(struct bed *bed)
{
    if (!bed->kind.flushed_always)
        return;
    bed->flushing = false;
    pthread_join(bed->flusher, NULL);
}

static void make_dir(struct bed *bed)
{
    suite_make_dir(bed->dir);
    bed->fd = open(bed->dir, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(bed->fd, 0);
}

static void make_context(struct bed *bed)
{
    const struct file_options options = {
        .cache_size = bed->kind.cache_size,
        .nthreads = bed->kind.on_disk ? 1 : 2,
        .readahead = bed->kind.on_disk ? 0 : bed->kind.cache_size / 8,
        .commit = bed->kind.commit,
        .lock = bed->kind.lock,
        .lock_timeout = bed->kind.lock_timeout,
    };

    ck_assert_int_eq(file_context_new(&options, &bed->context), 0);
}

static void make_file(struct bed *bed)
{
    const struct file_params params = {
        .chunk = { .typesize = bed->kind.typesize,
                   .codec = 1,
                   .clevel = 5,
                   .filters = { 0, 0, 0, 0, 0, bed->kind.on_disk ? 0 : 1 },
                   .split_mode = CHUNK_SPLIT_FORWARD },
        .chunksize = bed->kind.chunksize,
    };
    unsigned flags = STORE_WRITE;
    struct fault fault;

    if (bed->kind.sparse && !bed->kind.on_disk)
        ck_assert_int_eq(mkdirat(bed->fd, "f.b2frame", 0700), 0);
    else
        flags |= STORE_NEW;
    ck_assert_int_eq(give_file_create(bed->context, bed_store(bed, flags),
                                      &params, &bed->file, &fault),
                     0);
}

void bed_init(struct bed *bed, const struct bed_kind *kind)
{
    *bed = (struct bed){ .kind = *kind, .random = 42 };
    if (kind->chunksize == 0)
        bed->kind.chunksize = CHUNKSIZE;
    if (kind->nchunks == 0)
        bed->kind.nchunks = NCHUNKS;
    if (kind->cache_size == 0)
        bed->kind.cache_size = CACHE_SIZE;
    bed->capacity =
        (uint64_t)bed->kind.nchunks * bed->kind.chunksize + ODD_BYTES;
    bed->model = calloc(1, bed->capacity);
    make_context(bed);
    if (kind->on_disk)
        bed->disk = disk_new(kind->sparse);
    else
        make_dir(bed);
    make_file(bed);
    start_flusher(bed);
}

void bed_new(struct bed *bed, bool sparse)
{
    const struct bed_kind kind = { .sparse = sparse, .typesize = 1 };

    bed_init(bed, &kind);
}

void bed_new_on_disk(struct bed *bed, bool sparse)
{
    const struct bed_kind kind = { .sparse = sparse,
                                   .on_disk = true,
                                   .noise = true,
                                   .typesize = 4,
                                   .chunksize = BED_CHUNKSIZE,
                                   .nchunks = 300,
                                   .cache_size = 2 * CACHE_SIZE };

    bed_init(bed, &kind);
}

/* Copy the file's content into the model. */
static void read_model(struct bed *bed)
{
    while (bed->size < file_size(bed->file)) {
        struct file_data data;
        struct fault fault;

        ck_assert_int_eq(file_read(bed->file, NULL,
                                   &(struct file_range){ bed->size, 1 << 20 },
                                   &data, &fault),
                         0);
        for (size_t i = 0; i < data.niov; i++) {
            memcpy(bed->model + bed->size, data.iov[i].iov_base,
                   data.iov[i].iov_len);
            bed->size += data.iov[i].iov_len;
        }
        file_data_put(bed->file, &data);
    }
}

void bed_copy_of(struct bed *bed, const char *path)
{
    struct fault fault;
    struct stat st;
    char command[5000];

    *bed = (struct bed){ .random = 42, .kind.cache_size = CACHE_SIZE };
    ck_assert_msg(stat(path, &st) == 0, "%s", path);
    bed->kind.sparse = S_ISDIR(st.st_mode);
    make_context(bed);
    make_dir(bed);
    snprintf(command, sizeof(command),
             "cp -r --no-preserve=mode %s %s/f.b2frame", path, bed->dir);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(give_file_open_writable(bed->context,
                                             bed_store(bed, STORE_WRITE),
                                             &bed->file, &fault),
                     0);
    bed->capacity = file_size(bed->file) + ODD_BYTES;
    bed->model = calloc(1, bed->capacity);
    read_model(bed);
}

void bed_fini(struct bed *bed)
{
    if (bed->file)
        ck_assert_int_eq(bed_close(bed), 0);
    file_context_free(bed->context);
    if (bed->kind.on_disk) {
        disk_free(bed->disk);
    } else {
        close(bed->fd);
        suite_remove_dir(bed->dir);
    }
    free(bed->model);
}

int bed_close(struct bed *bed)
{
    int r;

    stop_flusher(bed);
    r = file_close(bed->file);
    bed->file = NULL;
    return r;
}

/* May a call fail that has been tried this often? */
static bool may_fail(const struct bed *bed, int tries)
{
    return bed->failing && tries < TRIES;
}

void bed_open(struct bed *bed)
{
    struct fault fault;
    int r;

    for (int tries = 1;; tries++) {
        r = give_file_open_writable(bed->context, bed_store(bed, STORE_WRITE),
                                    &bed->file, &fault);
        if (r == 0)
            break;
        ck_assert_msg(may_fail(bed, tries), "error %d", r);
    }
    start_flusher(bed);
}

static void report(void *context, int error, const struct fault *fault)
{
    (void)context;
    ck_abort_msg("error %d: %s", error, fault->what ? fault->what : "");
}

static void check_frame(struct bed *bed)
{
    struct store *store = bed_store(bed, 0);
    struct frame *frame;
    struct fault fault;

    ck_assert_int_eq(give_frame_open(store, 0, &frame, &fault), 0);
    ck_assert_int_eq(frame_check(frame, report, NULL), 0);
    frame_close(frame);
}

void bed_reopen(struct bed *bed)
{
    ck_assert_int_eq(bed_close(bed), 0);
    check_frame(bed);
    bed_open(bed);
}

/* Compare bytes with those of the model from `off` on. */
static void compare(const struct bed *bed, uint64_t off, const uint8_t *got,
                    size_t len)
{
    const uint8_t *want = bed->model + off;
    size_t k = 0;

    if (memcmp(got, want, len) == 0)
        return;
    while (got[k] == want[k])
        k++;
    ck_abort_msg("byte %lu is %d, not %d", (unsigned long)(off + k), got[k],
                 want[k]);
}

/* Read some of a range, at least one byte. */
static void read_some(struct bed *bed, struct file *file, uint64_t off,
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
        ck_assert_msg(may_fail(bed, tries), "error %d or %d", r, data->error);
        file_data_put(file, data);
    }
}

static void check_range(struct bed *bed, struct file *file, uint64_t off,
                        size_t len)
{
    while (len > 0) {
        struct file_data data;
        size_t at = 0;

        read_some(bed, file, off, len, &data);
        for (size_t i = 0; i < data.niov; at += data.iov[i++].iov_len)
            compare(bed, off + at, data.iov[i].iov_base, data.iov[i].iov_len);
        off += data.len;
        len -= data.len;
        file_data_put(file, &data);
    }
}

static void check_all(struct bed *bed, struct file *file)
{
    ck_assert_uint_eq(file_size(file), bed->size);
    check_range(bed, file, 0, bed->size);
}

void bed_check_range(struct bed *bed, uint64_t off, size_t len)
{
    check_range(bed, bed->file, off, len);
}

void bed_check(struct bed *bed)
{
    check_all(bed, bed->file);
}

/* Check the frame of a store, and close the store. */
static void check_store(struct bed *bed, struct store *store)
{
    struct fault fault;
    struct file *file;

    ck_assert_int_eq(give_file_open(bed->context, store, 0, &file, &fault), 0);
    check_all(bed, file);
    ck_assert_int_eq(file_close(file), 0);
}

void bed_check_stored(struct bed *bed)
{
    if (bed->file)
        bed_check(bed);
    check_store(bed, bed_store(bed, 0));
}

static bool drop_all(void *context, size_t i)
{
    (void)context;
    (void)i;
    return true;
}

void bed_check_durable(struct bed *bed)
{
    struct image *image =
        disk_crash(bed->disk, disk_nops(bed->disk), false, drop_all, NULL);

    check_store(bed, image_store(image));
    image_free(image);
}

void bed_fail_calls(struct bed *bed, size_t call, size_t n, int error)
{
    bed->failing = true;
    bed->bad_call = disk_ncalls(bed->disk) + call;
    disk_fail(bed->disk, bed->bad_call, n, error);
}

bool bed_end_failing(struct bed *bed)
{
    bed->failing = false;
    disk_fail(bed->disk, 0, 0, 0);
    return disk_ncalls(bed->disk) > bed->bad_call;
}

void bed_fail_each(bool (*trial)(bool variant, size_t call), size_t ncalls_min)
{
    for (int variant = 0; variant < 2; variant++) {
        size_t call = 0;

        while (trial(variant, call))
            call++;
        ck_assert_uint_gt(call, ncalls_min);
    }
}

int bed_try_write(struct bed *bed, uint64_t off, size_t len)
{
    struct fault fault;
    int r;

    if (bed->kind.noise)
        make_noise(bed->model + off, len, &bed->random);
    else
        make_bytes(bed->model + off, len, &bed->random);
    r = file_write(bed->file, off, bed->model + off, len, &fault);
    if (off + len > bed->size)
        bed->size = off + len;
    return r;
}

void bed_write(struct bed *bed, uint64_t off, size_t len)
{
    int r = bed_try_write(bed, off, len);

    if (r < 0 && bed->failing)
        r = bed_try_write(bed, off, len);
    ck_assert_int_eq(r, 0);
}

void bed_truncate(struct bed *bed, uint64_t size)
{
    struct fault fault;

    ck_assert_int_eq(file_truncate(bed->file, size, &fault), 0);
    if (size < bed->size)
        memset(bed->model + size, 0, bed->size - size);
    bed->size = size;
}

void bed_zero(struct bed *bed, uint64_t off, uint64_t len)
{
    struct fault fault;

    ck_assert_int_eq(file_zero(bed->file, off, len, &fault), 0);
    if (off < bed->size)
        memset(bed->model + off, 0,
               len < bed->size - off ? len : bed->size - off);
}

void bed_copy(struct bed *bed, uint64_t from, uint64_t to, uint64_t len)
{
    struct fault fault;
    uint64_t done;

    ck_assert_int_eq(
        file_copy(&(struct file_copy){ bed->file, from, bed->file, to, len },
                  &done, &fault),
        0);
    if (from >= bed->size)
        len = 0;
    else if (len > bed->size - from)
        len = bed->size - from;
    ck_assert_uint_eq(done, len);
    memcpy(bed->model + to, bed->model + from, done);
    if (done > 0 && to + done > bed->size)
        bed->size = to + done;
}

void bed_sync(struct bed *bed)
{
    struct fault fault;

    ck_assert_int_eq(file_sync(bed->file, &fault), 0);
}
