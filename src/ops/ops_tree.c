/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/chunk_files.h"
#include "ops/create.h"
#include "ops/listing.h"
#include "ops/ops_private.h"
#include "ops/remove.h"
#include "ops/rename.h"
#include "ops/sync.h"

/* Reply with a new entry, unless `r` is an error. */
static void reply_made(fuse_req_t req, int r, struct node *node,
                       const struct stat *st)
{
    struct fs *fs = request_fs(req);
    struct fuse_entry_param entry;

    if (r < 0) {
        request_fail_change(req, r);
        return;
    }
    entry = entry_param(fs, node, st);
    if (fuse_reply_entry(req, &entry) < 0)
        node_forget(&fs->nodes, node, 1);
}

static void make(fuse_req_t req, fuse_ino_t parent, struct create *create)
{
    struct fs *fs = request_fs(req);
    struct node *node = NULL;
    struct stat st;
    int r;

    create->parent = request_node(fs, parent);
    sync_note(fs, create->parent);
    r = create_entry(fs, create, NULL, &node, &st);
    reply_made(req, r, node, &st);
}

void ops_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
               dev_t rdev)
{
    struct create create = { .shown = name, .mode = mode, .rdev = rdev };

    make(req, parent, &create);
}

void ops_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    struct create create = { .shown = name, .mode = S_IFDIR | (mode & 07777) };

    make(req, parent, &create);
}

void ops_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
                 const char *name)
{
    struct create create = { .shown = name,
                             .mode = S_IFLNK | 0777,
                             .target = target };

    make(req, parent, &create);
}

void ops_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent,
              const char *name)
{
    struct fs *fs = request_fs(req);
    const struct hard_link link = {
        .node = request_node(fs, ino),
        .parent = request_node(fs, parent),
        .shown = name,
    };
    struct node *node = NULL;
    struct stat st;
    int r;

    sync_note(fs, link.parent);
    r = create_link(fs, &link, &node, &st);
    reply_made(req, r, node, &st);
}

void ops_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fs *fs = request_fs(req);
    struct node *dir = request_node(fs, parent);

    sync_note(fs, dir);
    request_done(req, chunk_files_are_in(dir)
                          ? chunk_files_remove(fs, dir, name)
                          : remove_file(fs, dir, name));
}

void ops_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fs *fs = request_fs(req);

    sync_note(fs, request_node(fs, parent));
    request_done(req, remove_directory(fs, request_node(fs, parent), name));
}

void ops_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
                fuse_ino_t new_parent, const char *new_name, unsigned flags)
{
    struct fs *fs = request_fs(req);
    const struct rename args = {
        .parent = request_node(fs, parent),
        .shown = name,
        .new_parent = request_node(fs, new_parent),
        .new_shown = new_name,
        .flags = flags,
    };

    sync_note(fs, args.parent);
    sync_note(fs, args.new_parent);
    request_done(req, rename_entry(fs, &args));
}
