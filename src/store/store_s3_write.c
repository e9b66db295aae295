/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/retry.h"
#include "base/size.h"
#include "net/s3_probe.h"
#include "net/s3_put.h"
#include "store/http_cached.h"
#include "store/http_memory.h"
#include "store/store_http_private.h"

enum {
    MARKER_PATIENCE = 10, /* seconds */
    MARKER_PAUSE_NS = 50 * 1000 * 1000,
};

/* An object that is being made. */
struct s3_object {
    struct http_object http; /* without a remote until a draft is published */
    bool draft;
    bool done;                   /* it was put */
    bool any;                    /* of a draft: it may replace any object */
    char expected[NET_ETAG_MAX]; /* of the object that it replaces; "": none */
    char id[NET_ID_MAX];
    uint8_t *bytes;
    size_t len;
    size_t capacity;
};

static struct http_store *store_of(struct store *base)
{
    return (struct http_store *)base;
}

int store_s3_allow_changes(struct store *base, bool replace)
{
    if (!store_names_once(base))
        return -EROFS;
    store_of(base)->writable = true;
    store_of(base)->replaces = replace;
    return 0;
}

void s3_write_init(struct http_store *store)
{
    list_init(&store->garbage);
}

void s3_write_fini(struct http_store *store)
{
    s3_sweep_last(store);
    s3_free_garbage(store);
}

unsigned s3_nwriters(const struct store *base)
{
    const struct http_store *store = (const struct http_store *)base;

    return net_get_options(store->context->net)->connections;
}

int s3_check_place(struct store *base)
{
    struct http_store *store = store_of(base);
    const struct net_options *options = net_get_options(store->context->net);
    enum net_conditions conditions;
    int r;

    if (!store->writable)
        return -EROFS;
    r = s3_probe(store->context->net, http_store_url(store), &conditions);
    if (r < 0 || conditions != NET_CONDITIONS_IGNORED || options->single_writer)
        return r;
    return -EROFS;
}

static int s3_stat(struct store_object *store_object, struct store_stat *out)
{
    struct s3_object *object = (struct s3_object *)store_object;
    struct http_state state = { .size = object->len };
    struct url url;
    int r;

    if (object->draft && object->done)
        return http_object_stat(store_object, out);
    r = url_join(http_store_url(object->http.store), object->http.name, &url);
    if (r < 0)
        return r;
    http_state_set_put(&state, &url, object->id);
    url_fini(&url);
    *out = http_store_stat(object->http.store, &state);
    return 0;
}

static int s3_read(struct store_object *store_object,
                   const struct store_range *ranges, size_t nranges)
{
    const struct s3_object *object = (struct s3_object *)store_object;

    if (object->draft && object->done)
        return http_object_read(store_object, ranges, nranges);
    for (size_t i = 0; i < nranges; i++) {
        if (ranges[i].len == 0)
            continue;
        if (!size_within(ranges[i].off, ranges[i].len, object->len))
            return -ENODATA;
        memcpy(ranges[i].buf, object->bytes + ranges[i].off, ranges[i].len);
    }
    return 0;
}

static void free_bytes(struct s3_object *object)
{
    http_memory_count(object->http.store->context->memory,
                      -(ptrdiff_t)object->capacity);
    free(object->bytes);
    object->bytes = NULL;
    object->capacity = 0;
}

static void s3_close(struct store_object *store_object)
{
    free_bytes((struct s3_object *)store_object);
    http_object_close(store_object);
}

/* Make room for so many bytes. */
static int grow(struct s3_object *object, size_t len)
{
    size_t capacity = len > 2 * object->capacity ? len : 2 * object->capacity;
    uint8_t *bytes;

    if (len <= object->capacity)
        return 0;
    bytes = realloc(object->bytes, capacity);
    if (!bytes)
        return -ENOMEM;
    http_memory_count(object->http.store->context->memory,
                      (ptrdiff_t)(capacity - object->capacity));
    object->bytes = bytes;
    object->capacity = capacity;
    return 0;
}

