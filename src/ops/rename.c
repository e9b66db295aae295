/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/rename.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backing/backing_start.h"
#include "base/retry.h"
#include "open/open_file.h"
#include "ops/remove.h"
#include "store/store_version.h"

/* One side of a rename. */
struct side {
    struct node *parent;
    struct backing_entry entry;
    struct node *node; /* a reference; NULL if the entry has no node */
    struct stat st;
    int array; /* 1: it is an array that shows as a .npy file; else 0 */
};

struct move {
    struct fs *fs;
    const struct rename *args;
    unsigned nreformed; /* that of `fs`, before the sides were found */
    struct side from;
    struct side to;
    char target[NAME_MAX + 1]; /* the new name to store the entry under */
    char back[NAME_MAX + 1];   /* the new name of the entry it is exchanged
                                  with */
};

static int side_init(struct fs *fs, struct node *parent, const char *shown,
                     struct side *side)
{
    struct backing_place place;
    struct node_id id;
    int r = fs_find(fs, parent, shown, &side->entry);

    if (r < 0)
        return r;
    side->parent = parent;
    side->node = NULL;
    if (side->entry.kind == ENTRY_NONE)
        return 0;
    backing_place_in(&side->entry.dir, side->entry.name, side->entry.kind,
                     &place);
    r = backing_stat(&place, side->entry.kind, &side->st);
    if (r == 0)
        r = backing_shows_array(&fs->source, &place, side->entry.kind);
    if (r < 0) {
        backing_dir_close(&side->entry.dir);
        return r;
    }
    side->array = r;
    id = node_id_of(&side->st, side->entry.kind);
    side->node = node_find(&fs->nodes, parent, side->entry.name, &id);
    return 0;
}

static void side_fini(struct fs *fs, struct side *side)
{
    if (side->node)
        node_unref(&fs->nodes, side->node);
    backing_dir_close(&side->entry.dir);
}

static bool is_there(const struct side *side)
{
    return side->entry.kind != ENTRY_NONE;
}

static bool is_frame(const struct side *side)
{
    return entry_traits[side->entry.kind].frame;
}

static bool is_same_file(const struct move *move)
{
    return is_there(&move->to) &&
           store_version_same_object(&move->from.st, &move->to.st);
}

/* Note in the rule for the names of a directory that the entry of a side gives
   up its name, if that lies there. */
static void note_leaving(struct names_dir *names, const struct node *dir,
                         const struct side *side)
{
    const struct names_change leaves = { .name = side->entry.name };

    if (is_there(side) && side->parent == dir)
        names_note(names, &leaves);
}

/* The rule for the names at the place of a side once both entries have left
   theirs. */
static struct names_dir names_at(struct move *move, struct side *place)
{
    struct names_dir names = backing_names(&place->entry.dir);

    note_leaving(&names, place->parent, &move->from);
    note_leaving(&names, place->parent, &move->to);
    return names;
}

/* The entry of a side under another name. */
static struct names_change coming(const struct side *side, const char *name)
{
    return (struct names_change){ name, side->entry.kind, side->array };
}

/* Choose a name for a frame: that of the frame whose place it takes, if it will
   show there. */
static int name_frame(const struct names_dir *names, const struct side *side,
                      const struct side *place, const char *shown, char *target)
{
    const struct backing_entry *entry = &side->entry;
    const struct names_frame frame = { entry->name, entry->kind, side->array };
    struct names_change comes = coming(side, place->entry.name);
    int r = is_frame(place) ? names_will_show(names, &comes, shown) : 0;

    if (r <= 0)
        return r < 0 ? r : names_new(names, shown, &frame, target);
    strcpy(target, place->entry.name);
    return 0;
}

/* Choose a name for an entry that shows as it is stored: the one that it is to
   show under, unless a frame is stored there that shows elsewhere. */
static int name_other(const struct names_dir *names, const struct side *place,
                      const char *shown, char *target)
{
    int r = names->kind(names->context, shown);

    strcpy(target, shown);
    if (r < 0)
        return r;
    if (!entry_traits[(enum entry_kind)r].frame ||
        (is_there(place) && strcmp(place->entry.name, shown) == 0))
        return 0;
    return names_refuse(names, shown);
}

/* Choose the name under which to store an entry that will show in another
   place. */
static int choose_target(const struct names_dir *names, const struct side *side,
                         const struct side *place, const char *shown,
                         char *target)
{
    int r = is_frame(side) ? name_frame(names, side, place, shown, target)
                           : name_other(names, place, shown, target);

    if (r == 0)
        r = backing_check_name(&place->entry.dir, target, side->entry.kind,
                               side->st.st_mode);
    return r == 0 ? backing_check_rename(&side->entry, target) : r;
}

