/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame_object.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

enum {
    NNAMES = 2
};

static const char *const index_names[NNAMES] = { FRAME_OBJECT_INDEX,
                                                 FRAME_OBJECT_OLD_INDEX };

bool frame_object_is_index(const char *name)
{
    return strcmp(name, index_names[0]) == 0 ||
           strcmp(name, index_names[1]) == 0;
}

int frame_object_find_index(int (*try)(void *context, const char *name),
                            void *context, const char **name)
{
    size_t i = 0;
    int r = try(context, index_names[0]);

    while (r == -ENOENT && i + 1 < NNAMES)
        r = try(context, index_names[++i]);
    if (name)
        *name = index_names[r == -ENOENT ? 0 : i];
    return r;
}

/* A look for an object, and its result. */
struct look {
    struct store *store;
    struct store_object *object;
    struct store_stat stat;
};

static int try_open(void *context, const char *name)
{
    struct look *look = context;

    return store_open_stat(look->store, name, &look->object, &look->stat);
}

static int try_stat(void *context, const char *name)
{
    struct look *look = context;

    return store_stat(look->store, name, &look->stat);
}

static int find(struct look *look, int (*try)(void *context, const char *name),
                const char **name)
{
    if (store_is_directory(look->store))
        return frame_object_find_index(try, look, name);
    if (name)
        *name = "";
    return try(look, "");
}

int frame_object_open(struct store *store, const char **name,
                      struct store_object **out, struct store_stat *stat)
{
    struct look look = { .store = store };
    int r = find(&look, try_open, name);

    if (r < 0)
        return r;
    *out = look.object;
    *stat = look.stat;
    return 0;
}

int frame_object_stat(struct store *store, const char **name,
                      struct store_stat *out)
{
    struct look look = { .store = store };
    int r = find(&look, try_stat, name);

    if (r == 0)
        *out = look.stat;
    return r;
}

const char *frame_object_name(struct store *store)
{
    struct look look = { .store = store };
    const char *name = "";

    if (store_is_directory(store))
        frame_object_find_index(try_stat, &look, &name);
    return name;
}
