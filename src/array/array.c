/* SPDX-License-Identifier: BSD-3-Clause */
#include "array/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/msgpack.h"
#include "base/size.h"
#include "frame/metalayer.h"

/* State of parsing a metalayer into an array. */
struct parser {
    struct msgpack reader;
    struct array *array;
    const char *dtype; /* not terminated; NULL if unknown */
    uint32_t dtype_len;
    const char *wrong; /* why it failed; NULL: a wrong marker, or cut short */
};

static void fail(struct parser *parser, const char *what)
{
    if (parser->reader.failed)
        return;
    parser->reader.failed = true;
    parser->wrong = what;
}

/* Parse the first byte, which tells the parts that follow. */
static uint8_t parse_parts(struct parser *parser)
{
    uint8_t parts = msgpack_byte(&parser->reader);

    if (parts != ARRAY_PARTS_OLDEST && parts != ARRAY_PARTS_NO_DTYPE &&
        parts != ARRAY_PARTS_BARE_DTYPE && parts != ARRAY_PARTS_ALL)
        fail(parser, "an array has a metalayer of an unknown kind");
    return parts;
}

static void parse_ndim(struct parser *parser)
{
    uint8_t ndim = msgpack_byte(&parser->reader);

    if (ndim > ARRAY_NDIM_MAX)
        fail(parser, "an array has more than 16 dimensions");
    else
        parser->array->shape.ndim = ndim;
}

/* Parse the marker before the extents.  With 16 dimensions it is 0xA0, which is
   not an array marker, because the writer just adds ndim to 0x90. */
static void parse_head(struct parser *parser)
{
    msgpack_expect(&parser->reader,
                   (uint8_t)(MSGPACK_FIXARRAY + parser->array->shape.ndim));
}

static void parse_shape(struct parser *parser, uint8_t marker)
{
    struct layout_shape *shape = &parser->array->shape;

    parse_head(parser);
    for (unsigned i = 0; i < shape->ndim; i++) {
        msgpack_expect(&parser->reader, marker);
        shape->items[i] = msgpack_u64(&parser->reader);
        if (shape->items[i] > INT64_MAX)
            fail(parser, "an extent of an array is negative");
    }
}

/* Extents of blocks may be rubbish; find_levels() checks them later. */
static void parse_extents(struct parser *parser, uint32_t *extents)
{
    parse_head(parser);
    for (unsigned i = 0; i < parser->array->shape.ndim; i++) {
        msgpack_expect(&parser->reader, MSGPACK_INT32);
        extents[i] = msgpack_u32(&parser->reader);
    }
}

static void parse_dtype(struct parser *parser)
{
    const uint8_t *text;

    msgpack_expect(&parser->reader, MSGPACK_STR32);
    parser->dtype_len = msgpack_u32(&parser->reader);
    text = msgpack_bytes(&parser->reader, parser->dtype_len);
    if (text && memchr(text, '\0', parser->dtype_len))
        fail(parser, "the dtype of an array has a zero byte");
    parser->dtype = (const char *)text;
}

/* Parse a dtype and its format.  Only NumPy's format is known. */
static void parse_dtype_format(struct parser *parser)
{
    uint8_t format = msgpack_byte(&parser->reader);

    parse_dtype(parser);
    if (format != ARRAY_DTYPE_NUMPY)
        parser->dtype = NULL;
}

/* The first versions of Caterva marked extents as unsigned. */
static uint8_t shape_marker(const struct parser *parser, uint8_t parts)
{
    const struct msgpack *reader = &parser->reader;
    size_t at = reader->pos + 1; /* after the head */

    if (parts == ARRAY_PARTS_OLDEST && at < reader->len &&
        reader->bytes[at] == MSGPACK_UINT64)
        return MSGPACK_UINT64;
    return MSGPACK_INT64;
}

static uint8_t parse(struct parser *parser)
{
    struct layout_shape *shape = &parser->array->shape;
    uint8_t parts = parse_parts(parser);

    if (parts != ARRAY_PARTS_OLDEST)
        msgpack_byte(&parser->reader); /* version, which is not used */
    parse_ndim(parser);
    parse_shape(parser, shape_marker(parser, parts));
    parse_extents(parser, shape->chunk);
    if (parts != ARRAY_PARTS_OLDEST)
        parse_extents(parser, shape->block);
    if (parts == ARRAY_PARTS_BARE_DTYPE)
        parse_dtype(parser);
    if (parts == ARRAY_PARTS_ALL)
        parse_dtype_format(parser);
    if (parser->reader.pos != parser->reader.len)
        fail(parser, "bytes follow the metalayer of an array");
    return parts;
}

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

static int keep_dtype(struct parser *parser, struct fault *fault)
{
    if (!parser->dtype)
        return 0;
    parser->array->dtype = strndup(parser->dtype, parser->dtype_len);
    return parser->array->dtype ? 0 : fault_set(fault, -ENOMEM, 0, NULL);
}

int array_parse(const struct array_content *content,
                const struct frame_info *info, struct array **out,
                struct fault *fault)
{
    struct parser parser = {
        .reader = { .bytes = content->bytes, .len = content->len },
    };
    struct array *array = calloc(1, sizeof(*array));
    uint8_t parts;
    int r;

    if (!array)
        return fault_set(fault, -ENOMEM, 0, NULL);
    parser.array = array;
    parts = parse(&parser);
    if (parser.reader.failed)
        r = fault_set(fault, -EBADMSG, parser.reader.pos,
                      parser.wrong ? parser.wrong
                                   : "metalayer of an array is damaged");
    else
        r = find_levels(array, parts, content->caterva, info, fault);
    if (r == 0)
        r = keep_dtype(&parser, fault);
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
    ssize_t len = metalayer_read(frame, layer, ARRAY_LAYER_MAX, &bytes, fault);
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
    bool caterva = false;
    int r = metalayer_list_read_fixed(frame, &list, fault);

    if (r < 0)
        return r;
    layer = metalayer_find(&list, METALAYER_FIXED, ARRAY_LAYER_B2ND);
    if (!layer) {
        layer = metalayer_find(&list, METALAYER_FIXED, ARRAY_LAYER_CATERVA);
        caterva = true;
    }
    if (layer)
        r = read_layer(frame, layer, caterva, out, fault);
    else
        *out = NULL;
    metalayer_list_free(&list);
    return r;
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
