/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/xattr.h"

#include <errno.h>
#include <linux/limits.h>
#include <linux/xattr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/retry.h"
#include "open/reform.h"
#include "ops/stats.h"
#include "ops/xattr_private.h"
#include "store/store_local.h"

#define USER "user."

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_acl(const char *name)
{
    return strcmp(name, XATTR_NAME_POSIX_ACL_ACCESS) == 0 ||
           strcmp(name, XATTR_NAME_POSIX_ACL_DEFAULT) == 0;
}

/* Does an attribute of a frame's file also show on the mounted file? */
static bool is_common(const char *name)
{
    return starts_with(name, USER) ||
           strcmp(name, XATTR_NAME_POSIX_ACL_ACCESS) == 0;
}

enum xattr_holder xattr_holder_of(const struct node *node, const char *name)
{
    const struct entry_traits *traits = node_traits(node);

    if (strcmp(name, REFORM_MARK) == 0 ||
        strcmp(name, STORE_SUCCESSOR_MARK) == 0 ||
        strcmp(name, STORE_REPLACED_MARK) == 0)
        return XATTR_HOLDER_NONE;
    if (traits->layers && starts_with(name, XATTR_OURS))
        return XATTR_HOLDER_FRAME;
    return traits->frame && !is_common(name) ? XATTR_HOLDER_NONE
                                             : XATTR_HOLDER_BACKING;
}

static bool is_stats(const struct fs *fs, const struct node *node,
                     const char *name)
{
    return node == &fs->nodes.root && strcmp(name, STATS_ATTRIBUTE) == 0;
}

static int get_stats(struct fs *fs, char **out, size_t *len)
{
    char *text = stats_text(fs);

    if (!text)
        return -ENOMEM;
    *out = text;
    *len = strlen(text);
    return 0;
}

int xattr_get(struct fs *fs, struct node *node, const char *name, char **out,
              size_t *len)
{
    int r;

    if (is_stats(fs, node, name))
        return get_stats(fs, out, len);
    switch (xattr_holder_of(node, name)) {
    case XATTR_HOLDER_FRAME:
        return xattr_frame_get(fs, node, name, out, len);
    case XATTR_HOLDER_BACKING:
        r = xattr_backing_get(fs, node, name, out, len);
        /* The kernel asks for access control lists to check access.  Where
           SOURCE keeps none, an error would mean that nobody gets access but
           the owner. */
        return r == -ENOTSUP && is_acl(name) ? -ENODATA : r;
    case XATTR_HOLDER_NONE:
        break;
    }
    return -ENODATA;
}

/* Try once; -EAGAIN if another program wrote to the frame meanwhile. */
static int try_list(struct fs *fs, struct node *node, char **out, size_t *len)
{
    FILE *text = open_memstream(out, len);
    int r;

    if (!text)
        return -ENOMEM;
    r = xattr_backing_list(fs, node, text);
    /* The file system of SOURCE may not support attributes at all. */
    if (node_traits(node)->layers && (r == 0 || r == -EOPNOTSUPP))
        r = xattr_frame_list(fs, node, text);
    if (fclose(text) != 0 && r == 0)
        r = -ENOMEM;
    if (r == 0 && *len > XATTR_LIST_MAX)
        r = -E2BIG;
    if (r < 0)
        free(*out);
    return r;
}

int xattr_list(struct fs *fs, struct node *node, char **out, size_t *len)
{
    struct retry retry = RETRY_REPLACED;
    int r;

    do
        r = try_list(fs, node, out, len);
    while (r == -EAGAIN && retry_wait(&retry));
    return r;
}

int xattr_set(struct fs *fs, struct node *node, const struct xattr_new *attr)
{
    struct xattr_new set = *attr;

    if (is_stats(fs, node, attr->name))
        return -EPERM;
    switch (xattr_holder_of(node, attr->name)) {
    case XATTR_HOLDER_FRAME:
        return xattr_frame_set(fs, node, attr);
    case XATTR_HOLDER_BACKING:
        if (!set.value)
            set.value = "";
        return xattr_backing_change(fs, node, &set);
    case XATTR_HOLDER_NONE:
        break;
    }
    return -ENOTSUP;
}

int xattr_remove(struct fs *fs, struct node *node, const char *name)
{
    if (is_stats(fs, node, name))
        return -EPERM;
    switch (xattr_holder_of(node, name)) {
    case XATTR_HOLDER_FRAME:
        return xattr_frame_remove(fs, node, name);
    case XATTR_HOLDER_BACKING:
        return xattr_backing_change(fs, node,
                                    &(struct xattr_new){ .name = name });
    case XATTR_HOLDER_NONE:
        break;
    }
    return -ENODATA;
}
