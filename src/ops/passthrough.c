/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/passthrough.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ops/request.h"

#ifdef HAVE_FUSE_PASSTHROUGH

/* Without this right the kernel would refuse the first file, and libfuse would
   log an error. */
static bool may_administer(void)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3,
    };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    return syscall(SYS_capget, &header, data) == 0 &&
           (data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective &
            CAP_TO_MASK(CAP_SYS_ADMIN));
}

void passthrough_init(struct fs *fs, struct fuse_conn_info *conn)
{
    if (fs->source.writable || !(conn->capable & FUSE_CAP_PASSTHROUGH) ||
        !may_administer() || !backing_may_pass_through(&fs->source))
        return;
    conn->want |= FUSE_CAP_PASSTHROUGH;
    atomic_store(&fs->passthrough, true);
}

/*
 * The kernel's id for a file; 0 if the kernel does not get the file.
 *
 * Once the kernel has refused a file, as it does on some file systems, it gets
 * no more of them.  So no file is ever read both by the kernel and through the
 * daemon.
 */
static int number_locked(fuse_req_t req, struct open_file *open)
{
    struct fs *fs = request_fs(req);

    if (open->npassthrough > 0 || !atomic_load(&fs->passthrough))
        return open->backing_id;
    open->backing_id =
        fuse_passthrough_open(req, open_version_fd(open->current));
    if (open->backing_id == 0)
        atomic_store(&fs->passthrough, false);
    return open->backing_id;
}

void passthrough_open(fuse_req_t req, struct handle *handle,
                      struct fuse_file_info *fi)
{
    struct open_file *open = handle->open;

    if (!node_traits(open->node)->plain)
        return;
    pthread_mutex_lock(&open->lock);
    fi->backing_id = number_locked(req, open);
    handle->passthrough = fi->backing_id > 0;
    open->npassthrough += handle->passthrough;
    pthread_mutex_unlock(&open->lock);
    /* The kernel's cache has no pages of this file, and gets none. */
    if (handle->passthrough)
        fi->keep_cache = false;
}

void passthrough_close(fuse_req_t req, const struct handle *handle)
{
    struct open_file *open = handle->open;
    int last = 0;

    if (!handle->passthrough)
        return;
    pthread_mutex_lock(&open->lock);
    if (--open->npassthrough == 0) {
        last = open->backing_id;
        open->backing_id = 0;
    }
    pthread_mutex_unlock(&open->lock);
    if (last > 0)
        fuse_passthrough_close(req, last);
}

#else

void passthrough_init(struct fs *fs __attribute__((unused)),
                      struct fuse_conn_info *conn __attribute__((unused)))
{
}

void passthrough_open(fuse_req_t req __attribute__((unused)),
                      struct handle *handle __attribute__((unused)),
                      struct fuse_file_info *fi __attribute__((unused)))
{
}

void passthrough_close(fuse_req_t req __attribute__((unused)),
                       const struct handle *handle __attribute__((unused)))
{
}

#endif
