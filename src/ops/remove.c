/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/remove.h"

#include <errno.h>

#include "open/open_file.h"

/* Is a file open?  Then this also makes an anchor of it, if it can. */
static bool is_open(struct fs *fs, const struct node *node,
                    struct backing_anchor *anchor)
{
    bool open;

    *anchor = BACKING_ANCHOR_NONE;
    if (!node)
        return false;
    pthread_mutex_lock(&fs->nodes.lock);
    open = node->open != NULL;
    if (open)
        open_file_anchor(node->open, anchor);
    pthread_mutex_unlock(&fs->nodes.lock);
    return open;
}

int remove_entry(struct fs *fs, const struct node *node,
                 const struct backing_entry *entry, enum entry_kind kind,
                 bool checked)
{
    struct backing_removal how = { .checked = checked };
    struct backing_anchor anchor;
    int r;

    how.open = is_open(fs, node, &anchor);
    how.anchor = anchor.ops ? &anchor : NULL;
    r = backing_remove(&entry->dir, entry->name, kind, &how);
    backing_anchor_close(&anchor);
    return r;
}

void remove_finish(struct fs *fs, const struct node *node,
                   const struct backing_dir *dir, enum entry_kind kind,
                   const struct stat *st)
{
    bool open;

    pthread_mutex_lock(&fs->nodes.lock);
    open = node->open != NULL;
    pthread_mutex_unlock(&fs->nodes.lock);
    if (!open)
        backing_finish_removal(dir, kind, st);
}

bool remove_is_last(const struct backing_entry *entry, const struct stat *st)
{
    return entry_traits[entry->kind].one_name || st->st_nlink <= 1;
}

static void remove_node(struct fs *fs, struct node *node, struct node *parent,
                        const struct backing_entry *entry,
                        const struct stat *st)
{
    bool last = remove_is_last(entry, st);

    node_removed(&fs->nodes, node, parent, entry->name, last);
    if (last)
        deferred_close_now(fs, node);
    remove_finish(fs, node, &entry->dir, entry->kind, st);
}

/* Remove an entry that is no directory while it gets no other form, see
   reform.h.  Returns -ESTALE if it has got one since `nreformed` was read. */
static int remove_in_form(struct fs *fs, struct node *node,
                          const struct backing_entry *entry, unsigned nreformed)
{
    bool locked = node && fs_reforms(fs) && !entry_traits[entry->kind].folder;
    int r;

    if (locked)
        node_begin_rename(&fs->nodes, node, NULL);
    r = nreformed == fs->nreformed
            ? remove_entry(fs, node, entry, entry->kind, false)
            : -ESTALE;
    if (locked)
        node_end_rename(&fs->nodes, node, NULL);
    return r;
}

/* Remove an entry, and update its node. */
static int remove_found(struct fs *fs, struct node *parent,
                        const struct backing_entry *entry, unsigned nreformed)
{
    struct backing_place place;
    struct node_id id;
    struct node *node;
    struct stat st;
    int r;

    backing_place_in(&entry->dir, entry->name, entry->kind, &place);
    r = backing_stat(&place, entry->kind, &st);
    if (r < 0)
        return r;
    id = node_id_of(&st, entry->kind);
    node = node_find(&fs->nodes, parent, entry->name, &id);
    if (remove_is_last(entry, &st))
        open_file_set_unlinked(fs, node, true);
    r = remove_in_form(fs, node, entry, nreformed);
    if (r < 0)
        open_file_set_unlinked(fs, node, false);
    if (node && r == 0)
        remove_node(fs, node, parent, entry, &st);
    if (node)
        node_unref(&fs->nodes, node);
    return r;
}

static int try_remove(struct fs *fs, struct node *parent, const char *shown,
                      bool directory)
{
    unsigned nreformed = fs->nreformed;
    struct backing_entry entry;
    int r = fs_check_entries(parent);

    if (r == 0)
        r = fs_find(fs, parent, shown, &entry);
    if (r < 0)
        return r;
    if (entry.kind == ENTRY_NONE)
        r = -ENOENT;
    else if (entry_traits[entry.kind].folder != directory)
        r = directory ? -ENOTDIR : -EISDIR;
    else if (entry_traits[entry.kind].readonly_dir)
        r = -EROFS;
    else
        r = remove_found(fs, parent, &entry, nreformed);
    backing_dir_close(&entry.dir);
    return r;
}

/*
 * Remove the entry that shows under a name.
 *
 *  directory  whether it must be a directory
 */
static int remove_shown(struct fs *fs, struct node *parent, const char *shown,
                        bool directory)
{
    unsigned nreformed;
    int r;

    do {
        nreformed = fs->nreformed;
        r = try_remove(fs, parent, shown, directory);
    } while ((r == -ENOENT || r == -ESTALE) && nreformed != fs->nreformed);
    return r;
}

int remove_file(struct fs *fs, struct node *parent, const char *shown)
{
    return remove_shown(fs, parent, shown, false);
}

int remove_directory(struct fs *fs, struct node *parent, const char *shown)
{
    return remove_shown(fs, parent, shown, true);
}
