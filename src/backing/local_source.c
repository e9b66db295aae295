/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backing/backing_source.h"
#include "backing/local.h"
#include "store/store_local.h"
#include "writer/private_dir.h"

static int find(struct backing_source *source, const char *dir,
                const char *name, enum entry_kind kind __attribute__((unused)),
                struct backing_place *out)
{
    int fd = source->fd;

    if (dir[0] != '\0')
        fd = store_local_open(source->fd, dir, 0, S_IFDIR);
    /* It was a directory when it was looked up. */
    if (fd < 0)
        return fd == -EINVAL || fd == -ENOENT ? -ESTALE : fd;
    local_place(fd, name, out);
    out->owned = fd != source->fd;
    return 0;
}

int local_statfs(const struct backing_source *source, struct statvfs *out)
{
    return fstatvfs(source->fd, out) < 0 ? -errno : 0;
}

/* SOURCE's path may now lead to the mount that has ended, or to another one, so
   use the descriptor. */
int local_sync(const struct backing_source *source)
{
    int fd = open(fd_path(source->fd).text, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int r = fd < 0 || syncfs(fd) < 0 ? -errno : 0;

    if (fd >= 0)
        close(fd);
    return r;
}

void local_path(const struct backing_source *source, char out[PATH_MAX])
{
    ssize_t len = readlink(fd_path(source->fd).text, out, PATH_MAX - 1);

    out[len > 0 ? len : 0] = '\0';
}

/* An overlay is a stacked file system. */
bool local_may_pass_through(const struct backing_source *source)
{
    struct statfs st;

    return fstatfs(source->fd, &st) < 0 || st.f_type != OVERLAYFS_SUPER_MAGIC;
}

static void tidy_up(const struct backing_source *source)
{
    private_dir_tidy_up_all(source->fd, ".");
}

const struct backing_source_ops local_source_ops = {
    .find = find,
    .statfs = local_statfs,
    .sync = local_sync,
    .tidy_up = tidy_up,
    .path = local_path,
    .may_pass_through = local_may_pass_through,
};
