/* SPDX-License-Identifier: BSD-3-Clause */
#include "array/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "frame/array_meta.h"
#include "frame/metalayer.h"

/* Check an array against the chunks of its frame.  The frame may have more
   chunks than the array needs. */
static int check_chunks(const struct layout *layout,
                        const struct frame_info *info, struct fault *fault)
{
    uint64_t chunksize = (uint64_t)layout->chunk_nitems * layout->itemsize;

    if (layout->nchunks == 0)
        return 0;
    if (chunksize != info->chunksize)
        return fault_set(fault, -EBADMSG, 0,
                         "chunks of an array have not the size of the frame's");
    if (info->nbytes / chunksize < layout->nchunks)
        return fault_set(fault, -EBADMSG, 0,
                         "an array has more chunks than its frame");
    return 0;
}

static int lay_out(struct array *array, const struct frame_info *info,
                   struct fault *fault)
{
    int r = layout_init(&array->layout, &array->shape, info->typesize, fault);

    return r < 0 ? r : check_chunks(&array->layout, info, fault);
}

/*
 * Lay out an array with two levels, chunks and blocks, or with chunks alone.
 * Early arrays have one level: no block shape, or one that may be rubbish.
 * Later arrays have two and may look the same, so try two levels first.
 */
static int find_levels(struct array *array, uint8_t parts, bool caterva,
                       const struct frame_info *info, struct fault *fault)
{
    struct layout_shape *shape = &array->shape;

    if (parts != ARRAY_PARTS_OLDEST && lay_out(array, info, fault) == 0)
        return 0;
    if (parts != ARRAY_PARTS_OLDEST && !caterva)
        return -EBADMSG;
    memcpy(shape->block, shape->chunk, sizeof(shape->block));
    return lay_out(array, info, fault);
}

static int keep_dtype(struct array *array, const struct array_meta *meta,
                      struct fault *fault)
{
    if (!meta->dtype)
        return 0;
    array->dtype = strndup(meta->dtype, meta->dtype_len);
    return array->dtype ? 0 : fault_set(fault, -ENOMEM, 0, NULL);
}

static void take_shape(struct layout_shape *shape,
                       const struct array_meta *meta)
{
    shape->ndim = meta->ndim;
    memcpy(shape->items, meta->items, sizeof(shape->items));
    memcpy(shape->chunk, meta->chunk, sizeof(shape->chunk));
    memcpy(shape->block, meta->block, sizeof(shape->block));
}

int array_parse(const struct array_content *content,
                const struct frame_info *info, struct array **out,
                struct fault *fault)
{
    struct array_meta meta;
    struct array *array;
    int r = array_meta_parse(content->bytes, content->len, &meta, fault);

    if (r < 0)
        return r;
    array = calloc(1, sizeof(*array));
    if (!array)
        return fault_set(fault, -ENOMEM, 0, NULL);
    take_shape(&array->shape, &meta);
    r = find_levels(array, meta.parts, content->caterva, info, fault);
    if (r == 0)
        r = keep_dtype(array, &meta, fault);
    if (r < 0) {
        array_free(array);
        return r;
    }
    *out = array;
    return 0;
}

static int read_layer(struct frame *frame, const struct metalayer *layer,
                      bool caterva, struct array **out, struct fault *fault)
{
    uint8_t *bytes;
    ssize_t len = array_meta_read(frame, layer, &bytes, fault);
    int r;

    if (len < 0)
        return (int)len;
    r = array_parse(&(struct array_content){ bytes, (size_t)len, caterva },
                    frame_get_info(frame), out, fault);
    if (r < 0) {
        fault->off += layer->off;
        frame_fault_name(frame, fault);
    }
    free(bytes);
    return r;
}

int array_read(struct frame *frame, struct array **out, struct fault *fault)
{
    struct metalayer_list list;
    const struct metalayer *layer;
    bool caterva;
    int r = metalayer_list_read_fixed(frame, &list, fault);

    if (r < 0)
        return r;
    layer = array_meta_find(&list, &caterva);
    if (layer)
        r = read_layer(frame, layer, caterva, out, fault);
    else
        *out = NULL;
    metalayer_list_free(&list);
    return r;
}

ssize_t array_read_content(struct frame *frame, const char **name,
                           uint8_t **content, struct fault *fault)
{
    struct metalayer_list list;
    const struct metalayer *layer;
    bool caterva;
    ssize_t len = metalayer_list_read_fixed(frame, &list, fault);

    if (len < 0)
        return len;
    layer = array_meta_find(&list, &caterva);
    len = layer ? array_meta_read(frame, layer, content, fault)
                : fault_set(fault, -ENODATA, 0, NULL);
    metalayer_list_free(&list);
    if (len >= 0)
        *name = caterva ? ARRAY_LAYER_CATERVA : ARRAY_LAYER_B2ND;
    return len;
}

bool array_is_layer(const char *name)
{
    return strcmp(name, ARRAY_LAYER_B2ND) == 0 ||
           strcmp(name, ARRAY_LAYER_CATERVA) == 0;
}

void array_free(struct array *array)
{
    if (!array)
        return;
    free(array->dtype);
    free(array);
}
