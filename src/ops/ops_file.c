/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <unistd.h>

#include "open/handle.h"
#include "open/open_file_lost.h"
#include "ops/chunk_files.h"
#include "ops/create.h"
#include "ops/listing.h"
#include "ops/ops_private.h"
#include "ops/passthrough.h"
#include "ops/sync.h"

/* May bytes that were written through a handle have been refused?  The kernel
   tells only one of the programs that close the file. */
static bool was_refused(const struct handle *handle)
{
    return open_file_was_refused(handle->open, &handle->known);
}

/* A program closes one of its descriptors. */
void ops_flush(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
               struct fuse_file_info *fi)
{
    const struct handle *handle = handle_of(fi);
    struct fs *fs = request_fs(req);
    int r = 0;

    if (handle->draft)
        r = chunk_draft_commit(fs, handle->open->node, handle->draft);
    if (handle->writes)
        r = open_file_check_lost(fs, handle->open,
                                 open_file_flush(fs, handle->open));
    request_done(req, was_refused(handle) ? -ESTALE : r);
}

void ops_fsync(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
               int datasync __attribute__((unused)), struct fuse_file_info *fi)
{
    const struct handle *handle = handle_of(fi);
    struct fs *fs = request_fs(req);
    int r = handle->draft
                ? chunk_draft_commit(fs, handle->open->node, handle->draft)
                : sync_open_file(fs, handle->open);

    request_done(req, was_refused(handle) ? -ESTALE : r);
}

void ops_release(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
                 struct fuse_file_info *fi)
{
    passthrough_close(req, handle_of(fi));
    handle_close(request_fs(req), handle_of(fi));
    fuse_reply_err(req, 0);
}

/* Create a chunk file, and open it for writing. */
static int create_chunk(struct fs *fs, const struct create *create,
                        struct handle *handle, struct node **node,
                        struct stat *st)
{
    int r = chunk_files_create(fs, create->parent, create->shown, node, st);

    if (r < 0)
        return r;
    r = open_file_get(fs, *node, false, &handle->open);
    if (r == 0)
        r = chunk_draft_new(fs, handle->open, W_OK, true, &handle->draft);
    if (r < 0)
        node_forget(&fs->nodes, *node, 1);
    return r;
}

/* Create a file, and open it for writing. */
static int create_file(struct fs *fs, const struct create *create,
                       struct handle *handle, struct node **node,
                       struct stat *st)
{
    int r = create_entry(fs, create, &handle->open, node, st);

    if (r < 0)
        return r;
    handle_count_writer(fs, handle);
    if (handle_admit_new(fs, handle))
        return 0;
    node_forget(&fs->nodes, *node, 1);
    return -ESTALE;
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
    if (handle && chunk_files_are_in(create.parent))
        r = create_chunk(fs, &create, handle, &node, &st);
    else if (handle)
        r = create_file(fs, &create, handle, &node, &st);
    if (r < 0) {
        if (handle)
            handle_close(fs, handle);
        /* The kernel did not find the file, and looks it up again. */
        if (r == -EEXIST && !(fi->flags & O_EXCL))
            r = -ESTALE;
        request_fail_change(req, r);
        return;
    }
    if (handle->draft) {
        fi->direct_io = true;
    } else {
        handle_choose_io(fs, handle, fi);
    }
    fi->fh = (uintptr_t)handle;
    entry = entry_param(fs, node, &st);
    if (fuse_reply_create(req, &entry, fi) < 0) {
        handle_close(fs, handle);
        node_forget(&fs->nodes, node, 1);
    }
}
