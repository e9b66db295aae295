/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/metalayer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/msgpack.h"
#include "base/size.h"
#include "chunk/chunk_format.h"
#include "frame/frame_chunk_private.h"
#include "frame/frame_layer_sums.h"
#include "frame/frame_private.h"

/* A part of the frame that holds a map of names and their values. */
struct section {
    enum metalayer_kind kind;
    uint64_t off;        /* of its first byte, in the file */
    uint64_t origin_off; /* origin of the offsets of values, in the file */
    uint64_t end;        /* in the file */
    unsigned max;        /* maximum number of layers */
};

static struct msgpack reader_of(const struct frame *frame, const uint8_t *bytes,
                                size_t len)
{
    return (struct msgpack){
        .bytes = bytes,
        .len = len,
        .little_endian = frame->info.format == FRAME_FORMAT_C,
    };
}

/* Read the head of the map of names.  In a header it has been read with the
   fixed part. */
static int read_map_head(struct frame *frame, const struct section *section,
                         uint8_t bytes[FRAME_MAP_HEAD_LEN], struct fault *fault)
{
    uint64_t off = section->off - frame->base;

    if (!size_within(off, FRAME_MAP_HEAD_LEN, frame->header_len))
        return frame_read_at(frame, section->off, bytes, FRAME_MAP_HEAD_LEN,
                             fault);
    memcpy(bytes, frame->header + off, FRAME_MAP_HEAD_LEN);
    return 0;
}

/* Read the number of layers. */
static int read_count(struct frame *frame, const struct section *section,
                      unsigned *out, struct fault *fault)
{
    uint8_t bytes[FRAME_MAP_HEAD_LEN];
    struct msgpack reader = reader_of(frame, bytes, sizeof(bytes));
    unsigned count;
    int r;

    if (!size_within(section->off, sizeof(bytes), section->end))
        return frame_fault(frame, -EBADMSG, section->off,
                           "no room for the names of metalayers", fault);
    r = read_map_head(frame, section, bytes, fault);
    if (r < 0)
        return r;
    msgpack_expect(&reader, MSGPACK_FIXARRAY | 3);
    msgpack_expect(&reader, MSGPACK_UINT16);
    msgpack_u16(&reader); /* size of the map; its contents show it anyway */
    msgpack_expect(&reader, MSGPACK_MAP16);
    count = msgpack_u16(&reader);
    if (reader.failed || count > section->max)
        return frame_fault(frame, -EBADMSG, section->off + reader.pos,
                           reader.failed ? "wrong marker before the metalayers"
                                         : "too many metalayers",
                           fault);
    *out = count;
    return 0;
}

/* Parse one entry of the map: a name, and the offset of its value. */
static void parse_entry(const struct section *section, struct msgpack *reader,
                        struct metalayer *out)
{
    size_t len;
    const uint8_t *name = msgpack_fixstr(reader, &len);

    if (name && !memchr(name, '\0', len))
        memcpy(out->name, name, len);
    else
        reader->failed = true;
    msgpack_expect(reader, MSGPACK_INT32);
    out->kind = section->kind;
    out->off = section->origin_off + msgpack_u32(reader);
}

/* Parse the map.  The array of values starts behind it and has as many
   elements; the values are found by their offsets.  Returns false if the bytes
   are not such a map. */
static bool parse_map(const struct section *section, struct msgpack *reader,
                      unsigned count, struct metalayer *layers)
{
    for (unsigned i = 0; i < count && !reader->failed; i++) {
        parse_entry(section, reader, &layers[i]);
        layers[i].no = (uint16_t)i;
    }
    msgpack_expect(reader, MSGPACK_ARRAY16);
    return msgpack_u16(reader) == count && !reader->failed;
}

/* Read the marker and length of each value; afterwards `off` is that of the
   content. */
static int read_lengths(struct frame *frame, const struct section *section,
                        unsigned count, struct metalayer *layers,
                        struct fault *fault)
{
    struct store_range *ranges = calloc(count, sizeof(*ranges));
    uint8_t(*heads)[FRAME_VALUE_HEAD_LEN] = calloc(count, sizeof(*heads));
    int r = 0;

