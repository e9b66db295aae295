/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/backing_change.h"

#include <errno.h>

#include "backing/backing_ops.h"

int backing_check_name(const struct backing_dir *dir, const char *name,
                       enum entry_kind kind, mode_t mode)
{
    const struct backing_change_ops *change = dir->ops->change;

    return change ? change->check_name(dir, name, kind, mode) : -EROFS;
}

int backing_check_rename(const struct backing_entry *entry, const char *name)
{
    const struct backing_change_ops *change = entry->dir.ops->change;

    return change ? change->check_rename(entry, name) : -EROFS;
}

int backing_create(const struct backing_entry *entry,
                   const struct backing_new *what, struct backing_draft *out)
{
    const struct backing_change_ops *change = entry->dir.ops->change;

    *out = (struct backing_draft){
        .entry = entry,
        .mode = what->mode,
        .private_fd = -1,
    };
    return change ? change->create(what, out) : -EROFS;
}

int backing_draft_store(const struct backing_draft *draft, unsigned flags,
                        struct store **out, struct fault *fault)
{
    return draft->entry->dir.ops->change->draft_store(draft, flags, out, fault);
}

int backing_publish(struct backing_draft *draft, struct file_context *files)
{
    return draft->entry->dir.ops->change->publish(draft, files);
}

void backing_discard(struct backing_draft *draft, bool filled)
{
    draft->entry->dir.ops->change->discard(draft, filled);
}

int backing_link(const struct backing_object *object,
                 const struct backing_entry *entry)
{
    const struct backing_change_ops *change = entry->dir.ops->change;

    return change ? change->link(object, entry) : -EROFS;
}

int backing_remove(const struct backing_dir *dir, const char *name,
                   enum entry_kind kind, const struct backing_removal *how)
{
    const struct backing_change_ops *change = dir->ops->change;

    return change ? change->remove(dir, name, kind, how) : -EROFS;
}

void backing_finish_removal(const struct backing_dir *dir, enum entry_kind kind,
                            const struct stat *st)
{
    dir->ops->change->finish_removal(dir, kind, st);
}

/* The operations that can move an entry from one directory to the other. */
static int find_ops(const struct backing_move *move,
                    const struct backing_change_ops **out)
{
    *out = move->from->dir.ops->change;
    if (!*out || !move->to->dir.ops->change)
        return -EROFS;
    return *out == move->to->dir.ops->change ? 0 : -EXDEV;
}

int backing_rename(const struct backing_move *move,
                   const struct backing_entry **left)
{
    const struct backing_change_ops *change;
    int r = find_ops(move, &change);

    return r < 0 ? r : change->rename(move, left);
}

int backing_exchange(const struct backing_move *move)
{
    const struct backing_change_ops *change;
    int r = find_ops(move, &change);

    return r < 0 ? r : change->exchange(move);
}

int backing_reform_begin(struct backing_reform *reform)
{
    const struct backing_change_ops *change = reform->old->dir.ops->change;

    if (!change || !change->reform_begin)
        return -EROFS;
    return change->reform_begin(reform);
}

void backing_reform_place(const struct backing_reform *reform,
                          struct backing_place *out)
{
    reform->old->dir.ops->change->reform_place(reform, out);
}

int backing_reform_swap(const struct backing_reform *reform,
                        const struct backing_giving_way *how)
{
    return reform->old->dir.ops->change->reform_swap(reform, how);
}

void backing_reform_end(struct backing_reform *reform)
{
    reform->old->dir.ops->change->reform_end(reform);
}
