/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "frame/frame.h"
#include "frame/frame_object.h"
#include "open/open_file.h"
#include "tree/fs.h"

void sync_note(struct fs *fs, struct node *node)
{
    dev_t dev;

    pthread_mutex_lock(&fs->nodes.lock);
    dev = node->id.dev;
    if (node != &fs->nodes.root && dev != fs->dev &&
        !sync_set_has(&fs->written, dev))
        sync_set_add(&fs->written, dev);
    pthread_mutex_unlock(&fs->nodes.lock);
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

/* Sync the file of a frame; for a sparse frame, its index file and its
   directory. */
static int sync_frame(const struct snapshot *snapshot, enum entry_kind kind)
{
    int dirfd = snapshot->fd;
    char path[64];
    int r;

    if (kind != ENTRY_SPARSE) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", snapshot->fd);
        return sync_path(AT_FDCWD, path);
    }
    r = frame_object_find_index(sync_index, &dirfd, NULL);
    return r == 0 && fsync(snapshot->fd) < 0 ? -errno : r;
}

/* Sync the stored file.  It is no error if a removed frame has no index file
   left, or if this user may not read the file and so cannot open it to sync. */
static int sync_stored(const struct snapshot *snapshot, enum entry_kind kind)
{
    int r;

    if (!snapshot->file)
        return fsync(snapshot->fd) < 0 ? -errno : 0;
    r = sync_frame(snapshot, kind);
    return r == -EACCES || r == -ENOENT ? 0 : r;
}

int sync_open_file(struct fs *fs, struct open_file *open)
{
    struct snapshot *snapshot = open_file_snapshot(open);
    bool clean = snapshot->fd >= 0 &&
                 (!snapshot->writable ||
                  (snapshot->file && file_is_settled(snapshot->file)));
    int r = open_file_sync(fs, open);

    if (r == 0 && clean && fs->source.writable)
        r = sync_stored(snapshot, open->node->id.kind);
    snapshot_put(snapshot);
    return r;
}
