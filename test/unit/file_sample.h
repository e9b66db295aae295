/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_FILE_SAMPLE_H
#define TEST_UNIT_FILE_SAMPLE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "file/file.h"
#include "give_store.h"
#include "state/file_private.h"
#include "store/store_local.h"
#include "suite.h"

enum {
    TINY_CACHE = 128 * 1024,
    BIG_CACHE = 64 << 20
};

/* An open frame and its content. */
struct sample {
    struct file_context *context;
    struct file *file;
    uint8_t *content; /* NULL if unknown */
    size_t len;
};

static inline struct store *open_store(const char *name)
{
    char path[SUITE_DATA_MAX];
    struct store *store;
    struct stat st;
    int r;

    suite_data_path(path, "frames/%s.b2frame", name);
    ck_assert_msg(stat(path, &st) == 0, "%s", path);
    r = S_ISDIR(st.st_mode)
            ? store_dir_open(AT_FDCWD, path, STORE_FOLLOW, &store)
            : store_file_open(AT_FDCWD, path, STORE_FOLLOW, &store);
    ck_assert_int_eq(r, 0);
    return store;
}

static inline void sample_open_store(struct sample *sample, struct store *store,
                                     size_t cache_size, size_t readahead)
{
    const struct file_options options = { .cache_size = cache_size,
                                          .nthreads = 2,
                                          .readahead = readahead };
    struct fault fault;

    *sample = (struct sample){ 0 };
    ck_assert_int_eq(file_context_new(&options, &sample->context), 0);
    ck_assert_int_eq(
        give_file_open(sample->context, store, 0, &sample->file, &fault), 0);
}

static inline void sample_open(struct sample *sample, const char *name,
                               size_t cache_size)
{
    char path[SUITE_DATA_MAX];

    sample_open_store(sample, open_store(name), cache_size, 64 * 1024);
    suite_data_path(path, "unit/%s.raw", name);
    sample->content = suite_read(path, &sample->len);
    ck_assert_uint_eq(file_size(sample->file), sample->len);
}

static inline void sample_close(struct sample *sample)
{
    file_close(sample->file);
    file_context_free(sample->context);
    free(sample->content);
}

/* Does a read return exactly these bytes? */
static inline bool reads_right(const struct sample *sample,
                               struct file_reader *reader, uint64_t off,
                               size_t len)
{
    struct file_data data;
    struct fault fault;
    size_t at = 0;
    bool right = true;

    if (file_read(sample->file, reader, &(struct file_range){ off, len }, &data,
                  &fault) < 0)
        return false;
    for (size_t i = 0; i < data.niov && right; i++) {
        right = memcmp(data.iov[i].iov_base, sample->content + off + at,
                       data.iov[i].iov_len) == 0;
        at += data.iov[i].iov_len;
    }
    right = right && data.error == 0 && at == len && data.len == len;
    file_data_put(sample->file, &data);
    return right;
}

#endif
