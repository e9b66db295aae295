/* SPDX-License-Identifier: BSD-3-Clause */
#include "writeback/frame_move.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame/frame.h"
#include "frame/frame_object.h"
#include "frame/frame_source.h"
#include "net/s3_probe.h"
#include "state/params.h"
#include "writeback/parallel_append.h"
#include "writer/frame_dir.h"
#include "writer/frame_remove.h"

enum {
    STATES_MAX = 16, /* that are copied because other programs commit */
};

/* A chunk object. */
struct object {
    char name[FRAME_SOURCE_NAME_LEN];
    char *etag;
    bool named; /* the index has it */
};

/* The chunk objects of a place, by name, as its list has them. */
struct objects {
    struct object *list;
    size_t n;
    bool others; /* there is something that is none of a frame */
};

/* A frame that is being moved. */
struct moving {
    const struct frame_move *move;
    struct frame *frame;       /* the state that is copied */
    struct store_http_tag tag; /* of its index */
    struct objects from;       /* when that state was read */
    struct objects old;        /* at the new place, before */
    struct objects copied;     /* at the new place, with the ETags of the
                                  originals */
    bool replaces;             /* there is an index at the new place */
    bool placed;               /* it is that of the frame */
    bool anew;                 /* chunks get new ids */
};

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct object *)a)->name,
                  ((const struct object *)b)->name);
}

static struct object *find(const struct objects *objects, const char *name)
{
    struct object wanted;

    if (objects->n == 0)
        return NULL;
    strcpy(wanted.name, name);
    return bsearch(&wanted, objects->list, objects->n, sizeof(wanted), compare);
}

static void sort(struct objects *objects)
{
    if (objects->n > 0)
        qsort(objects->list, objects->n, sizeof(objects->list[0]), compare);
}

static int add(struct objects *objects, const char *name, const char *etag)
{
    struct object *list = objects->list;

    if ((objects->n & (objects->n - 1)) == 0)
        list = reallocarray(list, objects->n > 0 ? 2 * objects->n : 1,
                            sizeof(*list));
    if (!list)
        return -ENOMEM;
    objects->list = list;
    list[objects->n] = (struct object){ .etag = strdup(etag) };
    strcpy(list[objects->n].name, name);
    return list[objects->n++].etag ? 0 : -ENOMEM;
}

static void objects_fini(struct objects *objects)
{
    for (size_t i = 0; i < objects->n; i++)
        free(objects->list[i].etag);
    free(objects->list);
    *objects = (struct objects){ 0 };
}

static int visit(void *context, const char *name, const char *etag)
{
    struct objects *objects = context;

    if (etag && frame_dir_is_chunk(name) &&
        strlen(name) < FRAME_SOURCE_NAME_LEN)
        return add(objects, name, etag);
    objects->others |=
        strcmp(name, FRAME_OBJECT_INDEX) != 0 &&
        strncmp(name, S3_PROBE_PREFIX, strlen(S3_PROBE_PREFIX)) != 0;
    return 0;
}

static int list(struct store *store, struct objects *out)
{
    int r;

    objects_fini(out);
    r = store_s3_list_tags(store, visit, out);
    sort(out);
    return r;
}

/* Mark the objects that the index names.  If one is not there, the frame is
   damaged, or another program has committed; the marker is not put then. */
static int mark_named(struct moving *moving)
{
    uint64_t nchunks = frame_get_info(moving->frame)->nchunks;
    struct fault fault;
    int r = 0;

    for (uint64_t i = 0; i < nchunks && r == 0; i++) {
        char name[FRAME_SOURCE_NAME_LEN];
        struct frame_entry entry;
        struct object *object;

        r = frame_get_entry(moving->frame, i, &entry, &fault);
        if (r < 0 || entry.special)
            continue;
        frame_source_name(entry.place, name);
        object = find(&moving->from, name);
        if (object)
            object->named = true;
    }
    return r;
}

/* Have the store ask for the newest state, because other programs have changed
   the frame. */
static void doubt_state(struct store *store)
{
    struct store_object *object;

    if (store_open(store, FRAME_OBJECT_INDEX, &object) < 0)
        return;
    store_object_doubt(object);
    store_object_close(object);
}

