/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/info.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "base/text.h"
#include "chunk/chunk_params.h"
#include "chunk/codec.h"
#include "chunk/filter.h"
#include "frame/frame.h"
#include "frame/frame_keys.h"
#include "frame/metalayer.h"

enum {
    CONTENT_MAX = 16 << 20, /* limit of the content of a metalayer; larger
                               content is not shown */
    TEXT_FLAGS = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE,
};

/*
 * Add a member to an object.  The caller passes NULL as `value` if there was no
 * memory for it.  Returns 0 or -ENOMEM, so that the results of several calls
 * can be joined by |.
 */
static int add(struct json_object *object, const char *key,
               struct json_object *value)
{
    if (!value)
        return -ENOMEM;
    if (json_object_object_add(object, key, value) < 0) {
        json_object_put(value);
        return -ENOMEM;
    }
    return 0;
}

static int add_string(struct json_object *object, const char *key,
                      const char *value)
{
    return add(object, key, json_object_new_string(value));
}

static int add_number(struct json_object *object, const char *key,
                      uint64_t value)
{
    return add(object, key, json_object_new_uint64(value));
}

static int add_flag(struct json_object *object, const char *key, bool value)
{
    return add(object, key, json_object_new_boolean(value));
}

static int add_error(struct json_object *object, int error,
                     const struct fault *fault)
{
    char text[256];

    fault_format(fault, error, text, sizeof(text));
    return add_string(object, "error", text);
}

/* Add an element to a list.  Arguments and result as add(). */
static int append(struct json_object *list, struct json_object *value)
{
    if (!value)
        return -ENOMEM;
    if (json_object_array_add(list, value) < 0) {
        json_object_put(value);
        return -ENOMEM;
    }
    return 0;
}

/* Add a new list as a member of `object`.  Returns NULL without memory. */
static struct json_object *add_list(struct json_object *object, const char *key)
{
    struct json_object *list = json_object_new_array();

    return add(object, key, list) == 0 ? list : NULL;
}

/* Add a new object at the end of `list`.  Returns NULL without memory. */
static struct json_object *append_object(struct json_object *list)
{
    struct json_object *object = json_object_new_object();

    return append(list, object) == 0 ? object : NULL;
}

static int add_filters(struct json_object *object,
                       const uint8_t ids[CHUNK_NFILTERS],
                       const uint8_t meta[CHUNK_NFILTERS])
{
    struct json_object *list = add_list(object, "filters");
    int r = list ? 0 : -ENOMEM;

    for (int i = 0; i < CHUNK_NFILTERS && r == 0; i++) {
        struct json_object *filter;

        if (ids[i] == FILTER_NONE)
            continue;
        filter = append_object(list);
        if (!filter)
            return -ENOMEM;
        r = add_string(filter, "name", filter_name(ids[i])) |
            add_number(filter, "id", ids[i]) |
            add_number(filter, "meta", meta[i]);
    }
    return r;
}

/* Add the sizes that the frame states, and the compression ratio. */
static int add_sizes(struct json_object *object, const struct frame_info *info)
{
    uint64_t stored = info->frame_len + (info->sparse ? info->cbytes : 0);
    double ratio = (double)info->nbytes / (double)stored;
    char text[32];

    snprintf(text, sizeof(text), "%.3f", ratio);
    return add_number(object, "nbytes", info->nbytes) |
           add_number(object, "cbytes", info->cbytes) |
           add_number(object, "frame_len", info->frame_len) |
           add_number(object, "stored", stored) |
           add(object, "ratio", json_object_new_double_s(ratio, text));
}

static int add_geometry(struct json_object *object,
                        const struct frame_info *info)
{
    const char format[] = { (char)('A' + (int)info->format), '\0' };

    return add_string(object, "layout",
                      info->sparse ? "sparse" : "contiguous") |
           add_string(object, "format", format) |
           add_number(object, "version", info->version) |
           add_sizes(object, info) |
           add_number(object, "typesize", info->typesize) |
           add_number(object, "chunksize", info->chunksize) |
           add_number(object, "blocksize", info->blocksize) |
           add_number(object, "nchunks", info->nchunks) |
           add_flag(object, "vlblocks", info->vlblocks);
}

static int add_extents(struct json_object *object, const char *key,
                       const uint32_t *extents, unsigned ndim)
{
    struct json_object *list = add_list(object, key);
    int r = list ? 0 : -ENOMEM;

    for (unsigned i = 0; i < ndim && r == 0; i++)
        r = append(list, json_object_new_uint64(extents[i]));
    return r;
}

static int add_shape(struct json_object *object,
                     const struct layout_shape *shape)
{
    struct json_object *list = add_list(object, "shape");
    int r = list ? 0 : -ENOMEM;

    for (unsigned i = 0; i < shape->ndim && r == 0; i++)
        r = append(list, json_object_new_uint64(shape->items[i]));
    return r ? r
             : add_extents(object, "chunks", shape->chunk, shape->ndim) |
                   add_extents(object, "blocks", shape->block, shape->ndim);
}

