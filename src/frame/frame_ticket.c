/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame_ticket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/msgpack_any.h"
#include "base/msgpack_write.h"
#include "frame/frame.h"
#include "frame/frame_object.h"
#include "frame/metalayer.h"
#include "store/store_http_pinned.h"

enum {
    INDEX_MAX = 256 << 20,
    CONTENT_MAX = URL_MAX + 1024,
    NPAIRS = 4,
};

static int parse_url(const char *text, struct url *out, const char **why)
{
    int r = url_parse(text, out, why);

    if (r < 0)
        return r;
    if (out->query)
        *why = "a ticket must not have a query, which is a secret";
    else if (url_is_internal(out))
        *why = "a ticket must not lead to an address that is not the same "
               "everywhere";
    if (!*why)
        return 0;
    url_fini(out);
    return -EINVAL;
}

int frame_ticket_check(const char *url, const char **why)
{
    struct url parsed;
    int r = parse_url(url, &parsed, why);

    if (r == 0)
        url_fini(&parsed);
    return r;
}

static void write_str(struct msgpack_writer *writer, const char *text)
{
    size_t len = strlen(text);

    msgpack_write_u16(writer, MSGPACK_STR8 + 1, (uint16_t)len);
    msgpack_write_bytes(writer, text, len);
}

ssize_t frame_ticket_encode(const struct frame_ticket *ticket, uint8_t **out)
{
    struct msgpack_writer writer = { .bytes = malloc(CONTENT_MAX) };

    if (!writer.bytes)
        return -ENOMEM;
    msgpack_write_byte(&writer, MSGPACK_FIXMAP | NPAIRS);
    write_str(&writer, "url");
    write_str(&writer, ticket->url);
    write_str(&writer, "etag");
    write_str(&writer, ticket->tag.etag);
    write_str(&writer, "size");
    msgpack_write_u64(&writer, MSGPACK_UINT64, ticket->tag.size);
    write_str(&writer, "modified");
    msgpack_write_u64(&writer, MSGPACK_UINT64, (uint64_t)ticket->tag.modified);
    *out = writer.bytes;
    return (ssize_t)writer.pos;
}

/* Read the next value, a string, which must be a text. */
static char *read_text(struct msgpack *reader, size_t max)
{
    size_t len;
    const uint8_t *text = msgpack_str(reader, &len);

    if (!text || len > max || memchr(text, '\0', len)) {
        reader->failed = true;
        return NULL;
    }
    return strndup((const char *)text, len);
}

static void read_etag(struct msgpack *reader, char etag[NET_ETAG_MAX])
{
    char *text = read_text(reader, NET_ETAG_MAX - 1);

    if (text)
        strcpy(etag, text);
    free(text);
}

static bool is_key(const uint8_t *key, size_t len, const char *name)
{
    return len == strlen(name) && memcmp(key, name, len) == 0;
}

/* Read the value of a key; one that is not known is skipped. */
static void read_value(struct msgpack *reader, const uint8_t *key, size_t len,
                       struct frame_ticket *out)
{
    if (is_key(key, len, "url")) {
        free(out->url);
        out->url = read_text(reader, URL_MAX);
    } else if (is_key(key, len, "etag")) {
        read_etag(reader, out->tag.etag);
    } else if (is_key(key, len, "size")) {
        out->tag.size = msgpack_uint(reader);
    } else if (is_key(key, len, "modified")) {
        out->tag.modified = (time_t)msgpack_uint(reader);
    } else {
        msgpack_skip(reader);
    }
}

static int parse(const uint8_t *content, size_t len, struct frame_ticket *out,
                 struct fault *fault)
{
    struct msgpack reader = { .bytes = content, .len = len };
    const char *why = "ticket has no origin";
    uint32_t npairs = msgpack_map(&reader);
    int r = -EINVAL;

    for (uint32_t i = 0; i < npairs && !reader.failed; i++) {
        size_t key_len;
        const uint8_t *key = msgpack_str(&reader, &key_len);

        if (key)
            read_value(&reader, key, key_len, out);
    }
    if (!reader.failed && out->url)
        r = frame_ticket_check(out->url, &why);
    return r == -EINVAL ? fault_set(fault, -EBADMSG, 0, why) : r;
}

