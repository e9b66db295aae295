/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/killpriv.h"

#include <linux/fuse.h>
#include <stddef.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/identity.h"
#include "open/kernel.h"
#include "open/open_file.h"
#include "ops/ops.h"

#if defined(FUSE_CAP_HANDLE_KILLPRIV_V2) || !defined(HAVE_FUSE_CUSTOM_IO) || \
    !defined(FUSE_INIT_EXT)

/* ops_init() asks for it, if this libfuse can. */
int killpriv_take_over(struct fuse_session *session __attribute__((unused)))
{
    return 0;
}

#else

/* FUSE_DIRECT_IO_ALLOW_MMAP, since Linux 6.6: programs can map files that are
   opened in such a way that each write() reaches the daemon, see
   free_space.h. */
static const uint32_t DIRECT_IO_ALLOW_MMAP = 1 << 4;

static ssize_t read_request(int fd, void *buf, size_t size,
                            void *userdata __attribute__((unused)))
{
    return read(fd, buf, size);
}

/* Send a reply.  The first one answers INIT, because the kernel sends no other
   request before it.  It consists of a fuse_out_header and a fuse_init_out. */
static ssize_t write_reply(int fd, struct iovec *iov, int count, void *userdata)
{
    struct ops_data *data = userdata;

    if (!atomic_load_explicit(&data->initialised, memory_order_relaxed)) {
        atomic_store(&data->initialised, true);
        if (count == 2 &&
            iov[1].iov_len >= offsetof(struct fuse_init_out, unused)) {
            struct fuse_init_out *init = iov[1].iov_base;

            init->flags |= FUSE_HANDLE_KILLPRIV_V2 | FUSE_INIT_EXT;
            init->flags2 |= DIRECT_IO_ALLOW_MMAP;
        }
    }
    return writev(fd, iov, count);
}

int killpriv_take_over(struct fuse_session *session)
{
    static const struct fuse_custom_io io = {
        .read = read_request,
        .writev = write_reply,
    };

    return fuse_session_custom_io(session, &io, fuse_session_fd(session));
}

#endif

/* The same rule as in the kernel: without the group's execute bit, set-group-ID
   once stood for mandatory locking, and stays for a program that is in the
   group. */
static mode_t without_setid(const struct stat *st)
{
    mode_t mode = st->st_mode & ~(mode_t)S_ISUID;

    if (mode & S_IXGRP || (mode & S_ISGID && !identity_is_in_group(st->st_gid)))
        mode &= ~(mode_t)S_ISGID;
    return mode;
}

static int drop(struct fs *fs, struct node *node,
                const struct backing_place *place,
                const struct backing_object *object)
{
    struct open_file *open = open_file_find(fs, node);
    bool newest = open_file_is_newest(open, place);
    int r = backing_chmod(object, without_setid(&object->st) & 07777);

    if (newest)
        open_file_note_touch(open, place);
    open_file_put(fs, open);
    /* The reply to a write, unlike that to chmod(), carries no mode. */
    if (r == 0)
        kernel_forget_attributes(fs, node);
    return r;
}

int killpriv_drop(fuse_req_t req, struct node *node)
{
    struct fs *fs = request_fs(req);
    struct backing_object object;
    struct backing_place place;
    struct stat st;
    int r;

    /* Nothing behind a URL has set-id bits. */
    if (fuse_req_ctx(req)->uid == 0 || fs->source.fd < 0)
        return 0;
    r = fs_place(fs, node, &place);
    if (r < 0)
        return r;
    r = backing_stat(&place, node->id.kind, &st);
    if (r == 0 && without_setid(&st) != st.st_mode)
        r = fs_pin(fs, node, &place, &object);
    if (r == 0 && without_setid(&st) != st.st_mode) {
        r = drop(fs, node, &place, &object);
        backing_unpin(&object);
    }
    backing_close(&place);
    return r;
}
