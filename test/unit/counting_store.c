/* SPDX-License-Identifier: BSD-3-Clause */
#include "counting_store.h"

#include <errno.h>
#include <stdlib.h>

#include "store/store_backend.h"

struct counting_store {
    struct store store;
    struct store *inner;
    struct reads *reads;
};

struct counting_object {
    struct store_object object;
    struct store_object *inner;
    struct reads *reads;
};

static int counting_stat(struct store_object *object, struct store_stat *out)
{
    struct counting_object *counting = (struct counting_object *)object;

    counting->reads->nstats++;
    return store_object_stat(counting->inner, out);
}

static int counting_read(struct store_object *object,
                         const struct store_range *ranges, size_t nranges)
{
    struct counting_object *counting = (struct counting_object *)object;

    counting->reads->ncalls++;
    counting->reads->nranges += nranges;
    for (size_t i = 0; i < nranges; i++)
        counting->reads->nbytes += ranges[i].len;
    return store_object_read(counting->inner, ranges, nranges);
}

static void counting_close(struct store_object *object)
{
    store_object_close(((struct counting_object *)object)->inner);
    free(object);
}

static const struct store_object_ops counting_object_ops = {
    .stat = counting_stat,
    .read = counting_read,
    .close = counting_close,
};

static int counting_open(struct store *store, const char *name,
                         struct store_object **out)
{
    struct counting_store *counting = (struct counting_store *)store;
    struct counting_object *object = calloc(1, sizeof(*object));
    int r;

    if (!object)
        return -ENOMEM;
    r = store_open(counting->inner, name, &object->inner);
    if (r < 0) {
        free(object);
        return r;
    }
    object->object.ops = &counting_object_ops;
    object->reads = counting->reads;
    *out = &object->object;
    return 0;
}

static void counting_store_close(struct store *store)
{
    store_close(((struct counting_store *)store)->inner);
    free(store);
}

static const struct store_ops counting_ops = {
    .open = counting_open,
    .close = counting_store_close,
};

int counting_store_open(const uint8_t *bytes, size_t len, struct reads *reads,
                        struct store **out)
{
    struct counting_store *counting = calloc(1, sizeof(*counting));
    int r;

    if (!counting)
        return -ENOMEM;
    r = store_mem_open(bytes, len, &counting->inner);
    if (r < 0) {
        free(counting);
        return r;
    }
    store_init(&counting->store, &counting_ops);
    counting->reads = reads;
    *out = &counting->store;
    return 0;
}
