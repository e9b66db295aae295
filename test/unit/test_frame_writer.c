/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/chunk_format.h"
#include "chunk/codec.h"
#include "chunk/filter.h"
#include "frame/metalayer.h"
#include "frame_build.h"
#include "frame_examples.h"
#include "frame_open.h"
#include "frame_work.h"
#include "give_store.h"

static void check_bytes(const struct disk *disk, const void *bytes, size_t len)
{
    struct store *store = disk_store((struct disk *)disk);
    struct store_object *object;
    struct store_stat stat;
    uint8_t got[512];

    ck_assert_int_eq(store_open(store, "", &object), 0);
    ck_assert_int_eq(store_object_stat(object, &stat), 0);
    ck_assert_uint_eq(stat.version.size, len);
    ck_assert_int_eq(store_object_read_at(object, 0, got, len), 0);
    ck_assert_mem_eq(got, bytes, len);
    store_object_close(object);
    store_close(store);
}

/* Format: frame.md, 8.1. */
START_TEST(empty_frame_is_that_of_the_documents)
{
    static const struct frame_params params = {
        .chunks = { .typesize = 4,
                    .codec = CODEC_BLOSCLZ,
                    .clevel = 5,
                    .filters = { 0, 0, 0, 0, 0, FILTER_SHUFFLE },
                    .split_mode = CHUNK_SPLIT_FORWARD },
    };
    struct disk *disk = disk_new(false);
    struct frame_writer *writer = new_writer(disk, &params);

    frame_close(commit(writer));
    check_bytes(disk, frame_empty, sizeof(frame_empty));
    frame_writer_close(writer);
    disk_free(disk);
}
END_TEST

START_TEST(blocks_of_a_new_frame_are_whole_items)
{
    static const struct frame_params params = {
        .chunks = { .typesize = 16,
                    .blocksize = 1000,
                    .codec = CODEC_LZ4,
                    .clevel = 5,
                    .split_mode = CHUNK_SPLIT_FORWARD },
        .chunksize = 4096,
    };
    struct disk *disk = disk_new(false);
    struct frame_writer *writer = new_writer(disk, &params);
    struct frame *frame = commit(writer);

    ck_assert_uint_eq(frame_get_info(frame)->blocksize, 992);
    frame_close(frame);
    frame_writer_close(writer);
    disk_free(disk);
}
END_TEST

START_TEST(new_frame_has_no_dead_bytes)
{
    struct work work;
    struct frame_usage usage;

    begin(&work, false, 5);
    usage = frame_writer_get_usage(work.writer);
    ck_assert_uint_eq(usage.live, usage.used);
    ck_assert_uint_eq(usage.used, frame_get_info(work.frame)->frame_len);
    end(&work);
}
END_TEST

START_TEST(metalayers_are_set_before_there_are_chunks)
{
    struct work work;
    struct metalayer_list list;
    struct fault fault;
    uint8_t *content;

    begin(&work, false, 0);
    ck_assert_int_eq(frame_writer_set_metalayer(work.writer, "one", "abc", 3),
                     0);
    ck_assert_int_eq(frame_writer_set_metalayer(work.writer, "two", "", 0), 0);
    commit_work(&work);
    ck_assert_int_eq(
        model_append(&work.model, work.writer, MODEL_CHUNKSIZE, &work.random),
        0);
    commit_work(&work);
    ck_assert_int_eq(frame_writer_set_metalayer(work.writer, "one", "xyz", 3),
                     0);
    ck_assert_int_eq(frame_writer_set_metalayer(work.writer, "one", "xy", 2),
                     -EINVAL);
    ck_assert_int_eq(frame_writer_set_metalayer(work.writer, "new", "xy", 2),
                     -EINVAL);
    commit_work(&work);
    ck_assert_int_eq(metalayer_list_read(work.frame, &list, &fault), 0);
    ck_assert_uint_eq(list.nlayers, 2);
    ck_assert_int_eq(
        metalayer_read(work.frame, &list.layers[0], 9, &content, &fault), 3);
    ck_assert_mem_eq(content, "xyz", 3);
    free(content);
    metalayer_list_free(&list);
    model_check(&work.model, work.frame);
    end(&work);
}
END_TEST