static int s3_write(struct store_object *store_object, uint64_t off,
                    const void *buf, size_t len)
{
    struct s3_object *object = (struct s3_object *)store_object;
    int r;

    if (object->done)
        return -EROFS;
    if (off > SIZE_MAX - len)
        return -EFBIG;
    r = grow(object, (size_t)off + len);
    if (r < 0)
        return r;
    if (off > object->len)
        memset(object->bytes + object->len, 0, (size_t)off - object->len);
    if (len > 0)
        memcpy(object->bytes + off, buf, len);
    if (off + len > object->len)
        object->len = (size_t)off + len;
    return 0;
}

/* Put an object under its name. */
static int put(const struct s3_object *object, const char *expected,
               struct s3_found *found)
{
    const struct http_store *store = object->http.store;
    struct net *net = store->context->net;
    struct url url;
    struct s3_put put = {
        .url = &url,
        .body = object->bytes,
        .len = object->len,
        .id = object->id,
        .conditions = net_get_conditions(net, http_store_url(store)->host),
        .expected = expected,
    };
    int r = url_join(http_store_url(store), object->http.name, &url);

    if (r < 0)
        return r;
    r = s3_put(net, &put, found);
    url_fini(&url);
    return r;
}

/* A draft is put when it is published. */
static int s3_sync(struct store_object *store_object)
{
    struct s3_object *object = (struct s3_object *)store_object;
    struct s3_found found;
    int r;

    if (object->draft || object->done)
        return 0;
    r = put(object, "", &found);
    object->done = r == 0;
    return r;
}

static const struct store_object_ops s3_object_ops = {
    .stat = s3_stat,
    .read = s3_read,
    .doubt = http_object_doubt,
    .close = s3_close,
    .write = s3_write,
    .sync = s3_sync,
};

static int new_object(struct store *base, const char *name, bool draft,
                      struct s3_object **out)
{
    struct http_store *store = store_of(base);
    struct s3_object *object;
    int r = s3_check_place(base);

    if (r < 0)
        return r;
    if (!http_store_is_name(store, name))
        return -EINVAL;
    object = calloc(1, sizeof(*object));
    if (!object)
        return -ENOMEM;
    r = s3_put_id(object->id);
    if (r < 0) {
        free(object);
        return r;
    }
    object->http.object = (struct store_object){ .ops = &s3_object_ops };
    object->http.store = (struct http_store *)store_get(base);
    strcpy(object->http.name, name);
    object->draft = draft;
    *out = object;
    return 0;
}

int s3_create(struct store *base, const char *name,
              const char *like __attribute__((unused)),
              struct store_object **out)
{
    struct s3_object *object;
    int r = new_object(base, name, false, &object);

    if (r == 0)
        *out = &object->http.object;
    return r;
}

int s3_draft(struct store *base, const char *name, struct store_object **out)
{
    struct http_store *store = store_of(base);
    struct http_remote *current;
    struct s3_object *object;
    int r = new_object(base, name, true, &object);

    if (r < 0)
        return r;
    current = http_store_current(store, name);
    if (current)
        strcpy(object->expected, http_remote_etag(current));
    else
        object->any = store->replaces;
    http_remote_put(current);
    *out = &object->http.object;
    return 0;
}

void s3_discard(struct store *base __attribute__((unused)),
                struct store_object *draft)
{
    store_object_close(draft);
}

/* Note that a PUT may have succeeded, although it seems to have failed. */
static void note_doubt(struct http_store *store, const char *id)
{
    pthread_mutex_lock(&store->lock);
    strcpy(store->doubts[store->ndoubts++ % S3_DOUBTS_MAX], id);
    pthread_mutex_unlock(&store->lock);
}

static bool is_in_doubt(struct http_store *store, const char *id)
{
    bool doubt = false;

    pthread_mutex_lock(&store->lock);
    for (unsigned i = 0; i < S3_DOUBTS_MAX && i < store->ndoubts; i++)
        doubt |= strcmp(store->doubts[i], id) == 0;
    pthread_mutex_unlock(&store->lock);
    return doubt;
}

/* May a draft replace an object that was not expected: an earlier draft of this
   store, whose PUT seemed to fail, or where there must be no object, one that
   only marks the place of another? */
static bool may_replace(const struct s3_object *object,
                        const struct s3_found *found)
{
    return is_in_doubt(object->http.store, found->id) ||
           (object->expected[0] == '\0' && s3_is_marker(found->id) &&
            !s3_is_young_marker(found));
}

