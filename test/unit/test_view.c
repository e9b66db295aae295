/* SPDX-License-Identifier: BSD-3-Clause */
#include <unistd.h>

#include "array/npy.h"
#include "base/bytes.h"
#include "file/file_chunk_edit.h"
#include "file_sample.h"
#include "give_store.h"
#include "layout_naive.h"
#include "store/store_local.h"

enum {
    SMALL_CACHE = 256 << 10
};

/* Open a frame of the test data in one of its views. */
static void open_as(struct sample *sample, struct store *store,
                    enum file_view view, size_t cache_size, bool writable)
{
    const struct file_options options = { .cache_size = cache_size,
                                          .nthreads = 2,
                                          .readahead = cache_size / 4,
                                          .view = view };
    struct fault fault = FAULT_NONE;
    int r;

    *sample = (struct sample){ 0 };
    ck_assert_int_eq(file_context_new(&options, &sample->context), 0);
    if (writable)
        r = give_file_open_writable(sample->context, store, &sample->file,
                                    &fault);
    else
        r = give_file_open(sample->context, store, 0, &sample->file, &fault);
    ck_assert_msg(r == 0, "%d: %s", r, fault.what);
    sample->len = file_size(sample->file);
}

static struct store *store_of(const char *path)
{
    struct store *store;
    struct stat st;

    ck_assert_msg(stat(path, &st) == 0, "%s", path);
    ck_assert_int_eq(
        S_ISDIR(st.st_mode)
            ? store_dir_open(AT_FDCWD, path, STORE_FOLLOW, &store)
            : store_file_open(AT_FDCWD, path, STORE_FOLLOW, &store),
        0);
    return store;
}

static uint8_t *read_all(const struct sample *sample)
{
    uint8_t *bytes = malloc(sample->len + 1);
    struct file_data data;
    struct fault fault = FAULT_NONE;
    size_t done = 0;

    while (done < sample->len) {
        int r = file_read(sample->file, NULL,
                          &(struct file_range){ done, 1 << 20 }, &data, &fault);

        ck_assert_msg(r == 0 && data.error == 0, "%d: %s", r, fault.what);
        ck_assert_uint_gt(data.len, 0);
        for (size_t i = 0; i < data.niov; i++) {
            memcpy(bytes + done, data.iov[i].iov_base, data.iov[i].iov_len);
            done += data.iov[i].iov_len;
        }
        file_data_put(sample->file, &data);
    }
    return bytes;
}

/* Return the position of an item in the sequence of chunks. */
static uint64_t place_of(const struct array *array, uint64_t item_no)
{
    struct naive place = find_naively(&array->shape, item_no);

    return place.chunk_no * array->layout.chunk_nitems + place.item;
}

/* Assemble the array of a frame from its chunks, and parse its description. */
static uint8_t *put_together(const char *path, struct array **array,
                             uint64_t len_max, size_t *len)
{
    struct fault fault = FAULT_NONE;
    struct sample chunks;
    struct frame *frame;
    uint8_t *from;
    uint8_t *to;

    open_as(&chunks, store_of(path), FILE_VIEW_CHUNKS, BIG_CACHE, false);
    frame = file_frame_get(chunks.file);
    ck_assert_int_eq(array_read(frame, array, &fault), 0);
    file_frame_put(chunks.file, frame);
    if (!*array || (*array)->layout.nbytes > len_max) {
        sample_close(&chunks);
        return NULL;
    }
    *len = (*array)->layout.nbytes;
    from = read_all(&chunks);
    to = malloc(*len + 1);
    for (uint64_t i = 0; i < (*array)->layout.nitems; i++)
        memcpy(to + i * (*array)->layout.itemsize,
               from + place_of(*array, i) * (*array)->layout.itemsize,
               (*array)->layout.itemsize);
    free(from);
    sample_close(&chunks);
    return to;
}

/* Compare the whole content, then pieces of it out of order. */
static void check_view(struct sample *sample, const char *path)
{
    struct file_reader reader = { 0 };
    unsigned seed = 1;

    for (size_t off = 0; off < sample->len; off += 777) {
        size_t n = sample->len - off < 777 ? sample->len - off : 777;

        ck_assert_msg(reads_right(sample, &reader, off, n), "%s at %zu", path,
                      off);
    }
    for (int i = 0; i < 50 && sample->len > 0; i++) {
        size_t off = (unsigned)rand_r(&seed) % sample->len;
        size_t n = (unsigned)rand_r(&seed) % (sample->len - off + 1);

        ck_assert_msg(reads_right(sample, NULL, off, n), "%s at %zu", path,
                      off);
    }
    file_reader_end(&reader);
}