START_TEST(sizes_that_do_not_fit_are_refused)
{
    struct work work;
    struct frame_written written = { .entry = -1, .nbytes = 8 };
    struct fault fault;
    uint64_t order[3] = { 2, 0, 1 };

    begin(&work, false, 2);
    ck_assert_int_eq(frame_writer_put(work.writer, 0, &written), -EINVAL);
    ck_assert_int_eq(frame_writer_insert(work.writer, 1, &written), -EINVAL);
    ck_assert_int_eq(frame_writer_put(work.writer, 2, &written), -ERANGE);
    ck_assert_int_eq(frame_writer_insert(work.writer, 3, &written), -ERANGE);
    ck_assert_int_eq(frame_writer_delete(work.writer, 1, 2), -ERANGE);
    ck_assert_int_eq(model_append(&work.model, work.writer, 8, &work.random),
                     0);
    ck_assert_int_eq(frame_writer_insert(work.writer, 3, &written), -EINVAL);
    ck_assert_int_eq(frame_writer_reorder(work.writer, order), -EINVAL);
    order[0] = 1;
    order[2] = 2;
    order[1] = 1;
    ck_assert_int_eq(frame_writer_reorder(work.writer, order), -EINVAL);
    ck_assert_int_eq(frame_writer_resize(work.writer, 5000, &fault), -EINVAL);
    ck_assert_int_eq(frame_writer_resize(work.writer, UINT64_MAX / 2, &fault),
                     -EFBIG);
    commit_work(&work);
    model_check(&work.model, work.frame);
    end(&work);
}
END_TEST

/* The reference library cannot read an index entry for such a chunk. */
START_TEST(zeros_that_are_no_whole_items_are_stored)
{
    struct work work;
    struct frame_entry entry;
    struct fault fault;

    begin(&work, false, 0);
    ck_assert_int_eq(
        frame_writer_resize(work.writer, 2 * MODEL_CHUNKSIZE + 5, &fault), 0);
    commit_work(&work);
    ck_assert_int_eq(frame_get_entry(work.frame, 1, &entry, &fault), 0);
    ck_assert(entry.special);
    ck_assert_int_eq(frame_get_entry(work.frame, 2, &entry, &fault), 0);
    ck_assert(!entry.special);
    check_chunk(work.frame, 2, "\0\0\0\0\0", 5);
    ck_assert_int_eq(
        frame_writer_resize(work.writer, 2 * MODEL_CHUNKSIZE, &fault), 0);
    commit_work(&work);
    ck_assert_uint_eq(frame_get_info(work.frame)->nchunks, 2);
    end(&work);
}
END_TEST

/* Store a single chunk of zeros, of an odd size. */
static void check_zeros(uint32_t typesize, uint32_t nbytes)
{
    static const uint8_t zeros[3000];
    struct frame_params params = model_params;
    struct work work = { 0 };
    struct frame_entry entry;
    uint8_t head[CHUNK_LONG_HEADER_LEN];
    struct fault fault;
    struct store *store;
    struct store_object *object;

    params.chunks.typesize = typesize;
    params.chunksize = 12 * typesize;
    work.disk = disk_new(false);
    work.writer = new_writer(work.disk, &params);
    ck_assert_int_eq(frame_writer_resize(work.writer, nbytes, &fault), 0);
    work.frame = commit(work.writer);
    check_chunk(work.frame, 0, zeros, nbytes);
    ck_assert_int_eq(frame_get_entry(work.frame, 0, &entry, &fault), 0);
    if (!entry.special) {
        store = disk_store(work.disk);
        ck_assert_int_eq(store_open(store, "", &object), 0);
        ck_assert_int_eq(
            store_object_read_at(object, entry.place, head, sizeof(head)), 0);
        ck_assert_uint_eq(head[3], typesize < 256 ? typesize : 1);
        if (typesize > 255)
            ck_assert_uint_eq(head[31] >> CHUNK_BFLAG_SPECIAL_SHIFT & 7, 0);
        store_object_close(object);
        store_close(store);
    }
    end(&work);
}

