/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "bed.h"
#include "file/file.h"
#include "give_store.h"
#include "state/file_private.h"
#include "store/store_local.h"
#include "suite.h"
#include "writeback/file_writeback.h"

enum {
    CHUNKSIZE = 64 * 1024,
    SIZE = 20 * CHUNKSIZE + 777,
};

START_TEST(pinned_bytes_do_not_change)
{
    struct file_data data;
    struct fault fault;
    struct bed bed;
    uint8_t *old;

    bed_new(&bed, false);
    bed_write(&bed, 0, 3 * CHUNKSIZE);
    old = malloc(3 * CHUNKSIZE);
    memcpy(old, bed.model, 3 * CHUNKSIZE);
    ck_assert_int_eq(file_read(bed.file, NULL,
                               &(struct file_range){ 0, 3 * CHUNKSIZE }, &data,
                               &fault),
                     0);
    bed_write(&bed, 100, 2 * CHUNKSIZE);
    bed_sync(&bed);
    bed_truncate(&bed, CHUNKSIZE + 5);
    for (size_t i = 0, at = 0; i < data.niov; at += data.iov[i++].iov_len)
        ck_assert_mem_eq(data.iov[i].iov_base, old + at, data.iov[i].iov_len);
    ck_assert_uint_eq(data.len, 3 * CHUNKSIZE);
    bed_check(&bed);
    file_data_put(bed.file, &data);
    bed_check(&bed);
    free(old);
    bed_fini(&bed);
}
END_TEST

START_TEST(zeros_take_no_space)
{
    struct fault fault;
    struct bed bed;
    uint64_t off;

    bed_new(&bed, false);
    bed_write(&bed, 0, 4 * CHUNKSIZE);
    bed_zero(&bed, CHUNKSIZE, 2 * CHUNKSIZE);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(file_seek(bed.file, 0, true, &off, &fault), 0);
        ck_assert_uint_eq(off, CHUNKSIZE);
        ck_assert_int_eq(file_seek(bed.file, off, false, &off, &fault), 0);
        ck_assert_uint_eq(off, 3 * CHUNKSIZE);
        bed_sync(&bed);
    }
    bed_truncate(&bed, 0);
    bed_truncate(&bed, SIZE);
    bed_check(&bed);
    ck_assert_int_eq(file_seek(bed.file, 0, false, &off, &fault), -ENXIO);
    bed_reopen(&bed);
    bed_check(&bed);
    bed_fini(&bed);
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
        size_t len = strlen(want);
        uint8_t *content;

        ck_assert_int_eq(metalayer_read(frame, layer, 1000, &content, &fault),
                         (ssize_t)len);
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
        bed_init(&bed, &(struct bed_kind){ .sparse = sparse });
        ck_assert_int_eq(
            file_meta_set(bed.file,
                          &(struct file_meta){ METALAYER_VL, "a", "alpha", 5 },
                          &fault),
            0);
        check_meta(&bed, "a", "alpha");
        bed_write(&bed, 0, 100000);
        bed_sync(&bed);
        check_meta(&bed, "a", "alpha");
        ck_assert_int_eq(
            file_meta_set(bed.file,
                          &(struct file_meta){ METALAYER_VL, "b", "beta", 4 },
                          &fault),
            0);
        ck_assert_int_eq(file_meta_remove(bed.file, "a", &fault), 0);
        ck_assert_int_eq(file_meta_remove(bed.file, "a", &fault), -ENOENT);
        ck_assert_int_eq(
            file_meta_set(bed.file,
                          &(struct file_meta){ METALAYER_FIXED, "c", "x", 1 },
                          &fault),
            -ENOENT);
        bed_check(&bed);
        bed_reopen(&bed);
        check_meta(&bed, "a", NULL);
        check_meta(&bed, "b", "beta");
        bed_check(&bed);
        bed_fini(&bed);
    }
}
END_TEST

