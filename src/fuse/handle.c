/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuse/backing_stamp.h"
#include "fuse/kernel.h"
#include "fuse/killpriv.h"
#include "fuse/report.h"
#include "fuse/setattr.h"

enum {
    FMODE_EXEC = 0x20 /* of the kernel's: a program is to be run */
};

/* The typesize of a frame, or 0 while it holds nothing and may change it. */
uint32_t handle_typesize_of(const struct snapshot *snapshot)
{
    struct frame *frame = file_frame_get(snapshot->file);
    const struct frame_info *info = frame_get_info(frame);
    uint32_t typesize = info->nbytes > 0 ? info->typesize : 0;

    file_frame_put(snapshot->file, frame);
    return typesize;
}

void handle_count_writer(struct fs *fs, struct handle *handle)
{
    handle->writes = true;
    handle->open->nwriters++;
    fs->nwriters++;
}

static void uncount_writer(struct fs *fs, struct handle *handle)
{
    if (!handle->writes)
        return;
    handle->open->nwriters--;
    fs->nwriters--;
}

void handle_close(struct fs *fs, struct handle *handle)
{
    fs_let_go(fs, &handle->held);
    uncount_writer(fs, handle);
    open_file_put(fs, handle->open);
    free(handle);
}

static void close_held(struct fs *fs, struct fs_held *held)
{
    handle_close(fs, list_entry(held, struct handle, held));
}

/* Take references to the nodes that are open for writing, one for each handle,
   as far as there is room. */
static size_t collect_written(struct fs *fs, struct node **nodes, size_t max)
{
    size_t n = 0;

    pthread_mutex_lock(&fs->nodes.lock);
    list_for_each(link, &fs->held) {
        struct fs_held *held = list_entry(link, struct fs_held, link);
        struct handle *handle = list_entry(held, struct handle, held);

        if (held->close == close_held && handle->writes && n < max) {
            nodes[n] = handle->open->node;
            nodes[n++]->nrefs++;
        }
    }
    pthread_mutex_unlock(&fs->nodes.lock);
    return n;
}

void handle_flush_all(struct fs *fs)
{
    size_t max = fs->nwriters;
    struct node **nodes = calloc(max + 1, sizeof(*nodes));
    size_t n = nodes ? collect_written(fs, nodes, max) : 0;

    for (size_t i = 0; i < n; i++) {
        kernel_flush(fs, nodes[i], 0);
        node_unref(&fs->nodes, nodes[i]);
    }
    free(nodes);
}

static bool wants_to_write(const struct fuse_file_info *fi)
{
    return (fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC);
}

/* How a program wants to use what it opens. */
static int access_wanted(const struct fuse_file_info *fi)
{
    int how = wants_to_write(fi) ? W_OK : 0;

    if (fi->flags & FMODE_EXEC)
        how |= X_OK;
    else if ((fi->flags & O_ACCMODE) != O_WRONLY)
        how |= R_OK;
    return how;
}

/* Note down what a handle was opened on.  The kernel has asked itself whether the
   program may do that, but of attributes that may be a second old. */
static int fill(fuse_req_t req, struct handle *handle,
                struct fuse_file_info *fi)
{
    struct snapshot *snapshot = open_file_snapshot(handle->open);
    int r = snapshot_check_access(snapshot, access_wanted(fi));

    handle->nmodified = open_file_count_modified(handle->open);
    if (snapshot->file && !snapshot->writable)
        handle->typesize = handle_typesize_of(snapshot);
    if (r == 0)
        fi->keep_cache =
            open_file_cached(request_fs(req), handle->open->node, snapshot);
    fi->fh = (uintptr_t)handle;
    snapshot_put(snapshot);
    return r;
}

int handle_check_newest(struct fs *fs, const struct handle *handle)
{
    if (fs->shared ||
        handle->nmodified == open_file_count_modified(handle->open))
        return 0;
    return -ESTALE;
}

struct handle *handle_new(struct fs *fs)
{
    struct handle *handle = calloc(1, sizeof(*handle));

    if (!handle)
        return NULL;
    handle->held.close = close_held;
    fs_hold(fs, &handle->held);
    return handle;
}

/*
 * Let the kernel look a file up again: once this is closed it finds another
 * one, which starts with what is stored.  Returns -ESTALE, or why what was
 * written cannot be.
 */
static int refuse(struct fs *fs, struct open_file *open)
{
    int r = open_file_sync(fs, open);

    if (r < 0 && r != -ESTALE)
        return r;
    open_file_mistaken(fs, open);
    return -ESTALE;
}

void handle_choose_io(struct fs *fs, struct handle *handle,
                      struct fuse_file_info *fi)
{
    /* Where others make a frame longer, too, the kernel must not keep what is
       appended by the place that it thinks it goes to; nor cut the frame where it
       thinks that it ends, as it does when an O_DIRECT write has failed. */
    bool appends = fs->shared && (fi->flags & (O_APPEND | O_DIRECT));

    handle->direct = handle->writes &&
                     (appends || free_space_wants_direct(fs, handle->open));
    fi->direct_io = handle->direct;
}

int handle_open(fuse_req_t req, struct node *node, struct fuse_file_info *fi)
{
    const struct stat empty = { .st_size = 0 };
    struct fs *fs = request_fs(req);
    struct handle *handle = handle_new(fs);
    bool agreed = true;
    int r;

    if (!handle)
        return -ENOMEM;
    r = open_file_get(fs, node, wants_to_write(fi), &handle->open);
    if (r == 0 && wants_to_write(fi))
        handle_count_writer(fs, handle);
    if (r == 0)
        agreed = open_file_is_agreed(fs, handle->open);
    if (!agreed)
        r = refuse(fs, handle->open);
    if (r == 0)
        r = fill(req, handle, fi);
    if (r == 0 && (fi->flags & O_TRUNC))
        r = killpriv_drop(req, node);
    if (r == 0 && (fi->flags & O_TRUNC))
        r = setattr_apply(fs, node, &empty, FUSE_SET_ATTR_SIZE);
    if (r == 0)
        handle_choose_io(fs, handle, fi);
    else
        handle_close(fs, handle);
    if (!agreed)
        closer_drop(fs, node);
    return r;
}

void handle_report(struct fs *fs, const struct handle *handle,
                   const struct snapshot *snapshot, int error,
                   const struct fault *fault)
{
    report_fault(&fs->nodes, handle->open->node, backing_stamp(&snapshot->st),
                 error, fault);
}