static void check_array(const char *path)
{
    struct array *array = NULL;
    struct sample sample;
    uint8_t *header;
    uint8_t *npy;
    size_t header_len;
    size_t len;
    uint8_t *content = put_together(path, &array, 4 << 20, &len);

    if (!content) {
        array_free(array);
        return;
    }
    open_as(&sample, store_of(path), FILE_VIEW_ARRAY, SMALL_CACHE, false);
    ck_assert_uint_eq(sample.len, len);
    sample.content = content;
    check_view(&sample, path);
    sample_close(&sample);
    array_free(array);

    content = put_together(path, &array, 4 << 20, &len);
    ck_assert_int_eq(npy_header(array, &header, &header_len), 0);
    npy = malloc(header_len + len);
    memcpy(npy, header, header_len);
    memcpy(npy + header_len, content, len);
    free(header);
    free(content);
    open_as(&sample, store_of(path), FILE_VIEW_NPY, SMALL_CACHE, false);
    ck_assert_uint_eq(sample.len, header_len + len);
    sample.content = npy;
    check_view(&sample, path);
    sample_close(&sample);
    array_free(array);
}

static const char *const frames[] = {
    "nd0-scalar-i1-0.b2nd",
    "full-17.b2nd",
    "uninit-18-dir.b2nd",
    "empty-19.b2nd",
    "zeros-20.b2nd",
    "nd8-2x2x3x2x2x2x2x3-bei4-0.b2nd",
    "nd-cut-dir.b2nd",
    "nd16.b2nd",
    "nd12.b2nd",
    "v2105-5d.b2nd",
    "nd8-2x2x3x2x2x2x2x3-dt64-1.b2nd",
    "caterva.b2frame",
};

START_TEST(arrays_of_other_programs_show_in_c_order)
{
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        char path[SUITE_DATA_MAX];

        suite_data_path(path, "frames/%s", frames[i]);
        check_array(path);
    }
}
END_TEST

START_TEST(frames_that_are_no_arrays_show_their_chunks)
{
    struct sample sample;
    char path[SUITE_DATA_MAX];

    suite_data_path(path, "frames/medley-4.b2frame");
    open_as(&sample, store_of(path), FILE_VIEW_NPY, BIG_CACHE, false);
    suite_data_path(path, "unit/medley-4.raw");
    sample.content = suite_read(path, &sample.len);
    ck_assert_uint_eq(file_size(sample.file), sample.len);
    check_view(&sample, path);
    sample_close(&sample);
}
END_TEST

/* An array in a directory of its own. */
struct place {
    char dir[SUITE_PATH_MAX];
    char path[SUITE_PATH_MAX + 16];
    int fd; /* the directory */
    bool sparse;
    struct layout_shape shape;
    uint32_t itemsize;
};

