/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "open/deferred_close.h"
#include "open/handle.h"
#include "open/kernel.h"
#include "open/kernel_readahead.h"
#include "open/lookup.h"
#include "open/reform.h"
#include "ops/killpriv.h"
#include "ops/ops_private.h"
#include "ops/passthrough.h"
#include "ops/setattr.h"
#include "ops/sync.h"

enum {
    FMODE_EXEC = 0x20 /* the kernel's flag: a program is to be executed */
};

static bool wants_to_write(const struct fuse_file_info *fi)
{
    return (fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC);
}

/* The access to a file for which a program opens it. */
static int access_wanted(const struct fuse_file_info *fi)
{
    int how = wants_to_write(fi) ? W_OK : 0;

    if (fi->flags & FMODE_EXEC)
        how |= X_OK;
    else if ((fi->flags & O_ACCMODE) != O_WRONLY)
        how |= R_OK;
    return how;
}

/* Closing a file in a read-only mount costs one request less.  Where the kernel
   caches writes, it ignores this. */
static void skip_flush(const struct fs *fs, struct fuse_file_info *fi)
{
#ifdef HAVE_FUSE_NOFLUSH
    fi->noflush = !fs->source.writable;
#else
    (void)fs;
    (void)fi;
#endif
}

/* Set up a handle for the state that was opened.  The kernel has already
   checked whether the program may open the file, but with attributes that may
   be a second old. */
static int fill(struct fs *fs, struct handle *handle, struct fuse_file_info *fi)
{
    struct open_version *version = open_file_version(handle->open);
    int r = open_version_check_access(version, access_wanted(fi));

    if (version->file && !version->writable)
        handle->typesize = handle_typesize_of(version);
    if (r == 0)
        fi->keep_cache = open_file_cached(fs, handle->open->node, version);
    skip_flush(fs, fi);
    fi->fh = (uintptr_t)handle;
    open_version_put(version);
    return r;
}

/*
 * Make the kernel look a file up again: unless a program has it open, the
 * lookup gives a new node, which starts with the stored content.  Returns
 * -ESTALE, or the error for which the dirty data cannot be written out.
 */
static int refuse(struct fs *fs, struct open_file *open)
{
    int r = open_file_sync(fs, open);

    if (r < 0 && r != -ESTALE)
        return r;
    open_file_mark_kernel_stale(fs, open->node);
    return -ESTALE;
}

/* Open a chunk file for writing.  The kernel caches nothing of it, because the
   bytes are those of the program until they are put. */
static int open_chunk(struct fs *fs, struct node *node,
                      struct fuse_file_info *fi)
{
    struct handle *handle = handle_new(fs);
    int r;

    if (!handle)
        return -ENOMEM;
    r = fs->source.writable ? open_file_get(fs, node, false, &handle->open)
                            : -EROFS;
    if (r == 0)
        r = chunk_draft_new(fs, handle->open, access_wanted(fi),
                            fi->flags & O_TRUNC, &handle->draft);
    if (r < 0) {
        handle_close(fs, handle);
        return r;
    }
    fi->direct_io = true;
    fi->fh = (uintptr_t)handle;
    return 0;
}

/* Open the state of a node's file.  If the file is to be truncated, it stays in
   the form in which that is possible. */
static int open_state(struct fs *fs, struct node *node,
                      const struct fuse_file_info *fi, struct open_file **out)
{
    int r;

    if (!(fi->flags & O_TRUNC))
        return open_file_get(fs, node, wants_to_write(fi), out);
    reform_hold(fs, node);
    r = reform_empty(fs, node);
    if (r == 0)
        r = open_file_get(fs, node, true, out);
    reform_release(fs, node);
    return r;
}

/* Open a node and make a handle for it. */
static int open_handle(fuse_req_t req, struct node *node,
                       struct fuse_file_info *fi)
{
    const struct stat empty = { .st_size = 0 };
    struct fs *fs = request_fs(req);
    struct handle *handle = handle_new(fs);
    bool admitted = true;
    int r;

    if (!handle)
        return -ENOMEM;
    r = open_state(fs, node, fi, &handle->open);
    if (r == 0 && wants_to_write(fi))
        handle_count_writer(fs, handle);
    if (r == 0)
        admitted = handle_admit(fs, handle, fi->flags & O_TRUNC);
    if (!admitted)
        r = refuse(fs, handle->open);
    if (r == 0)
        r = fill(fs, handle, fi);
    if (r == 0 && (fi->flags & O_TRUNC))
        r = killpriv_drop(req, node);
    if (r == 0 && (fi->flags & O_TRUNC))
        r = setattr_apply(fs, node, &empty, FUSE_SET_ATTR_SIZE);
    if (r == 0)
        handle_choose_io(fs, handle, fi);
    else
        handle_close(fs, handle);
    if (!admitted)
        deferred_close_now(fs, node);
    return r;
}

/* Reply with a handle. */
static void reply(struct fs *fs, fuse_req_t req,
                  const struct fuse_file_info *fi)
{
    struct handle *handle = handle_of(fi);

    kernel_readahead_choose(fs->kernel_ahead, handle->open->node);
    /* This fails if the mount ends; the kernel then forgets the handle with
       it. */
    if (fuse_reply_open(req, fi) < 0)
        handle_close(fs, handle);
}

/* A reply that waits until the kernel knows what other programs have made of
   the file. */
struct late_reply {
    struct pool_task task;
    struct fs *fs;
    fuse_req_t req;
    struct fuse_file_info fi;
};

static void reply_late(struct pool_task *task)
{
    struct late_reply *late = list_entry(task, struct late_reply, task);
    struct fs *fs = late->fs;

    reply(fs, late->req, &late->fi);
    free(late);
    kernel_end(fs);
}

/*
 * Defer the reply until pending notifications about the file were sent.  They
 * are about a change that was found while other programs have the file open, or
 * have closed it so recently that the daemon does not know.  The program that
 * opens it now must not see the older size that the kernel has.
 *
 * The reply to an open that truncates cannot wait, because until then the
 * kernel writes no pages of the file back, nor drops them.
 */
static bool is_deferred(fuse_req_t req, const struct fuse_file_info *fi)
{
    struct fs *fs = request_fs(req);
    struct node *node = handle_of(fi)->open->node;
    struct late_reply *late;

    if ((fi->flags & O_TRUNC) || node->nnotifications == 0)
        return false;
    late = malloc(sizeof(*late));
    if (!late)
        return false;
    *late = (struct late_reply){
        .task.run = reply_late, .fs = fs, .req = req, .fi = *fi
    };
    if (kernel_defer(fs, node, &late->task))
        return true;
    free(late);
    return false;
}

void ops_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct fs *fs = request_fs(req);
    struct node *node = request_node(fs, ino);
    int r = node_traits(node)->chunk && wants_to_write(fi)
                ? open_chunk(fs, node, fi)
                : open_handle(req, node, fi);

    if (r == -ESTALE)
        lookup_note_refused(fs, node);
    if (r < 0) {
        request_fail(req, r);
        return;
    }
    if (handle_of(fi)->writes || handle_of(fi)->draft)
        sync_note(fs, request_node(fs, ino));
    passthrough_open(req, handle_of(fi), fi);
    if (!is_deferred(req, fi))
        reply(fs, req, fi);
}
