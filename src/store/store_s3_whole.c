/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "net/s3_probe.h"
#include "net/s3_upload.h"
#include "store/http_remote.h"
#include "store/store_backend.h"
#include "store/store_http.h"

enum {
    PART_LEN = 8 << 20,
    PARTS_ALIKE = 1000, /* so many parts have one length */
};

/* The store of an object that is to be made. */
struct whole_store {
    struct store store;
    struct net *net; /* a reference */
    struct url url;
    bool any;                    /* the object may replace any other */
    char expected[NET_ETAG_MAX]; /* of the one that it replaces; "": none */
};

/* Bytes of the object that are in memory. */
struct part {
    uint64_t off;
    size_t len;
    size_t capacity;
    uint8_t *bytes; /* NULL: not needed yet, or sent */
};

/*
 * The object.  Its first part stays in memory until the end, because a header
 * is written last.  Behind that it is written from start to end, and parts that
 * are full are sent.
 */
struct whole_object {
    struct store_object object;
    struct whole_store *store; /* a reference */
    struct s3_upload *upload;  /* NULL: nothing was sent yet */
    char id[NET_ID_MAX];
    struct part first;
    struct part last;
    unsigned nsent; /* number of the part before `last` */
    bool done;
};

static struct whole_store *store_of(struct store *store)
{
    return (struct whole_store *)store;
}

static struct whole_object *object_of(struct store_object *object)
{
    return (struct whole_object *)object;
}

static uint64_t end_of(const struct whole_object *object)
{
    return object->last.off > 0 ? object->last.off + object->last.len
                                : object->first.len;
}

static int whole_stat(struct store_object *base, struct store_stat *out)
{
    const struct whole_object *object = object_of(base);
    struct http_state state = { .size = end_of(object) };

    http_state_set_put(&state, &object->store->url, object->id);
    *out = (struct store_stat){
        .version = { .size = state.size,
                     .mtime = state.time,
                     .ctime = state.time },
    };
    return 0;
}

static bool has_range(const struct part *part, const struct store_range *range)
{
    return range->off >= part->off &&
           size_within(range->off - part->off, range->len, part->len);
}

static int whole_read(struct store_object *base,
                      const struct store_range *ranges, size_t nranges)
{
    const struct whole_object *object = object_of(base);

    for (size_t i = 0; i < nranges; i++) {
        const struct store_range *range = &ranges[i];
        const struct part *part =
            has_range(&object->first, range) ? &object->first : &object->last;

        if (range->len == 0)
            continue;
        if (!part->bytes || !has_range(part, range))
            return -ENODATA;
        memcpy(range->buf, part->bytes + (range->off - part->off), range->len);
    }
    return 0;
}

static void whole_close(struct store_object *base)
{
    struct whole_object *object = object_of(base);

    s3_upload_free(object->upload);
    free(object->first.bytes);
    free(object->last.bytes);
    store_close(&object->store->store);
    free(object);
}

/* Send a part, which then is empty. */
static int send_part(struct whole_object *object, struct part *part,
                     unsigned number)
{
    const struct whole_store *store = object->store;
    uint8_t *bytes = part->bytes;
    int r = object->upload ? 0
                           : s3_upload_begin(store->net, &store->url,
                                             object->id, &object->upload);

    part->bytes = NULL;
    if (r == 0)
        return s3_upload_part(object->upload, number, bytes, part->len);
    free(bytes);
    return r;
}

/* Send the last part, and begin the next one. */
static int next_part(struct whole_object *object)
{
    uint64_t end = end_of(object);
    int r = 0;

    if (object->nsent + 1 >= S3_PARTS_MAX)
        return -EFBIG;
    if (object->last.off > 0)
        r = send_part(object, &object->last, ++object->nsent);
    else
        object->nsent = 1; /* the first, which is sent at the end */
    object->last = (struct part){
        .off = end,
        .capacity = (size_t)PART_LEN * (1 + object->nsent / PARTS_ALIKE),
    };
    return r;
}

/* The part that has a byte, or will have it.  Returns NULL if it was sent. */
static struct part *part_at(struct whole_object *object, uint64_t off)
{
    if (off < object->first.capacity)
        return &object->first;
    return off >= object->last.off && object->last.off > 0 ? &object->last
                                                           : NULL;
}

/* Write to a part as many bytes as it can hold.  Bytes that are skipped are
   zeros. */
static int write_part(struct part *part, uint64_t off, const uint8_t *buf,
                      size_t len, size_t *n)
{
    size_t at = (size_t)(off - part->off);

    if (!part->bytes)
        part->bytes = calloc(1, part->capacity);
    if (!part->bytes)
        return -ENOMEM;
    *n = len < part->capacity - at ? len : part->capacity - at;
    memcpy(part->bytes + at, buf, *n);
    if (part->len < at + *n)
        part->len = at + *n;
    return 0;
}

/* Make parts until one has room for a byte. */
static int reach(struct whole_object *object, uint64_t off)
{
    int r = 0;

    while (r == 0 && off >= object->first.capacity &&
           (object->last.off == 0 ||
            off - object->last.off >= object->last.capacity)) {
        struct part *part =
            object->last.off == 0 ? &object->first : &object->last;
        size_t n;

        if (part->len < part->capacity) /* fill the rest with zeros */
            r = write_part(part, part->off + part->capacity - 1,
                           (const uint8_t *)"", 1, &n);
        if (r == 0)
            r = next_part(object);
    }
    return r;
}