static void place_init(struct place *place, const struct layout_shape *shape,
                       uint32_t itemsize, bool sparse)
{
    *place = (struct place){ .shape = *shape,
                             .itemsize = itemsize,
                             .sparse = sparse };
    suite_make_dir(place->dir);
    snprintf(place->path, sizeof(place->path), "%s/a.b2nd", place->dir);
    place->fd = open(place->dir, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(place->fd, 0);
}

static void place_fini(struct place *place)
{
    close(place->fd);
    suite_remove_dir(place->dir);
}

static struct store *place_store(struct place *place, unsigned flags)
{
    struct store *store;
    int r;

    if (place->sparse && (flags & STORE_NEW))
        ck_assert_int_eq(mkdir(place->path, 0700), 0);
    if (place->sparse)
        r = store_dir_open(place->fd, "a.b2nd", flags & ~(unsigned)STORE_NEW,
                           &store);
    else
        r = store_file_open(place->fd, "a.b2nd", flags, &store);
    ck_assert_int_eq(r, 0);
    return store;
}

/* Make the array, filled with zeros, and open it for writing. */
static void place_create(struct place *place, enum file_view view,
                         size_t cache_size, struct sample *sample)
{
    const struct file_options options = { .cache_size = cache_size,
                                          .nthreads = 2,
                                          .view = view };
    const struct file_array array = { .shape = place->shape, .dtype = "|V1" };
    const struct file_params params = {
        .chunk = { .typesize = place->itemsize,
                   .codec = 1,
                   .clevel = 5,
                   .filters = { 0, 0, 0, 0, 0, 1 },
                   .split_mode = CHUNK_SPLIT_FORWARD },
        .array = &array,
    };
    struct fault fault = FAULT_NONE;
    int r;

    *sample = (struct sample){ 0 };
    ck_assert_int_eq(file_context_new(&options, &sample->context), 0);
    r = give_file_create(sample->context,
                         place_store(place, STORE_WRITE | STORE_NEW), &params,
                         &sample->file, &fault);
    ck_assert_msg(r == 0, "%d: %s", r, fault.what);
    sample->len = file_size(sample->file);
}

/* Write random pieces both to the file and to its model. */
static void scribble(struct sample *sample, unsigned seed, int n)
{
    struct fault fault = FAULT_NONE;
    uint8_t bytes[5000];

    for (int i = 0; i < n; i++) {
        size_t off = (unsigned)rand_r(&seed) % sample->len;
        size_t len = (unsigned)rand_r(&seed) % sizeof(bytes);

        if (len > sample->len - off)
            len = sample->len - off;
        for (size_t j = 0; j < len; j++)
            bytes[j] = (uint8_t)rand_r(&seed);
        if (i % 5 == 4) {
            memset(bytes, 0, len);
            ck_assert_int_eq(file_zero(sample->file, off, len, &fault), 0);
        } else {
            ck_assert_int_eq(file_write(sample->file, off, bytes, len, &fault),
                             0);
        }
        memcpy(sample->content + off, bytes, len);
        if (i % 7 == 6)
            ck_assert_int_eq(file_sync(sample->file, &fault), 0);
    }
}

static const struct layout_shape shapes[] = {
    { 1, { 10000 }, { 3000 }, { 700 } },
    { 2, { 120, 300 }, { 50, 128 }, { 16, 32 } },
    { 2, { 100, 100 }, { 100, 100 }, { 1, 100 } },
    { 3, { 17, 19, 23 }, { 7, 6, 23 }, { 3, 6, 23 } },
    { 4, { 5, 6, 7, 8 }, { 9, 4, 3, 8 }, { 2, 3, 2, 3 } },
};

enum {
    NSHAPES = sizeof(shapes) / sizeof(shapes[0])
};

static void check_written(const struct layout_shape *shape, uint32_t itemsize,
                          bool sparse)
{
    struct array *array = NULL;
    struct sample sample;
    uint8_t *content;
    struct place place;
    size_t len;

    place_init(&place, shape, itemsize, sparse);
    place_create(&place, FILE_VIEW_ARRAY, BIG_CACHE, &sample);
    sample.content = calloc(1, sample.len);
    check_view(&sample, place.path);
    scribble(&sample, itemsize, 40);
    check_view(&sample, place.path);
    ck_assert_int_eq(file_close(sample.file), 0);
    file_context_free(sample.context);
    content = sample.content;

    /* Repeat that with the stored frame. */
    open_as(&sample, place_store(&place, STORE_WRITE), FILE_VIEW_ARRAY,
            BIG_CACHE, true);
    sample.content = content;
    check_view(&sample, place.path);
    scribble(&sample, itemsize + 1, 40);
    ck_assert_int_eq(file_close(sample.file), 0);
    file_context_free(sample.context);

    content = put_together(place.path, &array, UINT64_MAX, &len);
    ck_assert_uint_eq(len, sample.len);
    ck_assert_mem_eq(content, sample.content, len);
    free(content);
    free(sample.content);
    array_free(array);
    place_fini(&place);
}

START_TEST(what_is_written_lies_where_the_format_has_it)
{
    for (int i = 0; i < NSHAPES; i++) {
        check_written(&shapes[i], 1, false);
        check_written(&shapes[i], 8, i % 2);
        check_written(&shapes[i], 15, true);
    }
}
END_TEST

static uint64_t count_decoded(const struct sample *sample)
{
    struct cache_stats stats;

    cache_get_stats(sample->context->cache, &stats);
    return stats.decoded;
}

/* Make an array of noise, and open it for reading. */
static void open_noise(struct place *place, const struct layout_shape *shape,
                       uint32_t itemsize, size_t cache_size,
                       struct sample *sample)
{
    struct fault fault = FAULT_NONE;
    uint8_t *content;
    unsigned seed = 3;

    place_init(place, shape, itemsize, false);
    place_create(place, FILE_VIEW_ARRAY, BIG_CACHE, sample);
    content = malloc(sample->len);
    for (size_t i = 0; i < sample->len; i++)
        content[i] = (uint8_t)rand_r(&seed);
    ck_assert_int_eq(file_write(sample->file, 0, content, sample->len, &fault),
                     0);
    ck_assert_int_eq(file_close(sample->file), 0);
    file_context_free(sample->context);
    open_as(sample, place_store(place, 0), FILE_VIEW_ARRAY, cache_size, false);
    sample->content = content;
}

START_TEST(a_row_decodes_only_the_blocks_it_crosses)
{
    const struct layout_shape shape = {
        2, { 1000, 1000 }, { 400, 300 }, { 50, 100 }
    };
    struct sample sample;
    struct place place;

    open_noise(&place, &shape, 1, BIG_CACHE, &sample);
    ck_assert(reads_right(&sample, NULL, 420 * 1000, 1000));
    /* Three blocks in each of three chunks, and one more in the last chunk. */
    ck_assert_uint_eq(count_decoded(&sample), 10);
    ck_assert(reads_right(&sample, NULL, 449 * 1000, 1000));
    ck_assert_uint_eq(count_decoded(&sample), 10);
    ck_assert(reads_right(&sample, NULL, 450 * 1000 + 150, 1));
    ck_assert_uint_eq(count_decoded(&sample), 11);
    sample_close(&sample);
    place_fini(&place);
}
END_TEST

START_TEST(a_scan_decodes_each_block_once_if_a_row_of_chunks_fits)
{
    const struct layout_shape shape = {
        2, { 1000, 1000 }, { 100, 300 }, { 50, 100 }
    };
    struct sample sample;
    struct place place;

    /*
     * A row of chunks has 120000 bytes.  There is no read-ahead, because it may
     * come too late on a busy machine.
     */
    open_noise(&place, &shape, 1, 512 << 10, &sample);
    for (size_t off = 0; off < sample.len; off += 10000)
        ck_assert(reads_right(&sample, NULL, off, 10000));
    ck_assert_uint_eq(count_decoded(&sample), 10 * 2 * 10);
    sample_close(&sample);
    place_fini(&place);
}
END_TEST

START_TEST(the_size_of_an_array_is_fixed)
{
    struct fault fault;
    struct sample sample;
    struct place place;
    uint8_t byte = 1;

    place_init(&place, &shapes[1], 4, false);
    place_create(&place, FILE_VIEW_ARRAY, BIG_CACHE, &sample);
    ck_assert_uint_eq(sample.len, 120 * 300 * 4);
    ck_assert_int_eq(file_write(sample.file, sample.len, &byte, 1, &fault),
                     -EFBIG);
    ck_assert_int_eq(file_truncate(sample.file, sample.len + 1, &fault),
                     -EFBIG);
    ck_assert_int_eq(file_truncate(sample.file, 0, &fault), -EPERM);
    ck_assert_int_eq(file_truncate(sample.file, sample.len, &fault), 0);
    ck_assert_int_eq(file_write(sample.file, sample.len - 1, &byte, 1, &fault),
                     0);
    ck_assert_uint_eq(file_size(sample.file), sample.len);
    ck_assert_int_eq(file_chunk_delete(sample.file, 0, &fault), -EPERM);
    ck_assert_int_eq(
        file_meta_set(sample.file,
                      &(struct file_meta){ METALAYER_FIXED, "b2nd", "", 0 },
                      &fault),
        -EPERM);
    sample_close(&sample);
    place_fini(&place);
}
END_TEST

START_TEST(the_header_can_only_be_written_as_it_is)
{
    struct fault fault;
    struct sample sample;
    struct place place;
    uint8_t bytes[200];

    place_init(&place, &shapes[1], 4, false);
    place_create(&place, FILE_VIEW_NPY, BIG_CACHE, &sample);
    sample.content = read_all(&sample);
    memcpy(bytes, sample.content, 128);
    memset(bytes + 128, 7, 72);
    ck_assert_int_eq(file_write(sample.file, 0, bytes, 200, &fault), 0);
    memset(sample.content + 128, 7, 72);
    check_view(&sample, place.path);
    bytes[100]++;
    ck_assert_int_eq(file_write(sample.file, 0, bytes, 200, &fault), -EPERM);
    ck_assert_int_eq(file_zero(sample.file, 0, 200, &fault), -EPERM);
    check_view(&sample, place.path);
    sample_close(&sample);
    place_fini(&place);
}
END_TEST

static void check_seek(const struct sample *sample, uint64_t off, bool hole,
                       int64_t expected)
{
    struct fault fault = FAULT_NONE;
    uint64_t found = 0;
    int r = file_seek(sample->file, off, hole, &found, &fault);

    ck_assert_int_eq(r < 0 ? r : (int64_t)found, expected);
}

START_TEST(holes_are_chunks_side_by_side)
{
    const struct layout_shape shape = {
        2, { 95, 100 }, { 10, 30 }, { 10, 10 }
    };
    struct fault fault;
    struct sample sample;
    struct place place;
    uint8_t byte = 1;

    place_init(&place, &shape, 1, false);
    place_create(&place, FILE_VIEW_ARRAY, BIG_CACHE, &sample);
    ck_assert_int_eq(file_write(sample.file, 2599, &byte, 1, &fault), 0);
    ck_assert_int_eq(file_write(sample.file, 9250, &byte, 1, &fault), 0);
    for (int committed = 0; committed < 2; committed++) {
        check_seek(&sample, 0, true, 0);
        check_seek(&sample, 0, false, 2000);
        check_seek(&sample, 2500, false, 2500);
        check_seek(&sample, 2500, true, 3000);
        check_seek(&sample, 3001, false, 9000);
        check_seek(&sample, 9001, true, 9500);
        check_seek(&sample, 9500, true, -ENXIO);
        if (committed == 0) {
            ck_assert_int_eq(file_close(sample.file), 0);
            file_context_free(sample.context);
            open_as(&sample, place_store(&place, 0), FILE_VIEW_ARRAY, BIG_CACHE,
                    false);
        }
    }
    sample_close(&sample);
    place_fini(&place);
}
END_TEST

START_TEST(holes_start_behind_the_header)
{
    struct sample sample;
    char path[SUITE_DATA_MAX];

    suite_data_path(path, "frames/nd2-14gb-zeros.b2nd");
    open_as(&sample, store_of(path), FILE_VIEW_NPY, BIG_CACHE, false);
    ck_assert_uint_eq(sample.len, 128 + 14000200000);
    check_seek(&sample, 0, false, 0);
    check_seek(&sample, 0, true, 128);
    check_seek(&sample, 14000000000, true, 14000000000);
    sample_close(&sample);
}
END_TEST

START_TEST(arrays_without_items_show_nothing)
{
    const struct layout_shape shape = { 2, { 5, 0 }, { 3, 4 }, { 2, 2 } };
    struct sample sample;
    struct place place;

    place_init(&place, &shape, 4, false);
    place_create(&place, FILE_VIEW_ARRAY, BIG_CACHE, &sample);
    ck_assert_uint_eq(sample.len, 0);
    check_seek(&sample, 0, true, -ENXIO);
    sample_close(&sample);
    open_as(&sample, place_store(&place, 0), FILE_VIEW_NPY, BIG_CACHE, false);
    ck_assert_uint_eq(sample.len, 128);
    check_seek(&sample, 0, false, 0);
    check_seek(&sample, 0, true, 128);
    check_seek(&sample, 128, true, -ENXIO);
    sample_close(&sample);
    place_fini(&place);
}
END_TEST

/*
 * This array can be read although its blocks have other sizes than it says, but
 * other programs would misread new chunks.
 */
START_TEST(an_array_of_unknown_blocks_is_not_changed)
{
    const struct file_options options = { .cache_size = BIG_CACHE,
                                          .nthreads = 2,
                                          .view = FILE_VIEW_ARRAY };
    struct file_context *context;
    struct fault fault;
    struct store *store;
    struct file *file;
    struct place place;
    char command[8192];
    char path[SUITE_DATA_MAX];

    place_init(&place, &shapes[0], 1, false);
    suite_data_path(path, "frames/caterva.b2frame");
    snprintf(command, sizeof(command),
             "cp %s %s && printf '\\1' | "
             "dd of=%s bs=1 seek=56 conv=notrunc status=none",
             path, place.path, place.path);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(file_context_new(&options, &context), 0);
    store = place_store(&place, STORE_WRITE);
    ck_assert_int_eq(file_open_writable(context, store, &file, &fault),
                     -ENOTSUP);
    store_close(store);
    file_context_free(context);
    place_fini(&place);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        arrays_of_other_programs_show_in_c_order,
        frames_that_are_no_arrays_show_their_chunks,
        what_is_written_lies_where_the_format_has_it,
        a_row_decodes_only_the_blocks_it_crosses,
        a_scan_decodes_each_block_once_if_a_row_of_chunks_fits,
        the_size_of_an_array_is_fixed,
        the_header_can_only_be_written_as_it_is,
        holes_are_chunks_side_by_side,
        holes_start_behind_the_header,
        arrays_without_items_show_nothing,
        an_array_of_unknown_blocks_is_not_changed,
        NULL,
    };

    return suite_run("view", tests);
}