/* Open the newest state of the frame. */
static int open_state(struct moving *moving)
{
    struct store *store = moving->move->from;
    struct fault fault;
    int r;

    if (moving->frame)
        doubt_state(store);
    frame_close(moving->frame);
    moving->frame = NULL;
    r = frame_open(store, 0, &moving->frame, &fault);
    if (r == 0 && strcmp(frame_object_name(store), FRAME_OBJECT_INDEX) != 0)
        r = -EXDEV;
    if (r == 0)
        r = store_http_get_tag(store, &moving->tag);
    if (r == 0)
        r = list(store, &moving->from);
    if (r == 0 && moving->from.others)
        r = -EXDEV;
    return r < 0 ? r : mark_named(moving);
}

/* Find the named objects that were not copied yet.  `out` has room for all.
   Returns their number, or -EEXIST if chunks cannot keep their ids. */
static ssize_t find_missing(const struct moving *moving,
                            struct store_s3_tagged *out)
{
    ssize_t n = 0;

    for (size_t i = 0; i < moving->from.n; i++) {
        const struct object *object = &moving->from.list[i];
        const struct object *copy = find(&moving->copied, object->name);

        if (!object->named)
            continue;
        if (find(&moving->old, object->name) ||
            (copy && strcmp(copy->etag, object->etag) != 0))
            return -EEXIST;
        if (!copy)
            out[n++] = (struct store_s3_tagged){ object->name, object->etag };
    }
    return n;
}

static int copy_missing(struct moving *moving, struct store_s3_tagged *missing)
{
    const struct frame_move *move = moving->move;
    ssize_t n = find_missing(moving, missing);
    int r = n < 0 ? (int)n
                  : store_s3_copy(move->from, move->to, missing, (size_t)n);

    for (ssize_t i = 0; i < n && r == 0; i++)
        r = add(&moving->copied, missing[i].name, missing[i].etag);
    sort(&moving->copied);
    return r;
}

/* Let the server copy the chunks. */
static int copy_chunks(struct moving *moving)
{
    struct store_s3_tagged *missing =
        calloc(moving->from.n + 1, sizeof(*missing));
    int r = missing ? copy_missing(moving, missing) : -ENOMEM;

    free(missing);
    return r == -ENOENT ? -ESTALE : r; /* an original is gone */
}

static int read_index(struct store *store, uint8_t **out, size_t *len)
{
    struct store_object *object;
    struct store_stat stat;
    int r = store_open(store, FRAME_OBJECT_INDEX, &object);

    *out = NULL;
    *len = 0;
    if (r < 0)
        return r;
    r = store_object_stat(object, &stat);
    if (r == 0) {
        *len = (size_t)stat.version.size;
        *out = malloc(*len > 0 ? *len : 1);
        r = *out ? store_object_read_at(object, 0, *out, *len) : -ENOMEM;
    }
    store_object_close(object);
    if (r < 0)
        free(*out);
    return r;
}

static int put_index(struct store *store, const uint8_t *bytes, size_t len)
{
    struct store_object *draft;
    int r = store_draft(store, FRAME_OBJECT_INDEX, &draft);

    if (r < 0)
        return r;
    r = store_object_write(draft, 0, bytes, len);
    if (r == 0)
        r = store_publish(store, FRAME_OBJECT_INDEX, draft);
    if (r < 0)
        store_discard(store, draft);
    else
        store_object_close(draft);
    return r;
}

/* Put the index of the state as it is. */
static int copy_index(struct moving *moving)
{
    uint8_t *bytes;
    size_t len;
    int r = read_index(moving->move->from, &bytes, &len);

    if (r < 0)
        return r;
    r = put_index(moving->move->to, bytes, len);
    free(bytes);
    return r;
}

static int append_all(struct moving *moving, struct frame_writer *writer,
                      struct fault *fault)
{
    const struct frame_info *info = frame_get_info(moving->frame);
    const struct parallel_size size = {
        .chunksize =
            info->chunksize > 0 ? info->chunksize : params_default.chunksize,
    };
    struct parallel_append *append;
    int r = parallel_append_new(writer, NULL, &size, &append);

    if (r < 0)
        return r;
    for (uint64_t i = 0; i < info->nchunks && r == 0; i++)
        r = parallel_append_copy(append, moving->frame, i, fault);
    if (r == 0)
        r = parallel_append_finish(append, fault);
    parallel_append_free(append);
    return r;
}

