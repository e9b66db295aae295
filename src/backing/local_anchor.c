/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "backing/local.h"
#include "backing/trashed_frame.h"
#include "base/identity.h"
#include "frame/frame_object.h"

/* Set an anchor to a descriptor, which may be a negative errno. */
static int set(struct backing_anchor *anchor, enum entry_kind kind, int fd)
{
    if (fd < 0)
        return fd;
    anchor->ops = &local_anchor_ops;
    anchor->kind = kind;
    anchor->fd = fd;
    return 0;
}

int local_open_file(const struct backing_place *place, int flags,
                    struct backing_anchor *out)
{
    return set(out, ENTRY_PLAIN, local_open(place, flags));
}

/* The directory of a sparse frame is opened so that it can be locked. */
int local_anchor(const struct backing_place *place, enum entry_kind kind,
                 struct backing_anchor *out)
{
    int flags = kind == ENTRY_SPARSE ? O_RDONLY | O_DIRECTORY : O_PATH;

    return set(out, kind, local_open(place, flags));
}

static int duplicate(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    return copy < 0 ? -ESTALE : copy;
}

int local_dir_anchor(const struct backing_dir *dir, struct backing_anchor *out)
{
    return set(out, ENTRY_DIRECTORY, duplicate(dir->fd));
}

static void close_anchor(struct backing_anchor *anchor)
{
    close(anchor->fd);
}

static int dup_anchor(const struct backing_anchor *anchor,
                      struct backing_anchor *out)
{
    return set(out, anchor->kind, duplicate(anchor->fd));
}

static int stat_anchor(const struct backing_anchor *anchor, struct stat *out)
{
    return fstat(anchor->fd, out) < 0 ? -errno : 0;
}

static int statvfs_anchor(const struct backing_anchor *anchor,
                          struct statvfs *out)
{
    return fstatvfs(anchor->fd, out) < 0 ? -errno : 0;
}

static int check(const struct backing_anchor *anchor, int how)
{
    return identity_check(anchor->fd, how);
}

static void place_anchor(const struct backing_anchor *anchor,
                         struct backing_place *out)
{
    bool directory =
        anchor->kind == ENTRY_SPARSE || anchor->kind == ENTRY_DIRECTORY;

    local_place(anchor->fd, directory ? "." : "", out);
    out->owned = true;
}

/* Sync the file or directory at a path. */
static int sync_path(int dirfd, const char *path)
{
    int fd = openat(dirfd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int r;

    if (fd < 0)
        return -errno;
    r = fsync(fd) < 0 ? -errno : 0;
    close(fd);
    return r;
}

static int sync_index(void *context, const char *name)
{
    const int *dirfd = context;

    return sync_path(*dirfd, name);
}

static int sync_anchor(const struct backing_anchor *anchor)
{
    int fd = anchor->fd;
    int r;

    if (anchor->kind == ENTRY_PLAIN)
        return fsync(fd) < 0 ? -errno : 0;
    if (anchor->kind != ENTRY_SPARSE)
        return sync_path(AT_FDCWD, fd_path(fd).text);
    r = frame_object_find_index(sync_index, &fd, NULL);
    return r == 0 && fsync(fd) < 0 ? -errno : r;
}

/* Nothing happens to a process that gets SIGURG when another one waits for the
   file. */
static int lease(const struct backing_anchor *anchor)
{
    struct stat st;
    int r;

    if (fstat(anchor->fd, &st) < 0 || fcntl(anchor->fd, F_SETSIG, SIGURG) < 0)
        return -errno;
    identity_begin_lease(st.st_uid, st.st_gid);
    r = fcntl(anchor->fd, F_SETLEASE, F_WRLCK) < 0 ? -errno : 0;
    identity_end_owner();
    return r;
}

static bool is_leased(const struct backing_anchor *anchor)
{
    return fcntl(anchor->fd, F_GETLEASE) == F_WRLCK;
}

static void remove_anchor(const struct backing_anchor *anchor,
                          const struct stat *st)
{
    if (anchor->kind == ENTRY_SPARSE)
        trashed_frame_remove(anchor->fd, st);
}

const struct backing_anchor_ops local_anchor_ops = {
    .close = close_anchor,
    .dup = dup_anchor,
    .stat = stat_anchor,
    .statvfs = statvfs_anchor,
    .check = check,
    .place = place_anchor,
    .sync = sync_anchor,
    .lease = lease,
    .is_leased = is_leased,
    .remove = remove_anchor,
};
