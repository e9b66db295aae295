/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "backing/backing_dress.h"
#include "open/open_file.h"
#include "open/reform_private.h"

/* Mark a plain file that takes the place of a frame, or remove the mark from
   what takes the place of such a file. */
static void mark(const struct reform *reform,
                 const struct backing_object *object)
{
    if (reform->new.kind == ENTRY_PLAIN)
        backing_setxattr(object, REFORM_MARK, "1", 1, 0);
    else
        backing_removexattr(object, REFORM_MARK);
}

/* Give the new entry the attributes of the old one, and get its identity. */
static int dress(const struct reform *reform,
                 const struct backing_reform *draft, struct node_id *out)
{
    struct backing_object like;
    struct backing_object object;
    struct backing_place place;
    struct stat st;
    int r = fs_pin(reform->fs, reform->node, &reform->place, &like);

    if (r < 0)
        return r;
    backing_reform_place(draft, &place);
    r = entry_traits[reform->old.kind].one_name || like.st.st_nlink == 1
            ? backing_pin(&place, reform->new.kind, &object)
            : -EMLINK;
    if (r == 0) {
        r = backing_dress(&object, &like);
        mark(reform, &object);
        backing_unpin(&object);
    }
    backing_unpin(&like);
    if (r == 0)
        r = backing_stat(&place, reform->new.kind, &st);
    if (r == 0)
        *out = node_id_of(&st, reform->new.kind);
    return r;
}

/* Threads that have found the old entry look the name up again. */
static void both_are_there(void *context)
{
    const struct reform *reform = context;

    atomic_fetch_add(&reform->fs->nreformed, 1);
}

/* Make an anchor of the old file if it is open. */
static void anchor_old(const struct reform *reform, struct backing_anchor *out)
{
    struct node_table *nodes = &reform->fs->nodes;

    *out = BACKING_ANCHOR_NONE;
    pthread_mutex_lock(&nodes->lock);
    if (reform->node->open)
        open_file_anchor(reform->node->open, out);
    pthread_mutex_unlock(&nodes->lock);
}

/*
 * Swap the entries of a node that stays the same: the kernel goes on with it.
 * The node changes before the files do, so that a thread that looks the new
 * file up finds it.
 */
static int swap_kept(struct reform *reform, const struct backing_reform *draft,
                     const struct backing_giving_way *how,
                     const struct node_id *id)
{
    const struct node_entry from = { reform->parent, reform->old.name };
    const struct node_entry to = { reform->parent, reform->new.name };
    const struct node_id old = node_id_of(&reform->st, reform->old.kind);
    struct node_table *nodes = &reform->fs->nodes;
    int r = node_recast(nodes, reform->node, &from, &to, id);

    if (r == 0)
        r = backing_reform_swap(draft, how);
    if (r < 0)
        node_recast(nodes, reform->node, &to, &from, &old);
    return r;
}

/* Swap the entries, and let the node of the old one count as removed. */
static int swap_removed(struct reform *reform,
                        const struct backing_reform *draft,
                        const struct backing_giving_way *how)
{
    struct fs *fs = reform->fs;
    int r;

    open_file_set_unlinked(fs, reform->node, true);
    r = backing_reform_swap(draft, how);
    if (r < 0)
        open_file_set_unlinked(fs, reform->node, false);
    else
        node_removed(&fs->nodes, reform->node, reform->parent, reform->old.name,
                     true);
    return r;
}

int reform_swap(struct reform *reform, const struct backing_reform *draft,
                int (*check)(void *context))
{
    struct backing_anchor anchor;
    struct backing_giving_way how = { both_are_there, check, reform, NULL };
    struct node_id id;
    bool kept;
    int r = dress(reform, draft, &id);

    if (r < 0)
        return r;
    node_made(&reform->fs->nodes, reform->parent, reform->new.name, &id);
    anchor_old(reform, &anchor);
    kept = !anchor.ops && reform->new.kind == reform->old.kind;
    if (anchor.ops)
        how.anchor = &anchor;
    r = kept ? swap_kept(reform, draft, &how, &id)
             : swap_removed(reform, draft, &how);
    backing_anchor_close(&anchor);
    return r < 0 ? r : kept;
}
