/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backing/prefix_private.h"
#include "writeback/frame_move.h"

/* Both sides of a rename. */
struct sides {
    struct prefix_dir *from;
    struct prefix_dir *to;
    const char *name;
    const char *target;
};

/* Let the store by which programs change the frame go on at the new place.  If
   there is no memory for that, it finds no frame any more. */
static void follow(const struct sides *sides, struct store *store,
                   const struct store *to)
{
    struct store_http_listener *listener =
        prefix_listener_new(sides->to, sides->target, true);

    if (listener && store_s3_follow(store, to, listener) < 0)
        listener->free(listener);
}

static int rename_frame(const struct backing_move *move,
                        const struct sides *sides)
{
    struct frame_move frame = { .replace = move->replace };
    int r = prefix_open_to_change(sides->from, sides->name, NULL, &frame.from);

    if (r < 0)
        return r;
    r = prefix_open_to_change(sides->to, sides->target, NULL, &frame.to);
    if (r == 0) {
        r = frame_move(&frame);
        if (r == 0 && move->store)
            follow(sides, move->store, frame.to);
        store_close(frame.to);
    }
    store_close(frame.from);
    return r;
}

/* An empty directory is made anew. */
static int rename_directory(const struct backing_move *move,
                            const struct sides *sides)
{
    bool exists = move->to->kind == ENTRY_DIRECTORY;
    int r = exists ? prefix_check_empty(sides->to, sides->target) : 0;

    if (r == 0)
        r = prefix_check_empty(sides->from, sides->name);
    else
        return r;
    if (r < 0)
        return r == -ENOTEMPTY ? -EXDEV : r;
    if (!exists)
        r = prefix_make_directory(sides->to, sides->target);
    return r < 0 ? r : prefix_remove_directory(sides->from, sides->name);
}

int prefix_rename(const struct backing_move *move,
                  const struct backing_entry **left)
{
    const struct backing_entry *to = move->to;
    const struct sides sides = {
        .from = prefix_dir_of(&move->from->dir),
        .to = prefix_dir_of(&to->dir),
        .name = move->from->name,
        .target = move->target,
    };
    bool frame = move->from->kind == ENTRY_SPARSE;
    bool same =
        to->kind == move->from->kind && strcmp(to->name, move->target) == 0;
    int r = prefix_keep(sides.from);

    *left = to->kind == ENTRY_NONE || same ? NULL : to;
    if (r == 0)
        r = frame ? rename_frame(move, &sides) : rename_directory(move, &sides);
    if (r == 0)
        prefix_ino_moved(sides.from, sides.name, sides.to, sides.target);
    prefix_head_forget(sides.from, sides.name, frame);
    prefix_head_forget(sides.to, sides.target, frame);
    prefix_dir_changed(sides.from);
    prefix_dir_changed(sides.to);
    return r;
}