    if (!ranges || !heads)
        r = fault_set(fault, -ENOMEM, 0, NULL);
    for (unsigned i = 0; i < count && r == 0; i++) {
        ranges[i] =
            (struct store_range){ layers[i].off, sizeof(heads[i]), heads[i] };
        if (!size_within(layers[i].off, sizeof(heads[i]), section->end))
            r = frame_fault(frame, -EBADMSG, section->off,
                            "a metalayer lies outside its section", fault);
    }
    if (r == 0)
        r = frame_read_ranges(frame, ranges, count, fault);
    for (unsigned i = 0; i < count && r == 0; i++) {
        struct msgpack reader = reader_of(frame, heads[i], sizeof(heads[i]));

        msgpack_expect(&reader, MSGPACK_BIN32);
        layers[i].len = msgpack_u32(&reader);
        layers[i].off += sizeof(heads[i]);
        if (reader.failed ||
            !size_within(layers[i].off, layers[i].len, section->end))
            r = frame_fault(frame, -EBADMSG, layers[i].off - sizeof(heads[i]),
                            "content of a metalayer is damaged", fault);
    }
    free(ranges);
    free(heads);
    return r;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct metalayer *)a)->name,
                  ((const struct metalayer *)b)->name);
}

/* No two names may be equal, because only the name leads to the content. */
static int check_names(struct frame *frame, const struct section *section,
                       unsigned count, const struct metalayer *layers,
                       struct fault *fault)
{
    struct metalayer *sorted = calloc(count, sizeof(*sorted));
    int r = 0;

    if (!sorted)
        return fault_set(fault, -ENOMEM, 0, NULL);
    memcpy(sorted, layers, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_names);
    for (unsigned i = 1; i < count && r == 0; i++)
        if (compare_names(&sorted[i - 1], &sorted[i]) == 0)
            r = frame_fault(frame, -EBADMSG, section->off,
                            "two metalayers have the same name", fault);
    free(sorted);
    return r;
}

/* Read names, offsets and lengths of `count` > 0 layers. */
static int read_layers(struct frame *frame, const struct section *section,
                       unsigned count, struct metalayer *layers,
                       struct fault *fault)
{
    uint64_t off = section->off + FRAME_MAP_HEAD_LEN;
    size_t len = (size_t)count * FRAME_MAP_ENTRY_MAX + FRAME_ARRAY_HEAD_LEN;
    struct msgpack reader;
    uint8_t *bytes;
    int r;

    if (len > section->end - off)
        len = (size_t)(section->end - off);
    bytes = malloc(len);
    if (!bytes)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = frame_read_at(frame, off, bytes, len, fault);
    reader = reader_of(frame, bytes, len);
    if (r == 0 && !parse_map(section, &reader, count, layers))
        r = frame_fault(frame, -EBADMSG, off + reader.pos,
                        "names of metalayers are damaged", fault);
    free(bytes);
    if (r == 0)
        r = read_lengths(frame, section, count, layers, fault);
    if (r == 0)
        r = check_names(frame, section, count, layers, fault);
    return r;
}

/* Make room for more layers at the end of a list and zero it.  The caller
   raises `nlayers` once they are valid. */
static struct metalayer *reserve(struct metalayer_list *list, unsigned more)
{
    struct metalayer *layers =
        realloc(list->layers, (list->nlayers + more) * sizeof(*layers));

    if (!layers)
        return NULL;
    list->layers = layers;
    memset(layers + list->nlayers, 0, more * sizeof(*layers));
    return layers + list->nlayers;
}

static int read_section(struct frame *frame, const struct section *section,
                        struct metalayer_list *list, struct fault *fault)
{
    struct metalayer *layers;
    unsigned count = 0;
    int r = read_count(frame, section, &count, fault);

    if (r < 0 || count == 0)
        return r;
    layers = reserve(list, count);
    if (!layers)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = read_layers(frame, section, count, layers, fault);
    if (r == 0)
        list->nlayers += count;
    return r;
}

/* The metalayers of a list behind the first ones; NULL if there is none. */
static const struct metalayer *layers_from(const struct metalayer_list *list,
                                           size_t first)
{
    return first < list->nlayers ? list->layers + first : NULL;
}

