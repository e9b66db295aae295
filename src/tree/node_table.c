/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree/node_table.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tree/report.h"

enum {
    MIN_BUCKETS = 64
};

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

void node_table_link_id_locked(struct node_table *table, struct node *node)
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

void node_table_link_place_locked(struct node_table *table, struct node *node)
{
    struct node **bucket;

    if (!has_place(node))
        return;
    bucket = place_bucket(table, node->parent, node->name);
    node->next_place = *bucket;
    *bucket = node;
}

void node_table_unlink_place_locked(struct node_table *table, struct node *node)
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
    node_table_unlink_place_locked(table, node);
    unlink_id(table, node);
    node->unhashed = true;
}

void node_table_reidentify_locked(struct node_table *table, struct node *node,
                                  const struct node_id *id)
{
    unlink_id(table, node);
    node->id.dev = id->dev;
    node->id.ino = id->ino;
    node->id.readers = id->readers;
    node->id.nlink = id->nlink;
    node_table_link_id_locked(table, node);
}

void node_table_clear_number_locked(struct node_table *table, struct node *node)
{
    unlink_id(table, node);
    node->id.ino = 0;
    node_table_link_id_locked(table, node);
}

bool node_table_is_same_file(const struct node_id *a, const struct node_id *b)
{
    return a->ino == b->ino && a->dev == b->dev && a->kind == b->kind;
}

bool node_table_is_successor(const struct node_id *a, const struct node_id *b)
{
    return has_successors(a->kind) && a->kind == b->kind &&
           a->readers == b->readers;
}

struct node *node_table_find_id_locked(const struct node_table *table,
                                       const struct node_id *id)
{
    struct node *node = *id_bucket(table, id);

    while (node && !node_table_is_same_file(&node->id, id))
        node = node->next_id;
    return node;
}

struct node *node_table_find_place_locked(const struct node_table *table,
                                          const struct node *parent,
                                          const char *name,
                                          const struct node_id *id)
{
    struct node *node = *place_bucket(table, parent, name);

    while (node && (node->parent != parent || strcmp(node->name, name) != 0 ||
                    (id && !node_table_is_successor(&node->id, id))))
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
            node_table_link_id_locked(table, node);
            node_table_link_place_locked(table, node);
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

void node_table_unlock(struct node_table *table)
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

void node_table_fini_node(struct node *node)
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

        node_table_fini_node(node);
        free(node);
    }
    node_table_fini_node(&table->root);
    free(table->by_id);
    free(table->by_place);
    pthread_cond_destroy(&table->path_unlocked);
    pthread_mutex_destroy(&table->lock);
}
