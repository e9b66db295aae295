/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fuse/access.h"
#include "fuse/attr.h"
#include "fuse/dir.h"
#include "fuse/listing.h"
#include "fuse/open_file.h"
#include "fuse/report.h"
#include "fuse/xattr.h"

/* A file that a program holds open. */
struct handle {
    struct fs_held held;
    struct open_file *open;
    uint32_t typesize; /* of the frame when it was opened */
    struct file_reader reader;
};

/* How often a read or seek is tried that another program wrote into. */
enum {
    READ_TRIES = 3
};

/* What a program may see of an error of ours. */
static int error_of(int r)
{
    switch (r) {
    case -EBADMSG: /* bytes that break the format */
    case -ENODATA: /* a file shorter than it says */
    case -EINVAL:  /* a special file where a regular one should be */
    case -ERANGE:
    case -EAGAIN: /* a frame that is written to again and again */
        return EIO;
    case -ENOTSUP:
        return EOPNOTSUPP;
    default:
        return -r;
    }
}

static void reply_error(fuse_req_t req, int r)
{
    fuse_reply_err(req, error_of(r));
}

static struct fs *fs_of(fuse_req_t req)
{
    struct ops_data *data = fuse_req_userdata(req);

    return data->fs;
}

static struct node *node_of(struct fs *fs, fuse_ino_t ino)
{
    if (ino == FUSE_ROOT_ID)
        return &fs->nodes.root;
    return (struct node *)(uintptr_t)ino;
}

static struct handle *handle_of(const struct fuse_file_info *fi)
{
    return (struct handle *)(uintptr_t)fi->fh;
}

static struct dir *dir_of(const struct fuse_file_info *fi)
{
    return (struct dir *)(uintptr_t)fi->fh;
}

static void ops_init(void *userdata, struct fuse_conn_info *conn)
{
    const struct ops_data *data = userdata;
    const unsigned wanted = FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO |
                            FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_READDIRPLUS |
                            FUSE_CAP_READDIRPLUS_AUTO |
                            FUSE_CAP_PARALLEL_DIROPS;

    conn->want |= conn->capable & wanted;
    conn->max_read = data->max_read;
    if (data->ready_fd >= 0 && write(data->ready_fd, "", 1) == 1)
        close(data->ready_fd);
}

static void ops_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fs *fs = fs_of(req);
    struct fuse_entry_param entry;
    struct node *node;
    struct stat st;
    int r = fs_lookup(fs, node_of(fs, parent), name, &node, &st);

    if (r < 0) {
        reply_error(req, r);
        return;
    }
    entry = entry_param(node, &st);
    if (fuse_reply_entry(req, &entry) < 0)
        node_forget(&fs->nodes, node, 1);
}

static void ops_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
    struct fs *fs = fs_of(req);

    node_forget(&fs->nodes, node_of(fs, ino), nlookup);
    fuse_reply_none(req);
}

static void ops_forget_multi(fuse_req_t req, size_t count,
                             struct fuse_forget_data *forgets)
{
    struct fs *fs = fs_of(req);

    for (size_t i = 0; i < count; i++)
        node_forget(&fs->nodes, node_of(fs, forgets[i].ino),
                    forgets[i].nlookup);
    fuse_reply_none(req);
}

static void ops_getattr(fuse_req_t req, fuse_ino_t ino,
                        struct fuse_file_info *fi __attribute__((unused)))
{
    struct fs *fs = fs_of(req);
    struct stat st;
    int r = attr_get(fs, node_of(fs, ino), &st);

    if (r < 0)
        reply_error(req, r);
    else
        fuse_reply_attr(req, &st, ENTRY_TIMEOUT);
}

static void ops_readlink(fuse_req_t req, fuse_ino_t ino)
{
    struct fs *fs = fs_of(req);
    struct backing_place place;
    char target[PATH_MAX];
    ssize_t len;
    int r = fs_place(fs, node_of(fs, ino), &place);

    if (r < 0) {
        reply_error(req, r);
        return;
    }
    len = readlinkat(place.dirfd, place.name, target, sizeof(target) - 1);
    r = errno;
    backing_close(&place);
    if (len < 0) {
        fuse_reply_err(req, r);
        return;
    }
    target[len] = '\0';
    fuse_reply_readlink(req, target);
}

