/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backing/backing_lock_file.h"
#include "backing/backing_ops.h"
#include "backing/local_change.h"
#include "base/identity.h"
#include "writer/frame_dir.h"
#include "writer/private_dir.h"

/* An entry with its attributes. */
struct side {
    const struct backing_entry *entry;
    const struct stat *st;
};

static struct side from_side(const struct backing_move *move)
{
    return (struct side){ move->from, move->from_st };
}

static struct side to_side(const struct backing_move *move)
{
    return (struct side){ move->to, move->to_st };
}

static int rename_side(struct side side, struct side place, const char *name,
                       unsigned flags)
{
    return renameat2(side.entry->dir.fd, side.entry->name, place.entry->dir.fd,
                     name, flags) < 0
               ? -errno
               : 0;
}

/*
 * Move an entry with the identity of the program that asks for it.  For a
 * sparse frame, which is a directory, the kernel would demand more rights than
 * for the file that the program sees.  So the rights for a file are checked
 * here, and the daemon moves it.
 */
static int move_side(struct side side, struct side place, const char *name,
                     unsigned flags)
{
    int r;

    if (side.entry->kind == ENTRY_SPARSE || place.entry->kind == ENTRY_SPARSE) {
        r = identity_check_delete(side.entry->dir.fd, side.st->st_uid);
        if (r == 0 && place.entry->kind != ENTRY_NONE)
            r = identity_check_delete(place.entry->dir.fd, place.st->st_uid);
        else if (r == 0)
            r = identity_check(place.entry->dir.fd, W_OK | X_OK);
        return r < 0 ? r : rename_side(side, place, name, flags);
    }
    identity_begin();
    r = rename_side(side, place, name, flags);
    identity_end();
    return r;
}

static int move_to(const struct backing_move *move, unsigned flags)
{
    return move_side(from_side(move), to_side(move), move->target, flags);
}

/* Replace an entry in one step; `left` as backing_rename(). */
static int replace(const struct backing_move *move,
                   const struct backing_entry **left)
{
    const struct backing_entry *to = move->to;
    int r;

    if (move->from->kind == ENTRY_SPARSE || to->kind == ENTRY_SPARSE) {
        *left = move->from;
        return move_to(move, RENAME_EXCHANGE);
    }
    r = move_to(move, 0);
    if ((r == -ENOTEMPTY || r == -EEXIST) && to->kind == ENTRY_DIRECTORY) {
        private_dir_tidy_up_all(to->dir.fd, to->name);
        r = move_to(move, 0);
    }
    return r;
}

/* Move the lock files, too.  A sparse frame has its lock file inside. */
static void move_lock_file(const struct backing_move *move)
{
    const struct backing_entry *from = move->from;
    const struct backing_entry *to = move->to;

    if (from->kind == ENTRY_FRAME)
        backing_lock_file_move(from->dir.fd, from->name, to->dir.fd,
                               move->target);
    else if (to->kind == ENTRY_FRAME)
        backing_lock_file_remove(to->dir.fd, move->target);
}

int local_rename(const struct backing_move *move,
                 const struct backing_entry **left)
{
    const struct backing_entry *to = move->to;
    int r = 0;

    *left = NULL;
    if (to->kind == ENTRY_SPARSE)
        r = frame_dir_check(to->dir.fd, to->name);
    if (r < 0)
        return r;
    if (to->kind != ENTRY_NONE && strcmp(move->target, to->name) == 0) {
        r = replace(move, left);
    } else {
        *left = to->kind == ENTRY_NONE ? NULL : to;
        r = move_to(move, RENAME_NOREPLACE);
    }
    if (r == 0)
        move_lock_file(move);
    return r;
}

/*
 * Exchange a frame with an entry that is not one, in a mount where the frame's
 * suffix does not show.  There is no single step for that: in between, both
 * show at the place of `other`.
 */
static int exchange_with_frame(struct side frame, const char *target,
                               struct side other, const char *back)
{
    int r = move_side(frame, other, target, RENAME_NOREPLACE);

    if (r < 0)
        return r;
    r = move_side(other, frame, back, RENAME_NOREPLACE);
    if (r < 0)
        renameat2(other.entry->dir.fd, target, frame.entry->dir.fd,
                  frame.entry->name, RENAME_NOREPLACE);
    else if (frame.entry->kind == ENTRY_FRAME)
        backing_lock_file_move(frame.entry->dir.fd, frame.entry->name,
                               other.entry->dir.fd, target);
    return r;
}

int local_exchange(const struct backing_move *move)
{
    struct side from = from_side(move);
    struct side to = to_side(move);
    int r;

    if (strcmp(move->target, move->to->name) != 0 ||
        strcmp(move->back, move->from->name) != 0)
        return entry_traits[move->from->kind].frame
                   ? exchange_with_frame(from, move->target, to, move->back)
                   : exchange_with_frame(to, move->back, from, move->target);
    r = move_to(move, RENAME_EXCHANGE);
    if (r == 0 && (entry_traits[move->from->kind].frame ||
                   entry_traits[move->to->kind].frame))
        backing_lock_file_exchange(move->from->dir.fd, move->from->name,
                                   move->to->dir.fd, move->to->name);
    return r;
}