/* Describe the array that a frame is.  Adds nothing for other frames. */
static int add_array(struct json_object *object, struct frame *frame)
{
    struct fault fault = FAULT_NONE;
    struct array *array = NULL;
    struct json_object *member;
    int error = array_read(frame, &array, &fault);
    int r;

    if (error == 0 && !array)
        return 0;
    member = json_object_new_object();
    r = add(object, "array", member);
    if (r == 0 && error < 0)
        r = add_error(member, error, &fault);
    if (r == 0 && array)
        r = add_shape(member, &array->shape);
    if (r == 0 && array && array->dtype && text_is_utf8(array->dtype))
        r = add_string(member, "dtype", array->dtype);
    array_free(array);
    return r;
}

/* Add the parameters with which new chunks are compressed. */
static int add_defaults(struct json_object *object,
                        const struct frame_info *info)
{
    return add_string(object, "codec", codec_name(info->codec)) |
           add_number(object, "codec_id", info->codec) |
           add_number(object, "codec_meta", info->codec_meta) |
           add_number(object, "clevel", info->clevel) |
           add_string(object, "split", chunk_split_name(info->split_mode)) |
           add_flag(object, "use_dict", info->use_dict) |
           add_filters(object, info->filters, info->filters_meta);
}

static int add_name(struct json_object *object, const char *name)
{
    char text[TEXT_ESCAPED_SIZE(METALAYER_NAME_MAX)];

    if (text_is_utf8(name))
        return add_string(object, "name", name);

    text_escape(name, TEXT_PLAIN_ASCII, text, sizeof(text));
    return add_string(object, "name", text) | add_flag(object, "escaped", true);
}

static int add_hex(struct json_object *object, const uint8_t *content,
                   size_t len)
{
    static const char digits[] = "0123456789abcdef";
    char *hex = malloc(2 * len + 1);
    int r;

    if (!hex)
        return -ENOMEM;

    for (size_t i = 0; i < len; i++) {
        hex[2 * i] = digits[content[i] >> 4];
        hex[2 * i + 1] = digits[content[i] & 15];
    }
    hex[2 * len] = '\0';
    r = add_string(object, "content", hex);
    free(hex);
    return r;
}

static int add_content(struct json_object *object, struct frame *frame,
                       const struct metalayer *layer)
{
    struct fault fault = FAULT_NONE;
    uint8_t *content;
    ssize_t len;
    int r;

    len = metalayer_read(frame, layer, CONTENT_MAX, &content, &fault);
    if (len < 0)
        return add_error(object, (int)len, &fault);

    r = add_hex(object, content, (size_t)len);
    free(content);
    return r;
}

static int append_layer(struct json_object *list, struct frame *frame,
                        const struct metalayer *layer, bool with_content)
{
    static const char *const kinds[] = {
        [METALAYER_FIXED] = "fixed",
        [METALAYER_VL] = "vl",
        [METALAYER_USERMETA] = "usermeta",
    };
    struct json_object *object = append_object(list);
    struct fault fault = FAULT_NONE;
    uint32_t size;
    int r;

    if (!object)
        return -ENOMEM;

    r = add_string(object, "kind", kinds[layer->kind]) |
        add_name(object, layer->name);
    if (r < 0)
        return r;
    r = metalayer_size(frame, layer, &size, &fault);
    if (r < 0)
        return add_error(object, r, &fault);
    r = add_number(object, "size", size);
    if (r == 0 && with_content)
        r = add_content(object, frame, layer);
    return r;
}

static int append_layers(struct json_object *list, struct frame *frame,
                         const struct metalayer_list *layers, bool with_content)
{
    int r = 0;

    for (size_t i = 0; i < layers->nlayers && r == 0; i++)
        r = append_layer(list, frame, &layers->layers[i], with_content);
    return r;
}

static int add_layers(struct json_object *object, struct frame *frame,
                      bool with_content)
{
    struct json_object *list = add_list(object, "metalayers");
    struct fault fault = FAULT_NONE;
    struct metalayer_list layers;
    int r;

    if (!list)
        return -ENOMEM;

    r = metalayer_list_read(frame, &layers, &fault);
    if (r < 0)
        return add_error(object, r, &fault);
    r = append_layers(list, frame, &layers, with_content);
    metalayer_list_free(&layers);
    return r;
}

