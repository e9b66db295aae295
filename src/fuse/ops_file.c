/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuse/access.h"
#include "fuse/create.h"
#include "fuse/listing.h"
#include "fuse/open_file.h"
#include "fuse/ops_private.h"
#include "fuse/report.h"
#include "fuse/setattr.h"

/* A file that a program holds open. */
struct handle {
    struct fs_held held;
    struct open_file *open;
    uint32_t typesize; /* of the frame when it was opened */
    struct file_reader reader;
};

static struct handle *handle_of(const struct fuse_file_info *fi)
{
    return (struct handle *)(uintptr_t)fi->fh;
}

/* The typesize of a frame, or 0 while it holds nothing and may change it. */
static uint32_t typesize_of(const struct snapshot *snapshot)
{
    struct frame *frame = file_frame_get(snapshot->file);
    const struct frame_info *info = frame_get_info(frame);
    uint32_t typesize = info->nbytes > 0 ? info->typesize : 0;

    file_frame_put(snapshot->file, frame);
    return typesize;
}

static void handle_close(struct fs *fs, struct fs_held *held)
{
    struct handle *handle = list_entry(held, struct handle, held);

    fs_let_go(fs, held);
    open_file_put(fs, handle->open);
    free(handle);
}

/* Note down what a handle was opened on.  Returns 0, or -EACCES. */
static int handle_fill(fuse_req_t req, struct handle *handle,
                       struct fuse_file_info *fi)
{
    struct snapshot *snapshot = open_file_snapshot(handle->open);
    int r = 0;

    if (!access_is_granted(req, &snapshot->st))
        r = -EACCES;
    if (snapshot->file && !snapshot->writable)
        handle->typesize = typesize_of(snapshot);
    fi->keep_cache =
        open_file_cached(request_fs(req), handle->open->node, snapshot);
    fi->fh = (uintptr_t)handle;
    snapshot_put(snapshot);
    return r;
}

static struct handle *handle_new(struct fs *fs)
{
    struct handle *handle = calloc(1, sizeof(*handle));

    if (!handle)
        return NULL;
    handle->held.close = handle_close;
    fs_hold(fs, &handle->held);
    return handle;
}

static bool wants_to_write(const struct fuse_file_info *fi)
{
    return (fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC);
}

static int handle_open(fuse_req_t req, struct node *node,
                       struct fuse_file_info *fi)
{
    const struct stat empty = { .st_size = 0 };
    struct fs *fs = request_fs(req);
    struct handle *handle = handle_new(fs);
    int r;

    if (!handle)
        return -ENOMEM;
    r = open_file_get(fs, node, wants_to_write(fi), &handle->open);
    if (r == 0 && !open_file_is_agreed(fs, handle->open))
        r = -ESTALE;
    if (r == 0)
        r = handle_fill(req, handle, fi);
    if (r == 0 && (fi->flags & O_TRUNC))
        r = setattr_apply(fs, node, &empty, FUSE_SET_ATTR_SIZE);
    if (r < 0)
        handle_close(fs, &handle->held);
    return r;
}

void ops_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct fs *fs = request_fs(req);
    int r = handle_open(req, request_node(fs, ino), fi);

    if (r < 0)
        request_fail(req, r);
    else if (fuse_reply_open(req, fi) < 0)
        handle_close(fs, &handle_of(fi)->held);
}

/* What is written is kept until it is committed, whoever closes the file. */
void ops_flush(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
               struct fuse_file_info *fi __attribute__((unused)))
{
    fuse_reply_err(req, 0);
}

void ops_fsync(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
               int datasync __attribute__((unused)), struct fuse_file_info *fi)
{
    request_done(req, open_file_sync(request_fs(req), handle_of(fi)->open));
}

void ops_release(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
                 struct fuse_file_info *fi)
{
    handle_close(request_fs(req), &handle_of(fi)->held);
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
            handle_close(fs, &handle->held);
        request_fail_change(req, r);
        return;
    }
    fi->fh = (uintptr_t)handle;
    entry = entry_param(node, &st);
    if (fuse_reply_create(req, &entry, fi) < 0) {
        handle_close(fs, &handle->held);
        node_forget(&fs->nodes, node, 1);
    }
}

