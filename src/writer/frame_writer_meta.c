/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/chunk_format.h"
#include "writer/frame_writer_private.h"

static bool name_fits(const char *name)
{
    return strlen(name) <= METALAYER_NAME_MAX;
}

/* Make the header longer for a new metalayer.  Only a draft without chunks has
   space for that; any other frame is rewritten. */
static int lengthen_header(struct frame_writer *writer)
{
    uint64_t len = frame_encode_header_len(&writer->fixed);
    uint32_t old = writer->info.header_len;
    int r;

    if (!writer->draft || frame_alloc_end(writer->alloc) != old) {
        writer->rewrite = true;
        return 0;
    }
    r = frame_alloc_reserve(writer->alloc, len);
    if (r < 0)
        return r;
    pthread_mutex_lock(&writer->lock);
    writer->info.header_len = (uint32_t)len;
    pthread_mutex_unlock(&writer->lock);
    return 0;
}

static uint8_t *copy_of(const void *content, size_t len)
{
    uint8_t *bytes = malloc(len > 0 ? len : 1);

    if (bytes && len > 0)
        memcpy(bytes, content, len);
    return bytes;
}

/* Can the list take one more layer of this size? */
static int check_layers_fit(const struct layers *layers,
                            const struct layer *old, size_t len)
{
    if (!old && layers->nlayers >= FRAME_METALAYERS_MAX)
        return -E2BIG;
    if (len > LAYERS_BYTES_MAX - CHUNK_OVERHEAD_MAX ||
        layers_encoded_len(layers) + len > LAYERS_BYTES_MAX)
        return -E2BIG;
    return 0;
}

/*
 * Keep the content of a metalayer before it is set or removed.  A new metalayer
 * in the header cannot be undone, because the length of the header has been
 * adapted to it.
 */
static void keep_layer(struct frame_writer *writer, struct layers *layers,
                       const char *name)
{
    struct layer *old = layers_find(layers, name);

    free(writer->replaced.bytes);
    writer->replaced = (struct layer){ 0 };
    if (old) {
        writer->replaced = *old;
        old->bytes = NULL;
    } else {
        strncpy(writer->replaced.name, name, METALAYER_NAME_MAX);
    }
    writer->edited = old || layers == &writer->vl ? layers : NULL;
    writer->header_was_changed = writer->header_changed;
}

void frame_writer_undo_metalayer(struct frame_writer *writer)
{
    struct layers *layers = writer->edited;
    struct layer *was = &writer->replaced;

    if (!layers)
        return;
    writer->edited = NULL;
    if (!was->bytes)
        layers_remove(layers, layers_find(layers, was->name));
    else if (layers_set(layers, was->name, was->bytes, was->len) == 0)
        was->bytes = NULL;
    if (layers == &writer->fixed && writer->header_known)
        writer->header_changed = writer->header_was_changed;
}

int frame_writer_set_metalayer(struct frame_writer *writer, const char *name,
                               const void *content, size_t len)
{
    const struct layer *old = layers_find(&writer->fixed, name);
    uint8_t *bytes;
    int r;

    if (!name_fits(name) || (old && old->len != len) ||
        (!old && writer->info.nchunks > 0))
        return -EINVAL;
    r = check_layers_fit(&writer->fixed, old, len);
    if (r < 0)
        return r;
    bytes = copy_of(content, len);
    if (!bytes)
        return -ENOMEM;
    keep_layer(writer, &writer->fixed, name);
    r = layers_set(&writer->fixed, name, bytes, (uint32_t)len);
    if (r < 0) {
        free(bytes);
        return r;
    }
    writer->header_changed = true;
    return old ? 0 : lengthen_header(writer);
}

/* Encode the content as a chunk.  Format: frame.md, 7 "Trailer". */
ssize_t frame_writer_encode_layer(struct frame_writer *writer,
                                  const void *content, size_t len,
                                  uint8_t **out)
{
    static const struct chunk_params params = {
        .typesize = 1,
        .clevel = 5,
        .split_mode = CHUNK_SPLIT_FORWARD,
        .bodied = true,
    };
    size_t cap = len + CHUNK_OVERHEAD_MAX;
    uint8_t *bytes = malloc(cap);
    ssize_t n;

    if (!bytes)
        return -ENOMEM;
    n = chunk_encode(writer->encoder, &params,
                     &(struct chunk_content){ content, len }, bytes, cap);
    if (n < 0)
        free(bytes);
    else
        *out = bytes;
    return n;
}

int frame_writer_set_vlmetalayer(struct frame_writer *writer, const char *name,
                                 const void *content, size_t len)
{
    const struct layer *old = layers_find(&writer->vl, name);
    uint8_t *bytes;
    ssize_t n;
    int r;

    if (!name_fits(name))
        return -EINVAL;
    r = check_layers_fit(&writer->vl, old, len);
    if (r < 0)
        return r;
    n = frame_writer_encode_layer(writer, content, len, &bytes);
    if (n < 0)
        return (int)n;
    frame_writer_drop_keys(writer, name);
    keep_layer(writer, &writer->vl, name);
    r = layers_set(&writer->vl, name, bytes, (uint32_t)n);
    if (r < 0)
        free(bytes);
    return r;
}

int frame_writer_remove_vlmetalayer(struct frame_writer *writer,
                                    const char *name)
{
    struct layer *layer = layers_find(&writer->vl, name);

    if (!layer)
        return -ENODATA;
    frame_writer_drop_keys(writer, name);
    keep_layer(writer, &writer->vl, name);
    layers_remove(&writer->vl, layer);
    return 0;
}
