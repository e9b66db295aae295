/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "file/file_chunk_edit.h"
#include "framefs-ioctl.h"
#include "open/handle.h"
#include "open/open_file_lost.h"
#include "ops/ops_private.h"

static struct frame_info info_of(struct file *file)
{
    struct frame *frame = file_frame_get(file);
    struct frame_info info = *frame_get_info(frame);

    file_frame_put(file, frame);
    return info;
}

static int insert(struct file *file, const struct framefs_ioctl_chunk *arg,
                  struct fault *fault)
{
    uint64_t nbytes = arg->nbytes > 0 ? arg->nbytes : info_of(file).chunksize;
    struct file_chunk_content content = { .len = (size_t)nbytes };
    uint8_t *zeros;
    int r;

    if (nbytes == 0 || nbytes > UINT32_MAX)
        return -EINVAL;
    zeros = calloc(1, (size_t)nbytes);
    if (!zeros)
        return -ENOMEM;
    content.bytes = zeros;
    r = file_chunk_insert(file, arg->chunk_no, &content, fault);
    free(zeros);
    return r;
}

/* Turn an order of some chunks into an order of all chunks. */
static int spread(const struct framefs_ioctl_order *arg, uint64_t nchunks,
                  uint64_t *order)
{
    for (uint64_t i = 0; i < nchunks; i++)
        order[i] = i;
    for (uint64_t i = 0; i < arg->nchunks; i++) {
        if (arg->order[i] >= arg->nchunks)
            return -EINVAL;
        order[arg->first + i] = arg->first + arg->order[i];
    }
    return 0;
}

static int reorder(struct file *file, const struct framefs_ioctl_order *arg,
                   struct fault *fault)
{
    uint64_t nchunks;
    uint64_t *order;
    int r = file_sync(file, fault);

    if (r < 0)
        return r;
    nchunks = info_of(file).nchunks;
    if (arg->nchunks > FRAMEFS_IOCTL_ORDER_MAX ||
        !size_within(arg->first, arg->nchunks, nchunks))
        return -ERANGE;
    order = calloc((size_t)nchunks, sizeof(order[0]));
    if (!order)
        return -ENOMEM;
    r = spread(arg, nchunks, order);
    if (r == 0)
        r = file_chunk_reorder(file, order, nchunks, fault);
    free(order);
    return r;
}

/* Make the kernel write back its dirty pages of a file, and drop them all. */
static void invalidate(fuse_req_t req, fuse_ino_t ino)
{
    fuse_lowlevel_notify_inval_inode(request_fs(req)->session, ino, 0, 0);
}

static int run(struct file *file, unsigned cmd, const void *arg,
               struct fault *fault)
{
    struct framefs_ioctl_chunk one;

    if (cmd == FRAMEFS_IOCTL_REORDER)
        return reorder(file, arg, fault);
    memcpy(&one, arg, sizeof(one));
    if (cmd == FRAMEFS_IOCTL_INSERT)
        return insert(file, &one, fault);
    return file_chunk_delete(file, one.chunk_no, fault);
}

static int check(const struct handle *handle,
                 const struct open_version *version, unsigned cmd, size_t len)
{
    if (!version->file ||
        (cmd != FRAMEFS_IOCTL_INSERT && cmd != FRAMEFS_IOCTL_DELETE &&
         cmd != FRAMEFS_IOCTL_REORDER))
        return -ENOTTY;
    if (!handle->writes)
        return -EBADF;
    return len == _IOC_SIZE(cmd) ? 0 : -EINVAL;
}

void ops_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd,
               void *arg __attribute__((unused)), struct fuse_file_info *fi,
               unsigned flags, const void *in, size_t in_len,
               size_t out_len __attribute__((unused)))
{
    struct handle *handle = handle_of(fi);
    struct framefs_ioctl_chunk reply = { 0 };
    struct fault fault = FAULT_NONE;
    struct open_version *version;
    int r;

    if (flags & FUSE_IOCTL_DIR) {
        fuse_reply_err(req, ENOTTY);
        return;
    }
    version = open_file_version(handle->open);
    r = check(handle, version, cmd, in_len);
    /* Moving chunks would move lost bytes to other offsets. */
    if (r == 0)
        r = open_file_check_lost(request_fs(req), handle->open, 0);
    if (r == 0) {
        invalidate(req, ino);
        r = run(version->file, cmd, in, &fault);
        invalidate(req, ino);
    }
    if (r == 0) {
        reply.nbytes = file_size(version->file);
        open_file_written(handle->open, true);
    }
    open_version_put(version);
    if (r < 0)
        request_fail_change(req, r);
    else
        fuse_reply_ioctl(req, 0, &reply,
                         cmd == FRAMEFS_IOCTL_REORDER ? 0 : sizeof(reply));
}
