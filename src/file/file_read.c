/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file/file.h"
#include "file/file_chunk.h"
#include "file/readahead.h"
#include "file/view.h"
#include "state/file_private.h"

enum {
    PIECES_MAX = 64, /* limit of pins, and of pieces, for a read in place */
};

/* Bytes of a chunk that are pinned for a read. */
struct pinned_at {
    uint64_t chunk_no;
    uint32_t off; /* offset of the first byte in the chunk */
};

/* The pins that keep the bytes of a read in place, or a copy of the bytes. */
struct file_pins {
    uint8_t *copy; /* NULL: the bytes are in place */
    size_t npins;
    size_t next; /* pin that the next piece is likely to need */
    struct cache_pin pins[PIECES_MAX];
    struct pinned_at pinned_at[PIECES_MAX]; /* the bytes that each pin covers */
    struct iovec iov[PIECES_MAX];
};

/* Does pin `i` hold the start of a piece? */
static bool is_pinned(const struct file_pins *pins, size_t i,
                      const struct view_piece *piece)
{
    const struct pinned_at *pinned_at = &pins->pinned_at[i];

    return pinned_at->chunk_no == piece->chunk_no &&
           pinned_at->off <= piece->off &&
           piece->off - pinned_at->off < pins->pins[i].len;
}

/*
 * Find a pin that holds the start of a piece, or add one.  Rows of an array
 * need the same pins over and over, in the same order.
 *
 * Returns the number of the pin; -EAGAIN if there are too many, or if there is
 * no memory at this moment for another pin; or an error of file_pin().
 */
static int pin_piece(struct file *file, struct file_pins *pins,
                     const struct view_piece *piece, struct fault *fault)
{
    size_t n = pins->npins;
    int r;

    for (size_t i = 0; i < n; i++) {
        size_t at = (pins->next + i) % n;

        if (is_pinned(pins, at, piece)) {
            pins->next = at + 1;
            return (int)at;
        }
    }
    if (n == PIECES_MAX)
        return -EAGAIN;
    r = file_pin_unchecked(file, piece,
                           n == 0 ? CACHE_WAIT_MEMORY : CACHE_WAIT_DECODE,
                           &pins->pins[n], fault);
    if (r < 0)
        return r;
    pins->pinned_at[n] = (struct pinned_at){ piece->chunk_no, piece->off };
    pins->npins++;
    pins->next = n + 1;
    return (int)n;
}

/* Bytes in memory. */
struct bytes {
    const uint8_t *start;
    size_t len;
};

/* Find bytes in memory: as many from `off` on as lie together there, `out->len`
   at most. */
static int find_bytes(struct file *file, struct file_pins *pins, uint64_t off,
                      struct bytes *out, struct fault *fault)
{
    struct view_piece piece;
    const struct cache_pin *pin;
    uint32_t skip;
    int r = view_locate(file, off, out->len, &piece, fault);

    if (r < 0)
        return r;
    out->start = piece.header;
    out->len = piece.len;
    if (piece.header)
        return 0;
    r = pin_piece(file, pins, &piece, fault);
    if (r < 0)
        return r;

    pin = &pins->pins[r];
    skip = piece.off - pins->pinned_at[r].off;
    if (out->len > pin->len - skip)
        out->len = pin->len - skip;
    if (pin->data) {
        out->start = pin->data + skip;
    } else {
        const struct file_chunk *chunk = pin->chunk;
        size_t start = piece.off % chunk->pattern_len;

        out->start = chunk->pattern + start;
        if (out->len > chunk->pattern_len - start)
            out->len = chunk->pattern_len - start;
    }
    return 0;
}

