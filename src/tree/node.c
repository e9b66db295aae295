/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree/node.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tree/report.h"

enum {
    MIN_BUCKETS = 64
};

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

static struct node **id_bucket(const struct node_table *table,
                               const struct node_id *id)
{
    uint64_t hash = hash_mix(hash_mix(id->dev, id->ino), id->kind);

    return &table->by_id[hash & (table->nbuckets - 1)];
}

static struct node **place_bucket(const struct node_table *table,
                                  const struct node *parent, const char *name)
{
    uint64_t hash = (uintptr_t)parent;

    for (; *name != '\0'; name++)
        hash = hash_mix(hash, (unsigned char)*name);
    return &table->by_place[hash & (table->nbuckets - 1)];
}

static void link_id(struct node_table *table, struct node *node)
{
    struct node **bucket = id_bucket(table, &node->id);

    node->next_id = *bucket;
    *bucket = node;
}

static void unlink_id(struct node_table *table, struct node *node)
{
    struct node **link = id_bucket(table, &node->id);

    while (*link != node)
        link = &(*link)->next_id;
    *link = node->next_id;
}

/* May a file of this kind have a successor, so that its node is also found by
   place? */
static bool has_successors(enum entry_kind kind)
{
    return entry_traits[kind].decoded || entry_traits[kind].readonly_dir;
}

/* Is the node found by its place? */
static bool has_place(const struct node *node)
{
    return has_successors(node->id.kind) && !node->unlinked && !node->unseen &&
           !node->unhashed;
}

static void link_place(struct node_table *table, struct node *node)
{
    struct node **bucket;

    if (!has_place(node))
        return;
    bucket = place_bucket(table, node->parent, node->name);
    node->next_place = *bucket;
    *bucket = node;
}

static void unlink_place(struct node_table *table, struct node *node)
{
    struct node **link;

    if (!has_place(node))
        return;
    link = place_bucket(table, node->parent, node->name);
    while (*link != node)
        link = &(*link)->next_place;
    *link = node->next_place;
}

void node_unhash_locked(struct node_table *table, struct node *node)
{
    if (node->unhashed)
        return;
    unlink_place(table, node);
    unlink_id(table, node);
    node->unhashed = true;
}

/* Give a node another identity of the same kind. */
static void reidentify(struct node_table *table, struct node *node,
                       const struct node_id *id)
{
    unlink_id(table, node);
    node->id.dev = id->dev;
    node->id.ino = id->ino;
    node->id.readers = id->readers;
    node->id.nlink = id->nlink;
    link_id(table, node);
}

static bool is_same_file(const struct node_id *a, const struct node_id *b)
{
    return a->ino == b->ino && a->dev == b->dev && a->kind == b->kind;
}

/* May a file take the place of another one without programs noticing? */
static bool is_successor(const struct node_id *a, const struct node_id *b)
{
    return has_successors(a->kind) && a->kind == b->kind &&
           a->readers == b->readers;
}

static struct node *find_id(const struct node_table *table,
                            const struct node_id *id)
{
    struct node *node = *id_bucket(table, id);

    while (node && !is_same_file(&node->id, id))
        node = node->next_id;
    return node;
}

/* Find the node at a place that `id` may succeed, or any node there if `id` is
   NULL. */
static struct node *find_place(const struct node_table *table,
                               const struct node *parent, const char *name,
                               const struct node_id *id)
{
    struct node *node = *place_bucket(table, parent, name);

    while (node && (node->parent != parent || strcmp(node->name, name) != 0 ||
                    (id && !is_successor(&node->id, id))))
        node = node->next_place;
    return node;
}

/* Move all nodes to new tables, and return the old ones. */
static void rehash_locked(struct node_table *table, struct node ***by_id,
                          struct node ***by_place, size_t nbuckets)
{
    struct node **old_by_id = table->by_id;
    struct node **old_by_place = table->by_place;
    size_t old_nbuckets = table->nbuckets;

    table->by_id = *by_id;
    table->by_place = *by_place;
    table->nbuckets = nbuckets;
    for (size_t i = 0; i < old_nbuckets; i++) {
        for (struct node *node = old_by_id[i], *next; node; node = next) {
            next = node->next_id;
            link_id(table, node);
            link_place(table, node);
        }
    }
    *by_id = old_by_id;
    *by_place = old_by_place;
}

/* The number of buckets that fits the number of nodes. */
static size_t wanted_locked(const struct node_table *table)
{
    if (table->nnodes > table->nbuckets)
        return 2 * table->nbuckets;
    if (table->nbuckets > MIN_BUCKETS && table->nnodes <= table->nbuckets / 4)
        return table->nbuckets / 2;
    return table->nbuckets;
}

/* Resize both tables, if that size is still wanted and memory allows it. */
static void resize(struct node_table *table, size_t nbuckets)
{
    struct node **by_id = calloc(nbuckets, sizeof(struct node *));
    struct node **by_place = calloc(nbuckets, sizeof(struct node *));
    bool shrunk = false;

    if (by_id && by_place) {
        pthread_mutex_lock(&table->lock);
        if (wanted_locked(table) == nbuckets) {
            shrunk = nbuckets < table->nbuckets;
            rehash_locked(table, &by_id, &by_place, nbuckets);
        }
        pthread_mutex_unlock(&table->lock);
    }
    free(by_id);
    free(by_place);
    /* Return the memory of a large tree to the system, because the next tree
       may be small. */
    if (shrunk)
        malloc_trim(0);
}