/* Format: frame.md, 3; history.md, 2 for frames without any. */
int metalayer_list_fixed(struct frame *frame, struct metalayer_list *list,
                         struct fault *fault)
{
    uint32_t off = frame_header_metalayers_off(&frame->info);
    struct section section = {
        .kind = METALAYER_FIXED,
        .off = frame->base + off,
        .origin_off = frame->base,
        .end = frame->base + frame->info.header_len,
        .max = FRAME_METALAYERS_MAX,
    };
    size_t before = list->nlayers;
    int r;

    if (frame->info.format == FRAME_FORMAT_A && off == frame->info.header_len)
        return 0;
    r = read_section(frame, &section, list, fault);
    if (r == 0)
        r = frame_check_names(frame, layers_from(list, before),
                              list->nlayers - before, fault);
    return r;
}

/* Format: history.md, 3. */
static int read_usermeta(struct frame *frame, uint64_t off, uint64_t end,
                         struct metalayer_list *list, struct fault *fault)
{
    uint8_t bytes[FRAME_VALUE_HEAD_LEN];
    struct msgpack reader = reader_of(frame, bytes, sizeof(bytes));
    struct metalayer *layer;
    uint32_t len;
    int r;

    if (!size_within(off, sizeof(bytes), end))
        return frame_fault(frame, -EBADMSG, off, "no room for the user meta",
                           fault);
    r = frame_read_at(frame, off, bytes, sizeof(bytes), fault);
    if (r < 0)
        return r;
    msgpack_expect(&reader, MSGPACK_BIN32);
    len = msgpack_u32(&reader);
    if (len == 0)
        return 0;
    off += sizeof(bytes);
    if (!size_within(off, len, end))
        return frame_fault(frame, -EBADMSG, off, "user meta leaves the trailer",
                           fault);
    layer = reserve(list, 1);
    if (!layer)
        return fault_set(fault, -ENOMEM, 0, NULL);
    layer->kind = METALAYER_USERMETA;
    layer->off = off;
    layer->len = len;
    list->nlayers++;
    return 0;
}

/* The third byte of the trailer tells its layout.  Format: history.md, 1. */
static int read_trailer(struct frame *frame, struct metalayer_list *list,
                        struct fault *fault)
{
    uint64_t start = frame->base + frame->info.frame_len - frame->trailer_len;
    struct section section = {
        .kind = METALAYER_VL,
        .off = start + FRAME_TRAILER_LAYERS_OFF,
        .origin_off = start,
        .end = start + frame->trailer_len - FRAME_TRAILER_END_LEN,
        .max = FRAME_VLMETALAYERS_MAX,
    };
    uint8_t marker;
    int r;

    if (frame->trailer_len == 0)
        return 0;
    if (section.off >= section.end)
        return frame_fault(frame, -EBADMSG, start, "trailer is too short",
                           fault);
    r = frame_read_at(frame, section.off, &marker, 1, fault);
    if (r < 0)
        return r;
    if (marker == MSGPACK_BIN32)
        return read_usermeta(frame, section.off, section.end, list, fault);
    return read_section(frame, &section, list, fault);
}

int metalayer_list_trailer(struct frame *frame, struct metalayer_list *list,
                           struct fault *fault)
{
    struct chunk_settling settling = { 0 };
    size_t before = list->nlayers;
    int r;

    /* Another program may be overwriting the trailer. */
    do {
        list->nlayers = before;
        r = read_trailer(frame, list, fault);
        if (r == 0)
            r = frame_check_trailer(frame, layers_from(list, before),
                                    list->nlayers - before, fault);
    } while (frame_chunk_settle(frame->object, r, &settling, fault));
    return r;
}

int metalayer_list_read_fixed(struct frame *frame, struct metalayer_list *out,
                              struct fault *fault)
{
    struct metalayer_list list = { 0 };
    int r = metalayer_list_fixed(frame, &list, fault);

    if (r < 0) {
        metalayer_list_free(&list);
        return r;
    }
    *out = list;
    return 0;
}

int metalayer_list_read(struct frame *frame, struct metalayer_list *out,
                        struct fault *fault)
{
    struct metalayer_list list;
    int r = metalayer_list_read_fixed(frame, &list, fault);