/* Add a piece to a read in place.  Returns false if there are too many. */
static bool add_piece(struct file_data *data, const uint8_t *bytes, size_t len)
{
    if (data->niov == PIECES_MAX)
        return false;

    /* struct iovec has no const, although readers only read the bytes. */
    data->iov[data->niov++] =
        (struct iovec){ .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
    data->len += len;
    return true;
}

/* Check the chunks of all pins.  One look at the file is enough, because the
   chunks were read before. */
static int check_pins(struct file *file, const struct file_pins *pins,
                      struct fault *fault)
{
    bool checked = false;

    for (size_t i = 0; i < pins->npins; i++) {
        struct file_chunk *chunk = pins->pins[i].chunk;
        int r;

        if (!chunk->unchecked)
            continue;
        if (checked) {
            chunk->unchecked = false;
            continue;
        }
        r = file_check_chunk(file, chunk, fault);
        if (r < 0)
            return r;
        checked = true;
    }
    return 0;
}

/* Collect the pieces of a read in place.  Returns -EAGAIN if there are too
   many, or if they do not all fit at this moment; `data` is then of no use. */
static int gather(struct file *file, uint64_t off, size_t len,
                  struct file_data *data, struct fault *fault)
{
    data->iov = data->pins->iov;
    if (len / PIECES_MAX > view_run(file->constant.view))
        return -EAGAIN;
    while (data->len < len) {
        struct bytes bytes = { .len = len - data->len };
        int r = find_bytes(file, data->pins, off + data->len, &bytes, fault);

        if (r < 0)
            return r;
        if (!add_piece(data, bytes.start, bytes.len))
            return -EAGAIN;
    }
    return 0;
}

/* Release the pins of a read, but not the read itself. */
static void unpin_all(struct file *file, struct file_data *data)
{
    struct file_pins *pins = data->pins;

    if (pins->npins > 0)
        cache_unpin(file->constant.context->cache, pins->pins, pins->npins);
    pins->npins = 0;
    pins->next = 0;
    data->niov = 0;
    data->len = 0;
}

/* Release the pins of bytes that were copied.  After an error, which is one of
   check_pins(), the copy is of no use. */
static int check_and_unpin(struct file *file, struct file_data *data,
                           struct fault *fault)
{
    int r = check_pins(file, data->pins, fault);

    unpin_all(file, data);
    return r;
}

/* Copy the pieces of a read, with as many of them pinned at a time as there is
   room for. */
static int copy_out(struct file *file, uint64_t off, size_t len,
                    struct file_data *data, struct fault *fault)
{
    uint8_t *copy = malloc(len);
    size_t done = 0;
    int checked = 0;
    int r = 0;

    if (!copy)
        return fault_set(fault, -ENOMEM, 0, NULL);

    while (done < len && r == 0) {
        struct bytes bytes = { .len = len - done };

        r = find_bytes(file, data->pins, off + done, &bytes, fault);
        if (r == 0) {
            memcpy(copy + done, bytes.start, bytes.len);
            done += bytes.len;
        } else if (r == -EAGAIN) {
            r = check_and_unpin(file, data, fault);
            checked = r;
        }
    }
    if (checked == 0)
        checked = check_and_unpin(file, data, fault);

    data->pins->copy = copy;
    if (checked < 0)
        return checked;
    if (done > 0)
        add_piece(data, copy, done);
    return r;
}

/* Read bytes that are not those of decoded chunks. */
static int read_view(struct file *file, uint64_t off, size_t len,
                     struct file_data *data, struct fault *fault)
{
    uint8_t *copy = malloc(len);
    int r;

    if (!copy)
        return fault_set(fault, -ENOMEM, 0, NULL);
    data->iov = data->pins->iov;
    data->pins->copy = copy;
    r = file->constant.view->ops->read(file, off, copy, len, fault);
    if (r < 0)
        return r;
    add_piece(data, copy, len);
    return 0;
}

/* Read bytes in place, or copy them if that is not possible. */
static int read_chunks(struct file *file, uint64_t off, size_t len,
                       struct file_data *data, struct fault *fault)
{
    int r = gather(file, off, len, data, fault);
    int checked;

    if (r == -EAGAIN) {
        unpin_all(file, data);
        return copy_out(file, off, len, data, fault);
    }
    checked = check_pins(file, data->pins, fault);
    if (checked == 0)
        return r;
    unpin_all(file, data);
    return checked;
}

/* If the file became shorter during the read, the read ends there without an
   error. */
static int end_of_file(struct file *file, uint64_t off, int error)
{
    return (error == -ERANGE || error == -ESTALE) && off >= file_size(file)
               ? 0
               : error;
}

int file_read(struct file *file, struct file_reader *reader,
              const struct file_range *range, struct file_data *out,
              struct fault *fault)
{
    struct file_data data = { 0 };
    uint64_t size = file_size(file);
    uint64_t off = range->off;
    size_t len = range->len;
    int r;

    if (off >= size)
        len = 0;
    else if (len > size - off)
        len = (size_t)(size - off);

    data.pins = malloc(sizeof(*data.pins));
    if (!data.pins)
        return fault_set(fault, -ENOMEM, 0, NULL);
    data.pins->copy = NULL;
    data.pins->npins = 0;
    data.pins->next = 0;

    r = 0;
    if (len > 0 && file->constant.view->ops->read) {
        r = read_view(file, off, len, &data, fault);
    } else if (len > 0) {
        readahead_follow(file, reader, off, len);
        r = read_chunks(file, off, len, &data, fault);
    }
    r = end_of_file(file, off + data.len, r);
    if (r < 0 && data.len == 0) {
        file_data_put(file, &data);
        return r;
    }
    counter_add(&file->constant.context->counters.read, data.len);
    data.error = r;
    *out = data;
    return 0;
}

void file_data_put(struct file *file, struct file_data *data)
{
    if (!data->pins)
        return;

    unpin_all(file, data);
    free(data->pins->copy);
    free(data->pins);
    *data = (struct file_data){ .error = data->error };
}
