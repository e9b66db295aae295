/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/frame_remove.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame/frame_object.h"
#include "net/s3_probe.h"
#include "store/store_http.h"
#include "writer/frame_dir.h"

/* The objects of a frame. */
struct names {
    char **names; /* of the chunks, and of objects that were left */
    size_t n;
    size_t capacity;
    bool has_index;
    bool has_old_index;
    bool others; /* something that is not of a frame */
};

static int add(struct names *names, const char *name)
{
    if (names->n == names->capacity) {
        size_t capacity = 2 * names->capacity + 64;
        char **more = realloc(names->names, capacity * sizeof(more[0]));

        if (!more)
            return -ENOMEM;
        names->names = more;
        names->capacity = capacity;
    }
    names->names[names->n] = strdup(name);
    return names->names[names->n++] ? 0 : -ENOMEM;
}

static int visit(void *context, const char *name)
{
    struct names *names = context;

    if (strcmp(name, FRAME_OBJECT_INDEX) == 0)
        names->has_index = true;
    else if (strcmp(name, FRAME_OBJECT_OLD_INDEX) == 0)
        names->has_old_index = true;
    else if (frame_dir_is_chunk(name) ||
             strncmp(name, S3_PROBE_PREFIX, strlen(S3_PROBE_PREFIX)) == 0)
        return add(names, name);
    else
        names->others = true;
    return 0;
}

static int delete_one(struct store *store, const char *name)
{
    char copy[sizeof(FRAME_OBJECT_OLD_INDEX)];
    char *names[] = { copy };

    strcpy(copy, name);
    return store_s3_delete(store, names, 1);
}

static int delete_all(struct store *store, const struct names *names)
{
    int r = 0;

    if (names->others)
        return -ENOTEMPTY;
    if (!names->has_index && !names->has_old_index)
        return -ENOENT;
    if (names->has_index)
        r = delete_one(store, FRAME_OBJECT_INDEX);
    if (r == 0 && names->has_old_index)
        r = delete_one(store, FRAME_OBJECT_OLD_INDEX);
    /* The frame is gone; chunks that cannot be deleted are garbage. */
    if (r == 0)
        store_s3_delete(store, names->names, names->n);
    return r;
}

int frame_remove(struct store *store)
{
    struct names names = { 0 };
    int r = store_list(store, visit, &names);

    if (r == 0)
        r = delete_all(store, &names);
    for (size_t i = 0; i < names.n; i++)
        free(names.names[i]);
    free(names.names);
    return r;
}
