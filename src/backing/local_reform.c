/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "backing/backing_lock_file.h"
#include "backing/backing_source.h"
#include "backing/local.h"
#include "backing/local_change.h"
#include "backing/trashed_frame.h"
#include "writer/swap.h"

/* Make what the draft is written to.  The store creates a frame in one file. */
static int make_draft(int at, enum entry_kind kind)
{
    int r = 0;

    if (kind == ENTRY_PLAIN)
        r = mknodat(at, SWAP_DRAFT, S_IFREG | 0600, 0);
    else if (kind == ENTRY_SPARSE)
        r = mkdirat(at, SWAP_DRAFT, 0700);
    return r < 0 ? -errno : 0;
}

int local_reform_begin(struct backing_reform *reform)
{
    int at = reform->old->dir.fd;
    int r = private_dir_make(at, false, reform->private_name);

    if (r < 0)
        return r;
    reform->private_fd = r;
    r = private_dir_mark(reform->private_fd);
    if (r == 0)
        r = make_draft(reform->private_fd, reform->new->kind);
    if (r < 0)
        local_reform_end(reform);
    return r;
}

void local_reform_place(const struct backing_reform *reform,
                        struct backing_place *out)
{
    local_place(reform->private_fd, SWAP_DRAFT, out);
}

/* Move a sparse frame that is open to where local_remove() would move it.  If
   that fails, it goes with the private directory. */
static void keep_open(const struct backing_reform *reform,
                      const struct stat *st)
{
    struct backing_source *source = reform->old->dir.source;
    struct trashed_frame_name in_trash = trashed_frame_name(st->st_ino);
    int trash = trash_get(&source->trash, source->fd);

    if (trash >= 0)
        renameat(reform->private_fd, SWAP_OLD, trash, in_trash.text);
}

int local_reform_swap(const struct backing_reform *reform,
                      const struct backing_giving_way *how)
{
    const struct backing_entry *old = reform->old;
    struct backing_place place;
    struct swap swap = {
        .dir = old->dir.fd,
        .private_dir = reform->private_fd,
        .old = old->name,
        .new = reform->new->name,
        .both = how->both,
        .check = how->check,
        .context = how->context,
        .keep = how->anchor && old->kind == ENTRY_SPARSE,
    };
    int r;

    local_place(old->dir.fd, old->name, &place);
    r = local_stat_file(&place, &swap.old_st);
    if (swap.keep)
        flock(how->anchor->fd, LOCK_SH | LOCK_NB);
    if (r == 0)
        r = swap_run(&swap);
    if (r == 0 && swap.keep)
        keep_open(reform, &swap.old_st);
    if (r == 0 && old->kind == ENTRY_FRAME)
        backing_lock_file_remove(old->dir.fd, old->name);
    return r == -ENOENT ? -ESTALE : r;
}

void local_reform_end(struct backing_reform *reform)
{
    private_dir_remove(reform->old->dir.fd, reform->private_name);
    close(reform->private_fd);
}
