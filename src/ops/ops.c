/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/identity.h"
#include "base/pool.h"
#include "open/kernel.h"
#include "open/lookup.h"
#include "open/open_attr.h"
#include "open/reform.h"
#include "ops/killpriv.h"
#include "ops/listing.h"
#include "ops/ops_private.h"
#include "ops/passthrough.h"
#include "ops/setattr.h"
#include "ops/sync.h"
#include "ops/xattr.h"
#include "tree/dir.h"

static struct dir *dir_of(const struct fuse_file_info *fi)
{
    return (struct dir *)(uintptr_t)fi->fh;
}

static void ops_init(void *userdata, struct fuse_conn_info *conn)
{
    const struct ops_data *data = userdata;
    unsigned wanted = FUSE_CAP_ASYNC_READ | FUSE_CAP_AUTO_INVAL_DATA |
                      FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO |
                      FUSE_CAP_PARALLEL_DIROPS;

    /* Where a directory has a default access control list, the umask does not
       apply.  So the kernel must leave it to the daemon, which creates the
       file. */
    if (identity_has_umask())
        wanted |= FUSE_CAP_DONT_MASK | FUSE_CAP_POSIX_ACL;
    /* The modes that the user wants to appear are not to be overruled. */
    if (data->fs->shown.umask >= 0)
        wanted &= ~(unsigned)FUSE_CAP_POSIX_ACL;

    if (data->fs->writeback)
        wanted |= FUSE_CAP_WRITEBACK_CACHE;
#ifdef FUSE_CAP_HANDLE_KILLPRIV_V2
    wanted |= FUSE_CAP_HANDLE_KILLPRIV_V2;
#endif
#ifdef FUSE_CAP_DIRECT_IO_ALLOW_MMAP
    wanted |= FUSE_CAP_DIRECT_IO_ALLOW_MMAP;
#endif
    conn->want |= conn->capable & wanted;
    /* For set-user-ID bits see killpriv.h.  Written data must arrive in memory,
       not in a pipe. */
    conn->want &= ~(unsigned)(FUSE_CAP_HANDLE_KILLPRIV | FUSE_CAP_SPLICE_READ);
    /* The kernel would look up entries that no program asks for, and each may
       take a request to a server.  backing/prefix_ahead.c makes up for it. */
    if (data->fs->source.prefix)
        conn->want &= ~(unsigned)FUSE_CAP_READDIRPLUS;
    /* When an asynchronous O_DIRECT write completes, the kernel does not drop
       pages that were read meanwhile, as it does when it waits for the write.
       Programs would then read stale bytes. */
    if (data->fs->source.writable)
        conn->want &= ~(unsigned)FUSE_CAP_ASYNC_DIO;
    passthrough_init(data->fs, conn);
    conn->max_read = data->max_read;
    if (data->background > 0)
        conn->max_background = data->background;
    if (data->ready_fd >= 0 && write(data->ready_fd, "", 1) == 1)
        close(data->ready_fd);
    data->ready();
}

static void ops_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fs *fs = request_fs(req);
    struct fuse_entry_param entry;
    struct node *node;
    struct stat st;
    int r = lookup_name(fs, request_node(fs, parent), name, &node, &st);

    if (r < 0) {
        request_fail(req, r);
        return;
    }
    entry = entry_param(fs, node, &st);
    if (fuse_reply_entry(req, &entry) < 0)
        node_forget(&fs->nodes, node, 1);
}

static void ops_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
    struct fs *fs = request_fs(req);

    node_forget(&fs->nodes, request_node(fs, ino), nlookup);
    fuse_reply_none(req);
}

static void ops_forget_multi(fuse_req_t req, size_t count,
                             struct fuse_forget_data *forgets)
{
    struct fs *fs = request_fs(req);

    for (size_t i = 0; i < count; i++)
        node_forget(&fs->nodes, request_node(fs, forgets[i].ino),
                    forgets[i].nlookup);
    fuse_reply_none(req);
}

/* A reply that waits until the kernel has dropped its pages of the file. */
struct late_reply {
    struct pool_task task;
    fuse_req_t req;
    struct stat st;
};

static void reply_late(struct pool_task *task)
{
    struct late_reply *late = list_entry(task, struct late_reply, task);
    struct fs *fs = request_fs(late->req);

    reply_attr(fs, late->req, &late->st);
    free(late);
    kernel_end(fs);
}