    if (r < 0)
        return r;
    r = metalayer_list_trailer(frame, &list, fault);
    if (r < 0) {
        metalayer_list_free(&list);
        return r;
    }
    *out = list;
    return 0;
}

void metalayer_list_free(struct metalayer_list *list)
{
    free(list->layers);
    *list = (struct metalayer_list){ 0 };
}

const char *metalayer_kind_name(enum metalayer_kind kind)
{
    static const char *const names[] = {
        [METALAYER_FIXED] = "metalayer",
        [METALAYER_VL] = "vlmetalayer",
        [METALAYER_USERMETA] = "usermeta",
    };

    return names[kind];
}

const struct metalayer *metalayer_find(const struct metalayer_list *list,
                                       enum metalayer_kind kind,
                                       const char *name)
{
    for (size_t i = 0; i < list->nlayers; i++)
        if (list->layers[i].kind == kind &&
            strcmp(list->layers[i].name, name) == 0)
            return &list->layers[i];
    return NULL;
}

/* Complete a fault in a layer's chunk with its place in the file. */
static int chunk_fault(const struct frame *frame, const struct metalayer *layer,
                       int error, struct fault *fault)
{
    fault->off += layer->off;
    frame_fault_name(frame, fault);
    return error;
}

int metalayer_size(struct frame *frame, const struct metalayer *layer,
                   uint32_t *out, struct fault *fault)
{
    uint8_t head[CHUNK_LONG_HEADER_LEN];
    size_t len = layer->len < sizeof(head) ? layer->len : sizeof(head);
    struct chunk_header header;
    int r;

    if (layer->kind == METALAYER_FIXED) {
        *out = layer->len;
        return 0;
    }
    r = frame_read_at(frame, layer->off, head, len, fault);
    if (r < 0)
        return r;
    r = chunk_header_parse(head, len, &header, fault);
    if (r == 0 && header.cbytes != layer->len)
        r = fault_set(fault, -EBADMSG, 0,
                      "length of a metalayer is not that of its chunk");
    if (r < 0)
        return chunk_fault(frame, layer, r, fault);
    *out = header.nbytes;
    return 0;
}

static int decode_layer(struct frame *frame, const struct metalayer *layer,
                        uint8_t *dst, size_t len, struct fault *fault)
{
    struct chunk_decoder *decoder = NULL;
    struct chunk_settling settling = { 0 };
    uint8_t *bytes = malloc(layer->len);
    ssize_t n = -ENOMEM;
    int r;

    if (!bytes || chunk_decoder_new(cpu_features(), &decoder) < 0) {
        r = fault_set(fault, -ENOMEM, 0, NULL);
        goto out;
    }
    do {
        r = frame_read_at(frame, layer->off, bytes, layer->len, fault);
        if (r == 0)
            r = frame_check_vl(frame, layer, bytes, fault);
    } while (frame_chunk_settle(frame->object, r, &settling, fault));
    if (r < 0)
        goto out;
    n = chunk_decode(&(struct stored_chunk){ bytes, layer->len, NULL }, dst,
                     len, decoder, fault);
    if (n < 0)
        r = chunk_fault(frame, layer, (int)n, fault);
    else if ((size_t)n != len)
        r = frame_fault(frame, -EBADMSG, layer->off,
                        "metalayer was changed meanwhile", fault);
out:
    chunk_decoder_free(decoder);
    free(bytes);
    return r;
}

ssize_t metalayer_read(struct frame *frame, const struct metalayer *layer,
                       size_t max, uint8_t **content, struct fault *fault)
{
    uint8_t *bytes;
    uint32_t size;
    int r = metalayer_size(frame, layer, &size, fault);

    if (r < 0)
        return r;
    if (size > max)
        return frame_fault(frame, -E2BIG, layer->off, "metalayer is too long",
                           fault);
    bytes = malloc(size > 0 ? size : 1);
    if (!bytes)
        return fault_set(fault, -ENOMEM, 0, NULL);
    if (layer->kind == METALAYER_FIXED)
        r = frame_read_at(frame, layer->off, bytes, size, fault);
    else
        r = decode_layer(frame, layer, bytes, size, fault);
    if (r < 0) {
        free(bytes);
        return r;
    }
    *content = bytes;
    return size;
}
