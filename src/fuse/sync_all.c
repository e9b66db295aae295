/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/sync_all.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "fuse/mount_table.h"
#include "tree/fs.h"

/* Report the result of syncing a file system.  Returns the result. */
static int finish_sync(const char *name, int r)
{
    if (r < 0)
        log_error("%s: names may not last: %s", name, strerror(-r));
    return r;
}

/* Sync the file system at a path. */
static int sync_fs(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int r = fd < 0 || syncfs(fd) < 0 ? -errno : 0;

    if (fd >= 0)
        close(fd);
    return finish_sync(path, r);
}

static bool is_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return len <= 1 || (strncmp(path, dir, len) == 0 && path[len] == '/');
}

/*
 * Sync the mounts below a directory whose file systems are in `set`, or if `in`
 * is false those that are not.  `error` receives the last error.  Returns the
 * number of mounts.
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
        if (!is_below(entry.path, dir) || sync_set_has(set, entry.dev) != in)
            continue;
        r = sync_fs(entry.path);
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
    /* Files of subvolumes and overlays have device numbers that no mount has.
       So if a device was not found, sync all other mounts as well. */
    if (!all)
        sync_below(dir, &fs->written, false, &error);
    return error;
}

int sync_all(struct fs *fs)
{
    char source[PATH_MAX];
    int others = 0;
    int r;

    if (!fs->source.writable)
        return 0;
    backing_path(&fs->source, source);
    if (fs->written.ndevs > 0)
        others = sync_others(fs, source);
    r = finish_sync(source, backing_sync(&fs->source));
    return r < 0 ? r : others;
}
