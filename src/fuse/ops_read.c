/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <unistd.h>

#include "fuse/handle.h"
#include "fuse/ops_private.h"

/* How often a read or seek is tried that another program wrote into. */
enum {
    READ_TRIES = 3
};

/*
 * Read from a frame.  A writer puts chunks where the index was, so nothing that
 * was read, nor an error, is worth a thing if others wrote to the file.
 *
 * Returns 0, -EAGAIN in this case, or an error, which is reported.
 */
static int read_state(struct fs *fs, struct handle *handle,
                      struct snapshot *snapshot, size_t size, uint64_t off,
                      struct file_data *data)
{
    struct fault fault = FAULT_NONE;
    int error = 0;
    int r = file_read(snapshot->file, &handle->reader, off, size, data, &error,
                      &fault);

    if (r == 0)
        r = error;
    if (snapshot_is_overwritten(snapshot))
        return -EAGAIN;
    if (r < 0)
        handle_report(fs, handle, snapshot, r, &fault);
    return r;
}

/*
 * A reply that is shorter than what was asked for means the end of the file to
 * the kernel.  So it is all or nothing, and for the bytes beside those that are
 * damaged the kernel, or the program, asks again in smaller pieces.
 *
 * Returns 0, or -EAGAIN if there was no reply, as read_state().
 */
static int read_frame(fuse_req_t req, struct handle *handle,
                      struct snapshot *snapshot, size_t size, uint64_t off)
{
    struct file_data data = { 0 };
    int r = read_state(request_fs(req), handle, snapshot, size, off, &data);

    if (r == 0)
        fuse_reply_iov(req, data.iov, (int)data.niov);
    else if (r != -EAGAIN)
        request_fail(req, r);
    file_data_put(snapshot->file, &data);
    return r == -EAGAIN ? r : 0;
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
           handle_typesize_of(snapshot) != handle->typesize;
}

/* Reply from the newest state that is open; -EAGAIN as read_frame(). */
static int try_read(fuse_req_t req, struct handle *handle, size_t size,
                    off_t off)
{
    struct snapshot *snapshot = open_file_snapshot(handle->open);
    int r = 0;

    if (has_changed_shape(handle, snapshot))
        fuse_reply_err(req, ESTALE);
    else if (snapshot->file)
        r = read_frame(req, handle, snapshot, size, (uint64_t)off);
    else
        read_other(req, snapshot->fd, size, off);
    snapshot_put(snapshot);
    return r;
}

void ops_read(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
              size_t size, off_t off, struct fuse_file_info *fi)
{
    struct handle *handle = handle_of(fi);
    int r = try_read(req, handle, size, off);

    for (int tries = 1; r == -EAGAIN && tries < READ_TRIES; tries++) {
        r = open_file_renew(request_fs(req), handle->open, false);
        if (r >= 0)
            r = try_read(req, handle, size, off);
        else
            request_fail(req, r);
    }
    if (r == -EAGAIN)
        request_fail(req, r);
}

/* Returns the offset that was found, -EAGAIN as read_state(), or an error. */
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
    if (snapshot_is_overwritten(snapshot))
        return -EAGAIN;
    if (r < 0 && r != -ENXIO)
        handle_report(fs, handle, snapshot, r, &fault);
    return r < 0 ? r : (off_t)found;
}

static off_t try_seek(struct fs *fs, struct handle *handle, off_t off,
                      int whence)
{
    struct snapshot *snapshot = open_file_snapshot(handle->open);

    off = seek(fs, handle, snapshot, off, whence);
    snapshot_put(snapshot);
    return off;
}

void ops_seek(fuse_req_t req, struct handle *handle, off_t off, int whence)
{
    struct fs *fs = request_fs(req);
    off_t found = try_seek(fs, handle, off, whence);

    for (int tries = 1; found == -EAGAIN && tries < READ_TRIES; tries++) {
        found = open_file_renew(fs, handle->open, false);
        if (found >= 0)
            found = try_seek(fs, handle, off, whence);
    }
    if (found < 0)
        request_fail(req, (int)found);
    else
        fuse_reply_lseek(req, found);
}
