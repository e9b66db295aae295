/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/single_frame.h"

#include <string.h>

#include "backing/backing_source.h"
#include "backing/local.h"
#include "backing/remote_frame.h"

/* Make the place of the frame. */
static void place_frame(const struct backing_source *source,
                        struct backing_place *out)
{
    const char *name = source->only;

    if (source->remote) {
        remote_frame_place(source, out);
        return;
    }
    if (source->pinned)
        name = source->only_kind == ENTRY_SPARSE ? "." : "";
    local_place(source->fd, name, out);
}

int single_frame_find(struct backing_source *source,
                      const char *dir __attribute__((unused)),
                      const char *name __attribute__((unused)),
                      enum entry_kind kind, struct backing_place *out)
{
    if (kind == ENTRY_FRAME_DIR)
        *out = (struct backing_place){ .ops = &single_frame_ops,
                                       .holder = source };
    else
        place_frame(source, out);
    return 0;
}

/* There are no references to take, because SOURCE outlives all places. */
static int own(struct backing_place *place __attribute__((unused)))
{
    return 0;
}

static void release(struct backing_place *place __attribute__((unused)))
{
}

static int stat_directory(const struct backing_place *place,
                          enum entry_kind kind __attribute__((unused)),
                          struct stat *out)
{
    const struct backing_source *source = place->holder;
    struct backing_place frame;
    int r;

    place_frame(source, &frame);
    r = backing_stat(&frame, source->only_kind, out);
    if (r < 0)
        return r;
    out->st_mode = S_IFDIR | 0555;
    out->st_nlink = 2;
    out->st_size = 0;
    out->st_blocks = 0;
    return 0;
}

static int dir_open(const struct backing_place *place __attribute__((unused)),
                    const struct backing_opening *how __attribute__((unused)),
                    struct backing_dir *out,
                    struct fault *fault __attribute__((unused)))
{
    out->ops = &single_frame_ops;
    return 0;
}

static void dir_close(struct backing_dir *dir __attribute__((unused)))
{
}

static int kind_of(const struct backing_dir *dir, const char *name,
                   unsigned char type __attribute__((unused)))
{
    return strcmp(name, dir->source->only) == 0 ? (int)dir->source->only_kind
                                                : ENTRY_NONE;
}

static void place_in(const struct backing_dir *dir,
                     const char *name __attribute__((unused)),
                     enum entry_kind kind __attribute__((unused)),
                     struct backing_place *out)
{
    place_frame(dir->source, out);
}

static void name_of(const struct backing_dir *dir,
                    uint64_t no __attribute__((unused)),
                    struct backing_listed *out)
{
    strcpy(out->name, dir->source->only);
}

static int list_next(struct backing_dir *dir, off_t off,
                     struct backing_listed *out)
{
    return backing_list_numbered(dir, off, 1, name_of, out);
}

const struct backing_ops single_frame_ops = {
    .own = own,
    .release = release,
    .stat = stat_directory,
    .dir_open = dir_open,
    .dir_close = dir_close,
    .kind = kind_of,
    .place_in = place_in,
    .list_next = list_next,
};

const struct backing_source_ops single_frame_source_ops = {
    .find = single_frame_find,
    .statfs = local_statfs,
    .sync = local_sync,
    .path = local_path,
    .may_pass_through = local_may_pass_through,
};