static uint32_t typesize_of(const struct snapshot *snapshot)
{
    struct frame *frame = file_frame_get(snapshot->file);
    uint32_t typesize = frame_get_info(frame)->typesize;

    file_frame_put(snapshot->file, frame);
    return typesize;
}

static bool is_unwritten(const struct snapshot *snapshot)
{
    struct frame *frame = file_frame_get(snapshot->file);
    bool unwritten = frame_is_unwritten(frame);

    file_frame_put(snapshot->file, frame);
    return unwritten;
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
    if (snapshot->file)
        handle->typesize = typesize_of(snapshot);
    if (r == 0)
        fi->keep_cache =
            open_file_cached(fs_of(req), handle->open->node, snapshot);
    fi->fh = (uintptr_t)handle;
    snapshot_put(snapshot);
    return r;
}

static int handle_open(fuse_req_t req, struct node *node,
                       struct fuse_file_info *fi)
{
    struct fs *fs = fs_of(req);
    struct handle *handle = calloc(1, sizeof(*handle));
    int r;

    if (!handle)
        return -ENOMEM;
    handle->held.close = handle_close;
    fs_hold(fs, &handle->held);
    r = open_file_get(fs, node, &handle->open);
    if (r == 0)
        r = handle_fill(req, handle, fi);
    if (r < 0)
        handle_close(fs, &handle->held);
    return r;
}

static void ops_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct fs *fs = fs_of(req);
    int r = handle_open(req, node_of(fs, ino), fi);

    if (r < 0)
        reply_error(req, r);
    else if (fuse_reply_open(req, fi) < 0)
        handle_close(fs, &handle_of(fi)->held);
}

static void ops_release(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
                        struct fuse_file_info *fi)
{
    handle_close(fs_of(req), &handle_of(fi)->held);
    fuse_reply_err(req, 0);
}

static void report(struct fs *fs, struct handle *handle,
                   const struct snapshot *snapshot, int error,
                   const struct fault *fault)
{
    report_fault(&fs->nodes, handle->open->node, backing_stamp(&snapshot->st),
                 error, fault);
}

