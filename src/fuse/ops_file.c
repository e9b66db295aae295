/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "fuse/create.h"
#include "fuse/handle.h"
#include "fuse/listing.h"
#include "fuse/ops_private.h"
#include "fuse/passthrough.h"

void ops_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct fs *fs = request_fs(req);
    int r = handle_open(req, request_node(fs, ino), fi);

    if (r < 0) {
        request_fail(req, r);
        return;
    }
    passthrough_open(req, handle_of(fi), fi);
    /* This fails when the mount goes, and what the kernel has with it. */
    if (fuse_reply_open(req, fi) < 0)
        handle_close(fs, handle_of(fi));
}

/* close() of one of a program's descriptors. */
void ops_flush(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
               struct fuse_file_info *fi)
{
    const struct handle *handle = handle_of(fi);

    request_done(req, handle->writes
                          ? open_file_flush(request_fs(req), handle->open)
                          : 0);
}

void ops_fsync(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
               int datasync __attribute__((unused)), struct fuse_file_info *fi)
{
    request_done(req, open_file_sync(request_fs(req), handle_of(fi)->open));
}

void ops_release(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
                 struct fuse_file_info *fi)
{
    passthrough_close(req, handle_of(fi));
    handle_close(request_fs(req), handle_of(fi));
    fuse_reply_err(req, 0);
}

void ops_create(fuse_req_t req, fuse_ino_t parent, const char *name,
                mode_t mode, struct fuse_file_info *fi)
{
    const struct fuse_ctx *context = fuse_req_ctx(req);
    struct fs *fs = request_fs(req);
    const struct create create = {
        .parent = request_node(fs, parent),
        .shown = name,
        .owner = { .uid = context->uid, .gid = context->gid },
        .mode = S_IFREG | (mode & 07777),
    };
    struct handle *handle = handle_new(fs);
    struct fuse_entry_param entry;
    struct node *node;
    struct stat st;
    int r = -ENOMEM;

    if (handle)
        r = create_entry(fs, &create, &handle->open, &node, &st);
    if (r < 0) {
        if (handle)
            handle_close(fs, handle);
        request_fail_change(req, r);
        return;
    }
    handle_count_writer(handle);
    fi->fh = (uintptr_t)handle;
    entry = entry_param(node, &st);
    if (fuse_reply_create(req, &entry, fi) < 0) {
        handle_close(fs, handle);
        node_forget(&fs->nodes, node, 1);
    }
}