START_TEST(chunks_are_inserted_deleted_and_reordered)
{
    static const uint64_t order[] = { 2, 0, 1 };
    uint8_t *chunk = malloc(CHUNKSIZE);
    struct fault fault;
    struct bed bed;

    bed_new(&bed, false);
    bed_write(&bed, 0, 2 * CHUNKSIZE);
    memset(chunk, 'x', CHUNKSIZE);
    ck_assert_int_eq(file_chunk_insert(bed.file, 1, chunk, CHUNKSIZE, &fault),
                     0);
    memmove(bed.model + 2 * CHUNKSIZE, bed.model + CHUNKSIZE, CHUNKSIZE);
    memcpy(bed.model + CHUNKSIZE, chunk, CHUNKSIZE);
    bed.size += CHUNKSIZE;
    bed_check(&bed);

    ck_assert_int_eq(file_chunk_reorder(bed.file, order, 3, &fault), 0);
    memcpy(chunk, bed.model + 2 * CHUNKSIZE, CHUNKSIZE);
    memmove(bed.model + CHUNKSIZE, bed.model, 2 * CHUNKSIZE);
    memcpy(bed.model, chunk, CHUNKSIZE);
    bed_check(&bed);

    bed_write(&bed, 10, 5);
    ck_assert_int_eq(file_chunk_delete(bed.file, 1, &fault), 0);
    memmove(bed.model + CHUNKSIZE, bed.model + 2 * CHUNKSIZE, CHUNKSIZE);
    memset(bed.model + 2 * CHUNKSIZE, 0, CHUNKSIZE);
    bed.size -= CHUNKSIZE;
    bed_check(&bed);
    ck_assert_int_eq(file_chunk_delete(bed.file, 2, &fault), -ERANGE);
    bed_write(&bed, CHUNKSIZE - 10, 500);
    bed_reopen(&bed);
    bed_check(&bed);
    free(chunk);
    bed_fini(&bed);
}
END_TEST

START_TEST(a_file_is_extended_but_not_cut)
{
    struct fault fault;
    struct bed bed;

    bed_new(&bed, false);
    bed_write(&bed, 0, 3 * CHUNKSIZE + 55);
    ck_assert_int_eq(file_extend(bed.file, CHUNKSIZE, &fault), 0);
    bed_check(&bed);
    bed.size = 5 * CHUNKSIZE + 7;
    ck_assert_int_eq(file_extend(bed.file, bed.size, &fault), 0);
    bed_check(&bed);
    bed_reopen(&bed);
    bed_check(&bed);
    bed_fini(&bed);
}
END_TEST

START_TEST(bytes_are_copied_between_files)
{
    struct fault fault;
    struct bed from;
    struct bed to;
    uint64_t done;

    bed_new(&from, false);
    bed_new(&to, true);
    bed_write(&from, 0, 6 * CHUNKSIZE + 55);
    bed_zero(&from, CHUNKSIZE, CHUNKSIZE);
    ck_assert_int_eq(file_copy(&(struct file_copy){ from.file, 0, to.file, 0,
                                                    UINT64_MAX / 2 },
                               &done, &fault),
                     0);
    ck_assert_uint_eq(done, from.size);
    memcpy(to.model, from.model, from.size);
    to.size = from.size;
    bed_check(&to);
    ck_assert_int_eq(
        file_copy(&(struct file_copy){ from.file, 7, to.file, 2 * CHUNKSIZE,
                                       3 * CHUNKSIZE },
                  &done, &fault),
        0);
    memcpy(to.model + 2 * CHUNKSIZE, from.model + 7, 3 * CHUNKSIZE);
    bed_check(&to);
    bed_reopen(&to);
    bed_check(&to);
    bed_fini(&to);
    bed_fini(&from);
}
END_TEST

static size_t count_encoded(struct file *file)
{
    size_t n = 0;

    pthread_mutex_lock(&file->gate.lock);
    list_for_each(node, &file->writeback->encoded)
        n++;
    pthread_mutex_unlock(&file->gate.lock);
    return n;
}

/* Poll, because the pool sends no signal when it has finished. */
static void await_encoded(struct file *file, size_t n)
{
    const struct timespec pause = { .tv_nsec = 1000000 };

    while (count_encoded(file) < n)
        nanosleep(&pause, NULL);
    ck_assert_uint_eq(count_encoded(file), n);
}

