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

/* Give the kernel a file.  Returns its id there, or 0. */
static int give_file(fuse_req_t req, struct open_file *open)
{
    struct open_version *version = open_file_version(open);
    int id = fuse_passthrough_open(req, open_version_fd(version));

    open_version_put(version);
    return id;
}

/* Take part in the use of the file that the kernel has.  Returns its id, or 0
   if the kernel has none. */
static int join_locked(struct open_file *open)
{
    if (open->npassthrough == 0)
        return 0;
    open->npassthrough++;
    return open->backing_id;
}

static int join(struct open_file *open)
{
    int id;

    pthread_mutex_lock(&open->lock);
    id = join_locked(open);
    pthread_mutex_unlock(&open->lock);
    return id;
}

/*
 * Let the kernel use the file that it was given as `id`, which may be 0, unless
 * another thread was faster.  Returns the id of the file that it uses; 0 if
 * none.
 *
 * Once the kernel has refused a file, as it does on some file systems, it gets
 * no more of them.  So no file is ever read both by the kernel and through the
 * daemon.
 */
static int use(struct fs *fs, struct open_file *open, int id)
{
    pthread_mutex_lock(&open->lock);
    if (id == 0)
        atomic_store(&fs->passthrough, false);
    if (open->npassthrough == 0 && atomic_load(&fs->passthrough)) {
        open->backing_id = id;
        open->npassthrough = 1;
    } else {
        id = join_locked(open);
    }
    pthread_mutex_unlock(&open->lock);
    return id;
}

void passthrough_open(fuse_req_t req, struct handle *handle,
                      struct fuse_file_info *fi)
{
    struct open_file *open = handle->open;
    struct fs *fs = request_fs(req);
    int id;

    if (!node_traits(open->node)->plain)
        return;
    fi->backing_id = join(open);
    if (fi->backing_id == 0 && atomic_load(&fs->passthrough)) {
        id = give_file(req, open);
        fi->backing_id = use(fs, open, id);
        if (id > 0 && fi->backing_id != id)
            fuse_passthrough_close(req, id);
    }
    handle->passthrough = fi->backing_id > 0;
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
