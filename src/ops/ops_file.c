/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "open/handle.h"
#include "open/open_file_lost.h"
#include "ops/create.h"
#include "ops/listing.h"
#include "ops/ops_private.h"
#include "ops/passthrough.h"
#include "ops/sync.h"

/* A program closes one of its descriptors. */
void ops_flush(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
               struct fuse_file_info *fi)
{
    const struct handle *handle = handle_of(fi);
    struct fs *fs = request_fs(req);
    int r = 0;

    if (handle->writes)
        r = open_file_check_lost(fs, handle->open,
                                 open_file_flush(fs, handle->open));
    request_done(req, handle->stale ? -ESTALE : r);
}

void ops_fsync(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
               int datasync __attribute__((unused)), struct fuse_file_info *fi)
{
    const struct handle *handle = handle_of(fi);
    int r = sync_open_file(request_fs(req), handle->open);

    request_done(req, handle->stale ? -ESTALE : r);
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
    struct fs *fs = request_fs(req);
    const struct create create = {
        .parent = request_node(fs, parent),
        .shown = name,
        .mode = S_IFREG | (mode & 07777),
    };
    struct handle *handle = handle_new(fs);
    struct fuse_entry_param entry;
    struct node *node;
    struct stat st;
    int r = -ENOMEM;

    sync_note(fs, create.parent);
    if (handle)
        r = create_entry(fs, &create, &handle->open, &node, &st);
    if (r < 0) {
        if (handle)
            handle_close(fs, handle);
        request_fail_change(req, r);
        return;
    }
    handle_count_writer(fs, handle);
    handle->nmodified = open_file_count_modified(handle->open);
    fi->fh = (uintptr_t)handle;
    entry = entry_param(fs, node, &st);
    handle_choose_io(fs, handle, fi);
    if (fuse_reply_create(req, &entry, fi) < 0) {
        handle_close(fs, handle);
        node_forget(&fs->nodes, node, 1);
    }
}