/*
 * Defer the reply to GETATTR until pending notifications about the file were
 * sent.  Before the kernel reads a frame from its cache, it asks for the times
 * of the frame, and may overlook that they have changed while another program
 * writes to the file, or has replaced it.  So the stale pages must be gone by
 * then.
 */
static bool is_deferred(fuse_req_t req, struct node *node,
                        const struct stat *st)
{
    struct fs *fs = request_fs(req);
    struct late_reply *late =
        node->nnotifications > 0 ? malloc(sizeof(*late)) : NULL;

    if (!late)
        return false;
    *late =
        (struct late_reply){ .task.run = reply_late, .req = req, .st = *st };
    if (kernel_defer(fs, node, &late->task))
        return true;
    free(late);
    return false;
}

static void ops_getattr(fuse_req_t req, fuse_ino_t ino,
                        struct fuse_file_info *fi __attribute__((unused)))
{
    struct fs *fs = request_fs(req);
    struct node *node = request_node(fs, ino);
    struct stat st;
    int r = open_attr_get(fs, node, &st);

    if (r < 0)
        request_fail(req, r);
    else if (!is_deferred(req, node, &st))
        reply_attr(fs, req, &st);
}

/* Set the size of a chunk that a program writes. */
static void resize_draft(fuse_req_t req, struct node *node,
                         struct handle *handle, off_t size)
{
    struct fs *fs = request_fs(req);
    struct stat st;
    int r = chunk_draft_truncate(handle->draft, (uint64_t)size);

    if (r == 0)
        r = open_attr_get(fs, node, &st);
    if (r < 0) {
        request_fail_change(req, r);
        return;
    }
    st.st_size = size;
    reply_attr(fs, req, &st);
}

/* Does the kernel pass on the times of a chunk that a program has written?  The
   chunk has those of the frame. */
static bool are_times_of_draft(const struct node *node, int to_set)
{
    return node_traits(node)->chunk && to_set != 0 &&
           !(to_set & ~(FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_CTIME));
}

/* Set attributes of a file that no handle is given for, or those that do not
   concern the handle. */
static int set_stored(struct fs *fs, struct node *node, const struct stat *attr,
                      int to_set)
{
    int r = 0;

    if ((to_set & FUSE_SET_ATTR_SIZE) && attr->st_size == 0)
        r = reform_empty(fs, node);
    return r == 0 ? setattr_apply(fs, node, attr, to_set) : r;
}

/* A program that truncates a file by its name has it open for a moment only.
   Keep it in its form until the reply, which tells its attributes. */
static void begin_resize(struct fs *fs, struct node *node, bool resizes)
{
    if (!resizes)
        return;
    node_ref(&fs->nodes, node);
    reform_hold(fs, node);
}

static void end_resize(struct fs *fs, struct node *node, bool resizes)
{
    if (!resizes)
        return;
    reform_release(fs, node);
    reform_run(fs, node);
    node_unref(&fs->nodes, node);
}

static void ops_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
                        int to_set, struct fuse_file_info *fi)
{
    struct fs *fs = request_fs(req);
    struct node *node = request_node(fs, ino);
    bool resizes = !fi && (to_set & FUSE_SET_ATTR_SIZE);
    struct stat st;
    int r;

    if (fi && handle_of(fi)->draft && (to_set & FUSE_SET_ATTR_SIZE)) {
        resize_draft(req, node, handle_of(fi), attr->st_size);
        return;
    }
    if (are_times_of_draft(node, to_set)) {
        ops_getattr(req, ino, fi);
        return;
    }
    begin_resize(fs, node, resizes);
    r = to_set & FUSE_SET_ATTR_SIZE ? killpriv_drop(req, node) : 0;
    sync_note(fs, node);
    if (r == 0)
        r = fs_check_node(node);
    if (r == 0 && fi && (to_set & FUSE_SET_ATTR_SIZE)) {
        r = ops_set_size(fs, handle_of(fi), attr->st_size);
        to_set &= ~FUSE_SET_ATTR_SIZE;
    }
    if (r == 0 && to_set)
        r = set_stored(fs, node, attr, to_set);
    /* No close() follows truncate() that would commit it. */
    if (r == 0 && resizes)
        open_file_commit_node(fs, node);
    if (r == 0)
        r = open_attr_get(fs, node, &st);
    if (r < 0)
        request_fail_change(req, r);
    else
        reply_attr(fs, req, &st);
    end_resize(fs, node, resizes);
}

