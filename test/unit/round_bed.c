/* SPDX-License-Identifier: BSD-3-Clause */
#include "round_bed.h"

#include "give_store.h"
#include "suite.h"

enum {
    CACHE = 32 << 20,
    CALLS_MIN = 4 /* a trial with fewer calls does not do its work */
};

/* Bytes that do not compress to nothing. */
static void make_bytes(struct bed *bed, size_t off, size_t len, uint32_t seed)
{
    for (size_t i = off; i < off + len; i++)
        bed->bytes[i] =
            (uint8_t)(((uint32_t)i * 2654435761u + seed * 97) >> 24);
}

void bed_init(struct bed *bed, bool sparse)
{
    const struct file_options options = { .cache_size = CACHE, .nthreads = 1 };
    const struct file_params params = {
        .chunk = { .typesize = 4,
                   .codec = 1,
                   .clevel = 5,
                   .split_mode = CHUNK_SPLIT_FORWARD },
        .chunksize = CHUNKSIZE,
    };
    struct fault fault;

    *bed = (struct bed){ .disk = disk_new(sparse) };
    ck_assert_int_eq(file_context_new(&options, &bed->context), 0);
    ck_assert_int_eq(give_file_create(bed->context, disk_store(bed->disk),
                                      &params, &bed->file, &fault),
                     0);
}

void bed_fini(struct bed *bed)
{
    ck_assert_int_eq(file_close(bed->file), 0);
    file_context_free(bed->context);
    disk_free(bed->disk);
}

void bed_write(struct bed *bed, uint64_t off, size_t len, uint32_t seed)
{
    struct fault fault;

    make_bytes(bed, off, len, seed);
    /* A write first checks the frame on the disk, and that call may fail. */
    if (file_write(bed->file, off, bed->bytes + off, len, &fault) < 0)
        ck_assert_int_eq(
            file_write(bed->file, off, bed->bytes + off, len, &fault), 0);
    if (off + len > bed->size)
        bed->size = off + len;
}

void bed_sync(struct bed *bed)
{
    struct fault fault;

    ck_assert_int_eq(file_sync(bed->file, &fault), 0);
}

void bed_fail_call(struct bed *bed, size_t call, int error)
{
    bed->bad_call = disk_ncalls(bed->disk) + call;
    disk_fail(bed->disk, bed->bad_call, 1, error);
}

bool bed_end_failing(struct bed *bed)
{
    bool reached = disk_ncalls(bed->disk) > bed->bad_call;

    disk_fail(bed->disk, 0, 0, 0);
    return reached;
}

void bed_fail_each(bool (*trial)(bool variant, size_t call))
{
    for (int variant = 0; variant < 2; variant++) {
        size_t call = 0;

        while (trial(variant, call))
            call++;
        ck_assert_uint_gt(call, CALLS_MIN);
    }
}

void bed_check_file(const struct bed *bed, struct file *file)
{
    struct file_data data;
    struct fault fault;

    ck_assert_uint_eq(file_size(file), bed->size);
    ck_assert_int_eq(file_read(file, NULL, &(struct file_range){ 0, bed->size },
                               &data, &fault),
                     0);
    ck_assert_int_eq(data.error, 0);
    ck_assert_uint_eq(data.len, bed->size);
    for (size_t i = 0, at = 0; i < data.niov; at += data.iov[i++].iov_len)
        ck_assert_mem_eq(data.iov[i].iov_base, bed->bytes + at,
                         data.iov[i].iov_len);
    file_data_put(file, &data);
}

void bed_check(const struct bed *bed)
{
    struct fault fault;
    struct file *file;

    bed_check_file(bed, bed->file);
    ck_assert_int_eq(
        give_file_open(bed->context, disk_store(bed->disk), 0, &file, &fault),
        0);
    bed_check_file(bed, file);
    ck_assert_int_eq(file_close(file), 0);
}
