/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/retry.h"
#include "file/file_chunk_edit.h"
#include "frame/frame_keys.h"
#include "lib/libframefs_private.h"

/* The part of a chunk to read. */
struct reading {
    uint64_t chunk_no;
    uint64_t key; /* of the chunk; 0: it has this number */
    int form;
    void *buf;
    size_t size;
};

/* Ask the last commit of a frame something, or the next one if it has gone
   meanwhile. */
static ssize_t ask(struct framefs_frame *frame,
                   ssize_t (*question)(struct frame *state, void *context,
                                       struct fault *fault),
                   void *context, struct fault *fault)
{
    struct retry retry = RETRY_REPLACED;
    ssize_t r;

    do {
        struct file *file = libframefs_enter(frame);
        struct frame *state = file_frame_get(file);

        r = question(state, context, fault);
        file_frame_put(file, state);
        libframefs_leave(frame);
    } while (r == -ESTALE && retry_wait(&retry));
    return r;
}

/* A chunk of which something is asked, and the answer. */
struct asked {
    uint64_t chunk_no;
    uint64_t key;
    struct framefs_chunk info;
};

static ssize_t read_info(struct frame *state, void *context,
                         struct fault *fault)
{
    struct asked *asked = context;
    struct frame_chunk *chunk;
    int r = frame_chunk_open(state, asked->chunk_no, &chunk, fault);

    if (r < 0)
        return r;
    asked->info = (struct framefs_chunk){ .off = chunk->span.off,
                                          .nbytes = chunk->span.nbytes,
                                          .cbytes = chunk->cbytes };
    frame_chunk_close(chunk);
    return 0;
}

int framefs_chunk_info(struct framefs_frame *frame, uint64_t chunk_no,
                       struct framefs_chunk *out, size_t size)
{
    struct asked asked = { .chunk_no = chunk_no };
    struct fault fault = FAULT_NONE;
    int r;

    if (size > sizeof(asked.info))
        return libframefs_refuse(frame->path, -EINVAL,
                                 "this library is too old");
    r = (int)ask(frame, read_info, &asked, &fault);
    if (r < 0)
        return libframefs_fail(frame->path, r, &fault);
    memcpy(out, &asked.info, size);
    return 0;
}

static ssize_t read_decoded(struct frame *state, const struct reading *reading,
                            struct fault *fault)
{
    struct frame_span span;
    int r = frame_span_of(state, reading->chunk_no, &span, fault);

    if (r < 0 || reading->size == 0)
        return r < 0 ? r : (ssize_t)span.nbytes;
    if (reading->size < span.nbytes)
        return fault_set(fault, -ERANGE, 0, "the buffer is too small");
    r = frame_chunk_read(state, reading->chunk_no, reading->buf, span.nbytes,
                         fault);
    return r < 0 ? r : (ssize_t)span.nbytes;
}

static ssize_t read_bytes(struct store_object *bytes,
                          const struct reading *reading, struct fault *fault)
{
    struct store_stat stat;
    int r = store_object_stat(bytes, &stat);

    if (r == 0 && reading->size > 0 && reading->size < stat.version.size)
        return fault_set(fault, -ERANGE, 0, "the buffer is too small");
    if (r == 0 && reading->size > 0)
        r = store_object_read_at(bytes, 0, reading->buf,
                                 (size_t)stat.version.size);
    return r < 0 ? fault_set(fault, r, 0, NULL) : (ssize_t)stat.version.size;
}

static ssize_t read_stored(struct frame *state, const struct reading *reading,
                           struct fault *fault)
{
    struct store_object *bytes;
    ssize_t r = frame_chunk_bytes(state, reading->chunk_no, &bytes, fault);

    if (r < 0 || !bytes)
        return r;
    r = read_bytes(bytes, reading, fault);
    store_object_close(bytes);
    return r;
}

/* Find the number of the chunk with a key. */
static int find_key(struct frame *state, uint64_t key, uint64_t *chunk_no,
                    struct fault *fault)
{
    const struct frame_keys *keys;
    int r = frame_get_keys(state, &keys, fault);