/*
 * The reference library cannot open a frame whose first chunk has another
 * typesize.
 */
START_TEST(zeros_that_are_stored_have_the_typesize_of_the_frame)
{
    static const uint32_t typesizes[] = { 1, 2, 3, 4, 16, 250, 300 };

    for (size_t i = 0; i < sizeof(typesizes) / sizeof(typesizes[0]); i++)
        for (uint32_t n = 1; n < 10 * typesizes[i]; n = n * 5 / 4 + 1)
            check_zeros(typesizes[i], n);
}
END_TEST

START_TEST(chunk_written_before_the_frame_moved_is_stale)
{
    uint8_t chunk[32] = { 5, 1, 5, 4 };
    struct frame_written written;
    struct frame *frame;
    struct work work;
    struct fault fault;

    chunk[4] = chunk[8] = 64;
    chunk[12] = 32;
    chunk[31] = 0x10;
    begin(&work, false, 1);
    ck_assert_int_eq(
        frame_writer_write(work.writer, chunk, sizeof(chunk), &written, &fault),
        0);
    ck_assert_int_eq(frame_writer_compact(work.writer, &frame, &fault), 0);
    ck_assert_int_eq(frame_writer_insert(work.writer, 1, &written), -ESTALE);
    frame_writer_drop(work.writer, &written);
    frame_close(work.frame);
    work.frame = frame;
    end(&work);
}
END_TEST

START_TEST(frame_that_others_changed_is_not_committed)
{
    struct work work;
    struct store *store;
    struct store_object *object;
    struct frame *frame;
    struct fault fault;

    begin(&work, false, 2);
    ck_assert_int_eq(frame_writer_delete(work.writer, 0, 1), 0);
    store = disk_store(work.disk);
    ck_assert_int_eq(store_open(store, "", &object), 0);
    ck_assert_int_eq(store_object_write(object, 0x17, "\xFF", 1), 0);
    ck_assert_int_eq(frame_writer_commit(work.writer, &frame, &fault), -ESTALE);
    store_object_close(object);
    store_close(store);
    end(&work);
}
END_TEST

/* Copy a file of the test data to a disk. */
static struct disk *disk_of_data(const char *name)
{
    char path[SUITE_DATA_MAX];
    struct disk *disk;
    uint8_t *bytes;
    size_t len;

    suite_data_path(path, "frames/%s", name);
    bytes = suite_read(path, &len);
    disk = disk_of(bytes, len);
    free(bytes);
    return disk;
}

static void check_same(struct frame *a, struct frame *b)
{
    uint8_t *x = malloc(1 << 20);
    uint8_t *y = malloc(1 << 20);
    struct fault fault;
    size_t x_len;
    size_t y_len;

    ck_assert(x && y);
    ck_assert_uint_eq(frame_get_info(a)->nchunks, frame_get_info(b)->nchunks);
    for (uint64_t i = 0; i < frame_get_info(a)->nchunks; i++) {
        ck_assert_int_eq(read_chunk(a, i, x, 1 << 20, &x_len, &fault), 0);
        ck_assert_int_eq(read_chunk(b, i, y, 1 << 20, &y_len, &fault), 0);
        ck_assert_uint_eq(x_len, y_len);
        ck_assert_mem_eq(x, y, x_len);
    }
    free(x);
    free(y);
}

