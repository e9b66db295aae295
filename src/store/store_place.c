/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/store_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/store_local_private.h"

int store_place_stat(int dir, const char *name, struct stat *out)
{
    int fd = store_local_reach(dir, name, O_PATH | O_NOFOLLOW);
    int r;

    if (fd == -EXDEV)
        return -EBUSY;
    if (fd < 0)
        return fd;
    r = fstat(fd, out) < 0 ? -errno : 0;
    close(fd);
    return r;
}

int store_place_check(int dir, const char *name, const struct stat *file)
{
    struct stat there;
    int r = store_place_stat(dir, name, &there);

    if (r < 0)
        return r == -ENOENT || r == -ELOOP ? -ESTALE : r;
    return store_version_same_object(file, &there) ? 0 : -ESTALE;
}

int store_place_path(int fd, char path[PATH_MAX])
{
    char link[32];
    ssize_t len;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    len = readlink(link, path, PATH_MAX - 1);
    if (len < 0)
        return -errno;
    path[len] = '\0';
    return path[0] == '/' ? 0 : -ENOENT;
}

/* Length of the common start of two absolute paths, in whole names. */
static size_t common_len(const char *a, const char *b)
{
    size_t common = 0;

    for (size_t i = 0;; i++) {
        if ((a[i] == '/' || a[i] == '\0') && (b[i] == '/' || b[i] == '\0'))
            common = i;
        if (a[i] != b[i] || a[i] == '\0')
            return common;
    }
}

/* Build the relative path from a directory to a file; both paths are
   absolute. */
static int find_way(const char *dir, const char *file, char way[PATH_MAX])
{
    size_t common = common_len(dir, file);
    size_t len = 0;

    for (const char *rest = dir + common; *rest != '\0'; rest++) {
        if (rest[0] != '/' || rest[1] == '\0')
            continue;
        if (len + 3 >= PATH_MAX)
            return -ENAMETOOLONG;
        memcpy(way + len, "../", 3);
        len += 3;
    }
    file += common;
    file += *file == '/';
    if (len + strlen(file) >= PATH_MAX)
        return -ENAMETOOLONG;
    strcpy(way + len, file);
    return 0;
}

/* The file was moved: make its new place this one. */
static int follow_way(struct store_place *place, char *way,
                      const struct stat *mine)
{
    char *slash = strrchr(way, '/');
    const char *name = slash ? slash + 1 : way;
    int dir;
    int r;

    if (slash)
        *slash = '\0';
    dir =
        store_local_reach(place->dir, slash ? way : ".", O_PATH | O_DIRECTORY);
    if (dir < 0 || strlen(name) > NAME_MAX)
        r = -ESTALE;
    else
        r = store_place_check(dir, name, mine);
    if (r == 0) {
        close(place->dir);
        place->dir = dir;
        strcpy(place->name, name);
    } else if (dir >= 0) {
        close(dir);
    }
    return r;
}

static int follow(struct store_place *place, int fd, const struct stat *mine)
{
    char from[PATH_MAX];
    char to[PATH_MAX];
    char way[PATH_MAX];

    if (store_place_path(place->dir, from) < 0 ||
        store_place_path(fd, to) < 0 || find_way(from, to, way) < 0)
        return -ESTALE;
    return follow_way(place, way, mine);
}

int store_place_find(struct store_place *place, int fd)
{
    struct stat mine;
    int r;

    if (fstat(fd, &mine) < 0)
        return -errno;
    if (mine.st_nlink == 0)
        return -ENOENT;
    if (mine.st_nlink > 1)
        return -EMLINK;
    r = store_place_check(place->dir, place->name, &mine);
    return r == -ESTALE ? follow(place, fd, &mine) : r;
}

/* Open the directory of a path, and keep the name in it. */
static int open_parent(struct store_place *place, int dirfd, const char *path,
                       unsigned flags)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t len = slash ? (size_t)(slash - path) + (slash == path) : 0;
    char parent[PATH_MAX] = ".";

    if (strlen(name) > NAME_MAX || len >= sizeof(parent))
        return -ENAMETOOLONG;
    if (name[0] == '\0')
        return -EINVAL;
    if (len > 0) {
        memcpy(parent, path, len);
        parent[len] = '\0';
    }
    strcpy(place->name, name);
    place->dir = store_local_open(dirfd, parent, flags, S_IFDIR);
    return place->dir < 0 ? place->dir : 0;
}

int store_place_open(struct store_place *place, int dirfd, const char *path,
                     int fd, unsigned flags)
{
    char real[PATH_MAX];

    if (fd >= 0 && flags & STORE_FOLLOW) {
        int r = store_place_path(fd, real);

        if (r < 0)
            return r;
        path = real;
    }
    return open_parent(place, dirfd, path, flags);
}
