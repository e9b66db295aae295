/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/layers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/msgpack_write.h"
#include "frame/array_meta.h"
#include "frame/frame_layer_sums.h"
#include "frame/frame_private.h"

/* Name for the user meta of frames before 2021. */
#define USERMETA_NAME "usermeta"

static int read_layer(struct frame *frame, const struct metalayer *layer,
                      const char *name, struct layers *to, struct fault *fault)
{
    uint8_t *bytes = malloc(layer->len > 0 ? layer->len : 1);
    int r;

    if (!bytes)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = frame_read_at(frame, layer->off, bytes, layer->len, fault);
    if (r == 0)
        r = frame_check_vl(frame, layer, bytes, fault);
    if (r == 0) {
        r = layers_set(to, name, bytes, layer->len);
        if (r < 0)
            fault_set(fault, r, 0, NULL);
    }
    if (r < 0)
        free(bytes);
    return r;
}

static int read_all(struct frame *frame, const struct metalayer_list *list,
                    struct layers *fixed, struct layers *variable,
                    struct fault *fault)
{
    uint64_t total = 0;
    bool ignored;
    const struct metalayer *array = array_meta_find(list, &ignored);
    int r = 0;

    for (size_t i = 0; i < list->nlayers && r == 0; i++) {
        const struct metalayer *layer = &list->layers[i];
        bool usermeta = layer->kind == METALAYER_USERMETA;

        total += layer->len;
        if (total > LAYERS_BYTES_MAX)
            return frame_fault(frame, -E2BIG, layer->off,
                               "metalayers are too long to be rewritten",
                               fault);
        r = read_layer(frame, layer, usermeta ? USERMETA_NAME : layer->name,
                       layer->kind == METALAYER_FIXED ? fixed : variable,
                       fault);
        if (r == 0 && layer == array)
            r = array_meta_check(frame, layer,
                                 layers_find(fixed, layer->name)->bytes, fault);
    }
    return r;
}

int layers_read(struct frame *frame, struct layers *fixed,
                struct layers *variable, struct fault *fault)
{
    struct metalayer_list list;
    int r = metalayer_list_read(frame, &list, fault);

    if (r < 0)
        return r;
    r = read_all(frame, &list, fixed, variable, fault);
    metalayer_list_free(&list);
    return r;
}

void layers_free(struct layers *layers)
{
    for (size_t i = 0; i < layers->nlayers; i++)
        free(layers->layers[i].bytes);
    free(layers->layers);
    *layers = (struct layers){ 0 };
}

struct layer *layers_find(const struct layers *layers, const char *name)
{
    for (size_t i = 0; i < layers->nlayers; i++)
        if (strcmp(layers->layers[i].name, name) == 0)
            return &layers->layers[i];
    return NULL;
}

static struct layer *add(struct layers *layers, const char *name)
{
    size_t n = layers->nlayers;
    struct layer *more =
        realloc(layers->layers, (n + 1) * sizeof(layers->layers[0]));

    if (!more)
        return NULL;
    layers->layers = more;
    layers->nlayers++;
    more[n] = (struct layer){ 0 };
    strncpy(more[n].name, name, METALAYER_NAME_MAX);
    return &more[n];
}

int layers_set(struct layers *layers, const char *name, uint8_t *bytes,
               uint32_t len)
{
    struct layer *layer = layers_find(layers, name);

    if (!layer)
        layer = add(layers, name);
    if (!layer)
        return -ENOMEM;
    free(layer->bytes);
    layer->bytes = bytes;
    layer->len = len;
    return 0;
}

void layers_remove(struct layers *layers, struct layer *layer)
{
    size_t behind = (size_t)(layers->layers + layers->nlayers - layer) - 1;

    free(layer->bytes);
    memmove(layer, layer + 1, behind * sizeof(*layer));
    layers->nlayers--;
}

/* Length of the map with its head; the array starts behind it. */
static uint64_t map_len(const struct layers *layers)
{
    uint64_t len = FRAME_MAP_HEAD_LEN;

    for (size_t i = 0; i < layers->nlayers; i++)
        len += 1 + strlen(layers->layers[i].name) + 1 + sizeof(uint32_t);
    return len;
}

uint64_t layers_encoded_len(const struct layers *layers)
{
    uint64_t len = map_len(layers) + FRAME_ARRAY_HEAD_LEN;

    for (size_t i = 0; i < layers->nlayers; i++)
        len += FRAME_VALUE_HEAD_LEN + (uint64_t)layers->layers[i].len;
    return len;
}

void layers_encode(const struct layers *layers, uint8_t *dst, uint32_t origin,
                   uint32_t count_from)
{
    struct msgpack_writer writer = { .bytes = dst };
    uint32_t off = (uint32_t)map_len(layers) + FRAME_ARRAY_HEAD_LEN + origin;
    uint16_t n = (uint16_t)layers->nlayers;

    msgpack_write_byte(&writer, MSGPACK_FIXARRAY | 3);
    msgpack_write_u16(&writer, MSGPACK_UINT16,
                      (uint16_t)(map_len(layers) - count_from));
    msgpack_write_u16(&writer, MSGPACK_MAP16, n);
    for (size_t i = 0; i < n; i++) {
        const struct layer *layer = &layers->layers[i];
        size_t len = strlen(layer->name);

        msgpack_write_byte(&writer, (uint8_t)(MSGPACK_FIXSTR | len));
        msgpack_write_bytes(&writer, layer->name, len);
        msgpack_write_u32(&writer, MSGPACK_INT32, off);
        off += FRAME_VALUE_HEAD_LEN + layer->len;
    }
    msgpack_write_u16(&writer, MSGPACK_ARRAY16, n);
    for (size_t i = 0; i < n; i++) {
        const struct layer *layer = &layers->layers[i];

        msgpack_write_u32(&writer, MSGPACK_BIN32, layer->len);
        msgpack_write_bytes(&writer, layer->bytes, layer->len);
    }
}
