/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/retry.h"
#include "file/info.h"
#include "frame/metalayer.h"
#include "open/open_file.h"
#include "ops/xattr_private.h"
#include "tree/report.h"

/* The label of a metalayer in an attribute's name. */
static const char *label_in(const char *name)
{
    return name + strlen(XATTR_OURS);
}

/* A store returns -ENODATA for a file that was cut short, but our callers would
   take it for a missing attribute. */
static int layer_error(int r)
{
    return r == -ENODATA ? -EBADMSG : r;
}

static int get_layer(struct frame *frame, const char *name, char **out,
                     size_t *len, struct fault *fault)
{
    struct metalayer_list list;
    const struct metalayer *layer;
    uint8_t *content;
    ssize_t n = 0;
    int r = metalayer_list_read(frame, &list, fault);

    if (r < 0)
        return layer_error(r);
    layer = metalayer_find_label(&list, label_in(name));
    if (layer) {
        n = metalayer_read(frame, layer, XATTR_SIZE_MAX, &content, fault);
        r = n < 0 ? layer_error((int)n) : 0;
    } else {
        r = -ENODATA;
    }
    if (r == 0) {
        *out = (char *)content;
        *len = (size_t)n;
    }
    metalayer_list_free(&list);
    return r;
}

static int list_layers(struct frame *frame, FILE *out, struct fault *fault)
{
    struct metalayer_list list;
    int r = metalayer_list_read(frame, &list, fault);

    if (r < 0)
        return layer_error(r);
    for (size_t i = 0; i < list.nlayers; i++) {
        const struct metalayer *layer = &list.layers[i];

        fprintf(out, XATTR_OURS "%s%s%c", metalayer_prefix(layer->kind),
                layer->name, '\0');
    }
    metalayer_list_free(&list);
    return 0;
}

static int get_info(struct frame *frame, char **out, size_t *len)
{
    char *text;
    int r = info_text(frame, 0, &text);

    if (r < 0)
        return r;
    *len = strlen(text);
    if (*len > XATTR_SIZE_MAX) {
        free(text);
        return -E2BIG;
    }
    *out = text;
    return 0;
}

/* Attributes that a frame holds, and that frame. */
struct frame_attrs {
    struct fs *fs;
    struct node *node;
    struct open_file *open;       /* of a file; NULL for a folder of a store, */
    struct open_version *version; /* likewise */
    struct frame *frame;
    struct fault fault;
};

/* Open the frame that holds the attributes of a folder.  Returns -ENODATA if
   there is none. */
static int open_layers(struct frame_attrs *attrs, int how)
{
    struct backing_dir dir;
    struct store *store;
    int r = fs_dir(attrs->fs, attrs->node, false, &dir);

    if (r < 0)
        return r;
    r = backing_layers(&dir, &store, &attrs->fault);
    backing_dir_close(&dir);
    if (r < 0)
        return r == -ENOENT ? -ENODATA : r;
    r = frame_open(store, 0, &attrs->frame, &attrs->fault);
    store_close(store);
    if (r < 0)
        return layer_error(r);
    r = frame_check_access(attrs->frame, how);
    if (r < 0)
        frame_close(attrs->frame);
    return r;
}

/* Release the frame, and report `r` if it says that the frame is damaged. */
static void frame_attrs_close(struct frame_attrs *attrs, int r)
{
    struct open_version *version = attrs->version;

    if (r == -EBADMSG || r == -ENOTSUP || r == -EIO)
        report_fault(&attrs->fs->nodes, attrs->node,
                     version ? &version->st : NULL, r, &attrs->fault);
    if (!version) {
        frame_close(attrs->frame);
        return;
    }
    file_frame_put(version->file, attrs->frame);
    open_version_put(version);
    open_file_put(attrs->fs, attrs->open);
}

/* Open the frame.  `how` is the access that the program needs: W_OK to change
   it, R_OK, or F_OK. */
static int frame_attrs_open(struct fs *fs, struct node *node, int how,
                            struct frame_attrs *out)
{
    int r;

    *out = (struct frame_attrs){
        .fs = fs,
        .node = node,
        .fault = FAULT_NONE,
    };
    if (node_traits(node)->readonly_dir)
        return how == W_OK ? -EROFS : open_layers(out, how);
    r = open_file_get(fs, node, how == W_OK, &out->open);
    if (r < 0)
        return r;
    out->version = open_file_version(out->open);
    out->frame = file_frame_get(out->version->file);
    if (how != F_OK)
        r = open_version_check_access(out->version, how);
    if (r < 0)
        frame_attrs_close(out, r);
    return r;
}

