/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file/file_private.h"

enum {
    PIECES_MAX = 64, /* pins, and pieces, of one read in place */
};

/* What a read keeps in place, or a copy of it. */
struct file_hold {
    uint8_t *copy; /* NULL: in place */
    size_t npins;
    struct cache_pin pins[PIECES_MAX];
    struct iovec iov[PIECES_MAX];
};

/* Say how large the block is that the cache cannot hold. */
static int refuse_block(struct file *file, uint64_t chunk_no,
                        struct fault *fault)
{
    struct file_state *state = file_state_get(file);
    struct frame_chunk *chunk;
    int r = frame_chunk_open(state->frame, chunk_no, &chunk, fault);

    if (r == 0) {
        r = fault_set_option(fault, "block is too large to be read",
                             chunk->blocksize,
                             "cache=", file->context->cache_size);
        frame_chunk_close(chunk);
    }
    file_state_put(file, state);
    return r;
}

static int pin(struct file *file, uint64_t off, size_t len,
               enum cache_wait wait, struct cache_pin *out, struct fault *fault)
{
    struct file_fill fill = { .file = file, .fault = fault };
    struct cache_range range = { .file = &file->chunks };
    struct frame_span span;
    uint64_t rest;
    int r;

    *fault = FAULT_NONE;
    r = file_locate(file, off, &span, fault);
    if (r < 0)
        return r;

    rest = span.off + span.nbytes - off;
    range.chunk_no = span.chunk_no;
    range.off = (uint32_t)(off - span.off);
    range.len = (uint32_t)(len < rest ? len : rest);
    r = cache_pin(file->context->cache, &range, wait, &fill, out);
    if (r == -ENOTSUP && !fault->what)
        r = refuse_block(file, span.chunk_no, fault);
    if (r == -ERANGE)
        r = fault_set(fault, -EBADMSG, 0, "the frame was changed meanwhile");
    if (r < 0 && fault->chunk_no < 0)
        fault->chunk_no = (int64_t)span.chunk_no;
    return r;
}

/* What was looked up before the file was emptied may be lost; what is looked up
   after that is not. */
int file_pin(struct file *file, uint64_t off, size_t len, enum cache_wait wait,
             struct cache_pin *out, struct fault *fault)
{
    int r = pin(file, off, len, wait, out, fault);

    return r == -ESTALE ? pin(file, off, len, wait, out, fault) : r;
}

/* Add a piece to a read in place.  Returns false if there are too many. */
static bool add_piece(struct file_data *data, const uint8_t *bytes, size_t len)
{
    if (data->niov == PIECES_MAX)
        return false;

    /* A vector of buffers to write from has no const of its own. */
    data->iov[data->niov++] =
        (struct iovec){ .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
    data->len += len;
    return true;
}

/* The same for a special chunk; `off` counts from its start. */
static bool add_pattern(struct file_data *data, const struct file_chunk *chunk,
                        uint64_t off, size_t len)
{
    while (len > 0) {
        size_t start = off % chunk->pattern_len;
        size_t n = chunk->pattern_len - start;

        if (n > len)
            n = len;
        if (!add_piece(data, chunk->pattern + start, n))
            return false;
        off += n;
        len -= n;
    }
    return true;
}

/* Gather the pieces of a read where they are.  Returns -EAGAIN if they are too
   many, or more than fits at this moment, and `data` then is of no use. */
static int gather(struct file *file, uint64_t off, size_t len,
                  struct file_data *data, struct fault *fault)
{
    struct file_hold *hold = data->hold;

    data->iov = hold->iov;
    while (data->len < len) {
        struct cache_pin *pin = &hold->pins[hold->npins];
        const struct file_chunk *chunk;
        uint64_t at = off + data->len;
        int r;

        if (hold->npins == PIECES_MAX)
            return -EAGAIN;
        r = file_pin(file, at, len - data->len,
                     hold->npins == 0 ? CACHE_WAIT_ROOM : CACHE_WAIT_DECODE,
                     pin, fault);
        if (r < 0)
            return r;
        hold->npins++;
        chunk = pin->chunk;
        if (pin->data ? !add_piece(data, pin->data, pin->len)
                      : !add_pattern(data, chunk, at - chunk->off, pin->len))
            return -EAGAIN;
    }
    return 0;
}

static void copy_pattern(const struct file_chunk *chunk, uint64_t off,
                         uint8_t *dst, size_t len)
{
    while (len > 0) {
        size_t start = off % chunk->pattern_len;
        size_t n = chunk->pattern_len - start;

        if (n > len)
            n = len;
        memcpy(dst, chunk->pattern + start, n);
        dst += n;
        off += n;
        len -= n;
    }
}

/* Let go of what a read keeps in place, but not of the read. */
static void unpin_all(struct file *file, struct file_data *data)
{
    struct file_hold *hold = data->hold;

    if (hold->npins > 0)
        cache_unpin(file->context->cache, hold->pins, hold->npins);
    hold->npins = 0;
    data->niov = 0;
    data->len = 0;
}

/* Copy the pieces of a read, holding one at a time. */
static int copy_out(struct file *file, uint64_t off, size_t len,
                    struct file_data *data, struct fault *fault)
{
    uint8_t *copy = malloc(len);
    size_t done = 0;
    int r = 0;

    if (!copy)
        return fault_set(fault, -ENOMEM, 0, NULL);

    while (done < len && r == 0) {
        struct cache_pin pin;

        r = file_pin(file, off + done, len - done, CACHE_WAIT_ROOM, &pin,
                     fault);
        if (r < 0)
            break;
        if (pin.data) {
            memcpy(copy + done, pin.data, pin.len);
        } else {
            const struct file_chunk *chunk = pin.chunk;

            copy_pattern(chunk, off + done - chunk->off, copy + done, pin.len);
        }
        done += pin.len;
        cache_unpin(file->context->cache, &pin, 1);
    }

    data->hold->copy = copy;
    if (done > 0)
        add_piece(data, copy, done);
    return r;
}

/* A file that has become shorter while it was read just ends. */
static int end_of_file(struct file *file, uint64_t off, int error)
{
    return (error == -ERANGE || error == -ESTALE) && off >= file_size(file)
               ? 0
               : error;
}

int file_read(struct file *file, struct file_reader *reader, uint64_t off,
              size_t len, struct file_data *out, int *error,
              struct fault *fault)
{
    struct file_data data = { 0 };
    uint64_t size = file_size(file);
    int r;

    if (off >= size)
        len = 0;
    else if (len > size - off)
        len = (size_t)(size - off);
    if (len > 0)
        readahead_follow(file, reader, off, len);

    data.hold = malloc(sizeof(*data.hold));
    if (!data.hold)
        return fault_set(fault, -ENOMEM, 0, NULL);
    data.hold->copy = NULL;
    data.hold->npins = 0;

    r = gather(file, off, len, &data, fault);
    if (r == -EAGAIN) {
        unpin_all(file, &data);
        r = copy_out(file, off, len, &data, fault);
    }
    r = end_of_file(file, off + data.len, r);
    if (r < 0 && data.len == 0) {
        file_data_put(file, &data);
        return r;
    }
    *error = r;
    *out = data;
    return 0;
}

void file_data_put(struct file *file, struct file_data *data)
{
    if (!data->hold)
        return;

    unpin_all(file, data);
    free(data->hold->copy);
    free(data->hold);
    *data = (struct file_data){ 0 };
}
