/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree/node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tree/node_table.h"

struct node_id node_id_of(const struct stat *st, enum entry_kind kind)
{
    uint64_t readers = hash_mix(st->st_uid, st->st_gid);

    return (struct node_id){
        .dev = st->st_dev,
        .ino = st->st_ino,
        .readers = hash_mix(readers, st->st_mode & 0444),
        .nlink = entry_traits[kind].one_name ? 1 : st->st_nlink,
        .kind = kind,
    };
}

static void release_locked(struct node_table *table, struct node *node);

static void drop_name_locked(struct node_table *table, struct node_name *name)
{
    if (!name)
        return;
    name->parent->nrefs--;
    release_locked(table, name->parent);
    node_name_free(name);
}

static void drop_names_locked(struct node_table *table, struct node *node)
{
    for (struct node_name *name; (name = node_take_newest_name_locked(node));)
        drop_name_locked(table, name);
}

/* Free a node that has no references, then its parent if that has none left,
   and so on. */
static void release_locked(struct node_table *table, struct node *node)
{
    while (node->nlookup == 0 && node->nrefs == 0) {
        struct node *parent = node->parent;

        node_unhash_locked(table, node);
        drop_names_locked(table, node);
        list_remove(&node->all);
        node_table_fini_node(node);
        free(node);
        table->nnodes--;
        parent->nrefs--;
        node = parent;
    }
}

static bool is_below(const struct node *node, const struct node *ancestor)
{
    while (node && node != ancestor)
        node = node->parent;
    return node != NULL;
}

static bool is_place_of(const struct node *node, const struct node *parent,
                        const char *name)
{
    return !node->unlinked && node->parent == parent &&
           strcmp(node->name, name) == 0;
}

/* Move a node to another of its names; `name` receives its old place. */
static void swap_place_locked(struct node_table *table, struct node *node,
                              struct node_name *name, bool unseen)
{
    const struct node_name old = { .parent = node->parent, .name = node->name };

    node_table_unlink_place_locked(table, node);
    node_move_path_users_locked(node, name->parent);
    node->parent = name->parent;
    node->name = name->name;
    node->unlinked = false;
    node->unseen = unseen;
    node_table_link_place_locked(table, node);
    name->parent = old.parent;
    name->name = old.name;
}

/* Move a node to the place where its file was just seen. */
static int move_locked(struct node_table *table, struct node *node,
                       struct node *parent, const char *name)
{
    struct node_name *other;
    bool had_other;

    if (is_place_of(node, parent, name) && !node->unseen)
        return 0;
    /* Files may be renamed during a lookup, so a directory may be seen below
       itself.  Do not make a circle of that. */
    if (is_below(parent, node))
        return 0;
    other = node_take_name_locked(node, parent, name);
    if (!other)
        other = node_name_make_locked(parent, name);
    if (!other)
        return -ENOMEM;

    had_other = !node->unlinked && !is_place_of(node, parent, name);
    swap_place_locked(table, node, other, false);
    if (had_other) {
        other->next = node->names;
        node->names = other;
    } else {
        drop_name_locked(table, other);
    }
    while ((other = node_take_spare_name_locked(node)))
        drop_name_locked(table, other);
    return 0;
}

/* Move a node away from a place where its file no longer is. */
static void lose_place_locked(struct node_table *table, struct node *node)
{
    struct node_name *other = node_take_newest_name_locked(node);

    if (other) {
        swap_place_locked(table, node, other, true);
        drop_name_locked(table, other);
    } else {
        node_table_unlink_place_locked(table, node);
        node->unlinked = true;
    }
}

/* Remove a name of a node. */
static void lose_name_locked(struct node_table *table, struct node *node,
                             const struct node *parent, const char *name)
{
    if (is_place_of(node, parent, name))
        lose_place_locked(table, node);
    else
        drop_name_locked(table, node_take_name_locked(node, parent, name));
}

static int create_locked(struct node_table *table, struct node *parent,
                         const char *name, const struct node_id *id,
                         struct node **out)
{
    struct node *node = calloc(1, sizeof(*node));

    if (!node)
        return -ENOMEM;
    node->name = strdup(name);
    if (!node->name) {
        free(node);
        return -ENOMEM;
    }
    node->id = *id;
    node->parent = parent;
    parent->nrefs++;
    table->nnodes++;
    list_append(&table->all, &node->all);
    node_table_link_id_locked(table, node);
    node_table_link_place_locked(table, node);
    *out = node;
    return 0;
}

static int get_locked(struct node_table *table, struct node *parent,
                      const char *name, const struct node_id *id,
                      struct node **out)
{
    struct node *node = node_table_find_id_locked(table, id);

    if (node) {
        node->id.readers = id->readers;
        node->id.nlink = id->nlink;
        *out = node;
        return move_locked(table, node, parent, name);
    }
    node = node_table_find_place_locked(table, parent, name, id);
    if (!node)
        return create_locked(table, parent, name, id, out);

    node_table_reidentify_locked(table, node, id);
    *out = node;
    return 0;
}

void node_detach(struct node_table *table, struct node *node)
{
    pthread_mutex_lock(&table->lock);
    if (!node->unhashed) {
        node_table_unlink_place_locked(table, node);
        node_table_clear_number_locked(table, node);
        node->unseen = true;
    }
    node->id.ino = 0;
    pthread_mutex_unlock(&table->lock);
}