/* Read the origin in an index.  Returns 0 if there is none. */
static int read_origin(struct frame *frame, struct frame_ticket *out,
                       struct fault *fault)
{
    const struct metalayer *layer;
    struct metalayer_list layers;
    uint8_t *content;
    ssize_t len = 0;
    int r = metalayer_list_read(frame, &layers, fault);

    if (r < 0)
        return r;
    layer = metalayer_find(&layers, METALAYER_VL, FRAME_TICKET_LAYER);
    if (layer)
        len = metalayer_read(frame, layer, CONTENT_MAX, &content, fault);
    metalayer_list_free(&layers);
    if (len == -E2BIG)
        return fault_set(fault, -EBADMSG, 0, "origin in a ticket is too long");
    if (!layer || len < 0)
        return (int)len;
    r = parse(content, (size_t)len, out, fault);
    free(content);
    return r < 0 ? r : 1;
}

/* Read the origin in the bytes of an index, which is opened as in a directory
   that has nothing else. */
static int read_index(const uint8_t *bytes, size_t len,
                      struct frame_ticket *out, struct fault *fault)
{
    const struct store_mem_file file = { FRAME_OBJECT_INDEX, bytes, len };
    struct store *store;
    struct frame *frame;
    int r = store_mem_open_dir(&file, 1, &store);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = frame_open(store, 0, &frame, fault);
    store_close(store);
    if (r < 0)
        return r;
    r = read_origin(frame, out, fault);
    frame_close(frame);
    return r;
}

/* Is an object, by its header, the index of a sparse frame?  Older indexes do
   not say so, and no ticket is one. */
static bool is_index(struct store_object *object, uint64_t size)
{
    uint8_t bytes[FRAME_CLAIM_LEN];
    const struct frame_start start = {
        .bytes = bytes,
        .len = size < sizeof(bytes) ? (size_t)size : sizeof(bytes),
        .avail = size,
        .sparse = true,
    };
    struct frame_info info;
    struct fault fault;

    return store_object_read_at(object, 0, bytes, start.len) == 0 &&
           frame_has_magic(bytes, start.len) &&
           frame_parse_claim(&start, &info, &fault) == 0 &&
           info.format == FRAME_FORMAT_E;
}

static int read_object(struct store_object *object, struct frame_ticket *out,
                       struct fault *fault)
{
    struct store_stat stat;
    uint8_t *bytes;
    int r = store_object_stat(object, &stat);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    if (stat.version.size > INDEX_MAX || !is_index(object, stat.version.size))
        return 0;
    bytes = malloc((size_t)stat.version.size);
    r = bytes
            ? store_object_read_at(object, 0, bytes, (size_t)stat.version.size)
            : -ENOMEM;
    if (r < 0)
        fault_set(fault, r, 0, NULL);
    else
        r = read_index(bytes, (size_t)stat.version.size, out, fault);
    free(bytes);
    return r;
}

int frame_ticket_read(struct store *store, struct frame_ticket *out,
                      struct fault *fault)
{
    struct frame_ticket ticket = { 0 };
    struct store_object *object;
    int r;

    if (store_is_directory(store))
        return 0;
    r = store_open(store, "", &object);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = read_object(object, &ticket, fault);
    store_object_close(object);
    if (r > 0)
        *out = ticket;
    else
        frame_ticket_fini(&ticket);
    return r;
}

void frame_ticket_fini(struct frame_ticket *ticket)
{
    free(ticket->url);
    ticket->url = NULL;
}

int frame_ticket_copy(const struct frame_ticket *ticket,
                      struct frame_ticket *out)
{
    *out = *ticket;
    out->url = strdup(ticket->url);
    return out->url ? 0 : -ENOMEM;
}

int frame_ticket_open(struct net *net, const struct frame_ticket *ticket,
                      struct store **out)
{
    const struct net_options *options = net_get_options(net);
    const char *why;
    struct store *store;
    struct url url;
    int r = parse_url(ticket->url, &url, &why);

    if (r < 0)
        return r;
    url.foreign = true;
    r = store_http_open_dir(net, &url, &store);
    url_fini(&url);
    if (r < 0)
        return r;
    if (!options->newest_tickets)
        return store_http_pinned_open(store, &ticket->tag, options->report,
                                      ticket->url, out);
    *out = store;
    return 0;
}