/* Has another program written to the frame since it was opened? */
static bool is_modified_externally(const struct frame_attrs *attrs)
{
    if (!attrs->version)
        return !frame_is_unwritten(attrs->frame);
    return open_version_is_modified_externally(attrs->version);
}

/* Try once; -EAGAIN if another program wrote to the frame meanwhile. */
static int try_get_ours(struct fs *fs, struct node *node, const char *name,
                        char **out, size_t *len)
{
    struct frame_attrs attrs;
    char *value = NULL;
    int r = frame_attrs_open(fs, node, R_OK, &attrs);

    if (r < 0)
        return r;
    if (attrs.version && strcmp(name, XATTR_OURS "info") == 0)
        r = get_info(attrs.frame, &value, len);
    else
        r = get_layer(attrs.frame, name, &value, len, &attrs.fault);
    if (is_modified_externally(&attrs))
        r = -EAGAIN;
    frame_attrs_close(&attrs, r);
    if (r < 0)
        free(value);
    else
        *out = value;
    return r;
}

int xattr_frame_get(struct fs *fs, struct node *node, const char *name,
                    char **out, size_t *len)
{
    struct retry retry = RETRY_REPLACED;
    int r;

    do
        r = try_get_ours(fs, node, name, out, len);
    while (r == -EAGAIN && retry_wait(&retry));
    return r;
}

int xattr_frame_list(struct fs *fs, struct node *node, FILE *out)
{
    struct frame_attrs attrs;
    int r = frame_attrs_open(fs, node, F_OK, &attrs);

    if (r < 0)
        return r == -ENODATA ? 0 : r;
    r = list_layers(attrs.frame, out, &attrs.fault);
    if (is_modified_externally(&attrs))
        r = -EAGAIN;
    frame_attrs_close(&attrs, r);
    return r;
}

/* Check the flags of setxattr() against the metalayers that exist. */
static int check_flags(struct frame_attrs *attrs, const char *name, int flags)
{
    struct metalayer_list list;
    bool there;
    int r;

    if (flags == 0)
        return 0;
    r = metalayer_list_read(attrs->frame, &list, &attrs->fault);
    if (r < 0)
        return layer_error(r);
    there = metalayer_find_label(&list, label_in(name)) != NULL;
    metalayer_list_free(&list);
    if (there)
        return flags & XATTR_CREATE ? -EEXIST : 0;
    return flags & XATTR_REPLACE ? -ENODATA : 0;
}

/* A fixed metalayer cannot be added, and -ENODATA means that the frame was cut
   short. */
static int change_error(int r)
{
    switch (r) {
    case -ENOENT:
        return -EINVAL;
    case -ENODATA:
        return -EBADMSG;
    default:
        return r;
    }
}

int xattr_frame_set(struct fs *fs, struct node *node,
                    const struct xattr_new *attr)
{
    enum metalayer_kind kind;
    const char *bare = metalayer_parse_label(label_in(attr->name), &kind);
    struct frame_attrs attrs;
    int r;

    if (!bare || kind == METALAYER_USERMETA)
        return -EPERM;
    r = frame_attrs_open(fs, node, W_OK, &attrs);
    if (r < 0)
        return r;
    r = check_flags(&attrs, attr->name, attr->flags);
    if (r == 0)
        r = change_error(file_meta_set(
            attrs.version->file,
            &(struct file_meta){ kind, bare, attr->value, attr->size },
            &attrs.fault));
    frame_attrs_close(&attrs, r);
    return r;
}

int xattr_frame_remove(struct fs *fs, struct node *node, const char *name)
{
    enum metalayer_kind kind;
    const char *bare = metalayer_parse_label(label_in(name), &kind);
    struct frame_attrs attrs;
    int r;

    if (!bare || kind != METALAYER_VL)
        return -EPERM;
    r = frame_attrs_open(fs, node, W_OK, &attrs);
    if (r < 0)
        return r;
    r = file_meta_remove(attrs.version->file, bare, &attrs.fault);
    r = r == -ENOENT ? -ENODATA : r;
    frame_attrs_close(&attrs, r);
    return r;
}