static struct backing_move describe(const struct move *move)
{
    return (struct backing_move){
        .from = &move->from.entry,
        .from_st = &move->from.st,
        .to = &move->to.entry,
        .to_st = &move->to.st,
        .target = move->target,
        .back = move->back,
        .replace = !(move->args->flags & RENAME_NOREPLACE),
    };
}

/* Update the node of the entry of a side, which was moved to a directory. */
static int move_node(const struct move *move, const struct side *side,
                     struct node *parent, const char *name)
{
    const struct node_entry from = { side->parent, side->entry.name };
    const struct node_entry to = { parent, name };

    if (!side->node)
        return 0;
    return node_moved(&move->fs->nodes, side->node, &from, &to);
}

/* Update the nodes. */
static int move_nodes(const struct move *move)
{
    struct node_table *nodes = &move->fs->nodes;
    const struct side *from = &move->from;
    const struct side *to = &move->to;

    if (to->node)
        node_removed(nodes, to->node, to->parent, to->entry.name,
                     remove_is_last(&to->entry, &to->st));
    return move_node(move, from, to->parent, move->target);
}

/* Remove the replaced entry from the place where it was left. */
static int remove_replaced(const struct move *move,
                           const struct backing_entry *left)
{
    const struct side *to = &move->to;
    int r = 0;

    if (left)
        r = remove_entry(move->fs, to->node, left, to->entry.kind, true);
    if (to->node && remove_is_last(&to->entry, &to->st))
        deferred_close_now(move->fs, to->node);
    if (left && to->node)
        remove_finish(move->fs, to->node, &left->dir, to->entry.kind, &to->st);
    return r;
}

/* A move of the file of an entry. */
struct file_move {
    struct backing_move files;
    const struct backing_entry *left;
};

static int move_file(void *context, struct store *store)
{
    struct file_move *move = context;

    move->files.store = store;
    return backing_rename(&move->files, &move->left);
}

/* May a side have got another form since it was found, see reform.h?  While
   this thread renames, it gets none. */
static bool is_overtaken(const struct move *move)
{
    return move->nreformed != move->fs->nreformed;
}

/* Has this daemon a file open that it may have written? */
static bool is_written(struct fs *fs, struct node *node)
{
    struct open_file *open = node ? open_file_find(fs, node) : NULL;
    struct open_version *version = open ? open_file_version(open) : NULL;
    bool written = version && version->writable;

    open_version_put(version);
    open_file_put(fs, open);
    return written;
}

/*
 * Make a frame durable that takes the place of another file.  If this daemon
 * has not written it, another mount or a daemon that was killed may have left
 * that to others.  A frame that this daemon may not open cannot be synced, and
 * one on a server need not be.
 */
static int sync_side(struct fs *fs, const struct side *side)
{
    struct backing_anchor anchor;
    struct backing_place place;
    int r = open_file_sync_node(fs, side->node);

    if (r < 0 || !is_frame(side) || is_written(fs, side->node))
        return r;
    backing_place_in(&side->entry.dir, side->entry.name, side->entry.kind,
                     &place);
    r = backing_anchor(&place, side->entry.kind, &anchor);
    if (r < 0)
        return backing_is_shortage(r) || r == -EIO ? r : 0;
    r = backing_anchor_sync(&anchor);
    backing_anchor_close(&anchor);
    return r == -EACCES || r == -ENOENT ? 0 : r;
}

static int replace_or_move(struct move *move)
{
    const struct side *from = &move->from;
    const struct side *to = &move->to;
    struct file_move file = { .files = describe(move) };
    struct names_dir names = names_at(move, &move->to);
    struct open_file *open;
    int r =
        choose_target(&names, from, to, move->args->new_shown, move->target);

    if (r == 0)
        r = is_there(to) ? sync_side(move->fs, from)
                         : open_file_save_node(move->fs, from->node);
    if (r < 0)
        return r;
    open = open_file_begin_rename(move->fs, from->node, to->node);
    if (is_there(to) && remove_is_last(&to->entry, &to->st))
        open_file_set_unlinked(move->fs, to->node, true);
    r = is_overtaken(move) ? -ESTALE
                           : open_file_move(move->fs, open, move_file, &file);
    if (r < 0)
        open_file_set_unlinked(move->fs, to->node, false);
    if (r == 0)
        r = move_nodes(move);
    open_file_end_rename(move->fs, open, from->node, to->node);
    if (r == 0)
        open_file_note_name(move->fs, from->node);
    return r < 0 ? r : remove_replaced(move, file.left);
}