/* Unlock the table after nodes have come or gone. */
static void unlock_and_fit(struct node_table *table)
{
    size_t nbuckets = table->nbuckets;
    size_t wanted = wanted_locked(table);

    pthread_mutex_unlock(&table->lock);
    if (wanted != nbuckets)
        resize(table, wanted);
}

int node_table_init(struct node_table *table, enum entry_kind root_kind,
                    const char *root_name)
{
    pthread_mutex_init(&table->lock, NULL);
    pthread_cond_init(&table->path_unlocked, NULL);
    table->by_id = calloc(MIN_BUCKETS, sizeof(struct node *));
    table->by_place = calloc(MIN_BUCKETS, sizeof(struct node *));
    table->nbuckets = MIN_BUCKETS;
    list_init(&table->all);
    table->root.id.kind = root_kind;
    table->root.name = strdup(root_name);
    table->root.nlookup = 1;
    if (!table->by_id || !table->by_place || !table->root.name)
        return -ENOMEM;
    return 0;
}

static void node_free(struct node *node)
{
    for (struct node_name *name; (name = node_take_newest_name_locked(node));)
        node_name_free(name);
    fault_log_free(node->faults);
    free(node->name);
}

void node_table_fini(struct node_table *table)
{
    if (table->nbuckets == 0)
        return;
    list_for_each_safe(link, &table->all) {
        struct node *node = list_entry(link, struct node, all);

        node_free(node);
        free(node);
    }
    node_free(&table->root);
    free(table->by_id);
    free(table->by_place);
    pthread_cond_destroy(&table->path_unlocked);
    pthread_mutex_destroy(&table->lock);
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
        node_free(node);
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

    unlink_place(table, node);
    node_move_path_users_locked(node, name->parent);
    node->parent = name->parent;
    node->name = name->name;
    node->unlinked = false;
    node->unseen = unseen;
    link_place(table, node);
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
        unlink_place(table, node);
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
    link_id(table, node);
    link_place(table, node);
    *out = node;
    return 0;
}

static int get_locked(struct node_table *table, struct node *parent,
                      const char *name, const struct node_id *id,
                      struct node **out)
{
    struct node *node = find_id(table, id);

    if (node) {
        node->id.readers = id->readers;
        node->id.nlink = id->nlink;
        *out = node;
        return move_locked(table, node, parent, name);
    }
    node = find_place(table, parent, name, id);
    if (!node)
        return create_locked(table, parent, name, id, out);

    reidentify(table, node, id);
    *out = node;
    return 0;
}

/* Clear the inode number of a node, because no file has it any more.  A frame
   is still found by its place. */
static void take_number(struct node_table *table, struct node *node)
{
    unlink_id(table, node);
    node->id.ino = 0;
    link_id(table, node);
}

void node_detach(struct node_table *table, struct node *node)
{
    pthread_mutex_lock(&table->lock);
    if (!node->unhashed) {
        unlink_place(table, node);
        take_number(table, node);
        node->unseen = true;
    }
    pthread_mutex_unlock(&table->lock);
}

/* Is this the file of a node, or does it become that? */
static bool take_on_locked(struct node_table *table, struct node *node,
                           const struct node_id *id)
{
    struct node *other;

    if (is_same_file(&node->id, id))
        return true;
    if (node->unseen || !is_successor(&node->id, id))
        return false;
    other = find_id(table, id);
    if (other && other->open)
        return false;
    if (other)
        take_number(table, other);
    reidentify(table, node, id);
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
        same = node_is_removed_locked(node) && is_same_file(&node->id, &id);
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
    unlock_and_fit(table);
    return r;
}

void node_forget(struct node_table *table, struct node *node, uint64_t n)
{
    if (node == &table->root)
        return;
    pthread_mutex_lock(&table->lock);
    node->nlookup -= n;
    release_locked(table, node);
    unlock_and_fit(table);
}

struct node *node_find(struct node_table *table, const struct node *parent,
                       const char *name, const struct node_id *id)
{
    struct node *node;

    pthread_mutex_lock(&table->lock);
    node = find_id(table, id);
    if (!node)
        node = find_place(table, parent, name, id);
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
        reidentify(table, node, id);
    pthread_mutex_unlock(&table->lock);
}

void node_made(struct node_table *table, const struct node *parent,
               const char *name, const struct node_id *id)
{
    struct node *node;

    pthread_mutex_lock(&table->lock);
    node = find_id(table, id);
    if (node)
        take_number(table, node);
    while ((node = find_place(table, parent, name, NULL)))
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
    unlock_and_fit(table);
}

int node_moved(struct node_table *table, struct node *node,
               const struct node_entry *from, const struct node_entry *to)
{
    int r;

    pthread_mutex_lock(&table->lock);
    lose_name_locked(table, node, from->parent, from->name);
    r = move_locked(table, node, to->parent, to->name);
    unlock_and_fit(table);
    return r;
}

bool node_is_removed_locked(const struct node *node)
{
    return node->unlinked && node->unhashed;
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
    unlock_and_fit(table);
}
