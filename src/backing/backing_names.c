/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>

#include "array/array.h"
#include "backing/backing.h"
#include "backing/backing_source.h"
#include "backing/backing_start.h"
#include "base/retry.h"
#include "frame/frame.h"
#include "store/store_local.h"

int backing_is_array(struct store *store, uint64_t base)
{
    struct fault fault = FAULT_NONE;
    struct array *array = NULL;
    struct frame *frame;
    int r = frame_open_header(store, base, &frame, &fault);

    if (r < 0)
        return r;
    r = array_read(frame, &array, &fault);
    frame_close(frame);
    if (r == 0)
        r = array != NULL;
    array_free(array);
    return r;
}

static int kind_of_name(void *context, const char *name)
{
    return backing_kind(context, name, DT_UNKNOWN);
}

/* Is the frame at a place an array?  Returns 0, 1 or an error. */
static int look_at_array(const struct backing_place *place,
                         enum entry_kind kind)
{
    struct fault fault = FAULT_NONE;
    struct store *store;
    int r = backing_store(place, kind, STORE_NOATIME, &store, &fault);

    if (r < 0)
        return r;
    r = backing_is_array(store, 0);
    store_close(store);
    return r;
}

int backing_shows_array(const struct backing_source *source,
                        const struct backing_place *place, enum entry_kind kind)
{
    struct retry retry = RETRY_REPLACED;
    int r;

    if (!source->npy || !entry_traits[kind].frame)
        return 0;
    if (source->only)
        return source->only_is_array;
    /* A process that replaces a sparse frame removes the index file of the old
       one, which may have been opened. */
    do
        r = look_at_array(place, kind);
    while ((r == -ENOENT || r == -ESTALE) && retry_wait(&retry));
    return backing_is_shortage(r) ? r : r > 0;
}

static int is_array(void *context, const char *name, enum entry_kind kind)
{
    const struct backing_dir *dir = context;
    struct backing_place place;

    backing_place_in(dir, name, kind, &place);
    return backing_shows_array(dir->source, &place, kind);
}

struct names_dir backing_names(struct backing_dir *dir)
{
    return (struct names_dir){
        .keep = dir->source->keep_names,
        .kind = kind_of_name,
        .is_array = dir->source->npy ? is_array : NULL,
        .context = dir,
    };
}