/*
 * Read from a frame.  A writer puts chunks where the index was, so nothing that
 * was read, nor an error, is worth a thing if the file was written to.
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
    if (!is_unwritten(snapshot))
        return -EAGAIN;
    if (r < 0)
        report(fs, handle, snapshot, r, &fault);
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
    int r = read_state(fs_of(req), handle, snapshot, size, off, &data);

    if (r == 0)
        fuse_reply_iov(req, data.iov, (int)data.niov);
    else if (r != -EAGAIN)
        reply_error(req, r);
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
    return snapshot->file && typesize_of(snapshot) != handle->typesize;
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

static void ops_read(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
                     size_t size, off_t off, struct fuse_file_info *fi)
{
    struct handle *handle = handle_of(fi);
    int r = try_read(req, handle, size, off);

    for (int tries = 1; r == -EAGAIN && tries < READ_TRIES; tries++) {
        r = open_file_renew(fs_of(req), handle->open);
        if (r == 0)
            r = try_read(req, handle, size, off);
        else
            reply_error(req, r);
    }
    if (r == -EAGAIN)
        reply_error(req, r);
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
    if (!is_unwritten(snapshot))
        return -EAGAIN;
    if (r < 0 && r != -ENXIO)
        report(fs, handle, snapshot, r, &fault);
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

static void ops_lseek(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
                      off_t off, int whence, struct fuse_file_info *fi)
{
    struct fs *fs = fs_of(req);
    struct handle *handle = handle_of(fi);
    off_t found = try_seek(fs, handle, off, whence);

    for (int tries = 1; found == -EAGAIN && tries < READ_TRIES; tries++) {
        found = open_file_renew(fs, handle->open);
        if (found == 0)
            found = try_seek(fs, handle, off, whence);
    }
    if (found < 0)
        reply_error(req, (int)found);
    else
        fuse_reply_lseek(req, found);
}

static void ops_opendir(fuse_req_t req, fuse_ino_t ino,
                        struct fuse_file_info *fi)
{
    struct fs *fs = fs_of(req);
    struct dir *dir;
    int r = dir_open(fs, node_of(fs, ino), &dir);

    if (r < 0) {
        reply_error(req, r);
        return;
    }
    fi->fh = (uintptr_t)dir;
    if (fuse_reply_open(req, fi) < 0)
        dir_close(dir);
}

static void ops_releasedir(fuse_req_t req,
                           fuse_ino_t ino __attribute__((unused)),
                           struct fuse_file_info *fi)
{
    dir_close(dir_of(fi));
    fuse_reply_err(req, 0);
}

static void read_directory(fuse_req_t req, fuse_ino_t ino, size_t size,
                           off_t off, struct fuse_file_info *fi, bool plus)
{
    struct fs *fs = fs_of(req);
    struct listing list = {
        .req = req,
        .fs = fs,
        .parent = node_of(fs, ino),
        .dir = dir_of(fi),
        .plus = plus,
        .buf = malloc(size),
        .size = size,
    };
    int r = list.buf ? listing_fill(&list, off) : -ENOMEM;

    if (r < 0)
        reply_error(req, r);
    else
        fuse_reply_buf(req, list.buf, list.len);
    free(list.buf);
}

static void ops_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                        struct fuse_file_info *fi)
{
    read_directory(req, ino, size, off, fi, false);
}

static void ops_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size,
                            off_t off, struct fuse_file_info *fi)
{
    read_directory(req, ino, size, off, fi, true);
}

/* Reply with an attribute, or only its length if `size` is 0. */
static void reply_xattr(fuse_req_t req, int r, char *value, size_t len,
                        size_t size)
{
    if (r < 0) {
        fuse_reply_err(req, r == -ENODATA ? ENODATA : error_of(r));
        return;
    }
    if (size == 0)
        fuse_reply_xattr(req, len);
    else if (len > size)
        fuse_reply_err(req, ERANGE);
    else
        fuse_reply_buf(req, value, len);
    free(value);
}

static void ops_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
                         size_t size)
{
    struct fs *fs = fs_of(req);
    char *value;
    size_t len;
    int r = xattr_get(fs, node_of(fs, ino), name, &value, &len);

    reply_xattr(req, r, value, len, size);
}

static void ops_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
    struct fs *fs = fs_of(req);
    char *list;
    size_t len;
    int r = xattr_list(fs, node_of(fs, ino), &list, &len);

    reply_xattr(req, r, list, len, size);
}

static void ops_statfs(fuse_req_t req, fuse_ino_t ino __attribute__((unused)))
{
    const struct fs *fs = fs_of(req);
    struct statvfs st;

    if (fstatvfs(fs->root_fd, &st) < 0) {
        fuse_reply_err(req, errno);
        return;
    }
    /* A name that shows must have room for the suffix that it is stored by. */
    if (!fs->keep_names && st.f_namemax > NAMES_SUFFIX_MAX)
        st.f_namemax -= NAMES_SUFFIX_MAX;
    fuse_reply_statfs(req, &st);
}

const struct fuse_lowlevel_ops ops_table = {
    .init = ops_init,
    .lookup = ops_lookup,
    .forget = ops_forget,
    .forget_multi = ops_forget_multi,
    .getattr = ops_getattr,
    .readlink = ops_readlink,
    .open = ops_open,
    .read = ops_read,
    .release = ops_release,
    .lseek = ops_lseek,
    .opendir = ops_opendir,
    .readdir = ops_readdir,
    .readdirplus = ops_readdirplus,
    .releasedir = ops_releasedir,
    .getxattr = ops_getxattr,
    .listxattr = ops_listxattr,
    .statfs = ops_statfs,
};
