/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "base/size.h"
#include "store/store_backend.h"
#include "store/store_local_ops.h"

/* Part of an object: a store, and at the same time its only object. */
struct part {
    struct store store;
    struct store_object *whole;
    uint64_t off;
    uint64_t len;
};

struct part_object {
    struct store_object object;
    struct part *part; /* a reference to its store */
};

enum {
    NRANGES = 32 /* ranges that are read in one call */
};

static const struct part *part_of(const struct store_object *object)
{
    return ((const struct part_object *)object)->part;
}

static int part_stat(struct store_object *object, struct store_stat *out)
{
    const struct part *part = part_of(object);
    int r = store_object_stat(part->whole, out);

    if (r < 0)
        return r;
    out->version.size = part->len;
    out->allocated = part->len;
    return 0;
}

/* Read some of the ranges. */
static int read_some(const struct part *part, const struct store_range *ranges,
                     size_t nranges)
{
    struct store_range shifted[NRANGES];

    for (size_t i = 0; i < nranges; i++) {
        shifted[i] = ranges[i];
        if (ranges[i].len == 0)
            continue;
        if (!size_within(ranges[i].off, ranges[i].len, part->len))
            return -ENODATA;
        shifted[i].off += part->off;
    }
    return store_object_read(part->whole, shifted, nranges);
}

static int part_read(struct store_object *object,
                     const struct store_range *ranges, size_t nranges)
{
    const struct part *part = part_of(object);
    int r = 0;

    while (r == 0 && nranges > 0) {
        size_t n = nranges < NRANGES ? nranges : NRANGES;

        r = read_some(part, ranges, n);
        ranges += n;
        nranges -= n;
    }
    return r;
}

static int part_check(struct store_object *object, int how)
{
    return store_object_check(part_of(object)->whole, how);
}

static void part_object_close(struct store_object *object)
{
    store_close(&((struct part_object *)object)->part->store);
    free(object);
}

static const struct store_local_object_ops part_local_ops = {
    .check = part_check,
};

static const struct store_object_ops part_object_ops = {
    .stat = part_stat,
    .read = part_read,
    .close = part_object_close,
    .local = &part_local_ops,
};

static int part_open(struct store *store, const char *name,
                     struct store_object **out)
{
    struct part_object *object;

    if (name[0] != '\0')
        return -ENOENT;
    object = malloc(sizeof(*object));
    if (!object)
        return -ENOMEM;
    object->object = (struct store_object){ .ops = &part_object_ops };
    object->part = (struct part *)store_get(store);
    *out = &object->object;
    return 0;
}

static void part_close(struct store *store)
{
    store_object_close(((struct part *)store)->whole);
    free(store);
}

static const struct store_ops part_ops = {
    .directory = false,
    .open = part_open,
    .close = part_close,
};

int store_part_open(struct store_object *whole, uint64_t off, uint64_t len,
                    struct store **out)
{
    struct part *part;
    uint64_t end;

    if (!size_add(off, len, &end))
        return -EINVAL;
    part = malloc(sizeof(*part));
    if (!part)
        return -ENOMEM;
    *part = (struct part){
        .whole = store_object_get(whole),
        .off = off,
        .len = len,
    };
    store_init(&part->store, &part_ops);
    *out = &part->store;
    return 0;
}
