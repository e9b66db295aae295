/* SPDX-License-Identifier: BSD-3-Clause */
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_local.h"

struct top {
    const char *path;
    int fd;
};

static struct top *tops;
static size_t ntops;

int confine_to(const char *top, int fd)
{
    struct top *more = reallocarray(tops, ntops + 1, sizeof(*tops));

    if (!more)
        return -ENOMEM;
    tops = more;
    tops[ntops++] = (struct top){ top, fd };
    return 0;
}

/* Find the tree that a path belongs to; the innermost one if it is in several.
   Returns its descriptor, or -1 if the user typed the path.  `below` receives
   the path in it. */
static int find_top(const char *path, const char **below)
{
    size_t longest = 0;
    int fd = -1;

    for (size_t i = 0; i < ntops; i++) {
        size_t len = strlen(tops[i].path);

        if (strncmp(path, tops[i].path, len) != 0 || path[len] != '/' ||
            (fd >= 0 && len < longest))
            continue;
        *below = path + len + 1;
        longest = len;
        fd = tops[i].fd;
    }
    return fd;
}

bool confine_has(const char *path)
{
    const char *below;

    return find_top(path, &below) >= 0;
}

/* Open a directory of the tree to list it and to sync it. */
static int open_dir(int top, const char *below)
{
    int place = store_local_open(top, below, 0, S_IFDIR);
    int fd;

    if (place < 0)
        return place;
    fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        fd = -errno;
    close(place);
    return fd;
}

int confine_open(const char *path, mode_t type)
{
    const char *below;
    int top = find_top(path, &below);
    int fd;

    if (top >= 0 && S_ISDIR(type))
        return open_dir(top, below[0] != '\0' ? below : ".");
    if (top >= 0)
        return store_local_open(top, below, 0, type);
    fd = open(path, O_RDONLY | O_CLOEXEC | (S_ISDIR(type) ? O_DIRECTORY : 0));
    return fd < 0 ? -errno : fd;
}

int confine_open_path(const char *path)
{
    const char *below;
    const char *name;
    int parent;
    int fd;

    if (find_top(path, &below) < 0) {
        fd = open(path, O_PATH | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
    }
    parent = confine_open_parent(path, &name);
    if (parent < 0)
        return parent;
    fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        fd = -errno;
    close(parent);
    return fd;
}

int confine_open_parent(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) + 1 : 0;
    char parent[PATH_MAX] = ".";

    if (len >= sizeof(parent))
        return -ENAMETOOLONG;
    *name = path + len;
    if (slash) {
        memcpy(parent, path, len); /* with the slash, by which it is found */
        parent[len] = '\0';
    }
    return confine_open(parent, S_IFDIR);
}

int confine_store_open(const char *path, unsigned flags, struct store **out)
{
    const char *below;
    int top = find_top(path, &below);
    int r;

    if (top < 0)
        return store_path_open(path, flags, out);
    r = store_file_open(top, below, flags, out);
    return r == -EINVAL || r == -EISDIR ? store_dir_open(top, below, flags, out)
                                        : r;
}
