/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/backing_anchor.h"

#include <errno.h>

#include "backing/backing_ops.h"

int backing_open(const struct backing_place *place, int flags,
                 struct backing_anchor *out)
{
    *out = BACKING_ANCHOR_NONE;
    return place->ops->open ? place->ops->open(place, flags, out) : -ENOTSUP;
}

int backing_anchor(const struct backing_place *place, enum entry_kind kind,
                   struct backing_anchor *out)
{
    *out = BACKING_ANCHOR_NONE;
    return place->ops->anchor ? place->ops->anchor(place, kind, out) : -ENOTSUP;
}

int backing_dir_anchor(const struct backing_dir *dir,
                       struct backing_anchor *out)
{
    *out = BACKING_ANCHOR_NONE;
    return dir->ops->dir_anchor ? dir->ops->dir_anchor(dir, out) : -ESTALE;
}

void backing_anchor_close(struct backing_anchor *anchor)
{
    if (anchor->ops)
        anchor->ops->close(anchor);
    *anchor = BACKING_ANCHOR_NONE;
}

int backing_anchor_dup(const struct backing_anchor *anchor,
                       struct backing_anchor *out)
{
    *out = BACKING_ANCHOR_NONE;
    return anchor->ops ? anchor->ops->dup(anchor, out) : -ESTALE;
}

int backing_anchor_stat(const struct backing_anchor *anchor, struct stat *out)
{
    return anchor->ops ? anchor->ops->stat(anchor, out) : -ESTALE;
}

int backing_anchor_statvfs(const struct backing_anchor *anchor,
                           struct statvfs *out)
{
    return anchor->ops ? anchor->ops->statvfs(anchor, out) : -ESTALE;
}

int backing_anchor_check(const struct backing_anchor *anchor, int how)
{
    return anchor->ops->check(anchor, how);
}

int backing_anchor_lease(const struct backing_anchor *anchor)
{
    return anchor->ops->lease ? anchor->ops->lease(anchor) : -ENOTSUP;
}

bool backing_anchor_is_leased(const struct backing_anchor *anchor)
{
    return anchor->ops->is_leased(anchor);
}

void backing_anchor_place(const struct backing_anchor *anchor,
                          struct backing_place *out)
{
    anchor->ops->place(anchor, out);
}

int backing_anchor_sync(const struct backing_anchor *anchor)
{
    return anchor->ops->sync(anchor);
}

void backing_anchor_remove(const struct backing_anchor *anchor,
                           const struct stat *st)
{
    if (anchor->ops)
        anchor->ops->remove(anchor, st);
}