static void ops_readlink(fuse_req_t req, fuse_ino_t ino)
{
    struct fs *fs = request_fs(req);
    struct backing_place place;
    char target[PATH_MAX];
    ssize_t len;
    int r = fs_place(fs, request_node(fs, ino), &place);

    if (r < 0) {
        request_fail(req, r);
        return;
    }
    len = backing_readlink(&place, target, sizeof(target) - 1);
    backing_close(&place);
    if (len < 0) {
        fuse_reply_err(req, (int)-len);
        return;
    }
    target[len] = '\0';
    fuse_reply_readlink(req, target);
}

static void ops_opendir(fuse_req_t req, fuse_ino_t ino,
                        struct fuse_file_info *fi)
{
    struct fs *fs = request_fs(req);
    struct dir *dir;
    int r = dir_open(fs, request_node(fs, ino), &dir);

    if (r < 0) {
        request_fail(req, r);
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
    struct fs *fs = request_fs(req);
    struct listing list = {
        .req = req,
        .fs = fs,
        .parent = request_node(fs, ino),
        .dir = dir_of(fi),
        .plus = plus,
        .buf = malloc(size),
        .size = size,
    };
    int r = list.buf ? listing_fill(&list, off) : -ENOMEM;

    if (r < 0)
        request_fail(req, r);
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

/* Reply with the value of an attribute, or only with its length if `size` is 0.
   Frees `value`. */
static void reply_xattr(fuse_req_t req, int r, char *value, size_t len,
                        size_t size)
{
    if (r < 0) {
        fuse_reply_err(req, r == -ENODATA ? ENODATA : request_error(r));
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
    struct fs *fs = request_fs(req);
    char *value;
    size_t len;
    int r = xattr_get(fs, request_node(fs, ino), name, &value, &len);

    reply_xattr(req, r, value, len, size);
}

static void ops_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
    struct fs *fs = request_fs(req);
    char *list;
    size_t len;
    int r = xattr_list(fs, request_node(fs, ino), &list, &len);

    reply_xattr(req, r, list, len, size);
}

static void ops_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
                         const char *value, size_t size, int flags)
{
    const struct xattr_new attr = { name, value, size, flags };
    struct fs *fs = request_fs(req);

    sync_note(fs, request_node(fs, ino));
    request_done(req, xattr_set(fs, request_node(fs, ino), &attr));
}

static void ops_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
    struct fs *fs = request_fs(req);

    sync_note(fs, request_node(fs, ino));
    request_done(req, xattr_remove(fs, request_node(fs, ino), name));
}

static void ops_fsyncdir(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
                         int datasync __attribute__((unused)),
                         struct fuse_file_info *fi)
{
    request_done(req, dir_sync(dir_of(fi)));
}

static void ops_statfs(fuse_req_t req, fuse_ino_t ino __attribute__((unused)))
{
    const struct fs *fs = request_fs(req);
    struct statvfs st;
    int r = backing_statfs(&fs->source, &st);

    if (r < 0) {
        fuse_reply_err(req, -r);
        return;
    }
    st.f_namemax = fs_name_max(fs, st.f_namemax);
    fuse_reply_statfs(req, &st);
}

const struct fuse_lowlevel_ops ops_table = {
    .init = ops_init,
    .lookup = ops_lookup,
    .forget = ops_forget,
    .forget_multi = ops_forget_multi,
    .getattr = ops_getattr,
    .setattr = ops_setattr,
    .readlink = ops_readlink,
    .mknod = ops_mknod,
    .mkdir = ops_mkdir,
    .unlink = ops_unlink,
    .rmdir = ops_rmdir,
    .symlink = ops_symlink,
    .rename = ops_rename,
    .link = ops_link,
    .create = ops_create,
    .open = ops_open,
    .read = ops_read,
    .write = ops_write,
    .flush = ops_flush,
    .fsync = ops_fsync,
    .fallocate = ops_fallocate,
    .copy_file_range = ops_copy_file_range,
    .release = ops_release,
    .lseek = ops_lseek,
    .ioctl = ops_ioctl,
    .opendir = ops_opendir,
    .readdir = ops_readdir,
    .readdirplus = ops_readdirplus,
    .releasedir = ops_releasedir,
    .fsyncdir = ops_fsyncdir,
    .setxattr = ops_setxattr,
    .removexattr = ops_removexattr,
    .getxattr = ops_getxattr,
    .listxattr = ops_listxattr,
    .statfs = ops_statfs,
};
