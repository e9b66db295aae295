/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/source_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backing/folder.h"
#include "backing/local.h"
#include "backing/single_frame.h"

static int open_path(const char *path, int flags)
{
    int fd = open(path, O_PATH | O_CLOEXEC | flags);

    return fd < 0 ? -errno : fd;
}

/*
 * Split off the last name of a path.
 *
 *  name  receives it; the caller frees it, also after an error
 *
 * Returns the directory, opened with O_PATH, or an error.
 */
static int split(const char *path, char **name)
{
    const char *slash = strrchr(path, '/');
    char *parent = strndup(path, slash > path ? (size_t)(slash - path) : 1);
    int r = -ENOMEM;

    *name = strdup(slash + 1);
    if (parent && *name)
        r = open_path(parent, O_DIRECTORY);
    free(parent);
    return r;
}

static int kind_of_directory(const char *path)
{
    int dir = open_path(path, O_DIRECTORY);
    int r;

    if (dir < 0)
        return dir;
    r = local_kind_of_directory(dir);
    close(dir);
    return r;
}

static int kind_of_file(const char *path)
{
    char *name;
    int dir = split(path, &name);
    int r = dir;

    if (dir >= 0) {
        r = folder_is_store(dir, name) > 0 ? ENTRY_STORE : ENTRY_FRAME;
        close(dir);
    }
    free(name);
    return r;
}

int source_open_kind(const char *path, const struct stat *st, bool frame)
{
    if (S_ISDIR(st->st_mode))
        return kind_of_directory(path);
    if (!S_ISREG(st->st_mode))
        return -EINVAL;
    return frame ? ENTRY_FRAME : kind_of_file(path);
}

int source_open_directory(struct backing_source *source, const char *path)
{
    source->ops = &local_source_ops;
    source->fd = open_path(path, O_DIRECTORY);
    return source->fd < 0 ? source->fd : 0;
}

int source_open_hide(struct backing_source *source, const char *mountpoint)
{
    int dir = split(mountpoint, &source->mounted);
    int r = dir < 0 ? dir : 0;

    if (r == 0 && fstat(dir, &source->mounted_in) < 0)
        r = -errno;
    if (dir >= 0)
        close(dir);
    return r;
}

int source_open_store(struct backing_source *source, const char *path,
                      char **name)
{
    source->ops = &local_source_ops;
    *name = NULL;
    source->fd = open_path(path, O_DIRECTORY);
    if (source->fd == -ENOTDIR)
        source->fd = split(path, name);
    else
        *name = strdup(".");
    if (source->fd < 0)
        return source->fd;
    return *name ? 0 : -ENOMEM;
}

int source_open_frame(struct backing_source *source, const char *path,
                      enum entry_kind kind, bool pinned)
{
    source->ops = &single_frame_source_ops;
    source->only_kind = kind;
    source->pinned = pinned;
    source->fd = split(path, &source->only);
    if (source->fd >= 0 && pinned) {
        close(source->fd);
        source->fd = open_path(path, 0);
    }
    return source->fd < 0 ? source->fd : 0;
}
