/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame/frame_format.h"
#include "writer/frame_writer_private.h"

/* Take over the keys of the frame, or new ones. */
static int take_keys(struct frame_writer *writer, struct frame *frame,
                     struct fault *fault)
{
    bool had;
    int r = frame_keys_make(frame, &writer->keys, &had, fault);

    writer->has_keys = r == 0;
    return r;
}

int frame_writer_load_keys(struct frame_writer *writer, struct frame *frame,
                           struct fault *fault)
{
    int r;

    if (!layers_find(&writer->vl, FRAME_KEYS_LAYER))
        return 0;
    r = take_keys(writer, frame, fault);
    return r == -EBADMSG || r == -ENOTSUP || r == -EFBIG || r == -E2BIG ? 0 : r;
}

int frame_writer_add_keys(struct frame_writer *writer, struct frame *frame,
                          struct fault *fault)
{
    if (writer->has_keys)
        return 0;
    if (!layers_find(&writer->vl, FRAME_KEYS_LAYER) &&
        writer->vl.nlayers >= FRAME_METALAYERS_MAX)
        return fault_set(fault, -E2BIG, 0, NULL);
    return take_keys(writer, frame, fault);
}

const struct frame_keys *frame_writer_get_keys(
    const struct frame_writer *writer)
{
    return writer->has_keys ? &writer->keys : NULL;
}

int frame_writer_reserve_keys(struct frame_writer *writer, uint64_t n)
{
    return writer->has_keys ? frame_keys_reserve(&writer->keys, n) : 0;
}

void frame_writer_splice_keys(struct frame_writer *writer, uint64_t first,
                              uint64_t nremoved, uint64_t nadded,
                              uint64_t check)
{
    if (writer->has_keys)
        frame_keys_splice(&writer->keys, first, nremoved, nadded, check);
}

void frame_writer_put_keys(struct frame_writer *writer, uint64_t first,
                           uint64_t n, uint64_t check)
{
    for (uint64_t i = first; writer->has_keys && i < first + n; i++)
        writer->keys.checks[i] = check;
}

int frame_writer_reorder_keys(struct frame_writer *writer,
                              const uint64_t *order)
{
    struct frame_keys *old = &writer->keys;
    struct frame_keys keys = { .next = old->next };
    int r;

    if (!writer->has_keys)
        return 0;
    r = frame_keys_reserve(&keys, old->n);
    if (r < 0) {
        frame_keys_fini(&keys);
        return r;
    }
    keys.n = old->n;
    for (uint64_t i = 0; i < keys.n; i++) {
        keys.keys[i] = old->keys[order[i]];
        keys.checks[i] = old->checks[order[i]];
    }
    frame_keys_fini(old);
    *old = keys;
    return 0;
}

int frame_writer_write_keys(struct frame_writer *writer)
{
    size_t len = frame_keys_encoded_len(&writer->keys);
    uint64_t state = writer->info.nchunks > 0 ? writer->stamp : 0;
    uint8_t *layer = NULL;
    uint8_t *content;
    ssize_t n;
    int r;

    if (!writer->has_keys)
        return 0;
    content = malloc(len);
    if (!content)
        return -ENOMEM;
    frame_keys_encode(&writer->keys, state, content);
    n = frame_writer_encode_layer(writer, content, len, &layer);
    free(content);
    r = n < 0 ? (int)n
              : layers_set(&writer->vl, FRAME_KEYS_LAYER, layer, (uint32_t)n);
    if (r < 0)
        free(n < 0 ? NULL : layer);
    return r;
}

void frame_writer_drop_keys(struct frame_writer *writer, const char *layer)
{
    if (strcmp(layer, FRAME_KEYS_LAYER) != 0)
        return;
    frame_keys_fini(&writer->keys);
    writer->has_keys = false;
}