static void report(struct fs *fs, struct handle *handle,
                   const struct snapshot *snapshot, int error,
                   const struct fault *fault)
{
    report_fault(&fs->nodes, handle->open->node, backing_stamp(&snapshot->st),
                 error, fault);
}

/*
 * A reply that is shorter than what was asked for means the end of the file to
 * the kernel.  So it is all or nothing, and for the bytes beside those that are
 * damaged the kernel, or the program, asks again in smaller pieces.
 */
static void read_frame(fuse_req_t req, struct handle *handle,
                       struct snapshot *snapshot, size_t size, uint64_t off)
{
    struct fault fault = FAULT_NONE;
    struct file_data data = { 0 };
    int error = 0;
    int r = file_read(snapshot->file, &handle->reader, off, size, &data, &error,
                      &fault);

    if (r == 0)
        r = error;
    if (r == 0) {
        fuse_reply_iov(req, data.iov, (int)data.niov);
    } else {
        report(request_fs(req), handle, snapshot, r, &fault);
        request_fail(req, r);
    }
    file_data_put(snapshot->file, &data);
}

static void read_other(fuse_req_t req, int fd, size_t size, off_t off)
{
    struct fuse_bufvec buffer = FUSE_BUFVEC_INIT(size);

    buffer.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
    buffer.buf[0].fd = fd;
    buffer.buf[0].pos = off;
    fuse_reply_data(req, &buffer, FUSE_BUF_SPLICE_MOVE);
}

static bool has_changed_shape(const struct handle *handle,
                              const struct snapshot *snapshot)
{
    return snapshot->file && handle->typesize != 0 &&
           typesize_of(snapshot) != handle->typesize;
}

void ops_read(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
              size_t size, off_t off, struct fuse_file_info *fi)
{
    struct handle *handle = handle_of(fi);
    struct snapshot *snapshot = open_file_snapshot(handle->open);

    if (has_changed_shape(handle, snapshot))
        fuse_reply_err(req, ESTALE);
    else if (snapshot->file)
        read_frame(req, handle, snapshot, size, (uint64_t)off);
    else
        read_other(req, snapshot->fd, size, off);
    snapshot_put(snapshot);
}

/* Returns the offset that was found, or an error. */
static off_t seek(struct fs *fs, struct handle *handle,
                  struct snapshot *snapshot, off_t off, int whence)
{
    struct fault fault = FAULT_NONE;
    uint64_t found;
    int r;

    if (!snapshot->file) {
        off = lseek(snapshot->fd, off, whence);
        return off < 0 ? -errno : off;
    }
    r = file_seek(snapshot->file, (uint64_t)off, whence == SEEK_HOLE, &found,
                  &fault);
    if (r < 0 && r != -ENXIO)
        report(fs, handle, snapshot, r, &fault);
    return r < 0 ? r : (off_t)found;
}

void ops_lseek(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
               off_t off, int whence, struct fuse_file_info *fi)
{
    struct handle *handle = handle_of(fi);
    struct snapshot *snapshot = open_file_snapshot(handle->open);

    off = seek(request_fs(req), handle, snapshot, off, whence);
    if (off < 0)
        request_fail(req, (int)off);
    else
        fuse_reply_lseek(req, off);
    snapshot_put(snapshot);
}

static int write_other(int fd, const char *buf, size_t size, off_t off)
{
    while (size > 0) {
        ssize_t n = pwrite(fd, buf, size, off);

        if (n < 0)
            return -errno;
        buf += n;
        size -= (size_t)n;
        off += n;
    }
    return 0;
}

/* Report an error of a change, unless the program alone is to blame. */
static int finish_change(struct fs *fs, struct handle *handle,
                         const struct snapshot *snapshot, int r,
                         const struct fault *fault)
{
    if (r < 0 && snapshot->file && r != -EFBIG && r != -EINVAL)
        report(fs, handle, snapshot, r, fault);
    return r;
}

