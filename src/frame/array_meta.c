/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/array_meta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/msgpack.h"
#include "frame/array_sum.h"
#include "frame/frame_private.h"

/* State of parsing a metalayer. */
struct parser {
    struct msgpack reader;
    struct array_meta *meta;
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
        parser->meta->ndim = ndim;
}

/* Parse the marker before the extents.  With 16 dimensions it is 0xA0, which is
   not an array marker, because the writer just adds ndim to 0x90. */
static void parse_head(struct parser *parser)
{
    msgpack_expect(&parser->reader,
                   (uint8_t)(MSGPACK_FIXARRAY + parser->meta->ndim));
}

static void parse_shape(struct parser *parser, uint8_t marker)
{
    struct array_meta *meta = parser->meta;

    parse_head(parser);
    for (unsigned i = 0; i < meta->ndim; i++) {
        msgpack_expect(&parser->reader, marker);
        meta->items[i] = msgpack_u64(&parser->reader);
        if (meta->items[i] > INT64_MAX)
            fail(parser, "an extent of an array is negative");
    }
}

/* Extents of blocks may be rubbish; the caller checks them. */
static void parse_extents(struct parser *parser, uint32_t *extents)
{
    parse_head(parser);
    for (unsigned i = 0; i < parser->meta->ndim; i++) {
        msgpack_expect(&parser->reader, MSGPACK_INT32);
        extents[i] = msgpack_u32(&parser->reader);
    }
}

static void parse_dtype(struct parser *parser)
{
    const uint8_t *text;

    msgpack_expect(&parser->reader, MSGPACK_STR32);
    parser->meta->dtype_len = msgpack_u32(&parser->reader);
    text = msgpack_bytes(&parser->reader, parser->meta->dtype_len);
    if (text && memchr(text, '\0', parser->meta->dtype_len))
        fail(parser, "the dtype of an array has a zero byte");
    parser->meta->dtype = (const char *)text;
}

/* Parse a dtype and its format.  Only NumPy's format is known. */
static void parse_dtype_format(struct parser *parser)
{
    uint8_t format = msgpack_byte(&parser->reader);

    parse_dtype(parser);
    if (format != ARRAY_DTYPE_NUMPY)
        parser->meta->dtype = NULL;
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

static void parse(struct parser *parser)
{
    struct array_meta *meta = parser->meta;
    uint8_t parts = parse_parts(parser);

    if (parts != ARRAY_PARTS_OLDEST)
        msgpack_byte(&parser->reader); /* version, which is not used */
    parse_ndim(parser);
    parse_shape(parser, shape_marker(parser, parts));
    parse_extents(parser, meta->chunk);
    if (parts != ARRAY_PARTS_OLDEST)
        parse_extents(parser, meta->block);
    if (parts == ARRAY_PARTS_BARE_DTYPE)
        parse_dtype(parser);
    if (parts == ARRAY_PARTS_ALL)
        parse_dtype_format(parser);
    if (parser->reader.pos != parser->reader.len)
        fail(parser, "bytes follow the metalayer of an array");
    meta->parts = parts;
}

int array_meta_parse(const uint8_t *content, size_t len, struct array_meta *out,
                     struct fault *fault)
{
    struct array_meta meta = { 0 };
    struct parser parser = {
        .reader = { .bytes = content, .len = len },
        .meta = &meta,
    };

    parse(&parser);
    if (parser.reader.failed)
        return fault_set(fault, -EBADMSG, parser.reader.pos,
                         parser.wrong ? parser.wrong
                                      : "metalayer of an array is damaged");
    *out = meta;
    return 0;
}

const struct metalayer *array_meta_find(const struct metalayer_list *list,
                                        bool *caterva)
{
    const struct metalayer *layer =
        metalayer_find(list, METALAYER_FIXED, ARRAY_LAYER_B2ND);

    *caterva = !layer;
    if (layer)
        return layer;
    return metalayer_find(list, METALAYER_FIXED, ARRAY_LAYER_CATERVA);
}

int array_meta_check(const struct frame *frame, const struct metalayer *layer,
                     const uint8_t *content, struct fault *fault)
{
    const struct frame_sums *sums = frame->unchecked ? NULL : frame->sums;
    int r;

    if (!sums || sums->array == 0 ||
        array_sum(content, layer->len) == sums->array)
        return 0;
    r = frame_fault(frame, -EBADMSG, layer->off,
                    "the shape of the array does not match its sum", fault);
    fault->mismatch = true;
    return r;
}

ssize_t array_meta_read(struct frame *frame, const struct metalayer *layer,
                        uint8_t **content, struct fault *fault)
{
    uint8_t *bytes;
    ssize_t len = metalayer_read(frame, layer, ARRAY_LAYER_MAX, &bytes, fault);
    int r;

    if (len < 0)
        return len;
    r = array_meta_check(frame, layer, bytes, fault);
    if (r < 0) {
        free(bytes);
        return r;
    }
    *content = bytes;
    return len;
}

/* Read and parse the metalayer; `out` stays zero if the frame is no array. */
static int read_meta(struct frame *frame, const struct metalayer_list *list,
                     struct array_meta *out, struct fault *fault)
{
    bool caterva;
    const struct metalayer *layer = array_meta_find(list, &caterva);
    uint8_t *content;
    ssize_t len;
    int r;

    if (!layer)
        return 0;
    len = array_meta_read(frame, layer, &content, fault);
    if (len < 0)
        return (int)len;
    r = array_meta_parse(content, (size_t)len, out, fault);
    out->dtype = NULL;
    free(content);
    return r;
}

int array_meta_read_block(struct frame *frame, struct block_shape *out,
                          struct fault *fault)
{
    struct array_meta meta = { 0 };
    struct metalayer_list list;
    int r = metalayer_list_read_fixed(frame, &list, fault);

    if (r == 0) {
        r = read_meta(frame, &list, &meta, fault);
        metalayer_list_free(&list);
    }
    if (r < 0 && r != -EBADMSG && r != -E2BIG)
        return r;
    *out = (struct block_shape){ 0 };
    if (r < 0 || meta.parts == ARRAY_PARTS_OLDEST)
        return 0;
    out->ndim = meta.ndim;
    memcpy(out->extents, meta.block, meta.ndim * sizeof(out->extents[0]));
    return 0;
}