/* Put chunks and index under new ids. */
static int copy_anew(struct moving *moving)
{
    struct fault fault;
    struct frame_writer *writer;
    struct frame *frame;
    int r = frame_writer_new_like(moving->move->to, moving->frame, NULL,
                                  &writer, &fault);

    if (r < 0)
        return r;
    r = append_all(moving, writer, &fault);
    if (r == 0) {
        r = frame_writer_commit(writer, &frame, &fault);
        if (r == 0)
            frame_close(frame);
    }
    frame_writer_close(writer);
    return r;
}

/* Find out which index is to be replaced, unless it is one that this move has
   put. */
static int expect_old(struct moving *moving)
{
    struct store_object *object;
    int r;

    if (moving->placed || !moving->replaces)
        return 0;
    r = store_open(moving->move->to, FRAME_OBJECT_INDEX, &object);
    if (r == 0)
        store_object_close(object);
    return r == -ENOENT ? 0 : r;
}

/* Copy a state, and let it take its place. */
static int copy_state(struct moving *moving)
{
    int r = -EEXIST;

    if (!moving->anew)
        r = copy_chunks(moving);
    if (r == -EEXIST)
        moving->anew = true;
    else if (r < 0)
        return r;
    r = expect_old(moving);
    if (r == 0)
        r = moving->anew ? copy_anew(moving) : copy_index(moving);
    if (r == 0)
        moving->placed = true;
    else if ((r == -ESTALE || r == -EEXIST) && moving->placed)
        r = -EBUSY; /* another program changes it at its new place already */
    return r;
}

/* Copy the newest state, and put the marker. */
static int try_move(struct moving *moving)
{
    int r = open_state(moving);

    if (r == 0)
        r = copy_state(moving);
    if (r == -EEXIST && moving->move->replace) {
        moving->replaces = true; /* another program has just made it */
        return -ESTALE;
    }
    return r < 0 ? r
                 : store_s3_retire(moving->move->from, FRAME_OBJECT_INDEX,
                                   &moving->tag);
}

/* Delete the first `n` objects at the new place. */
static void delete_first(const struct moving *moving,
                         const struct objects *objects, size_t n)
{
    char **names = calloc(n + 1, sizeof(*names));

    for (size_t i = 0; i < n && names; i++)
        names[i] = objects->list[i].name;
    if (names)
        store_s3_delete(moving->move->to, names, n);
    free(names);
}

/*
 * Delete the chunks of a frame that was replaced.  The one with the highest id
 * stays if no chunk of the frame that is there now has a higher one, because
 * new ids start above it.
 */
static void delete_replaced(const struct moving *moving)
{
    const struct objects *old = &moving->old;
    const struct objects *copied = &moving->copied;
    size_t n = old->n;

    if (moving->anew)
        delete_first(moving, copied, copied->n);
    else if (n > 0 &&
             (copied->n == 0 || strcmp(old->list[n - 1].name,
                                       copied->list[copied->n - 1].name) > 0))
        n--;
    delete_first(moving, old, n);
}

/* Delete what was copied to the new place, after an error that leaves no doubt
   about the requests that were made. */
static void undo(const struct moving *moving)
{
    struct store_http_tag tag;

    if (!moving->placed)
        delete_first(moving, &moving->copied, moving->copied.n);
    else if (!moving->replaces &&
             store_http_get_tag(moving->move->to, &tag) == 0)
        frame_remove_rest(moving->move->to, &tag);
}

static int run(struct moving *moving)
{
    int r = list(moving->move->to, &moving->old);

    if (r < 0)
        return r;
    r = -ESTALE;
    for (int i = 0; i < STATES_MAX && r == -ESTALE; i++)
        r = try_move(moving);
    return r == -ESTALE ? -EBUSY : r;
}

int frame_move(const struct frame_move *move)
{
    struct moving moving = { .move = move, .replaces = move->replace };
    int r = run(&moving);

    if (r == 0) {
        frame_remove_rest(move->from, &moving.tag);
        delete_replaced(&moving);
    } else if (r != -EIO && r != -EINTR && r != -ECANCELED) {
        undo(&moving);
    }
    frame_close(moving.frame);
    objects_fini(&moving.from);
    objects_fini(&moving.old);
    objects_fini(&moving.copied);
    return r;
}
