/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/request.h"

#include <errno.h>
#include <pthread.h>

#include "base/identity.h"
#include "base/killed.h"
#include "ops/ops.h"

int request_error(int r)
{
    switch (r) {
    case -EBADMSG: /* bytes that break the format */
    case -ENODATA: /* a file that is shorter than its header says */
    case -EINVAL:  /* a special file in place of a regular one */
    case -ERANGE:
    case -EAGAIN: /* a frame that another program keeps writing to */
        return EIO;
    case -ENOTSUP:
        return EOPNOTSUPP;
    default:
        return -r;
    }
}

void request_fail(fuse_req_t req, int r)
{
    fuse_reply_err(req, request_error(r));
}

void request_fail_change(fuse_req_t req, int r)
{
    fuse_reply_err(req, r == -EBADMSG ? EIO : -r);
}

void request_done(fuse_req_t req, int r)
{
    if (r < 0)
        request_fail_change(req, r);
    else
        fuse_reply_err(req, 0);
}

struct fs *request_fs(fuse_req_t req)
{
    const struct fuse_ctx *context = fuse_req_ctx(req);
    struct ops_data *data = fuse_req_userdata(req);

    /* When the session ends, libfuse cancels the threads that serve a ring,
       even in the middle of a request.  It lets the threads that read /dev/fuse
       finish. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    identity_serve(context->pid, context->uid, context->gid, context->umask);
    killed_serve(context->pid);
    atomic_fetch_add_explicit(&data->fs->nrequests, 1, memory_order_relaxed);
    return data->fs;
}

struct node *request_node(struct fs *fs, fuse_ino_t ino)
{
    if (ino == FUSE_ROOT_ID)
        return &fs->nodes.root;
    return (struct node *)(uintptr_t)ino;
}
