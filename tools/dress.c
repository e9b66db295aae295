/* SPDX-License-Identifier: BSD-3-Clause */
#include "dress.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "frame/frame_object.h"
#include "writer/frame_dir.h"

int dress_file(int dirfd, const char *name, const struct stat *like)
{
    const struct timespec times[] = { like->st_atim, like->st_mtim };
    mode_t mode = like->st_mode & 07777;

    if (fchownat(dirfd, name, like->st_uid, like->st_gid, AT_SYMLINK_NOFOLLOW) <
        0) {
        if (errno != EPERM && errno != EINVAL)
            return -errno;
        mode &= 0777;
    }
    if (fchmodat(dirfd, name, mode, 0) < 0 ||
        utimensat(dirfd, name, times, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return 0;
}

/* Every user who may read the files may also search the directory. */
static mode_t mode_of_directory(mode_t mode)
{
    return (mode & 0777) | (mode & 0444) >> 2;
}

int dress_dir(int parent, const char *name, const struct stat *like)
{
    DIR *dir = frame_dir_open(parent, name);
    const struct dirent *entry;
    struct stat other = *like;
    int r = 0;

    if (!dir)
        return -errno;
    other.st_atim.tv_nsec = UTIME_OMIT;
    other.st_mtim.tv_nsec = UTIME_OMIT;
    while (r == 0 && (entry = frame_dir_next(dir)))
        r = dress_file(dirfd(dir), entry->d_name,
                       frame_object_is_index(entry->d_name) ? like : &other);
    if (r == 0)
        r = -errno;
    closedir(dir);
    if (r < 0)
        return r;
    other.st_mode = mode_of_directory(like->st_mode);
    return dress_file(parent, name, &other);
}
