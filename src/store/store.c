/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/store.h"

#include "store/store_backend.h"

void store_close(struct store *store)
{
    if (store)
        store->ops->close(store);
}

bool store_is_directory(const struct store *store)
{
    return store->ops->directory;
}

int store_open(struct store *store, const char *name, struct store_object **out)
{
    return store->ops->open(store, name, out);
}

void store_object_close(struct store_object *object)
{
    if (object)
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