START_TEST(chunks_that_are_full_are_encoded_before_a_commit)
{
    struct bed bed;

    for (int sparse = 0; sparse < 2; sparse++)
        for (uint32_t typesize = 0; typesize < 2; typesize++) {
            const struct bed_kind kind = { .sparse = sparse,
                                           .typesize = typesize };

            bed_init(&bed, &kind);
            for (int i = 0; i < 4; i++)
                bed_write(&bed, (uint64_t)i * CHUNKSIZE, CHUNKSIZE);
            bed_write(&bed, 4 * CHUNKSIZE, CHUNKSIZE - 1);
            /*
             * The chunk from which the typesize was chosen is left to the
             * commit.
             */
            await_encoded(bed.file, typesize == 0 ? 3 : 4);
            bed_write(&bed, CHUNKSIZE, CHUNKSIZE);
            bed_truncate(&bed, 2 * CHUNKSIZE + 5);
            bed_sync(&bed);
            ck_assert_uint_eq(count_encoded(bed.file), 0);
            bed_check(&bed);
            bed_reopen(&bed);
            bed_check(&bed);
            bed_fini(&bed);
        }
}
END_TEST

/* Change the frame as another program would. */
static void write_by_others(struct bed *bed, uint64_t off, const void *bytes,
                            size_t len)
{
    struct file_context *context;
    struct fault fault;
    struct file *file;

    ck_assert_int_eq(file_context_new(&file_default_options, &context), 0);
    ck_assert_int_eq(give_file_open_writable(
                         context, bed_store(bed, STORE_WRITE), &file, &fault),
                     0);
    ck_assert_int_eq(file_write(file, off, bytes, len, &fault), 0);
    ck_assert_int_eq(file_close(file), 0);
    file_context_free(context);
    memcpy(bed->model + off, bytes, len);
}

static void change_by_others(struct bed *bed)
{
    write_by_others(bed, bed->size, "other", 5);
}

/* The same, by a program that knows nothing of leases. */
static void change_without_lease(struct bed *bed)
{
    struct frame_writer *writer;
    struct frame *frame;
    struct frame *next;
    struct fault fault;

    ck_assert_int_eq(
        give_frame_open(bed_store(bed, STORE_WRITE), 0, &frame, &fault), 0);
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
    struct bed bed;
    uint64_t off;
    uint64_t end;

    for (int sparse = 0; sparse < 2; sparse++) {
        bed_new(&bed, sparse);
        bed_write(&bed, 0, 3 * CHUNKSIZE + 10);
        bed_sync(&bed);
        ck_assert_int_eq(file_write(bed.file, CHUNKSIZE, "lost", 4, &fault), 0);
        change_without_lease(&bed);
        ck_assert_int_eq(file_sync(bed.file, &fault), -ESTALE);
        ck_assert_ptr_nonnull(fault.what);
        ck_assert_uint_eq(file_dirty(bed.file), 0);
        ck_assert(file_unsaved(bed.file, &off, &end));
        ck_assert_uint_eq(off, CHUNKSIZE);
        ck_assert_uint_eq(end, 2 * CHUNKSIZE);
        ck_assert_int_eq(file_write(bed.file, 0, "x", 1, &fault), -ESTALE);
        ck_assert_int_eq(file_truncate(bed.file, 0, &fault), -ESTALE);
        ck_assert_int_eq(file_sync(bed.file, &fault), -ESTALE);
        file_discard(bed.file);
        ck_assert_int_eq(give_file_open_writable(bed.context,
                                                 bed_store(&bed, STORE_WRITE),
                                                 &bed.file, &fault),
                         0);
        bed_check(&bed);
        bed_fini(&bed);
    }
}
END_TEST

START_TEST(a_frame_that_others_changed_since_it_was_opened_is_not_changed)
{
    struct fault fault;
    struct bed bed;

    for (int sparse = 0; sparse < 2; sparse++) {
        bed_new(&bed, sparse);
        bed_write(&bed, 0, 3 * CHUNKSIZE + 10);
        bed_reopen(&bed);
        change_by_others(&bed);
        ck_assert_int_eq(file_write(bed.file, CHUNKSIZE, "x", 1, &fault),
                         -ESTALE);
        ck_assert_ptr_nonnull(fault.what);
        ck_assert_int_eq(file_truncate(bed.file, 0, &fault), -ESTALE);
        ck_assert(!file_is_own(bed.file));
        bed.size += 5;
        bed_reopen(&bed);
        bed_check(&bed);
        bed_fini(&bed);
    }
}
END_TEST

