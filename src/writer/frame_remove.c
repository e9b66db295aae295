/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/frame_remove.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/retry.h"
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

/* Move the chunk with the highest id to the end.  As long as it is there, new
   frames use no id of the others. */
static void move_highest(struct names *names)
{
    size_t highest = 0;
    uint64_t id = 0;

    for (size_t i = 0; i < names->n; i++) {
        uint64_t other = frame_dir_is_chunk(names->names[i])
                             ? strtoull(names->names[i], NULL, 16)
                             : 0;

        if (other >= id) {
            id = other;
            highest = i;
        }
    }
    if (names->n > 0) {
        char *name = names->names[highest];

        names->names[highest] = names->names[names->n - 1];
        names->names[names->n - 1] = name;
    }
}

/* The frame is gone; chunks that cannot be deleted are garbage. */
static void delete_chunks(struct store *store, struct names *names)
{
    move_highest(names);
    if (names->n > 1 && store_s3_delete(store, names->names, names->n - 1) < 0)
        return;
    if (names->n > 0)
        store_s3_delete(store, names->names + names->n - 1, 1);
}

static int delete_all(struct store *store, struct names *names,
                      const struct store_http_tag *index)
{
    int r = 0;

    if (names->others)
        return -ENOTEMPTY;
    if (!names->has_index && !names->has_old_index)
        return -ENOENT;
    if (names->has_index)
        r = store_s3_delete_index(store, FRAME_OBJECT_INDEX, index);
    if (r == 0 && names->has_old_index)
        r = store_s3_delete_index(store, FRAME_OBJECT_OLD_INDEX, NULL);
    if (r == -EEXIST)
        return 0; /* a new frame may have chunks of these names */
    if (r == 0)
        delete_chunks(store, names);
    return r == -ENOENT ? 0 : r;
}

/* Ask for the index before the list: if it is still the same one when it is
   deleted, the chunks in the list are not those of a newer frame.  `expected`:
   the state that it must have; NULL: any. */
static int try_remove(struct store *store,
                      const struct store_http_tag *expected)
{
    struct names names = { 0 };
    struct store_http_tag index;
    int r = store_s3_find(store, FRAME_OBJECT_INDEX, &index);

    if (expected &&
        (r == -ENOENT || (r == 0 && strcmp(index.etag, expected->etag) != 0)))
        return 0;
    if (r == 0 || r == -ENOENT)
        r = store_list(store, visit, &names);
    if (r == 0)
        r = delete_all(store, &names, &index);
    for (size_t i = 0; i < names.n; i++)
        free(names.names[i]);
    free(names.names);
    return r;
}

int frame_remove(struct store *store)
{
    struct retry retry = RETRY_REPLACED_REMOTE;
    int r;

    do
        r = try_remove(store, NULL);
    while (r == -ESTALE && retry_wait(&retry));
    return r;
}

int frame_remove_rest(struct store *store, const struct store_http_tag *index)
{
    return try_remove(store, index);
}
