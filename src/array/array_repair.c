/* SPDX-License-Identifier: BSD-3-Clause */
#include "array/array_repair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "array/array_extent.h"
#include "array/dtype.h"
#include "base/bytes.h"
#include "frame/array_format.h"

/* Byte layout of the metalayer of a b2nd array.  Format: b2nd.md, 1. */
enum {
    NDIM_OFF = 2,
    SHAPE_OFF = 3,
    LIST_HEAD_LEN = 1,
    ITEMS_LEN = 9,  /* marker and int64 */
    EXTENT_LEN = 5, /* marker and int32 */

    DTYPE_HEAD_LEN = 6, /* format, marker, and length */

    /* Wrong bytes tolerated among those that depend on the number of
       dimensions. */
    WRONG_MAX = 1,
};

static size_t list_len(unsigned ndim, size_t element_len)
{
    return LIST_HEAD_LEN + ndim * element_len;
}

static size_t chunk_off(unsigned ndim)
{
    return SHAPE_OFF + list_len(ndim, ITEMS_LEN);
}

static size_t block_off(unsigned ndim)
{
    return chunk_off(ndim) + list_len(ndim, EXTENT_LEN);
}

static size_t dtype_off(unsigned ndim)
{
    return block_off(ndim) + list_len(ndim, EXTENT_LEN);
}

/* Count the markers of a list that are not as this number of dimensions
   needs. */
static unsigned count_wrong(const uint8_t *list, unsigned ndim, uint8_t marker,
                            size_t element_len)
{
    unsigned n = list[0] != (uint8_t)(MSGPACK_FIXARRAY + ndim);

    for (unsigned i = 0; i < ndim; i++)
        n += list[LIST_HEAD_LEN + i * element_len] != marker;
    return n;
}

/* Does the metalayer have so many dimensions?  Several bytes depend on this
   number, and at most WRONG_MAX of them may disagree. */
static bool has_ndim(const uint8_t *bytes, size_t len, unsigned ndim)
{
    if (len < dtype_off(ndim))
        return false;
    return (bytes[NDIM_OFF] != ndim) +
               count_wrong(bytes + SHAPE_OFF, ndim, MSGPACK_INT64, ITEMS_LEN) +
               count_wrong(bytes + chunk_off(ndim), ndim, MSGPACK_INT32,
                           EXTENT_LEN) +
               count_wrong(bytes + block_off(ndim), ndim, MSGPACK_INT32,
                           EXTENT_LEN) <=
           WRONG_MAX;
}

static void read_extents(const uint8_t *list, unsigned ndim, uint32_t *out)
{
    for (unsigned i = 0; i < ndim; i++)
        out[i] = load_be32(list + LIST_HEAD_LEN + i * EXTENT_LEN + 1);
}

static void read_shape(const uint8_t *bytes, unsigned ndim,
                       struct layout_shape *out)
{
    *out = (struct layout_shape){ .ndim = ndim };
    for (unsigned i = 0; i < ndim; i++)
        out->items[i] =
            load_be64(bytes + SHAPE_OFF + LIST_HEAD_LEN + i * ITEMS_LEN + 1);
    read_extents(bytes + chunk_off(ndim), ndim, out->chunk);
    read_extents(bytes + block_off(ndim), ndim, out->block);
}

/* Read the dtype, which extends to the end.  `out` is NULL if there is none, or
   if it does not describe items of this size. */
static int read_dtype(const uint8_t *bytes, size_t len, uint32_t itemsize,
                      char **out)
{
    struct dtype dtype = { 0 };
    int r;

    *out = NULL;
    if (len <= DTYPE_HEAD_LEN)
        return 0;
    *out = strndup((const char *)bytes + DTYPE_HEAD_LEN, len - DTYPE_HEAD_LEN);
    r = *out ? dtype_parse(*out, &dtype) : -ENOMEM;
    if (r < 0 || dtype.itemsize != itemsize) {
        free(*out);
        *out = NULL;
    }
    dtype_fini(&dtype);
    return r == -ENOMEM ? r : 0;
}

/* Check that this is the metalayer of an array and fits the frame. */
static int check(const struct repair_layer *layer, bool caterva,
                 const struct frame_info *info, struct fault *fault)
{
    struct array *array = NULL;
    int r = array_parse(
        &(struct array_content){ layer->content, layer->len, caterva }, info,
        &array, fault);

    array_free(array);
    return r;
}

/* Encode a shape, with the dtype from a metalayer of as many dimensions. */
static int encode_again(const struct repair_layer *layer,
                        const struct layout_shape *shape,
                        const struct frame_info *info, struct repair_layer *out)
{
    size_t off = dtype_off(shape->ndim);
    char *dtype;
    int r = read_dtype(layer->content + off, layer->len - off, info->typesize,
                       &dtype);

    if (r < 0)
        return r;
    *out = (struct repair_layer){ .name = layer->name };
    out->lossy = !dtype && layer->len > off;
    out->done = out->lossy ? "is saved without its dtype" : "is mended";
    r = array_encode(shape, dtype, &out->content, &out->len);
    free(dtype);
    return r == -EINVAL ? -EBADMSG : r;
}

/* Give the metalayer this shape, if the shape fits the frame. */
static int mend_with(struct repair_layer *layer,
                     const struct layout_shape *shape,
                     const struct frame_info *info)
{
    struct repair_layer mended;
    struct fault ignored;
    int r = encode_again(layer, shape, info, &mended);

    if (r < 0)
        return r;
    r = check(&mended, false, info, &ignored);
    if (r < 0) {
        free(mended.content);
        return r;
    }
    free(layer->content);
    *layer = mended;
    return 0;
}

static int mend(struct repair_layer *layer, const struct frame_info *info)
{
    struct layout_shape shape;
    unsigned ndim = 0;
    int r;

    while (ndim <= ARRAY_NDIM_MAX &&
           !has_ndim(layer->content, layer->len, ndim))
        ndim++;
    if (ndim > ARRAY_NDIM_MAX)
        return -EBADMSG;
    read_shape(layer->content, ndim, &shape);
    r = mend_with(layer, &shape, info);
    if (r == -EBADMSG && array_find_extent(&shape, info))
        r = mend_with(layer, &shape, info);
    return r;
}

int array_repair_layer(void *context, const struct frame_info *info,
                       struct repair_layer *layer, struct fault *fault)
{
    bool caterva = strcmp(layer->name, ARRAY_LAYER_CATERVA) == 0;
    int r;

    (void)context;
    if (!array_is_layer(layer->name))
        return 0;
    if (layer->len > ARRAY_LAYER_MAX)
        return fault_set(fault, -EBADMSG, 0, "metalayer is too long");
    r = check(layer, caterva, info, fault);
    if (r == -EBADMSG && !caterva)
        r = mend(layer, info);
    return r;
}
