/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/chunk_format.h"
#include "writer/frame_change_private.h"

static bool name_fits(const char *name)
{
    return strlen(name) <= METALAYER_NAME_MAX;
}

/* Make room in the header, because a new metalayer makes it longer.  Only a
   draft without chunks has such room; any other frame is rewritten. */
static int make_header_room(struct frame_change *change)
{
    uint64_t len = frame_write_header_len(&change->fixed);
    uint32_t old = change->info.header_len;
    int r;

    if (!change->draft || frame_alloc_end(change->alloc) != old) {
        change->rewrite = true;
        return 0;
    }
    r = frame_alloc_reserve(change->alloc, len);
    if (r < 0)
        return r;
    pthread_mutex_lock(&change->lock);
    change->info.header_len = (uint32_t)len;
    pthread_mutex_unlock(&change->lock);
    return 0;
}

static uint8_t *copy_of(const void *content, size_t len)
{
    uint8_t *bytes = malloc(len > 0 ? len : 1);

    if (bytes && len > 0)
        memcpy(bytes, content, len);
    return bytes;
}

/* Does the list have room for one more layer of this size? */
static int check_room(const struct layers *layers, const struct layer *old,
                      size_t len)
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
static void keep_layer(struct frame_change *change, struct layers *layers,
                       const char *name)
{
    struct layer *old = layers_find(layers, name);

    free(change->replaced.bytes);
    change->replaced = (struct layer){ 0 };
    if (old) {
        change->replaced = *old;
        old->bytes = NULL;
    } else {
        strncpy(change->replaced.name, name, METALAYER_NAME_MAX);
    }
    change->edited = old || layers == &change->vl ? layers : NULL;
    change->header_was_changed = change->header_changed;
}

void frame_change_undo_metalayer(struct frame_change *change)
{
    struct layers *layers = change->edited;
    struct layer *was = &change->replaced;

    if (!layers)
        return;
    change->edited = NULL;
    if (!was->bytes)
        layers_remove(layers, layers_find(layers, was->name));
    else if (layers_set(layers, was->name, was->bytes, was->len) == 0)
        was->bytes = NULL;
    if (layers == &change->fixed && change->header_known)
        change->header_changed = change->header_was_changed;
}

int frame_change_set_metalayer(struct frame_change *change, const char *name,
                               const void *content, size_t len)
{
    const struct layer *old = layers_find(&change->fixed, name);
    uint8_t *bytes;
    int r;

    if (!name_fits(name) || (old && old->len != len) ||
        (!old && change->info.nchunks > 0))
        return -EINVAL;
    r = check_room(&change->fixed, old, len);
    if (r < 0)
        return r;
    bytes = copy_of(content, len);
    if (!bytes)
        return -ENOMEM;
    keep_layer(change, &change->fixed, name);
    r = layers_set(&change->fixed, name, bytes, (uint32_t)len);
    if (r < 0) {
        free(bytes);
        return r;
    }
    change->header_changed = true;
    return old ? 0 : make_header_room(change);
}

/* Encode the content as a chunk.  Format: frame.md, 7 "Trailer". */
static ssize_t encode_layer(struct frame_change *change, const void *content,
                            size_t len, uint8_t **out)
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
    n = chunk_encode(change->encoder, &params, content, len, bytes, cap);
    if (n < 0)
        free(bytes);
    else
        *out = bytes;
    return n;
}

int frame_change_set_vlmetalayer(struct frame_change *change, const char *name,
                                 const void *content, size_t len)
{
    const struct layer *old = layers_find(&change->vl, name);
    uint8_t *bytes;
    ssize_t n;
    int r;

    if (!name_fits(name))
        return -EINVAL;
    r = check_room(&change->vl, old, len);
    if (r < 0)
        return r;
    n = encode_layer(change, content, len, &bytes);
    if (n < 0)
        return (int)n;
    keep_layer(change, &change->vl, name);
    r = layers_set(&change->vl, name, bytes, (uint32_t)n);
    if (r < 0)
        free(bytes);
    return r;
}

int frame_change_remove_vlmetalayer(struct frame_change *change,
                                    const char *name)
{
    struct layer *layer = layers_find(&change->vl, name);

    if (!layer)
        return -ENODATA;
    keep_layer(change, &change->vl, name);
    layers_remove(&change->vl, layer);
    return 0;
}