/* Find out which object the server has.  Wait for the program that deletes a
   young marker. */
static int find_present(struct net *net, const struct url *url,
                        struct s3_found *found)
{
    struct retry retry = { .tries_left = RETRY_ANY_NUMBER,
                           .patience_ns = MARKER_PATIENCE * CLOCK_SECOND_NS,
                           .pause_ns = MARKER_PAUSE_NS,
                           .pause_max_ns = MARKER_PAUSE_NS };
    int r;

    do
        r = s3_find(net, url, found);
    while (r == 0 && s3_is_young_marker(found) && retry_wait(&retry));
    if (r == -ENOENT)
        *found = (struct s3_found){ 0 };
    return r;
}

/* Put a draft where the server has another object than expected, if it may
   replace that. */
static int put_again(struct s3_object *object, int error,
                     struct s3_found *found)
{
    struct http_store *store = object->http.store;
    struct url url;
    int r;

    if (store->ndoubts == 0 && object->expected[0] != '\0')
        return error;
    r = url_join(http_store_url(store), object->http.name, &url);
    if (r < 0)
        return r;
    r = object->expected[0] == '\0'
            ? find_present(store->context->net, &url, found)
            : s3_find(store->context->net, &url, found);
    url_fini(&url);
    if (r == -ENOENT && object->expected[0] == '\0')
        return put(object, "", found);
    if (r < 0 || !may_replace(object, found))
        return error;
    strcpy(object->expected, found->etag);
    return put(object, object->expected, found);
}

static int put_draft(struct s3_object *object, struct s3_found *found)
{
    int r = put(object, object->any ? NULL : object->expected, found);

    if (r == -ESTALE || r == -EEXIST)
        r = put_again(object, r, found);
    if (r == -EIO)
        note_doubt(object->http.store, object->id);
    return r;
}

/* From now on the draft is the newest state of the index. */
static int become_current(struct s3_object *object,
                          const struct s3_found *found)
{
    struct net_reply reply = { .size = object->len,
                               .modified = found->modified };
    const struct store_http_start start = {
        .reply = &reply,
        .known_ns = clock_monotonic_ns(),
        .bytes = object->bytes,
        .len = object->len,
    };
    struct http_remote *remote;
    int r = http_store_remote(object->http.store, object->http.name, &remote);

    if (r < 0)
        return r;
    memcpy(reply.etag, found->etag, sizeof(reply.etag));
    memcpy(reply.put_id, object->id, sizeof(reply.put_id));
    r = http_remote_begin(remote, &start);
    if (r < 0) {
        http_remote_put(remote);
        return r;
    }
    http_cached_confirm(remote); /* the disk may have an older state */
    pthread_mutex_lock(&object->http.store->lock);
    strcpy(object->http.store->own, found->etag);
    pthread_mutex_unlock(&object->http.store->lock);
    http_store_set_current(object->http.store, object->http.name, remote);
    object->http.remote = remote;
    object->done = true;
    free_bytes(object);
    return 0;
}

/* The server has another state than the newest that is known. */
static void forget_current(const struct s3_object *object)
{
    struct http_remote *current =
        http_store_current(object->http.store, object->http.name);

    if (current)
        http_remote_set_stale(current);
    http_remote_put(current);
}

static void tell(const struct http_store *store)
{
    struct store_http_listener *listener = http_store_listener(store);

    if (listener)
        listener->published(listener);
}

int s3_publish(struct store *base, const char *name, struct store_object *draft)
{
    struct s3_object *object = (struct s3_object *)draft;
    struct s3_found found;
    int r;

    if (strcmp(name, object->http.name) != 0)
        return -EINVAL;
    r = put_draft(object, &found);
    if (r == -ENOENT) /* the index that was expected is gone */
        r = -ESTALE;
    if (r == -ESTALE)
        forget_current(object);
    if (r < 0)
        return r;
    r = become_current(object, &found);
    if (r < 0)
        note_doubt(object->http.store, object->id);
    else
        s3_sweep(store_of(base));
    tell(store_of(base));
    return r;
}

int s3_sync_name(struct store *base __attribute__((unused)))
{
    return 0;
}
