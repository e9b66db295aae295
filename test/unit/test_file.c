/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>

#include "base/bytes.h"
#include "file_sample.h"
#include "frame_build.h"

enum {
    NTHREADS = 8
};

/*
 * Frames whose content is in data/unit, with the property that each one tests.
 */
static const char *const frames[] = {
    "last-block-short",       /* chunks of nine blocks */
    "tiny-chunks-1-byte",     /* more chunks than a read has pieces */
    "medley-4",               /* special chunks of all kinds */
    "autozero-delta",         /* blocks that need the first one */
    "varchunks-zstd",         /* chunks that differ in size */
    "vlblocks-zstd",          /* blocks that differ in size */
    "chunk-by-chunk-3-dir",   /* sparse; each chunk has its own codec */
    "item-larger-than-chunk", /* items larger than a chunk */
    "zeros-small-dir",        /* sparse; one chunk with data */
};

enum {
    NFRAMES = sizeof(frames) / sizeof(frames[0])
};

START_TEST(the_whole_content_comes_in_one_read)
{
    struct sample sample;

    for (int i = 0; i < NFRAMES; i++) {
        sample_open(&sample, frames[i], BIG_CACHE);
        ck_assert_msg(reads_right(&sample, NULL, 0, sample.len), "%s",
                      frames[i]);
        ck_assert_msg(reads_right(&sample, NULL, 0, sample.len), "%s again",
                      frames[i]);
        sample_close(&sample);
    }
}
END_TEST

START_TEST(odd_pieces_from_the_end_to_the_start_are_right)
{
    struct sample sample;

    for (int i = 0; i < NFRAMES; i++) {
        size_t left;

        sample_open(&sample, frames[i], TINY_CACHE);
        for (left = sample.len; left > 0;) {
            size_t n = left < 777 ? left : 777;

            left -= n;
            ck_assert_msg(reads_right(&sample, NULL, left, n), "%s at %zu",
                          frames[i], left);
        }
        sample_close(&sample);
    }
}
END_TEST

/* One of several threads that read the same file. */
struct thread_of {
    const struct sample *sample;
    pthread_t thread;
    unsigned seed;
    bool right;
};

static bool within_limit(const struct sample *sample, size_t limit)
{
    struct cache_stats stats;

    cache_get_stats(sample->context->cache, &stats);
    return stats.used <= limit;
}

static void *read_windows(void *arg)
{
    struct thread_of *self = arg;
    const struct sample *sample = self->sample;
    struct file_reader reader = { 0 };

    self->right = true;
    for (int i = 0; i < 200 && self->right; i++) {
        uint64_t off = (unsigned)rand_r(&self->seed) % sample->len;
        size_t len = (unsigned)rand_r(&self->seed) % 4000;

        if (len > sample->len - off)
            len = sample->len - off;
        self->right = reads_right(sample, &reader, off, len) &&
                      within_limit(sample, TINY_CACHE);
    }
    file_reader_end(&reader);
    return NULL;
}

START_TEST(random_windows_are_right_for_many_threads_in_a_tiny_cache)
{
    struct thread_of threads[NTHREADS];
    struct sample sample;

    for (int i = 0; i < NFRAMES; i++) {
        sample_open(&sample, frames[i], TINY_CACHE);
        for (unsigned j = 0; j < NTHREADS; j++) {
            threads[j] = (struct thread_of){ .sample = &sample, .seed = j };
            ck_assert_int_eq(pthread_create(&threads[j].thread, NULL,
                                            read_windows, &threads[j]),
                             0);
        }
        for (unsigned j = 0; j < NTHREADS; j++) {
            pthread_join(threads[j].thread, NULL);
            ck_assert_msg(threads[j].right, "%s", frames[i]);
        }
        sample_close(&sample);
    }
}
END_TEST

START_TEST(a_read_is_cut_at_the_end_of_the_file)
{
    struct sample sample;
    struct file_data data = { .error = 1 };
    struct fault fault;

    sample_open(&sample, "last-block-short", BIG_CACHE);
    ck_assert_int_eq(file_read(sample.file, NULL,
                               &(struct file_range){ sample.len - 5, 100 },
                               &data, &fault),
                     0);
    ck_assert_uint_eq(data.len, 5);
    ck_assert_int_eq(data.error, 0);
    file_data_put(sample.file, &data);
    ck_assert_int_eq(file_read(sample.file, NULL,
                               &(struct file_range){ UINT64_MAX, 100 }, &data,
                               &fault),
                     0);
    ck_assert_uint_eq(data.len, 0);
    ck_assert_uint_eq(data.niov, 0);
    file_data_put(sample.file, &data);
    sample_close(&sample);
}
END_TEST

