/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/store.h"

#include <errno.h>

#include "store/store_backend.h"

void store_init(struct store *store, const struct store_ops *ops)
{
    store->ops = ops;
    atomic_init(&store->nshared, 0);
}

struct store *store_get(struct store *store)
{
    atomic_fetch_add(&store->nshared, 1);
    return store;
}

void store_close(struct store *store)
{
    if (store && atomic_fetch_sub(&store->nshared, 1) == 0)
        store->ops->close(store);
}

bool store_is_directory(const struct store *store)
{
    return store->ops->directory;
}

bool store_names_once(const struct store *store)
{
    return store->ops->names_once;
}

unsigned store_nwriters(const struct store *store)
{
    return store->ops->nwriters ? store->ops->nwriters(store) : 1;
}

int store_stat(struct store *store, const char *name, struct store_stat *out)
{
    struct store_object *object;
    int r;

    if (store->ops->stat)
        return store->ops->stat(store, name, out);
    r = store_open(store, name, &object);
    if (r == 0) {
        r = store_object_stat(object, out);
        store_object_close(object);
    }
    return r;
}

int store_open(struct store *store, const char *name, struct store_object **out)
{
    return store->ops->open(store, name, out);
}

int store_open_stat(struct store *store, const char *name,
                    struct store_object **out, struct store_stat *stat)
{
    struct store_object *object;
    int r;

    if (store->ops->open_stat)
        return store->ops->open_stat(store, name, out, stat);
    r = store_open(store, name, &object);
    if (r < 0)
        return r;
    r = store_object_stat(object, stat);
    if (r < 0)
        store_object_close(object);
    else
        *out = object;
    return r;
}

struct store_object *store_object_get(struct store_object *object)
{
    atomic_fetch_add(&object->nshared, 1);
    return object;
}

void store_object_close(struct store_object *object)
{
    if (object && atomic_fetch_sub(&object->nshared, 1) == 0)
        object->ops->close(object);
}

int store_object_stat(struct store_object *object, struct store_stat *out)
{
    return object->ops->stat(object, out);
}

int store_object_read(struct store_object *object,
                      const struct store_range *ranges, size_t nranges)
{
    return object->ops->read(object, ranges, nranges);
}

int store_object_read_at(struct store_object *object, uint64_t off, void *buf,
                         size_t len)
{
    const struct store_range range = { .off = off, .len = len, .buf = buf };

    return store_object_read(object, &range, 1);
}

void store_waiter_begin(struct store_waiter *waiter,
                        void (*ready)(struct store_waiter *waiter))
{
    waiter->ready = ready;
    atomic_init(&waiter->npending, 1);
    atomic_init(&waiter->failed, false);
}

void store_waiter_asked(struct store_waiter *waiter)
{
    store_waiter_done(waiter, 0);
}

void store_waiter_add(struct store_waiter *waiter)
{
    atomic_fetch_add(&waiter->npending, 1);
}

void store_waiter_done(struct store_waiter *waiter, int error)
{
    if (error < 0)
        atomic_store(&waiter->failed, true);
    if (atomic_fetch_sub(&waiter->npending, 1) == 1)
        waiter->ready(waiter);
}

void store_object_doubt(struct store_object *object)
{
    if (object->ops->doubt)
        object->ops->doubt(object);
}

bool store_object_prefetch(struct store_object *object, uint64_t off,
                           uint64_t len, struct store_waiter *waiter)
{
    return !object->ops->prefetch ||
           object->ops->prefetch(object, off, len, waiter);
}

uint64_t store_ahead(struct store *store)
{
    return store->ops->ahead ? store->ops->ahead(store) : 0;
}

void store_expect(struct store *store, uint64_t unit)
{
    if (store->ops->expect)
        store->ops->expect(store, unit);
}

int store_object_write(struct store_object *object, uint64_t off,
                       const void *buf, size_t len)
{
    if (!object->ops->write)
        return -EROFS;
    return object->ops->write(object, off, buf, len);
}

int store_object_truncate(struct store_object *object, uint64_t size)
{
    if (!object->ops->truncate)
        return -EROFS;
    return object->ops->truncate(object, size);
}

int store_object_punch(struct store_object *object, uint64_t off, uint64_t len)
{
    if (!object->ops->punch)
        return -EROFS;
    return object->ops->punch(object, off, len);
}

int store_object_sync(struct store_object *object)
{
    if (!object->ops->sync)
        return -EROFS;
    return object->ops->sync(object);
}

int store_create(struct store *store, const char *name, const char *like,
                 struct store_object **out)
{
    if (!store->ops->create)
        return -EROFS;
    return store->ops->create(store, name, like, out);
}

int store_draft(struct store *store, const char *name,
                struct store_object **out)
{
    if (!store->ops->draft)
        return -EROFS;
    return store->ops->draft(store, name, out);
}

int store_check_place(struct store *store)
{
    return store->ops->check_place ? store->ops->check_place(store) : 0;
}

int store_publish(struct store *store, const char *name,
                  struct store_object *draft)
{
    if (!store->ops->publish)
        return -EROFS;
    return store->ops->publish(store, name, draft);
}

void store_discard(struct store *store, struct store_object *draft)
{
    if (draft)
        store->ops->discard(store, draft);
}

int store_remove(struct store *store, const char *name)
{
    if (!store->ops->remove)
        return -EROFS;
    return store->ops->remove(store, name);
}

int store_remove_unused(struct store *store, const char *name)
{
    return store->ops->remove_unused ? store->ops->remove_unused(store, name)
                                     : store_remove(store, name);
}

int store_sync(struct store *store)
{
    return store->ops->sync ? store->ops->sync(store) : 0;
}

int store_sync_name(struct store *store)
{
    if (!store->ops->sync_name)
        return -EROFS;
    return store->ops->sync_name(store);
}

int store_list(struct store *store,
               int (*visit)(void *context, const char *name), void *context)
{
    if (!store->ops->list)
        return -ENOTSUP;
    return store->ops->list(store, visit, context);
}

int store_list_after(struct store *store, const char *after,
                     int (*visit)(void *context, const char *name),
                     void *context)
{
    if (!store->ops->list_after)
        return -ENOTSUP;
    return store->ops->list_after(store, after, visit, context);
}

uint64_t store_known_size(struct store *store, const char *name)
{
    struct store_stat stat;

    if (store->ops->known_size)
        return store->ops->known_size(store, name);
    return store_stat(store, name, &stat) == 0 ? stat.version.size : 0;
}
