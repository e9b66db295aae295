/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/identity.h"
#include "open/open_file.h"
#include "ops/xattr_private.h"

/* Pin the file under SOURCE that holds the attributes.  Returns -ENODATA if
   there is none. */
static int pin_backing(struct fs *fs, struct node *node,
                       struct backing_object *out)
{
    struct backing_place place;
    int r = fs_place(fs, node, &place);

    if (r < 0)
        return r;
    r = fs_pin(fs, node, &place, out);
    backing_close(&place);
    return r == -EROFS ? -ENODATA : r;
}

int xattr_backing_get(struct fs *fs, struct node *node, const char *name,
                      char **out, size_t *len)
{
    struct backing_object object;
    char *value;
    ssize_t r;

    if (node_traits(node)->virtual)
        return -ENODATA;
    value = malloc(XATTR_SIZE_MAX);
    if (!value)
        return -ENOMEM;
    r = pin_backing(fs, node, &object);
    if (r == 0) {
        identity_begin();
        r = backing_getxattr(&object, name, value, XATTR_SIZE_MAX);
        identity_end();
        backing_unpin(&object);
    }
    if (r < 0) {
        free(value);
        return (int)r;
    }
    *out = value;
    *len = (size_t)r;
    return 0;
}

int xattr_backing_list(struct fs *fs, struct node *node, FILE *out)
{
    struct backing_object object;
    char *list;
    ssize_t r;

    if (node_traits(node)->virtual)
        return 0;
    list = malloc(XATTR_LIST_MAX);
    if (!list)
        return -ENOMEM;
    r = pin_backing(fs, node, &object);
    if (r == 0) {
        identity_begin();
        r = backing_listxattr(&object, list, XATTR_LIST_MAX);
        identity_end();
        backing_unpin(&object);
    }
    for (const char *name = list; name < list + (r > 0 ? r : 0);
         name += strlen(name) + 1) {
        if (xattr_holder_of(node, name) == XATTR_HOLDER_BACKING)
            fprintf(out, "%s%c", name, '\0');
    }
    free(list);
    return r < 0 && r != -ENODATA ? (int)r : 0;
}

/* Change an attribute with the identity of the program that asks for it. */
static int change_as_program(struct fs *fs, struct node *node,
                             const struct backing_place *place,
                             const struct xattr_new *attr)
{
    struct backing_object object;
    int r = fs_pin(fs, node, place, &object);

    if (r < 0)
        return r;
    identity_begin();
    r = attr->value ? backing_setxattr(&object, attr->name, attr->value,
                                       attr->size, attr->flags)
                    : backing_removexattr(&object, attr->name);
    identity_end();
    backing_unpin(&object);
    return r;
}

int xattr_backing_change(struct fs *fs, struct node *node,
                         const struct xattr_new *attr)
{
    struct backing_place place;
    struct open_file *open;
    bool newest;
    int r;

    r = fs_check_node(node);
    if (r == 0)
        r = fs_place(fs, node, &place);
    if (r < 0)
        return r;
    open = open_file_find(fs, node);
    newest = open_file_is_newest(open, &place);
    r = change_as_program(fs, node, &place, attr);
    if (newest)
        open_file_note_touch(open, &place);
    open_file_put(fs, open);
    backing_close(&place);
    return r;
}