/* Is this the file of a node, or does it become that? */
static bool take_on_locked(struct node_table *table, struct node *node,
                           const struct node_id *id)
{
    struct node *other;

    if (node_table_is_same_file(&node->id, id))
        return true;
    if (node->unseen || !node_table_is_successor(&node->id, id))
        return false;
    other = node_table_find_id_locked(table, id);
    if (other && other->open)
        return false;
    if (other)
        node_table_clear_number_locked(table, other);
    node_table_reidentify_locked(table, node, id);
    return true;
}

bool node_is(struct node_table *table, struct node *node, const struct stat *st)
{
    struct node_id id = node_id_of(st, node->id.kind);
    bool same;

    /* The user named the root, so any file there is right. */
    if (node == &table->root)
        return true;
    pthread_mutex_lock(&table->lock);
    if (!node->unhashed)
        same = take_on_locked(table, node, &id);
    else
        same = (node_is_removed_locked(node) || node->open) &&
               node_table_is_same_file(&node->id, &id);
    pthread_mutex_unlock(&table->lock);
    return same;
}

int node_get(struct node_table *table, struct node *parent, const char *name,
             const struct node_id *id, struct node **out)
{
    int r;

    pthread_mutex_lock(&table->lock);
    r = get_locked(table, parent, name, id, out);
    if (r == 0)
        (*out)->nlookup++;
    node_table_unlock(table);
    return r;
}

void node_forget(struct node_table *table, struct node *node, uint64_t n)
{
    if (node == &table->root)
        return;
    pthread_mutex_lock(&table->lock);
    node->nlookup -= n;
    release_locked(table, node);
    node_table_unlock(table);
}

struct node *node_find(struct node_table *table, const struct node *parent,
                       const char *name, const struct node_id *id)
{
    struct node *node;

    pthread_mutex_lock(&table->lock);
    node = node_table_find_id_locked(table, id);
    if (!node)
        node = node_table_find_place_locked(table, parent, name, id);
    if (node)
        node->nrefs++;
    pthread_mutex_unlock(&table->lock);
    return node;
}

void node_set_identity(struct node_table *table, struct node *node,
                       const struct node_id *id)
{
    pthread_mutex_lock(&table->lock);
    if (!node->unhashed && node != &table->root)
        node_table_reidentify_locked(table, node, id);
    pthread_mutex_unlock(&table->lock);
}

void node_made(struct node_table *table, const struct node *parent,
               const char *name, const struct node_id *id)
{
    struct node *node;

    pthread_mutex_lock(&table->lock);
    node = node_table_find_id_locked(table, id);
    if (node)
        node_table_clear_number_locked(table, node);
    while ((node = node_table_find_place_locked(table, parent, name, NULL)))
        lose_place_locked(table, node);
    pthread_mutex_unlock(&table->lock);
}

void node_removed(struct node_table *table, struct node *node,
                  const struct node *parent, const char *name, bool last)
{
    pthread_mutex_lock(&table->lock);
    if (last) {
        node_unhash_locked(table, node);
        drop_names_locked(table, node);
    }
    lose_name_locked(table, node, parent, name);
    node_table_unlock(table);
}

int node_moved(struct node_table *table, struct node *node,
               const struct node_entry *from, const struct node_entry *to)
{
    int r;

    pthread_mutex_lock(&table->lock);
    lose_name_locked(table, node, from->parent, from->name);
    r = move_locked(table, node, to->parent, to->name);
    node_table_unlock(table);
    return r;
}

/* Take over the identity of a file, which other nodes may have. */
static void take_identity_locked(struct node_table *table, struct node *node,
                                 const struct node_id *id)
{
    struct node *other = node_table_find_id_locked(table, id);

    if (other && other != node && other->open) {
        node_unhash_locked(table, node);
        return;
    }
    if (other && other != node)
        node_table_clear_number_locked(table, other);
    node_table_reidentify_locked(table, node, id);
}

int node_recast(struct node_table *table, struct node *node,
                const struct node_entry *from, const struct node_entry *to,
                const struct node_id *id)
{
    int r = 0;

    pthread_mutex_lock(&table->lock);
    if (!node->unhashed) {
        lose_name_locked(table, node, from->parent, from->name);
        r = move_locked(table, node, to->parent, to->name);
        take_identity_locked(table, node, id);
        node->content = node->cached = node->mark = 0;
        node->times_doubtful = false;
    }
    node_table_unlock(table);
    return r;
}

bool node_is_removed_locked(const struct node *node)
{
    return node->unlinked && node->unhashed;
}

bool node_is_superseded(struct node_table *table, const struct node *node)
{
    bool superseded;

    pthread_mutex_lock(&table->lock);
    superseded = node->unhashed && !node_is_removed_locked(node);
    pthread_mutex_unlock(&table->lock);
    return superseded;
}

bool node_is_removed(struct node_table *table, const struct node *node)
{
    bool removed;

    pthread_mutex_lock(&table->lock);
    removed = node_is_removed_locked(node);
    pthread_mutex_unlock(&table->lock);
    return removed;
}

void node_ref(struct node_table *table, struct node *node)
{
    pthread_mutex_lock(&table->lock);
    node->nrefs++;
    pthread_mutex_unlock(&table->lock);
}

void node_unref(struct node_table *table, struct node *node)
{
    pthread_mutex_lock(&table->lock);
    node->nrefs--;
    release_locked(table, node);
    node_table_unlock(table);
}
