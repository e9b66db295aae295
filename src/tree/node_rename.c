/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree/node.h"

static bool is_renamed_locked(const struct node *node)
{
    while (node && !node->renamed)
        node = node->parent;
    return node != NULL;
}

static void wait_locked(struct node_table *table)
{
    table->nwaiting++;
    pthread_cond_wait(&table->path_unlocked, &table->lock);
    table->nwaiting--;
}

static void wake_locked(struct node_table *table)
{
    if (table->nwaiting > 0)
        pthread_cond_broadcast(&table->path_unlocked);
}

void node_lock_path(struct node_table *table, struct node *node)
{
    pthread_mutex_lock(&table->lock);
    while (is_renamed_locked(node))
        wait_locked(table);
    for (; node; node = node->parent)
        node->npath_users++;
    pthread_mutex_unlock(&table->lock);
}

void node_unlock_path(struct node_table *table, struct node *node)
{
    pthread_mutex_lock(&table->lock);
    for (; node; node = node->parent)
        node->npath_users--;
    wake_locked(table);
    pthread_mutex_unlock(&table->lock);
}

void node_move_path_users_locked(struct node *node, struct node *to)
{
    for (struct node *i = node->parent; i; i = i->parent)
        i->npath_users -= node->npath_users;
    for (struct node *i = to; i; i = i->parent)
        i->npath_users += node->npath_users;
}

static bool is_in_use_locked(const struct node *node)
{
    return node && (node->npath_users > 0 || node->renamed);
}

static void set_renamed_locked(struct node *node, bool renamed)
{
    if (node)
        node->renamed = renamed;
}

void node_begin_rename(struct node_table *table, struct node *from,
                       struct node *to)
{
    pthread_mutex_lock(&table->lock);
    while (is_in_use_locked(from) || is_in_use_locked(to))
        wait_locked(table);
    set_renamed_locked(from, true);
    set_renamed_locked(to, true);
    pthread_mutex_unlock(&table->lock);
}

void node_end_rename(struct node_table *table, struct node *from,
                     struct node *to)
{
    pthread_mutex_lock(&table->lock);
    set_renamed_locked(from, false);
    set_renamed_locked(to, false);
    wake_locked(table);
    pthread_mutex_unlock(&table->lock);
}

static struct node *find_renamed_locked(const struct node_table *table,
                                        const struct node *dir)
{
    list_for_each(link, &table->all) {
        struct node *node = list_entry(link, struct node, all);

        if (node->renamed && node->parent == dir)
            return node;
    }
    return NULL;
}

void node_await_rename_in(struct node_table *table, const struct node *dir)
{
    struct node *node;

    pthread_mutex_lock(&table->lock);
    node = find_renamed_locked(table, dir);
    if (node) {
        node->nrefs++;
        while (node->renamed)
            wait_locked(table);
    }
    pthread_mutex_unlock(&table->lock);
    if (node)
        node_unref(table, node);
}
