/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "base/pool.h"
#include "open/handle.h"
#include "open/kernel.h"
#include "ops/ops_private.h"

/* A seek that waits until the kernel has handed over its dirty pages. */
struct seek {
    struct pool_task task;
    fuse_req_t req;
    struct handle *handle; /* the kernel releases it only after the reply */
    off_t off;
    int whence;
};

/* A thread of fs->seekers calls this. */
static void seek_flushed(struct pool_task *task)
{
    struct seek *seek = list_entry(task, struct seek, task);
    struct node *node = seek->handle->open->node;
    int r = kernel_flush(request_fs(seek->req), node, seek->off);

    if (r < 0)
        request_fail(seek->req, r);
    else
        ops_seek(seek->req, seek->handle, seek->off, seek->whence);
    free(seek);
}

/*
 * While a handle is open for writing, the kernel may have dirty pages that the
 * daemon has never seen, even behind the end of the file as the daemon knows
 * it.  The kernel hands them over by WRITE requests.  So the thread that waits
 * for them must not be one that answers requests: if all of these waited, no
 * thread would be left to serve the writes.
 */
void ops_lseek(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
               off_t off, int whence, struct fuse_file_info *fi)
{
    struct fs *fs = request_fs(req);
    struct handle *handle = handle_of(fi);
    struct seek *seek;

    if (off < 0) {
        request_fail(req, -ENXIO);
        return;
    }
    if (handle->open->nwriters == 0) {
        ops_seek(req, handle, off, whence);
        return;
    }
    seek = malloc(sizeof(*seek));
    if (!seek) {
        request_fail(req, -ENOMEM);
        return;
    }
    *seek = (struct seek){
        .task.run = seek_flushed,
        .req = req,
        .handle = handle,
        .off = off,
        .whence = whence,
    };
    pool_submit(fs->seekers, &seek->task);
}
