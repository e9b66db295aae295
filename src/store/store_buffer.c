/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "store/store_backend.h"

/* A store of one object "" in memory, which can be changed. */

/*
 * The content of an object.
 *
 * Locking.  `lock` is a leaf and guards all fields below it.
 */
struct content {
    atomic_uint nrefs;
    uint64_t no; /* its identity in the store; constant */

    pthread_rwlock_t lock;
    uint8_t *bytes;
    size_t len;
    size_t cap;
    uint64_t nchanges; /* since it was made; stands for the time */
};

struct buffer_store {
    struct store store;

    /* A leaf, which guards the fields below. */
    pthread_mutex_t lock;
    struct content *content; /* NULL: there is no object yet */
    uint64_t ncontents;      /* made so far */
};

struct buffer_object {
    struct store_object object;
    struct store *store;     /* a reference */
    struct content *content; /* likewise */
};

static void content_put(struct content *content)
{
    if (!content || atomic_fetch_sub(&content->nrefs, 1) > 1)
        return;
    pthread_rwlock_destroy(&content->lock);
    free(content->bytes);
    free(content);
}

static struct content *content_get(struct content *content)
{
    atomic_fetch_add(&content->nrefs, 1);
    return content;
}

static struct content *content_of(struct store_object *object)
{
    return ((struct buffer_object *)object)->content;
}

static int buffer_stat(struct store_object *object, struct store_stat *out)
{
    struct content *content = content_of(object);

    pthread_rwlock_rdlock(&content->lock);
    *out = (struct store_stat){
        .version = { .ino = content->no,
                     .size = content->len,
                     .mtime.tv_sec = (time_t)content->nchanges,
                     .ctime.tv_sec = (time_t)content->nchanges,
                     .settled = true },
        .allocated = content->len,
    };
    pthread_rwlock_unlock(&content->lock);
    return 0;
}

static int buffer_read(struct store_object *object,
                       const struct store_range *ranges, size_t nranges)
{
    struct content *content = content_of(object);
    int r = 0;

    pthread_rwlock_rdlock(&content->lock);
    for (size_t i = 0; i < nranges && r == 0; i++) {
        if (ranges[i].len == 0)
            continue;
        if (size_within(ranges[i].off, ranges[i].len, content->len))
            memcpy(ranges[i].buf, content->bytes + ranges[i].off,
                   ranges[i].len);
        else
            r = -ENODATA;
    }
    pthread_rwlock_unlock(&content->lock);
    return r;
}

/* Set the length; added bytes are zeros.  The lock is held for writing. */
static int resize_locked(struct content *content, uint64_t size)
{
    if (size > SIZE_MAX / 2)
        return -EFBIG;
    if (size > content->cap) {
        size_t cap = (size_t)size + (size_t)size / 2;
        uint8_t *bytes = realloc(content->bytes, cap);

        if (!bytes)
            return -ENOSPC;
        content->bytes = bytes;
        content->cap = cap;
    }
    if (size > content->len)
        memset(content->bytes + content->len, 0, (size_t)size - content->len);
    content->len = (size_t)size;
    content->nchanges++;
    return 0;
}

static int buffer_write(struct store_object *object, uint64_t off,
                        const void *buf, size_t len)
{
    struct content *content = content_of(object);
    uint64_t end;
    int r = 0;

    if (!size_add(off, len, &end))
        return -EFBIG;
    if (len == 0)
        return 0;
    pthread_rwlock_wrlock(&content->lock);
    r = resize_locked(content, end > content->len ? end : content->len);
    if (r == 0)
        memcpy(content->bytes + off, buf, len);
    pthread_rwlock_unlock(&content->lock);
    return r;
}

static int buffer_truncate(struct store_object *object, uint64_t size)
{
    struct content *content = content_of(object);
    int r;

    pthread_rwlock_wrlock(&content->lock);
    r = resize_locked(content, size);
    pthread_rwlock_unlock(&content->lock);
    return r;
}

/* No storage of a part can be released. */
static int buffer_punch(struct store_object *object __attribute__((unused)),
                        uint64_t off __attribute__((unused)),
                        uint64_t len __attribute__((unused)))
{
    return 0;
}

/* Memory is never durable, and nobody waits for it. */
static int buffer_sync(struct store_object *object __attribute__((unused)))
{
    return 0;
}

static void buffer_object_close(struct store_object *object)
{
    content_put(content_of(object));
    store_close(((struct buffer_object *)object)->store);
    free(object);
}

static const struct store_object_ops buffer_object_ops = {
    .stat = buffer_stat,
    .read = buffer_read,
    .close = buffer_object_close,
    .write = buffer_write,
    .truncate = buffer_truncate,
    .punch = buffer_punch,
    .sync = buffer_sync,
};

/* Make an object of a content, to which it takes over a reference. */
static int new_object(struct store *store, struct content *content,
                      struct store_object **out)
{
    struct buffer_object *object = calloc(1, sizeof(*object));

    if (!object) {
        content_put(content);
        return -ENOMEM;
    }
    object->object = (struct store_object){ .ops = &buffer_object_ops };
    object->store = store_get(store);
    object->content = content;
    *out = &object->object;
    return 0;
}

static int buffer_open(struct store *store, const char *name,
                       struct store_object **out)
{
    struct buffer_store *buffer = (struct buffer_store *)store;
    struct content *content = NULL;

    pthread_mutex_lock(&buffer->lock);
    if (buffer->content && name[0] == '\0')
        content = content_get(buffer->content);
    pthread_mutex_unlock(&buffer->lock);
    return content ? new_object(store, content, out) : -ENOENT;
}

static int buffer_draft(struct store *store,
                        const char *name __attribute__((unused)),
                        struct store_object **out)
{
    struct buffer_store *buffer = (struct buffer_store *)store;
    struct content *content = calloc(1, sizeof(*content));

    if (!content)
        return -ENOMEM;
    pthread_rwlock_init(&content->lock, NULL);
    content->nrefs = 1;
    pthread_mutex_lock(&buffer->lock);
    content->no = ++buffer->ncontents;
    pthread_mutex_unlock(&buffer->lock);
    return new_object(store, content, out);
}

static int buffer_publish(struct store *store,
                          const char *name __attribute__((unused)),
                          struct store_object *draft)
{
    struct buffer_store *buffer = (struct buffer_store *)store;
    struct content *old;

    pthread_mutex_lock(&buffer->lock);
    old = buffer->content;
    buffer->content = content_get(content_of(draft));
    pthread_mutex_unlock(&buffer->lock);
    content_put(old);
    return 0;
}

static void buffer_discard(struct store *store __attribute__((unused)),
                           struct store_object *draft)
{
    store_object_close(draft);
}

static int buffer_sync_name(struct store *store __attribute__((unused)))
{
    return 0;
}

static void buffer_close(struct store *store)
{
    struct buffer_store *buffer = (struct buffer_store *)store;

    content_put(buffer->content);
    pthread_mutex_destroy(&buffer->lock);
    free(buffer);
}

static const struct store_ops buffer_ops = {
    .open = buffer_open,
    .close = buffer_close,
    .draft = buffer_draft,
    .publish = buffer_publish,
    .discard = buffer_discard,
    .sync_name = buffer_sync_name,
};

int store_buffer_new(struct store **out)
{
    struct buffer_store *buffer = calloc(1, sizeof(*buffer));

    if (!buffer)
        return -ENOMEM;
    store_init(&buffer->store, &buffer_ops);
    pthread_mutex_init(&buffer->lock, NULL);
    *out = &buffer->store;
    return 0;
}