static int add_chunk(struct json_object *object,
                     const struct frame_chunk *chunk, bool sparse)
{
    const struct chunk_header *header;
    int r = add_string(object, "kind", chunk_kind_name(chunk->kind)) |
            add_number(object, "nbytes", chunk->span.nbytes) |
            add_number(object, "cbytes", chunk->cbytes);

    if (!chunk->entry.special)
        r |= add_number(object, sparse ? "id" : "offset", chunk->entry.place);
    if (r < 0 || chunk->nblocks == 0)
        return r;

    header = chunk_get_header(chunk->chunk);
    r = add_number(object, "blocksize", chunk->blocksize) |
        add_number(object, "nblocks", chunk->nblocks);
    if (chunk->kind == CHUNK_COPY)
        return r;
    return r | add_string(object, "codec", codec_name(header->codec)) |
           add_filters(object, header->filters, header->filters_meta);
}

/* Tell how many chunks have sums. */
static int add_sums(struct json_object *object, struct frame *frame)
{
    struct json_object *member = json_object_new_object();
    struct frame_sums_count count = { 0 };
    struct fault fault = FAULT_NONE;
    int error = frame_count_sums(frame, &count, &fault);
    int r = add(object, "sums", member);

    if (r == 0 && error < 0)
        return add_error(member, error, &fault);
    return r < 0 ? r
                 : add_flag(member, "in_force", count.in_force) |
                       add_number(member, "stored", count.nstored) |
                       add_number(member, "summed", count.nsummed);
}

/* Print an object without the last `cut` characters of its text. */
static int write_object(struct json_object *object, size_t cut, FILE *out)
{
    size_t len;
    const char *text =
        json_object_to_json_string_length(object, TEXT_FLAGS, &len);

    if (!text)
        return -ENOMEM;
    fwrite(text, 1, len - cut, out);
    return 0;
}

/*
 * Write one chunk.
 *
 *  key  0: it has none
 */
static int write_chunk(struct frame *frame, uint64_t chunk_no, uint64_t key,
                       FILE *out)
{
    struct json_object *object = json_object_new_object();
    struct frame_chunk *chunk = NULL;
    struct fault fault = FAULT_NONE;
    int r;

    if (!object)
        return -ENOMEM;

    r = frame_chunk_open(frame, chunk_no, &chunk, &fault);
    r = add_number(object, "number", chunk_no) |
        (key > 0 ? add_number(object, "key", key) : 0) |
        (r < 0 ? add_error(object, r, &fault)
               : add_chunk(object, chunk, frame_get_info(frame)->sparse));
    frame_chunk_close(chunk);
    if (r == 0)
        r = write_object(object, 0, out);
    json_object_put(object);
    return r;
}

static int write_chunks(struct frame *frame, FILE *out)
{
    uint64_t nchunks = frame_get_info(frame)->nchunks;
    const struct frame_keys *keys;
    struct fault ignored;
    int r = 0;

    if (frame_get_keys(frame, &keys, &ignored) < 0)
        keys = NULL;
    fputs(",\"chunks\":[", out);
    for (uint64_t i = 0; i < nchunks && r == 0 && !ferror(out); i++) {
        if (i > 0)
            fputs(",\n", out);
        r = write_chunk(frame, i, keys ? keys->keys[i] : 0, out);
    }
    fputs("]}", out);
    return r;
}

int info_write(struct frame *frame, unsigned parts, FILE *out)
{
    const struct frame_info *info = frame_get_info(frame);
    struct json_object *object = json_object_new_object();
    bool chunks = parts & INFO_CHUNKS;
    int r;

    if (!object)
        return -ENOMEM;

    r = add_geometry(object, info) | add_defaults(object, info) |
        add_array(object, frame) |
        add_layers(object, frame, parts & INFO_CONTENT);
    if (r == 0 && parts & INFO_SUMS)
        r = add_sums(object, frame);
    if (r == 0)
        r = write_object(object, chunks ? 1 : 0, out);
    if (r == 0 && chunks)
        r = write_chunks(frame, out);
    json_object_put(object);
    return r;
}

int info_write_layers(struct frame *frame, unsigned parts, FILE *out,
                      struct fault *fault)
{
    struct json_object *list;
    struct metalayer_list layers;
    int r = metalayer_list_read(frame, &layers, fault);

    if (r < 0)
        return r;
    list = json_object_new_array();
    r = list ? append_layers(list, frame, &layers, parts & INFO_CONTENT)
             : -ENOMEM;
    if (r == 0)
        r = write_object(list, 0, out);
    json_object_put(list);
    metalayer_list_free(&layers);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

int info_text(struct frame *frame, unsigned parts, char **out)
{
    char *text = NULL;
    size_t len;
    FILE *stream = open_memstream(&text, &len);
    int r;

    if (!stream)
        return -ENOMEM;

    r = info_write(frame, parts, stream);
    if (fclose(stream) != 0 && r == 0)
        r = -ENOMEM;
    if (r < 0) {
        free(text);
        return r;
    }
    *out = text;
    return 0;
}