/* A change of something else leaves the chunks of a frame unchanged. */
static void change_data(const char *name)
{
    struct disk *disk = disk_of_data(name);
    struct frame_writer *writer;
    struct frame *before;
    struct frame *after;
    struct fault fault;

    ck_assert_int_eq(give_frame_open(disk_store(disk), 0, &before, &fault), 0);
    ck_assert_int_eq(frame_writer_open(before, &writer, &fault), 0);
    ck_assert_int_eq(frame_writer_set_vlmetalayer(writer, "new", "abc", 3), 0);
    after = commit(writer);
    check_same(before, after);
    ck_assert_int_eq(frame_get_info(after)->format, FRAME_FORMAT_E);
    frame_close(after);
    frame_writer_close(writer);
    ck_assert_int_eq(give_frame_open(disk_store(disk), 0, &after, &fault), 0);
    check_same(before, after);
    for (uint64_t i = 0; i < frame_get_info(after)->nchunks; i++) {
        struct frame_chunk *chunk;

        ck_assert_int_eq(frame_chunk_open(after, i, &chunk, &fault), 0);
        if (chunk->chunk)
            ck_assert_uint_eq(chunk_get_header(chunk->chunk)->header_len, 32);
        frame_chunk_close(chunk);
    }
    frame_close(after);
    frame_close(before);
    disk_free(disk);
}

START_TEST(frame_of_an_old_layout_is_rewritten)
{
    change_data("beta1-meta.b2frame");
    change_data("beta3-usermeta.b2frame");
    change_data("beta4-plain.b2frame");
}
END_TEST

START_TEST(chunks_with_short_headers_are_rewritten)
{
    change_data("short-header-lz4.b2frame");
    change_data("short-header-zstd.b2frame");
    change_data("short-header-zlib.b2frame");
}
END_TEST

/* Format: frame.md, 13. */
START_TEST(frame_inside_a_file_is_not_changed)
{
    struct disk *disk;
    struct frame_writer *writer;
    struct frame *frame;
    struct fault fault;
    uint8_t bytes[8 + 0x84 + 8] = { 0 };
    struct work work;
    struct store *store;
    struct store_object *object;

    begin(&work, false, 0);
    store = disk_store(work.disk);
    ck_assert_int_eq(store_open(store, "", &object), 0);
    ck_assert_int_eq(store_object_read_at(object, 0, bytes + 8, 0x84), 0);
    store_object_close(object);
    store_close(store);
    end(&work);
    disk = disk_of(bytes, sizeof(bytes));
    ck_assert_int_eq(give_frame_open(disk_store(disk), 8, &frame, &fault), 0);
    ck_assert_int_eq(frame_writer_open(frame, &writer, &fault), -EROFS);
    frame_close(frame);
    disk_free(disk);
}
END_TEST

START_TEST(frame_whose_chunks_overlap_is_not_changed)
{
    struct build *chunks = build_new();
    struct frame_writer *writer;
    struct frame *frame;
    struct fault fault;
    struct build *built;
    struct disk *disk;
    const int64_t entries[] = { 0, 0 };

    build_copy(chunks, 4, "0123456789abcdef", 16);
    built = build_frame(&(struct build_frame){
        .chunks = chunks,
        .entries = entries,
        .nentries = 2,
        .nbytes = 32,
        .chunksize = 16,
        .typesize = 4,
    });
    disk = disk_of(built->bytes, built->len);
    ck_assert_int_eq(give_frame_open(disk_store(disk), 0, &frame, &fault), 0);
    ck_assert_int_eq(frame_writer_open(frame, &writer, &fault), -EBADMSG);
    frame_close(frame);
    disk_free(disk);
    free(built);
    free(chunks);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        empty_frame_is_that_of_the_documents,
        blocks_of_a_new_frame_are_whole_items,
        new_frame_has_no_dead_bytes,
        metalayers_are_set_before_there_are_chunks,
        sizes_that_do_not_fit_are_refused,
        zeros_that_are_no_whole_items_are_stored,
        zeros_that_are_stored_have_the_typesize_of_the_frame,
        chunk_written_before_the_frame_moved_is_stale,
        frame_that_others_changed_is_not_committed,
        frame_of_an_old_layout_is_rewritten,
        chunks_with_short_headers_are_rewritten,
        frame_inside_a_file_is_not_changed,
        frame_whose_chunks_overlap_is_not_changed,
        NULL,
    };

    return suite_run("frame change", tests);
}
