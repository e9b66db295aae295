/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TREE_NODE_TABLE_H
#define TREE_NODE_TABLE_H

#include "tree/node.h"

/* The hash tables of nodes, for the files of this module. */

/* Add a node to the table of identities. */
void node_table_link_id_locked(struct node_table *table, struct node *node);

/* Add a node to the table of places, or remove it, if it may have a successor
   and has a place where it was seen. */
void node_table_link_place_locked(struct node_table *table, struct node *node);
void node_table_unlink_place_locked(struct node_table *table,
                                    struct node *node);

/* Give a node another identity of the same kind. */
void node_table_reidentify_locked(struct node_table *table, struct node *node,
                                  const struct node_id *id);

/* Clear the inode number of a node, because no file has it any more.  A frame
   is still found by its place. */
void node_table_clear_number_locked(struct node_table *table,
                                    struct node *node);

/* Do two identities belong to one file? */
bool node_table_is_same_file(const struct node_id *a, const struct node_id *b);

/* May a file take the place of another one without programs noticing? */
bool node_table_is_successor(const struct node_id *a, const struct node_id *b);

/* Find the node of a file; NULL if there is none. */
struct node *node_table_find_id_locked(const struct node_table *table,
                                       const struct node_id *id);

/* Find the node at a place that `id` may succeed, or any node there if `id` is
   NULL. */
struct node *node_table_find_place_locked(const struct node_table *table,
                                          const struct node *parent,
                                          const char *name,
                                          const struct node_id *id);

/* Unlock the table after nodes have come or gone, and fit its size to their
   number. */
void node_table_unlock(struct node_table *table);

/* Free the members of a node, but not the node. */
void node_table_fini_node(struct node *node);

#endif