/* Update the nodes after two files have changed places. */
static int exchange_nodes(const struct move *move)
{
    const struct side *from = &move->from;
    const struct side *to = &move->to;
    int r = move_node(move, from, to->parent, move->target);

    return r < 0 ? r : move_node(move, to, from->parent, move->back);
}

/* Choose the names under which two entries change places.  An entry that is no
   frame has no choice, so the other one is named after it. */
static int choose_names(struct move *move)
{
    bool swapped = is_frame(&move->from) && !is_frame(&move->to);
    struct side *one = swapped ? &move->to : &move->from;
    struct side *other = swapped ? &move->from : &move->to;
    const char *shown[2] = { move->args->new_shown, move->args->shown };
    char *targets[2] = { move->target, move->back };
    struct names_dir names = names_at(move, other);
    struct names_dir names_back = names_at(move, one);
    struct names_change comes = coming(one, targets[swapped]);
    struct names_change comes_back = coming(other, targets[!swapped]);
    int r = choose_target(&names, one, other, shown[swapped], targets[swapped]);

    if (r < 0)
        return r;
    if (one->parent == other->parent)
        names_note(&names_back, &comes);
    r = choose_target(&names_back, other, one, shown[!swapped],
                      targets[!swapped]);
    if (r < 0 || one->parent != other->parent || !is_frame(one))
        return r;
    names_note(&names, &comes_back);
    r = names_will_show(&names, &comes, shown[swapped]);
    return r < 0 ? r : r > 0 ? 0 : -EXDEV;
}

static int exchange(struct move *move)
{
    struct node_table *nodes = &move->fs->nodes;
    const struct backing_move files = describe(move);
    int r = is_there(&move->to) ? choose_names(move) : -ENOENT;

    if (r == 0)
        r = sync_side(move->fs, &move->from);
    if (r == 0)
        r = sync_side(move->fs, &move->to);
    if (r < 0)
        return r;
    node_begin_rename(nodes, move->from.node, move->to.node);
    r = is_overtaken(move) ? -ESTALE : backing_exchange(&files);
    if (r == 0)
        r = exchange_nodes(move);
    node_end_rename(nodes, move->from.node, move->to.node);
    if (r == 0) {
        open_file_note_name(move->fs, move->from.node);
        open_file_note_name(move->fs, move->to.node);
    }
    return r;
}

static int move(struct move *move)
{
    if (!is_there(&move->from))
        return -ENOENT;
    if (entry_traits[move->from.entry.kind].view ||
        entry_traits[move->to.entry.kind].view)
        return -EROFS;
    if (move->args->flags & RENAME_EXCHANGE)
        return exchange(move);
    if (is_there(&move->to) && (move->args->flags & RENAME_NOREPLACE))
        return -EEXIST;
    if (entry_traits[move->to.entry.kind].readonly_dir)
        return -EROFS;
    return is_same_file(move) ? 0 : replace_or_move(move);
}

/* A name may be taken only as long as an entry changes its form, see reform.h:
   wait until that is over. */
static void await_forms(struct fs *fs, const struct rename *args)
{
    if (!fs_reforms(fs))
        return;
    node_await_rename_in(&fs->nodes, args->new_parent);
    if (args->parent != args->new_parent)
        node_await_rename_in(&fs->nodes, args->parent);
}

static int try_rename(struct fs *fs, const struct rename *args)
{
    struct move it = { .fs = fs, .args = args, .nreformed = fs->nreformed };
    int r = side_init(fs, args->parent, args->shown, &it.from);

    if (r < 0)
        return r;
    r = side_init(fs, args->new_parent, args->new_shown, &it.to);
    if (r == 0) {
        r = move(&it);
        side_fini(fs, &it.to);
    }
    side_fini(fs, &it.from);
    return r;
}

int rename_entry(struct fs *fs, const struct rename *args)
{
    struct retry retry = RETRY_REPLACED;
    bool again;
    unsigned nreformed;
    int r;

    if (args->flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE))
        return -EINVAL;
    r = fs_check_entries(args->parent);
    if (r == 0)
        r = fs_check_entries(args->new_parent);
    if (r < 0)
        return r;
    do {
        nreformed = fs->nreformed;
        r = try_rename(fs, args);
        again = (r == -ENOENT || r == -ESTALE || r == -EXDEV) &&
                nreformed != fs->nreformed;
        /* The entry to be replaced was not there yet, or had another form. */
        if (r == -EEXIST && !(args->flags & RENAME_NOREPLACE)) {
            await_forms(fs, args);
            again = retry_wait(&retry);
        }
    } while (again);
    return r;
}