START_TEST(few_chunks_come_in_place_and_many_as_one_copy)
{
    struct sample sample;
    struct file_data data;
    struct fault fault;

    sample_open(&sample, "tiny-chunks-1-byte", BIG_CACHE);
    ck_assert_int_eq(file_read(sample.file, NULL,
                               &(struct file_range){ 10, 20 }, &data, &fault),
                     0);
    ck_assert_uint_eq(data.niov, 20);
    file_data_put(sample.file, &data);
    ck_assert_int_eq(file_read(sample.file, NULL,
                               &(struct file_range){ 10, 200 }, &data, &fault),
                     0);
    ck_assert_uint_eq(data.niov, 1);
    ck_assert_uint_eq(data.len, 200);
    file_data_put(sample.file, &data);
    sample_close(&sample);
}
END_TEST

START_TEST(a_terabyte_of_zeros_takes_no_memory)
{
    struct sample sample;
    struct file_data data;
    struct fault fault;

    sample_open_store(&sample, open_store("zeros-1tib-64k-chunks"), TINY_CACHE,
                      0);
    for (uint64_t off = 12345; off < file_size(sample.file);
         off += 1ull << 33) {
        ck_assert_int_eq(file_read(sample.file, NULL,
                                   &(struct file_range){ off, 1 << 20 }, &data,
                                   &fault),
                         0);
        ck_assert_uint_eq(data.len, 1 << 20);
        for (size_t i = 0; i < data.niov; i++)
            ck_assert_int_eq(*(const char *)data.iov[i].iov_base, 0);
        file_data_put(sample.file, &data);
        ck_assert(within_limit(&sample, TINY_CACHE));
    }
    sample_close(&sample);
}
END_TEST

/* Damage the stream of one block in the bytes of a contiguous frame. */
static void spoil_block(uint8_t *bytes, struct frame *frame, uint64_t chunk_no,
                        uint32_t block)
{
    struct frame_chunk *chunk;
    struct fault fault;
    uint32_t off;
    uint32_t len;

    ck_assert_int_eq(frame_chunk_open(frame, chunk_no, &chunk, &fault), 0);
    ck_assert_uint_gt(chunk->nblocks, block);
    chunk_block_extent(chunk->chunk, block, &off, &len);
    memset(bytes + chunk->entry.place + off, 0x77, 4);
    frame_chunk_close(chunk);
}

START_TEST(a_damaged_block_costs_only_its_own_bytes)
{
    struct sample sample;
    struct sample damaged;
    struct file_data data;
    struct fault fault;
    struct store *store;
    struct frame *frame;
    char path[SUITE_DATA_MAX];
    uint8_t *bytes;
    size_t len;

    suite_data_path(path, "frames/last-block-short.b2frame");
    bytes = suite_read(path, &len);
    sample_open(&sample, "last-block-short", BIG_CACHE);
    frame = file_frame_get(sample.file);
    spoil_block(bytes, frame, 1, 3);
    file_frame_put(sample.file, frame);
    ck_assert_int_eq(store_mem_open(bytes, len, &store), 0);
    sample_open_store(&damaged, store, BIG_CACHE, 0);
    damaged.content = sample.content;

    /* Chunks of 9000 bytes, blocks of 1000: bytes 12000 to 12999 are lost. */
    ck_assert_int_eq(file_read(damaged.file, NULL,
                               &(struct file_range){ 100, 20000 }, &data,
                               &fault),
                     0);
    ck_assert_int_eq(data.error, -EBADMSG);
    ck_assert_uint_eq(data.len, 12000 - 100);
    ck_assert_int_eq(fault.chunk_no, 1);
    file_data_put(damaged.file, &data);
    ck_assert_int_eq(file_read(damaged.file, NULL,
                               &(struct file_range){ 12999, 1 }, &data, &fault),
                     -EBADMSG);
    ck_assert(reads_right(&damaged, NULL, 0, 12000));
    ck_assert(reads_right(&damaged, NULL, 13000, sample.len - 13000));

    damaged.content = NULL;
    sample_close(&damaged);
    sample_close(&sample);
    free(bytes);
}
END_TEST

START_TEST(a_block_larger_than_the_cache_is_refused)
{
    struct sample sample;
    struct file_data data;
    struct fault fault;
    char text[256];

    sample_open(&sample, "last-block-short", 8192);
    ck_assert_int_eq(file_read(sample.file, NULL, &(struct file_range){ 0, 10 },
                               &data, &fault),
                     -ENOTSUP);
    fault_format(&fault, -ENOTSUP, text, sizeof(text));
    ck_assert_str_eq(text, "chunk 0, offset 0: block is too large to be read "
                           "(1000 bytes with a cache of 8192)");
    sample_close(&sample);
}
END_TEST