static int whole_write(struct store_object *base, uint64_t off, const void *buf,
                       size_t len)
{
    struct whole_object *object = object_of(base);
    const uint8_t *from = buf;
    int r = object->done ? -EROFS : 0;

    if (off > UINT64_MAX - len)
        return -EFBIG;
    while (r == 0 && len > 0) {
        struct part *part;
        size_t n = 0;

        r = reach(object, off);
        part = r == 0 ? part_at(object, off) : NULL;
        if (r == 0)
            r = part ? write_part(part, off, from, len, &n) : -EFBIG;
        off += n;
        from += n;
        len -= n;
    }
    return r;
}

static int whole_sync(struct store_object *base __attribute__((unused)))
{
    return 0;
}

static const struct store_object_ops object_ops = {
    .stat = whole_stat,
    .read = whole_read,
    .close = whole_close,
    .write = whole_write,
    .sync = whole_sync,
};

/* There is nothing to be read until the object is whole. */
static int whole_open(struct store *base __attribute__((unused)),
                      const char *name __attribute__((unused)),
                      struct store_object **out __attribute__((unused)))
{
    return -ENOENT;
}

/* Find out how the server treats conditions, beside the object: some servers
   have directories, and nothing can be below an object. */
static int probe(const struct whole_store *store, enum net_conditions *out)
{
    struct url parent;
    int r = url_copy(&store->url, &parent);

    if (r < 0)
        return r;
    strrchr(parent.path, '/')[1] = '\0';
    r = s3_probe(store->net, &parent, out);
    url_fini(&parent);
    return r;
}

static int whole_check_place(struct store *base)
{
    struct whole_store *store = store_of(base);
    enum net_conditions conditions;
    int r = probe(store, &conditions);

    if (r < 0 || conditions != NET_CONDITIONS_IGNORED ||
        net_get_options(store->net)->single_writer)
        return r;
    return -EROFS;
}

static int whole_draft(struct store *base,
                       const char *name __attribute__((unused)),
                       struct store_object **out)
{
    struct whole_object *object = calloc(1, sizeof(*object));
    int r = object ? s3_put_id(object->id) : -ENOMEM;

    if (r < 0) {
        free(object);
        return r;
    }
    object->object = (struct store_object){ .ops = &object_ops };
    object->store = store_of(store_get(base));
    object->first.capacity = PART_LEN;
    *out = &object->object;
    return 0;
}

/* Put an object that is no larger than its first part. */
static int put_small(struct whole_object *object, const char *expected)
{
    const struct whole_store *store = object->store;
    const struct s3_put put = {
        .url = &store->url,
        .body = object->first.bytes,
        .len = object->first.len,
        .id = object->id,
        .conditions = net_get_conditions(store->net, store->url.host),
        .expected = expected,
    };
    struct s3_found found;

    return s3_put(store->net, &put, &found);
}

static int send_rest(struct whole_object *object, const char *expected)
{
    struct s3_found found;
    int r = send_part(object, &object->first, 1);

    if (r == 0 && object->last.len > 0)
        r = send_part(object, &object->last, ++object->nsent);
    return r < 0 ? r : s3_upload_finish(object->upload, expected, &found);
}

static int whole_publish(struct store *base,
                         const char *name __attribute__((unused)),
                         struct store_object *draft)
{
    struct whole_object *object = object_of(draft);
    const struct whole_store *store = store_of(base);
    const char *expected = store->any ? NULL : store->expected;
    int r = object->last.off == 0 ? put_small(object, expected)
                                  : send_rest(object, expected);

    object->done = true;
    return r;
}

static void whole_discard(struct store *base __attribute__((unused)),
                          struct store_object *draft)
{
    store_object_close(draft);
}

static int whole_sync_name(struct store *base __attribute__((unused)))
{
    return 0;
}

static void whole_store_close(struct store *base)
{
    struct whole_store *store = store_of(base);

    url_fini(&store->url);
    net_put(store->net);
    free(store);
}

static const struct store_ops whole_ops = {
    .names_once = true,
    .open = whole_open,
    .close = whole_store_close,
    .check_place = whole_check_place,
    .draft = whole_draft,
    .publish = whole_publish,
    .discard = whole_discard,
    .sync_name = whole_sync_name,
};

/* Find out which object is to be replaced. */
static int find_old(struct whole_store *store, bool replace)
{
    struct s3_found found = { 0 };
    int r = s3_find(store->net, &store->url, &found);

    if (r == -ENOENT)
        return 0;
    if (r == 0 && !replace)
        return -EEXIST;
    memcpy(store->expected, found.etag, sizeof(store->expected));
    store->any = found.etag[0] == '\0';
    return r;
}

int store_s3_new_object(struct net *net, const struct url *url, bool replace,
                        struct store **out)
{
    struct whole_store *store = calloc(1, sizeof(*store));
    int r;

    if (!store)
        return -ENOMEM;
    store_init(&store->store, &whole_ops);
    store->net = net_get(net);
    r = url_copy(url, &store->url);
    if (r == 0)
        r = find_old(store, replace);
    if (r < 0) {
        whole_store_close(&store->store);
        return r;
    }
    *out = &store->store;
    return 0;
}