void ops_write(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
               const char *buf, size_t size, off_t off,
               struct fuse_file_info *fi)
{
    struct handle *handle = handle_of(fi);
    struct snapshot *snapshot = open_file_snapshot(handle->open);
    struct fault fault = FAULT_NONE;
    int r;

    if (snapshot->file)
        r = finish_change(
            request_fs(req), handle, snapshot,
            file_write(snapshot->file, (uint64_t)off, buf, size, &fault),
            &fault);
    else
        r = write_other(snapshot->fd, buf, size, off);
    open_file_written(handle->open, !fi->writepage);
    snapshot_put(snapshot);
    if (r < 0)
        request_fail_change(req, r);
    else
        fuse_reply_write(req, size);
}

/* fallocate() of a frame, which takes no space before it is written. */
static int allocate(struct file *file, int mode, uint64_t off, uint64_t len,
                    struct fault *fault)
{
    int r = 0;

    if (mode &
        ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
        return -EOPNOTSUPP;
    if (!(mode & FALLOC_FL_KEEP_SIZE) && off + len > file_size(file))
        r = file_truncate(file, off + len, fault);
    if (r == 0 && (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)))
        r = file_zero(file, off, len, fault);
    return r;
}

void ops_fallocate(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
                   int mode, off_t off, off_t len, struct fuse_file_info *fi)
{
    struct handle *handle = handle_of(fi);
    struct snapshot *snapshot = open_file_snapshot(handle->open);
    struct fault fault = FAULT_NONE;
    int r;

    if (snapshot->file)
        r = finish_change(request_fs(req), handle, snapshot,
                          allocate(snapshot->file, mode, (uint64_t)off,
                                   (uint64_t)len, &fault),
                          &fault);
    else
        r = fallocate(snapshot->fd, mode, off, len) < 0 ? -errno : 0;
    open_file_written(handle->open, true);
    snapshot_put(snapshot);
    request_done(req, r);
}

/* Returns 0 and the number of bytes copied, -EXDEV for the kernel to copy
   them, or another error. */
static int copy(struct fs *fs, struct handle *handle, struct snapshot *from,
                off_t from_off, struct snapshot *to, off_t to_off, size_t len,
                uint64_t *done)
{
    struct fault fault = FAULT_NONE;
    ssize_t n;
    int r;

    *done = 0;
    if (!from->file != !to->file)
        return -EXDEV;
    if (!from->file) {
        n = copy_file_range(from->fd, &from_off, to->fd, &to_off, len, 0);
        *done = n < 0 ? 0 : (uint64_t)n;
        return n < 0 ? -errno : 0;
    }
    if (from->file == to->file && from_off < to_off + (off_t)len &&
        to_off < from_off + (off_t)len)
        return -EXDEV;
    r = file_copy(from->file, (uint64_t)from_off, to->file, (uint64_t)to_off,
                  len, done, &fault);
    return finish_change(fs, handle, to, *done > 0 ? 0 : r, &fault);
}

void ops_copy_file_range(fuse_req_t req,
                         fuse_ino_t ino_in __attribute__((unused)),
                         off_t off_in, struct fuse_file_info *fi_in,
                         fuse_ino_t ino_out __attribute__((unused)),
                         off_t off_out, struct fuse_file_info *fi_out,
                         size_t len, int flags __attribute__((unused)))
{
    struct handle *out = handle_of(fi_out);
    struct snapshot *from = open_file_snapshot(handle_of(fi_in)->open);
    struct snapshot *to = open_file_snapshot(out->open);
    uint64_t done;
    int r = copy(request_fs(req), out, from, off_in, to, off_out, len, &done);

    open_file_written(out->open, true);
    snapshot_put(from);
    snapshot_put(to);
    if (r < 0)
        request_fail_change(req, r);
    else
        fuse_reply_write(req, (size_t)done);
}