START_TEST(holes_are_where_the_index_has_zeros)
{
    struct sample sample;
    struct fault fault;
    uint64_t off = 0;

    /* Twelve chunks of 1000 bytes; number 7 has data. */
    sample_open(&sample, "zeros-small-dir", BIG_CACHE);
    ck_assert_int_eq(file_seek(sample.file, 1500, true, &off, &fault), 0);
    ck_assert_uint_eq(off, 1500);
    ck_assert_int_eq(file_seek(sample.file, 1500, false, &off, &fault), 0);
    ck_assert_uint_eq(off, 7000);
    ck_assert_int_eq(file_seek(sample.file, 7500, false, &off, &fault), 0);
    ck_assert_uint_eq(off, 7500);
    ck_assert_int_eq(file_seek(sample.file, 7500, true, &off, &fault), 0);
    ck_assert_uint_eq(off, 8000);
    ck_assert_int_eq(file_seek(sample.file, 8000, false, &off, &fault), -ENXIO);
    ck_assert_int_eq(file_seek(sample.file, 12000, true, &off, &fault), -ENXIO);
    sample_close(&sample);

    sample_open(&sample, "last-block-short", BIG_CACHE);
    ck_assert_int_eq(file_seek(sample.file, 5, true, &off, &fault), 0);
    ck_assert_uint_eq(off, sample.len);
    sample_close(&sample);
}
END_TEST

START_TEST(a_file_is_current_until_its_stat_changes)
{
    struct sample sample;
    struct store_stat stat;
    struct frame *frame;

    sample_open(&sample, "last-block-short", BIG_CACHE);
    frame = file_frame_get(sample.file);
    stat = *frame_get_stat(frame);
    file_frame_put(sample.file, frame);
    ck_assert(file_is_current(sample.file, &stat));
    stat.version.mtime.tv_nsec ^= 1;
    ck_assert(!file_is_current(sample.file, &stat));
    stat.version.mtime.tv_nsec ^= 1;
    stat.version.ino++;
    ck_assert(!file_is_current(sample.file, &stat));
    sample_close(&sample);
}
END_TEST

START_TEST(what_is_no_frame_is_refused)
{
    static const uint8_t bytes[1000] = "not a frame";
    struct file_context *context;
    struct store *store;
    struct file *file;
    struct fault fault;

    ck_assert_int_eq(file_context_new(&file_default_options, &context), 0);
    ck_assert_int_eq(store_mem_open(bytes, sizeof(bytes), &store), 0);
    ck_assert_int_eq(file_open(context, store, 0, &file, &fault), -EBADMSG);
    store_close(store);
    file_context_free(context);
}
END_TEST

START_TEST(a_chunk_that_grows_under_the_cache_is_refused)
{
    enum {
        N = 9 * 1024
    };
    static const uint8_t data[8] = { 0 };
    struct build *chunks = build_new();
    int64_t *entries = calloc(N, sizeof(*entries));
    struct sample sample;
    struct store *store;
    struct file_data got;
    struct fault fault;
    struct build *frame;
    int r;

    for (size_t i = 0; i < N; i++) {
        entries[i] = (int64_t)chunks->len;
        build_copy(chunks, 4, data, sizeof(data));
    }
    frame = build_items(chunks, entries, N, N * 8, 0);
    ck_assert_int_eq(store_mem_open(frame->bytes, frame->len, &store), 0);
    sample_open_store(&sample, store, BIG_CACHE, 0);
    for (uint64_t off = 4; off < N * 8; off += 1024 * 8) {
        ck_assert_int_eq(file_read(sample.file, NULL,
                                   &(struct file_range){ off, 1 }, &got,
                                   &fault),
                         0);
        file_data_put(sample.file, &got);
    }
    store_le32(frame->bytes + 97 + 4, 12);
    store_le32(frame->bytes + 97 + 12, 32 + 12);
    r = file_read(sample.file, NULL, &(struct file_range){ 8, 1 }, &got,
                  &fault);
    ck_assert_int_eq(r, -EBADMSG);
    sample_close(&sample);
    free(frame);
    free(entries);
    free(chunks);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_whole_content_comes_in_one_read,
        odd_pieces_from_the_end_to_the_start_are_right,
        random_windows_are_right_for_many_threads_in_a_tiny_cache,
        a_read_is_cut_at_the_end_of_the_file,
        few_chunks_come_in_place_and_many_as_one_copy,
        a_terabyte_of_zeros_takes_no_memory,
        a_damaged_block_costs_only_its_own_bytes,
        a_block_larger_than_the_cache_is_refused,
        holes_are_where_the_index_has_zeros,
        a_file_is_current_until_its_stat_changes,
        what_is_no_frame_is_refused,
        a_chunk_that_grows_under_the_cache_is_refused,
        NULL,
    };

    return suite_run("file", tests);
}
