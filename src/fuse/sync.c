/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "frame/frame.h"
#include "fuse/fs.h"
#include "fuse/mount_table.h"
#include "fuse/open_file.h"

static bool contains(const struct sync_set *set, dev_t dev)
{
    for (size_t i = 0; i < set->ndevs; i++)
        if (set->devs[i] == dev)
            return true;
    return false;
}

static void add(struct sync_set *set, dev_t dev)
{
    dev_t *devs = realloc(set->devs, (set->ndevs + 1) * sizeof(*devs));

    if (!devs)
        return;
    set->devs = devs;
    set->devs[set->ndevs++] = dev;
}

void sync_note(struct fs *fs, struct node *node)
{
    dev_t dev;

    pthread_mutex_lock(&fs->nodes.lock);
    dev = node->id.dev;
    if (node != &fs->nodes.root && dev != fs->dev &&
        !contains(&fs->written, dev))
        add(&fs->written, dev);
    pthread_mutex_unlock(&fs->nodes.lock);
}

/* Sync what is at a path. */
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

/* Sync the file of a frame, or the index file and the directory. */
static int sync_frame(const struct snapshot *snapshot, enum entry_kind kind)
{
    char path[64];
    int r = -ENOENT;

    if (kind != ENTRY_SPARSE) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", snapshot->fd);
        return sync_path(AT_FDCWD, path);
    }
    for (int i = 0; i < 2 && r == -ENOENT; i++)
        r = sync_path(snapshot->fd, frame_index_names[i]);
    return r == 0 && fsync(snapshot->fd) < 0 ? -errno : r;
}

/* Sync what is stored of a file.  One that was removed may have no names left,
   and a user who may not read a file has nothing to sync it by. */
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

    if (r == 0 && clean && fs->writable)
        r = sync_stored(snapshot, open->node->id.kind);
    snapshot_put(snapshot);
    return r;
}

/* Sync the file system at a path.  `name` is for the log. */
static int sync_fs(const char *path, const char *name)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int r = fd < 0 || syncfs(fd) < 0 ? -errno : 0;

    if (r < 0)
        log_error("%s: names may not last: %s", name, strerror(-r));
    if (fd >= 0)
        close(fd);
    return r;
}

static bool is_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return len <= 1 || (strncmp(path, dir, len) == 0 && path[len] == '/');
}

/*
 * Sync the mounts below a directory whose file systems are in a set, or are
 * not.  `error` receives the last error.  Returns how many there were.
 */
static size_t sync_below(const char *dir, const struct sync_set *set, bool in,
                         int *error)
{
    struct mount_entry entry;
    struct mount_table table;
    size_t n = 0;
    int r;

    if (mount_table_open(0, &table) < 0)
        return 0;
    while (mount_table_next(&table, &entry)) {
        if (!is_below(entry.path, dir) || contains(set, entry.dev) != in)
            continue;
        r = sync_fs(entry.path, entry.path);
        *error = r < 0 ? r : *error;
        n++;
    }
    mount_table_close(&table);
    return n;
}

/* Sync the file systems below a directory that were written to. */
static int sync_others(const struct fs *fs, const char *dir)
{
    bool all = true;
    int error = 0;

    for (size_t i = 0; i < fs->written.ndevs; i++) {
        const struct sync_set one = { &fs->written.devs[i], 1 };

        all = sync_below(dir, &one, true, &error) > 0 && all;
    }
    /* Subvolumes and overlays have device numbers that no mount has. */
    if (!all)
        sync_below(dir, &fs->written, false, &error);
    return error;
}

int sync_all(struct fs *fs)
{
    char link[64];
    char source[PATH_MAX];
    ssize_t len;
    int others = 0;
    int r;

    if (!fs->writable)
        return 0;
    /* Its path may lead to the mount that is over, or to another one. */
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fs->root_fd);
    len = readlink(link, source, sizeof(source) - 1);
    source[len > 0 ? len : 0] = '\0';
    if (fs->written.ndevs > 0)
        others = sync_others(fs, source);
    r = sync_fs(link, source);
    return r < 0 ? r : others;
}

void sync_set_fini(struct sync_set *set)
{
    free(set->devs);
}
