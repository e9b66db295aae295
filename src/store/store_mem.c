/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "store/store_backend.h"

struct mem_store {
    struct store store;
    size_t nfiles;
    struct store_mem_file files[];
};

struct mem_object {
    struct store_object object;
    struct store *store;               /* a reference */
    const struct store_mem_file *file; /* in that store */
};

static int mem_stat(struct store_object *object, struct store_stat *out)
{
    const struct store_mem_file *file = ((struct mem_object *)object)->file;

    *out = (struct store_stat){
        .version = { .ino = (uintptr_t)file->bytes,
                     .size = file->len,
                     .settled = true },
        .allocated = file->len,
    };
    return 0;
}

static int mem_read(struct store_object *object,
                    const struct store_range *ranges, size_t nranges)
{
    const struct store_mem_file *file = ((struct mem_object *)object)->file;

    for (size_t i = 0; i < nranges; i++) {
        if (ranges[i].len == 0)
            continue;
        if (!size_within(ranges[i].off, ranges[i].len, file->len))
            return -ENODATA;
        memcpy(ranges[i].buf, file->bytes + ranges[i].off, ranges[i].len);
    }
    return 0;
}

static void mem_object_close(struct store_object *object)
{
    store_close(((struct mem_object *)object)->store);
    free(object);
}

static const struct store_object_ops mem_object_ops = {
    .stat = mem_stat,
    .read = mem_read,
    .close = mem_object_close,
};

static int mem_open_object(struct store *store, const char *name,
                           struct store_object **out)
{
    const struct mem_store *mem = (struct mem_store *)store;
    struct mem_object *object;
    size_t i = 0;

    while (i < mem->nfiles && strcmp(mem->files[i].name, name) != 0)
        i++;
    if (i == mem->nfiles)
        return -ENOENT;
    object = malloc(sizeof(*object));
    if (!object)
        return -ENOMEM;
    object->object = (struct store_object){ .ops = &mem_object_ops };
    object->store = store_get(store);
    object->file = &mem->files[i];
    *out = &object->object;
    return 0;
}

static void mem_close(struct store *store)
{
    free(store);
}

static const struct store_ops mem_ops = {
    .directory = false,
    .open = mem_open_object,
    .close = mem_close,
};

static const struct store_ops mem_dir_ops = {
    .directory = true,
    .open = mem_open_object,
    .close = mem_close,
};

static int mem_new(const struct store_ops *ops,
                   const struct store_mem_file *files, size_t nfiles,
                   struct store **out)
{
    struct mem_store *mem =
        malloc(sizeof(*mem) + nfiles * sizeof(mem->files[0]));

    if (!mem)
        return -ENOMEM;
    store_init(&mem->store, ops);
    mem->nfiles = nfiles;
    if (nfiles > 0)
        memcpy(mem->files, files, nfiles * sizeof(files[0]));
    *out = &mem->store;
    return 0;
}

int store_mem_open(const uint8_t *bytes, size_t len, struct store **out)
{
    const struct store_mem_file file = {
        .name = "",
        .bytes = bytes,
        .len = len,
    };

    return mem_new(&mem_ops, &file, 1, out);
}

int store_mem_open_dir(const struct store_mem_file *files, size_t nfiles,
                       struct store **out)
{
    return mem_new(&mem_dir_ops, files, nfiles, out);
}