    if (r < 0)
        return r;
    if (keys && frame_keys_find(keys, key, chunk_no) == 0)
        return 0;
    return fault_set(fault, -ENOENT, 0, "no chunk has this key");
}

static ssize_t read_chunk(struct frame *state, void *context,
                          struct fault *fault)
{
    struct reading *reading = context;
    int r = reading->key > 0
                ? find_key(state, reading->key, &reading->chunk_no, fault)
                : 0;

    if (r < 0)
        return r;
    return reading->form == FRAMEFS_CHUNK_STORED
               ? read_stored(state, reading, fault)
               : read_decoded(state, reading, fault);
}

static int check_form(const struct framefs_frame *frame, int form)
{
    if (form == FRAMEFS_CHUNK_DECODED || form == FRAMEFS_CHUNK_STORED)
        return libframefs_check_open(frame);
    return libframefs_refuse(frame->path, -EINVAL, "unknown form of a chunk");
}

static int check_key(const struct framefs_frame *frame, uint64_t key)
{
    if (key > 0)
        return libframefs_check_open(frame);
    return libframefs_refuse(frame->path, -ENOENT, "no chunk has the key 0");
}

static ssize_t get(struct framefs_frame *frame, struct reading *reading)
{
    struct fault fault = FAULT_NONE;
    ssize_t n = check_form(frame, reading->form);

    if (n < 0)
        return n;
    n = ask(frame, read_chunk, reading, &fault);
    return n < 0 ? libframefs_fail(frame->path, (int)n, &fault) : n;
}

ssize_t framefs_chunk_get(struct framefs_frame *frame, uint64_t chunk_no,
                          int form, void *buf, size_t size)
{
    struct reading reading = { chunk_no, 0, form, buf, size };

    return get(frame, &reading);
}

ssize_t framefs_key_get(struct framefs_frame *frame, uint64_t key, int form,
                        void *buf, size_t size)
{
    struct reading reading = { 0, key, form, buf, size };
    int r = check_key(frame, key);

    return r < 0 ? r : get(frame, &reading);
}

static ssize_t ask_number(struct frame *state, void *context,
                          struct fault *fault)
{
    struct asked *asked = context;

    return find_key(state, asked->key, &asked->chunk_no, fault);
}

int framefs_key_find(struct framefs_frame *frame, uint64_t key,
                     uint64_t *chunk_no)
{
    struct asked asked = { .key = key };
    struct fault fault = FAULT_NONE;
    int r = check_key(frame, key);

    if (r < 0)
        return r;
    r = (int)ask(frame, ask_number, &asked, &fault);
    if (r < 0)
        return libframefs_fail(frame->path, r, &fault);
    *chunk_no = asked.chunk_no;
    return 0;
}

/* Get the key that a chunk has, or 0. */
static ssize_t ask_key(struct frame *state, void *context, struct fault *fault)
{
    const struct frame_keys *keys = NULL;
    struct asked *asked = context;
    int r = asked->chunk_no < frame_get_info(state)->nchunks
                ? frame_get_keys(state, &keys, fault)
                : fault_set(fault, -ERANGE, 0, NULL);

    asked->key = r == 0 && keys ? keys->keys[asked->chunk_no] : 0;
    return r;
}

int framefs_chunk_key(struct framefs_frame *frame, uint64_t chunk_no,
                      uint64_t *key)
{
    struct asked asked = { .chunk_no = chunk_no };
    struct fault fault = FAULT_NONE;
    int r = libframefs_check_open(frame);

    if (r < 0)
        return r;
    r = (int)ask(frame, ask_key, &asked, &fault);
    if (r == 0 && asked.key == 0 && !(frame->flags & FRAMEFS_WRITE))
        r = fault_set(&fault, -ENOENT, 0, "the chunk has no key");
    if (r == 0 && asked.key == 0) {
        r = file_key_make(libframefs_enter(frame), chunk_no, &asked.key,
                          &fault);
        libframefs_leave(frame);
    }
    if (r < 0)
        return libframefs_fail(frame->path, r, &fault);
    *key = asked.key;
    return 0;
}