START_TEST(a_superseded_file_writes_nothing_any_more)
{
    struct fault fault;
    struct bed bed;

    for (int sparse = 0; sparse < 2; sparse++)
        for (int begun = 0; begun < 2; begun++) {
            bed_new(&bed, sparse);
            bed_write(&bed, 0, 3 * CHUNKSIZE + 10);
            bed_reopen(&bed);
            /*
             * Write half a chunk, because a thread might be storing a whole one
             * already.
             */
            if (begun)
                ck_assert_int_eq(file_write(bed.file, 0, bed.model + 1,
                                            CHUNKSIZE / 2, &fault),
                                 0);
            ck_assert_int_eq(file_supersede(bed.file, false), !begun);
            if (begun) {
                change_without_lease(&bed);
                ck_assert(file_supersede(bed.file, false));
            }
            ck_assert_uint_eq(file_dirty(bed.file), 0);
            ck_assert_int_eq(file_sync(bed.file, &fault), begun ? -ESTALE : 0);
            ck_assert_int_eq(file_write(bed.file, 9, "x", 1, &fault), -ESTALE);
            ck_assert(!file_is_own(bed.file));
            bed_reopen(&bed);
            bed_check(&bed);
            bed_fini(&bed);
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
    struct bed bed;

    bed_new(&bed, true);
    make_noise(noise, &bed.random);
    ck_assert_int_eq(file_write(bed.file, 0, noise, CHUNKSIZE, &fault), 0);
    bed_sync(&bed);
    bed.size = CHUNKSIZE;
    make_noise(noise, &bed.random);
    write_by_others(&bed, 0, noise, CHUNKSIZE);
    ck_assert(!file_is_own(bed.file));
    ck_assert_int_eq(file_write(bed.file, 1, "lost", 4, &fault), -ESTALE);
    bed_reopen(&bed);
    bed_check(&bed);
    bed_fini(&bed);
    free(noise);
}
END_TEST

static off_t stored_size(const struct bed *bed)
{
    struct stat st;

    ck_assert_int_eq(fstatat(bed->fd, "f.b2frame", &st, 0), 0);
    return st.st_size;
}

/* A frame with more unused than used space is rewritten when it is closed. */
START_TEST(a_frame_that_others_have_opened_keeps_its_place)
{
    uint64_t *noise = malloc(CHUNKSIZE);
    struct fault fault;
    struct file *other;
    struct bed bed;
    off_t size;

    bed_new(&bed, false);
    make_noise(noise, &bed.random);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(file_write(bed.file, (uint64_t)i * CHUNKSIZE, noise,
                                    CHUNKSIZE, &fault),
                         0);
    bed_sync(&bed);
    ck_assert_int_eq(file_zero(bed.file, 0, 3 * CHUNKSIZE, &fault), 0);
    bed_sync(&bed);
    size = stored_size(&bed);
    ck_assert_int_gt(size, 4 * CHUNKSIZE);
    ck_assert_int_eq(give_file_open_writable(bed.context,
                                             bed_store(&bed, STORE_WRITE),
                                             &other, &fault),
                     0);
    ck_assert_int_eq(file_close(bed.file), 0);
    ck_assert_int_eq(stored_size(&bed), size);
    ck_assert_int_eq(file_write(other, 0, "x", 1, &fault), 0);
    ck_assert_int_eq(file_close(other), 0);
    ck_assert_int_lt(stored_size(&bed), 2 * CHUNKSIZE);
    bed.model[0] = 'x';
    memcpy(bed.model + 3 * CHUNKSIZE, noise, CHUNKSIZE);
    bed.size = 4 * CHUNKSIZE;
    ck_assert_int_eq(give_file_open_writable(bed.context,
                                             bed_store(&bed, STORE_WRITE),
                                             &bed.file, &fault),
                     0);
    bed_check(&bed);
    bed_fini(&bed);
    free(noise);
}
END_TEST

START_TEST(chunks_too_large_for_the_cache_are_refused_at_open)
{
    const struct file_options options = { .cache_size = 1 << 20,
                                          .nthreads = 1 };
    const struct file_params params = { .chunk = { .typesize = 1 },
                                        .chunksize = 1 << 20 };
    struct file_context *small;
    struct fault fault;
    struct store *store;
    struct file *file;
    struct bed bed;
    char text[256];

    bed_init(&bed, &(struct bed_kind){ .typesize = 1, .chunksize = 1 << 20 });
    bed_write(&bed, 0, 100);
    bed_sync(&bed);
    ck_assert_int_eq(file_context_new(&options, &small), 0);
    store = bed_store(&bed, STORE_WRITE);
    ck_assert_int_eq(file_open_writable(small, store, &file, &fault), -ENOTSUP);
    fault_format(&fault, -ENOTSUP, text, sizeof(text));
    ck_assert_str_eq(text, "offset 0: chunks are too large to be written "
                           "(1048576 bytes with a cache of 1048576)");
    ck_assert_int_eq(file_create(small, store, &params, &file, &fault),
                     -ENOTSUP);
    store_close(store);
    file_context_free(small);
    bed_fini(&bed);
}
END_TEST

START_TEST(files_not_opened_for_writing_are_not_changed)
{
    struct fault fault;
    struct bed bed;
    struct store *store;
    struct file *file;

    bed_new(&bed, false);
    bed_write(&bed, 0, 1000);
    bed_sync(&bed);
    store = bed_store(&bed, 0);
    ck_assert_int_eq(give_file_open(bed.context, store, 0, &file, &fault), 0);
    ck_assert_int_eq(file_write(file, 0, "x", 1, &fault), -EROFS);
    ck_assert_int_eq(file_truncate(file, 0, &fault), -EROFS);
    ck_assert_uint_eq(file_size(file), 1000);
    ck_assert_int_eq(file_close(file), 0);
    bed_fini(&bed);
}
END_TEST

/* Otherwise it would be opened a second time while its first change is made. */
START_TEST(a_file_that_nobody_has_changed_is_ones_own)
{
    struct file *other;
    struct fault fault;
    struct bed bed;

    for (int sparse = 0; sparse < 2; sparse++) {
        bed_new(&bed, sparse);
        bed_write(&bed, 0, 1000);
        ck_assert(file_is_own(bed.file));
        bed_reopen(&bed);
        ck_assert(file_is_own(bed.file));
        ck_assert_int_eq(give_file_open_writable(bed.context,
                                                 bed_store(&bed, STORE_WRITE),
                                                 &other, &fault),
                         0);
        ck_assert_int_eq(file_write(other, 1000, "x", 1, &fault), 0);
        ck_assert_int_eq(file_close(other), 0);
        ck_assert(!file_is_own(bed.file));
        bed_fini(&bed);
    }
}
END_TEST

START_TEST(typesize_is_that_of_the_content)
{
    struct fault fault;
    struct frame *frame;
    struct bed bed;
    uint32_t *numbers = malloc(CHUNKSIZE);

    bed_init(&bed, &(struct bed_kind){ .sparse = false });
    for (uint32_t i = 0; i < CHUNKSIZE / 4; i++)
        numbers[i] = i * 77;
    ck_assert_int_eq(file_write(bed.file, 0, numbers, CHUNKSIZE, &fault), 0);
    bed_sync(&bed);
    frame = file_frame_get(bed.file);
    ck_assert_uint_eq(frame_get_info(frame)->typesize, 4);
    file_frame_put(bed.file, frame);
    free(numbers);
    bed_fini(&bed);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        pinned_bytes_do_not_change,
        zeros_take_no_space,
        vlmetalayers_stay_when_the_first_bytes_come,
        chunks_are_inserted_deleted_and_reordered,
        a_file_is_extended_but_not_cut,
        bytes_are_copied_between_files,
        chunks_that_are_full_are_encoded_before_a_commit,
        what_was_written_to_a_frame_that_others_changed_is_dropped,
        a_frame_that_others_changed_since_it_was_opened_is_not_changed,
        a_superseded_file_writes_nothing_any_more,
        a_sparse_frame_whose_index_others_replaced_is_not_changed,
        a_frame_that_others_have_opened_keeps_its_place,
        chunks_too_large_for_the_cache_are_refused_at_open,
        files_not_opened_for_writing_are_not_changed,
        a_file_that_nobody_has_changed_is_ones_own,
        typesize_is_that_of_the_content,
        NULL,
    };

    return suite_run("writeback", tests);
}
