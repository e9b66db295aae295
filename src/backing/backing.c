/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/backing.h"

#include <errno.h>
#include <string.h>

#include "backing/backing_ops.h"
#include "backing/chunks.h"
#include "store/store_local.h"

enum {
    NDOTS = 2 /* "."  and "..", before the names in a list */
};

void backing_close(struct backing_place *place)
{
    if (place->owned)
        place->ops->release(place);
    if (place->lock.unlock)
        place->lock.unlock(&place->lock);
}

int backing_place_own(struct backing_place *place)
{
    int r;

    place->owned = false;
    place->lock.unlock = NULL;
    r = place->ops->own(place);
    place->owned = r == 0;
    return r;
}

int backing_stat(const struct backing_place *place, enum entry_kind kind,
                 struct stat *out)
{
    return place->ops->stat(place, kind, out);
}

int backing_store(const struct backing_place *place, enum entry_kind kind,
                  unsigned flags, struct store **out, struct fault *fault)
{
    return place->ops->store(place, kind, flags, out, fault);
}

void backing_view(const struct backing_place *place, enum entry_kind kind,
                  struct view_spec *out)
{
    place->ops->view(place, kind, out);
}

int backing_view_size(const struct backing_place *place, enum entry_kind kind,
                      uint64_t *size, struct fault *fault)
{
    return place->ops->view_size(place, kind, size, fault);
}

int backing_check_store(const struct backing_place *place, struct store *store,
                        const struct stat *st)
{
    return place->made_up_ino ? 0
                              : store_check_self(store, store_version_of(st));
}

ssize_t backing_readlink(const struct backing_place *place, char *target,
                         size_t size)
{
    return place->ops->readlink ? place->ops->readlink(place, target, size)
                                : -EINVAL;
}

int backing_check_header(const struct backing_place *place, struct fault *fault)
{
    return place->ops->check_header ? place->ops->check_header(place, fault)
                                    : 0;
}

int backing_dir_open(const struct backing_place *place,
                     const struct backing_opening *how, struct backing_dir *out,
                     struct fault *fault)
{
    *out = (struct backing_dir){ .source = how->source, .fd = -1 };
    return place->ops->dir_open ? place->ops->dir_open(place, how, out, fault)
                                : -ENOTDIR;
}

void backing_dir_close(struct backing_dir *dir)
{
    dir->ops->dir_close(dir);
}

int backing_dir_stat(const struct backing_dir *dir, struct stat *out)
{
    return dir->ops->dir_stat ? dir->ops->dir_stat(dir, out) : -ENOTSUP;
}

int backing_dir_sync(const struct backing_dir *dir)
{
    return dir->ops->dir_sync ? dir->ops->dir_sync(dir) : 0;
}

bool backing_dir_is_current(const struct backing_dir *dir)
{
    return !dir->ops->dir_is_current || dir->ops->dir_is_current(dir);
}

void backing_place_in(const struct backing_dir *dir, const char *name,
                      enum entry_kind kind, struct backing_place *out)
{
    dir->ops->place_in(dir, name, kind, out);
    if (kind == ENTRY_CHUNKS) {
        out->below = out->ops;
        out->ops = &chunks_ops;
    }
}

int backing_kind(const struct backing_dir *dir, const char *name,
                 unsigned char type)
{
    return dir->ops->kind(dir, name, type);
}

int backing_layers(const struct backing_dir *dir, struct store **out,
                   struct fault *fault)
{
    return dir->ops->layers ? dir->ops->layers(dir, out, fault) : -ENOENT;
}

int backing_list_begin(struct backing_dir *dir)
{
    return dir->ops->list_begin ? dir->ops->list_begin(dir) : 0;
}

int backing_list_next(struct backing_dir *dir, off_t off,
                      struct backing_listed *out)
{
    return dir->ops->list_next(dir, off, out);
}

int backing_list_numbered(const struct backing_dir *dir, off_t off,
                          uint64_t nnames,
                          void (*name)(const struct backing_dir *dir,
                                       uint64_t no, struct backing_listed *out),
                          struct backing_listed *out)
{
    static const char *const dots[NDOTS] = { ".", ".." };

    if (off < 0 || (uint64_t)off >= NDOTS + nnames)
        return 0;
    out->type = DT_UNKNOWN;
    out->unsure = false;
    out->ino = 0;
    out->next = off + 1;
    if (off < NDOTS)
        strcpy(out->name, dots[off]);
    else
        name(dir, (uint64_t)off - NDOTS, out);
    return 1;
}