int framefs_key_put(struct framefs_frame *frame, uint64_t key, int form,
                    const void *buf, size_t len)
{
    const struct file_chunk_content content = { buf, len,
                                                form == FRAMEFS_CHUNK_STORED };
    struct fault fault = FAULT_NONE;
    int r = check_form(frame, form);

    if (r == 0)
        r = check_key(frame, key);
    if (r < 0)
        return r;
    r = file_key_put(libframefs_enter(frame), key, &content, &fault);
    libframefs_leave(frame);
    return r < 0 ? libframefs_fail(frame->path, r, &fault) : 0;
}

int framefs_key_append(struct framefs_frame *frame, int form, const void *buf,
                       size_t len, uint64_t *key)
{
    const struct file_chunk_content content = { buf, len,
                                                form == FRAMEFS_CHUNK_STORED };
    struct fault fault = FAULT_NONE;
    uint64_t made;
    int r = check_form(frame, form);

    if (r < 0)
        return r;
    r = file_key_append(libframefs_enter(frame), &content, &made, &fault);
    libframefs_leave(frame);
    if (r < 0)
        return libframefs_fail(frame->path, r, &fault);
    *key = made;
    return 0;
}

int framefs_key_delete(struct framefs_frame *frame, uint64_t key)
{
    struct fault fault = FAULT_NONE;
    int r = check_key(frame, key);

    if (r < 0)
        return r;
    r = file_key_delete(libframefs_enter(frame), key, &fault);
    libframefs_leave(frame);
    return r < 0 ? libframefs_fail(frame->path, r, &fault) : 0;
}

/* Put or insert a chunk. */
static int change(struct framefs_frame *frame, uint64_t chunk_no,
                  const struct file_chunk_content *content,
                  int (*run)(struct file *file, uint64_t chunk_no,
                             const struct file_chunk_content *content,
                             struct fault *fault))
{
    struct fault fault = FAULT_NONE;
    int r = run(libframefs_enter(frame), chunk_no, content, &fault);

    libframefs_leave(frame);
    return r < 0 ? libframefs_fail(frame->path, r, &fault) : 0;
}

int framefs_chunk_put(struct framefs_frame *frame, uint64_t chunk_no, int form,
                      const void *buf, size_t len)
{
    const struct file_chunk_content content = { buf, len,
                                                form == FRAMEFS_CHUNK_STORED };
    int r = check_form(frame, form);

    return r < 0 ? r : change(frame, chunk_no, &content, file_chunk_put);
}

int framefs_chunk_insert(struct framefs_frame *frame, uint64_t chunk_no,
                         int form, const void *buf, size_t len)
{
    const struct file_chunk_content content = { buf, len,
                                                form == FRAMEFS_CHUNK_STORED };
    int r = check_form(frame, form);

    return r < 0 ? r : change(frame, chunk_no, &content, file_chunk_insert);
}

int framefs_chunk_delete(struct framefs_frame *frame, uint64_t chunk_no)
{
    struct fault fault = FAULT_NONE;
    int r = libframefs_check_open(frame);

    if (r < 0)
        return r;
    r = file_chunk_delete(libframefs_enter(frame), chunk_no, &fault);
    libframefs_leave(frame);
    return r < 0 ? libframefs_fail(frame->path, r, &fault) : 0;
}

int framefs_chunk_reorder(struct framefs_frame *frame, const uint64_t *order,
                          uint64_t nchunks)
{
    struct fault fault = FAULT_NONE;
    int r = libframefs_check_open(frame);

    if (r < 0)
        return r;
    r = file_chunk_reorder(libframefs_enter(frame), order, nchunks, &fault);
    libframefs_leave(frame);
    return r < 0 ? libframefs_fail(frame->path, r, &fault) : 0;
}
