/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "chunk/chunk_format.h"
#include "frame/frame_keys.h"
#include "frame/frame_private.h"
#include "frame/frame_source.h"

enum {
    LAYER_MAX = 32 << 20 /* bytes; longer than any with valid content */
};

/* Read the bytes of a chunk of which its check is made.  Returns an error of
   the store; `out` stays 0 if the chunk is damaged. */
static int read_ends(const struct frame_source *source, uint64_t *out)
{
    uint8_t bytes[2 * FRAME_KEYS_END];
    size_t len =
        source->avail < sizeof(bytes) ? (size_t)source->avail : sizeof(bytes);
    uint32_t cbytes;
    int r = store_object_read_at(source->object, source->off, bytes, len);

    if (r < 0 || len < CHUNK_SHORT_HEADER_LEN)
        return r;
    cbytes = load_le32(bytes + CHUNK_OFF_CBYTES);
    if (cbytes < CHUNK_SHORT_HEADER_LEN || cbytes > source->avail)
        return 0;
    if (cbytes > sizeof(bytes))
        r = store_object_read_at(source->object,
                                 source->off + cbytes - FRAME_KEYS_END,
                                 bytes + FRAME_KEYS_END, FRAME_KEYS_END);
    if (r == 0)
        *out = frame_keys_check(bytes, cbytes < sizeof(bytes) ? cbytes
                                                              : sizeof(bytes));
    return r;
}

static int read_check(struct frame *frame, uint64_t chunk_no, uint64_t *out,
                      struct fault *fault)
{
    struct frame_entry entry;
    struct frame_source source;
    int r = frame_get_entry(frame, chunk_no, &entry, fault);

    *out = 0;
    if (r == 0 && entry.special) {
        *out = frame_keys_check_special(entry.kind);
        return 0;
    }
    if (r == 0)
        r = frame_source_open(frame, chunk_no, &entry, &source, fault);
    if (r < 0)
        return r == -EBADMSG ? 0 : r;
    r = read_ends(&source, out);
    frame_source_close(frame, &source);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Get the checks of all chunks. */
static int read_checks(struct frame *frame, struct frame_keys *out,
                       struct fault *fault)
{
    uint64_t n = frame->info.nchunks;
    int r = frame_keys_reserve(out, n);

    if (r < 0)
        return fault_set(fault, r, 0,
                         r == -EFBIG ? "too many chunks to have keys" : NULL);
    out->n = n;
    for (uint64_t i = 0; i < n && r == 0; i++) {
        out->keys[i] = 0;
        r = read_check(frame, i, &out->checks[i], fault);
    }
    return frame_check_kept(frame, r, fault);
}

/* Read the keys as they were when they were written.  Returns 1, 0 if there are
   none, or an error. */
static int read_layer(struct frame *frame, struct frame_keys *out,
                      uint64_t *state, struct fault *fault)
{
    struct metalayer_list list = { 0 };
    const struct metalayer *layer;
    uint8_t *bytes = NULL;
    ssize_t len = metalayer_list_read(frame, &list, fault);

    if (len == 0) {
        layer = metalayer_find(&list, METALAYER_VL, FRAME_KEYS_LAYER);
        if (!layer) {
            metalayer_list_free(&list);
            return 0;
        }
        len = metalayer_read(frame, layer, LAYER_MAX, &bytes, fault);
    }
    metalayer_list_free(&list);
    if (len >= 0) {
        len = frame_keys_parse(bytes, (size_t)len, out, state, fault);
        free(bytes);
        if (len == 0)
            return 1;
    }
    return (int)len;
}

static int match(struct frame *frame, struct frame_keys *keys,
                 struct fault *fault)
{
    struct frame_keys now = { 0 };
    int r = read_checks(frame, &now, fault);

    if (r == 0) {
        r = frame_keys_match(keys, &now);
        if (r < 0)
            fault_set(fault, r, 0, NULL);
    }
    if (r < 0) {
        frame_keys_fini(&now);
        return r;
    }
    frame_keys_fini(keys);
    *keys = now;
    return 0;
}

/* Read the keys of the chunks as they are now.  Returns as read_layer(). */
static int read_keys(struct frame *frame, struct frame_keys *out,
                     struct fault *fault)
{
    struct frame_keys keys = { 0 };
    uint64_t state;
    int r = read_layer(frame, &keys, &state, fault);

    if (r <= 0)
        return r;
    if (keys.n != frame->info.nchunks || state != frame->stamp_number ||
        (keys.n > 0 && state == 0))
        r = match(frame, &keys, fault);
    if (r < 0) {
        frame_keys_fini(&keys);
        return r;
    }
    *out = keys;
    return 1;
}

int frame_get_keys(struct frame *frame, const struct frame_keys **out,
                   struct fault *fault)
{
    struct frame_keys *known = atomic_load(&frame->keys);
    struct frame_keys *keys;
    int r;

    *out = known;
    if (known)
        return 0;
    keys = calloc(1, sizeof(*keys));
    r = keys ? read_keys(frame, keys, fault)
             : fault_set(fault, -ENOMEM, 0, NULL);
    if (r <= 0) {
        free(keys);
        return r;
    }
    /* Another thread may have read them at the same time. */
    if (atomic_compare_exchange_strong(&frame->keys, &known, keys)) {
        *out = keys;
    } else {
        frame_keys_fini(keys);
        free(keys);
        *out = known;
    }
    return 0;
}

int frame_keys_make(struct frame *frame, struct frame_keys *out, bool *had,
                    struct fault *fault)
{
    struct frame_keys keys = { 0 };
    int r = read_keys(frame, &keys, fault);

    if (r < 0)
        return r;
    *had = r > 0;
    if (r == 0) {
        keys.next = 1;
        r = read_checks(frame, &keys, fault);
    }
    if (r < 0) {
        frame_keys_fini(&keys);
        return r;
    }
    frame_keys_number(&keys);
    *out = keys;
    return 0;
}
