/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "tree/node.h"

enum {
    NAMES_MAX = 1000 /* names of a node, because searches are linear */
};

struct node_name *node_name_make_locked(struct node *parent, const char *name)
{
    struct node_name *made = calloc(1, sizeof(*made));

    if (!made)
        return NULL;
    made->name = strdup(name);
    if (!made->name) {
        free(made);
        return NULL;
    }
    made->parent = parent;
    parent->nrefs++;
    return made;
}

void node_name_free(struct node_name *name)
{
    if (!name)
        return;
    free(name->name);
    free(name);
}

static struct node_name *take(struct node_name **link)
{
    struct node_name *name = *link;

    if (name)
        *link = name->next;
    return name;
}

struct node_name *node_take_name_locked(struct node *node,
                                        const struct node *parent,
                                        const char *name)
{
    struct node_name **link = &node->names;

    while (*link &&
           ((*link)->parent != parent || strcmp((*link)->name, name) != 0))
        link = &(*link)->next;
    return take(link);
}

struct node_name *node_take_newest_name_locked(struct node *node)
{
    return take(&node->names);
}

struct node_name *node_take_spare_name_locked(struct node *node)
{
    struct node_name **link = &node->names;
    uint64_t max = node->id.nlink < NAMES_MAX ? node->id.nlink : NAMES_MAX;

    /* The node's place counts as one of its names. */
    for (uint64_t n = 1; *link && n < max; n++)
        link = &(*link)->next;
    while (*link && (*link)->next)
        link = &(*link)->next;
    return take(link);
}
