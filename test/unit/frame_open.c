/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame_open.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cpu.h"
#include "give_store.h"
#include "store/store_local.h"
#include "suite.h"

int try_open(const void *bytes, size_t len, uint64_t base, struct frame **out,
             struct fault *fault)
{
    struct store *store;

    *fault = FAULT_NONE;
    ck_assert_int_eq(store_mem_open(bytes, len, &store), 0);
    return give_frame_open(store, base, out, fault);
}

struct frame *open_bytes(const void *bytes, size_t len)
{
    struct frame *frame;
    struct fault fault;
    int r = try_open(bytes, len, 0, &frame, &fault);

    ck_assert_msg(r == 0, "%d: %s", r, fault.what);
    return frame;
}

struct frame *open_data(const char *name)
{
    struct fault fault = FAULT_NONE;
    struct store *store;
    struct frame *frame;
    struct stat st;
    char path[SUITE_DATA_MAX];
    int r;

    suite_data_path(path, "%s", name);
    ck_assert_msg(stat(path, &st) == 0, "no %s", path);
    if (S_ISDIR(st.st_mode))
        r = store_dir_open(AT_FDCWD, path, STORE_FOLLOW, &store);
    else
        r = store_file_open(AT_FDCWD, path, STORE_FOLLOW, &store);
    ck_assert_int_eq(r, 0);
    r = give_frame_open(store, 0, &frame, &fault);
    ck_assert_msg(r == 0, "%s: %d: %s", name, r, fault.what);
    return frame;
}

static void fill(const struct frame_chunk *chunk, uint8_t *dst)
{
    size_t len = chunk->span.nbytes;

    for (size_t off = 0; off < len; off += chunk->pattern_len) {
        size_t n =
            len - off < chunk->pattern_len ? len - off : chunk->pattern_len;

        memcpy(dst + off, chunk->pattern, n);
    }
}

static int decode(struct frame *frame, const struct frame_chunk *chunk,
                  uint8_t *dst, struct fault *fault)
{
    const struct blocks_run all = { .n = chunk->nblocks, .dst = dst };
    struct chunk_decoder *decoder;
    int r;

    ck_assert_int_eq(chunk_decoder_new(cpu_features(), &decoder), 0);
    r = frame_chunk_decode(frame, chunk, &all, decoder, fault);
    chunk_decoder_free(decoder);
    return r;
}

int read_chunk(struct frame *frame, uint64_t chunk_no, uint8_t *dst, size_t cap,
               size_t *len, struct fault *fault)
{
    struct frame_chunk *chunk;
    int r;

    *fault = FAULT_NONE;
    r = frame_chunk_open(frame, chunk_no, &chunk, fault);
    if (r < 0)
        return r;
    ck_assert_uint_le(chunk->span.nbytes, cap);
    *len = chunk->span.nbytes;
    if (chunk->nblocks > 0)
        r = decode(frame, chunk, dst, fault);
    else
        fill(chunk, dst);
    frame_chunk_close(chunk);
    return r;
}

void check_chunk(struct frame *frame, uint64_t chunk_no, const void *bytes,
                 size_t len)
{
    uint8_t *dst = malloc(len + 1);
    struct fault fault;
    size_t got = 0;
    int r;

    ck_assert_ptr_nonnull(dst);
    r = read_chunk(frame, chunk_no, dst, len, &got, &fault);
    ck_assert_msg(r == 0, "chunk %d: %d: %s", (int)chunk_no, r, fault.what);
    ck_assert_uint_eq(got, len);
    ck_assert_mem_eq(dst, bytes, len);
    free(dst);
}

void check_bad_chunk(struct frame *frame, uint64_t chunk_no, int error,
                     uint64_t fault_off)
{
    static uint8_t dst[1 << 20];
    struct fault fault;
    size_t len;
    int r = read_chunk(frame, chunk_no, dst, sizeof(dst), &len, &fault);

    ck_assert_msg(r == error, "chunk %d: %d", (int)chunk_no, r);
    ck_assert_ptr_nonnull(fault.what);
    ck_assert_int_eq(fault.chunk_no, (int64_t)chunk_no);
    ck_assert_msg(fault.off == fault_off, "%s at %u", fault.what,
                  (unsigned)fault.off);
}
