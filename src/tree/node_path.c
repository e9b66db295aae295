/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "tree/node.h"

/* Put a name in front of `path`, with a slash after it if `slash` is set. */
static char *prepend(char *path, const char *start, const char *name,
                     bool slash)
{
    size_t len = strlen(name);

    if (len + slash > (size_t)(path - start))
        return NULL;
    if (slash)
        *--path = '/';
    return memcpy(path - len, name, len);
}

/* Write the path of `node` relative to `top`; "" if they are the same. */
static int path_locked(const struct node *top, const struct node *node,
                       char *out)
{
    char *end = out + PATH_MAX - 1;
    char *path = end;

    *end = '\0';
    for (; node != top; node = node->parent) {
        path = prepend(path, out, node->name, path != end);
        if (!path)
            return -ENAMETOOLONG;
    }
    memmove(out, path, strlen(path) + 1);
    return 0;
}

int node_locate(struct node_table *table, const struct node *node,
                struct node_path *out)
{
    const struct node *place = node;
    const struct node *parent;
    int r;

    pthread_mutex_lock(&table->lock);
    while (node_traits(place)->virtual)
        place = place->parent;
    parent = place->parent ? place->parent : place;
    memcpy(out->name, place->name, strlen(place->name) + 1);
    r = node->unlinked || place->unlinked
            ? -ESTALE
            : path_locked(&table->root, parent, out->dir);
    if (r == 0)
        r = path_locked(place, node, out->bundle_path);
    pthread_mutex_unlock(&table->lock);
    return r;
}

struct node *node_parent(struct node_table *table, const struct node *node,
                         char *name)
{
    struct node *parent = NULL;

    pthread_mutex_lock(&table->lock);
    if (!node->unlinked) {
        parent = node->parent;
        parent->nrefs++;
        memcpy(name, node->name, strlen(node->name) + 1);
    }
    pthread_mutex_unlock(&table->lock);
    return parent;
}
