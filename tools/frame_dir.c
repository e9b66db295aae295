/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "frame/frame.h"

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text);

    return len >= strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

static bool is_index(const char *name)
{
    return strcmp(name, frame_index_names[0]) == 0 ||
           strcmp(name, frame_index_names[1]) == 0;
}

/* Is it the name of a file that belongs to a sparse frame? */
static bool is_part(const char *name)
{
    return is_index(name) || ends_with(name, ".chunk") ||
           strcmp(name, STORE_SIDECAR) == 0 ||
           strncmp(name, STORE_TEMPORARY, strlen(STORE_TEMPORARY)) == 0;
}

/* The next entry of a directory but "." and ".."; NULL at the end, or with
   errno set. */
static const char *next_name(DIR *dir)
{
    const struct dirent *entry;

    do {
        errno = 0;
        entry = readdir(dir);
    } while (entry && (strcmp(entry->d_name, ".") == 0 ||
                       strcmp(entry->d_name, "..") == 0));
    return entry ? entry->d_name : NULL;
}

static DIR *open_dir(int dirfd, const char *name)
{
    int fd =
        openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    int error = errno;

    if (!dir && fd >= 0)
        close(fd);
    errno = error;
    return dir;
}

int frame_dir_check(int dirfd, const char *name)
{
    DIR *dir = open_dir(dirfd, name);
    const char *part;
    bool has_part = false;
    int r = 0;

    if (!dir)
        return -errno;
    while (r == 0 && (part = next_name(dir))) {
        has_part = true;
        if (!is_part(part))
            r = -ENOTEMPTY;
    }
    if (r == 0)
        r = errno != 0 ? -errno : has_part ? 0 : -ENOTEMPTY;
    closedir(dir);
    return r;
}

int frame_dir_remove(int parent, const char *name)
{
    DIR *dir = open_dir(parent, name);
    const char *part;

    if (!dir)
        return -errno;
    while ((part = next_name(dir)))
        if (is_part(part))
            unlinkat(dirfd(dir), part, 0);
    closedir(dir);
    return unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* Returns -EAGAIN if others found it before it was locked, and removed it. */
static int lock_draft(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return errno == ENOENT ? -EAGAIN : -errno;
    if (flock(fd, LOCK_EX) == 0 && fstat(fd, &st) == 0 && st.st_nlink == 0) {
        close(fd);
        return -EAGAIN;
    }
    return fd;
}

int frame_dir_make_draft(int parent, const char *name)
{
    int fd;

    do {
        if (mkdirat(parent, name, 0700) < 0)
            return -errno;
        fd = lock_draft(parent, name);
    } while (fd == -EAGAIN);
    return fd;
}

/* Remove a directory unless somebody works on it. */
static void remove_stale_dir(int parent, const char *name)
{
    int fd =
        openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        frame_dir_remove(parent, name);
    close(fd);
}

void frame_dir_tidy_up(int parent)
{
    DIR *dir = open_dir(parent, ".");
    const char *name;

    if (!dir)
        return;
    while ((name = next_name(dir))) {
        if (strncmp(name, FRAME_DIR_DRAFT, strlen(FRAME_DIR_DRAFT)) == 0)
            remove_stale_dir(parent, name);
        else
            store_remove_stale(parent, name);
    }
    closedir(dir);
}

int frame_file_dress(int dirfd, const char *name, const struct stat *like)
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

/* Whoever may read the files may look them up. */
static mode_t mode_of_directory(mode_t mode)
{
    return (mode & 0777) | (mode & 0444) >> 2;
}

int frame_dir_dress(int parent, const char *name, const struct stat *like)
{
    DIR *dir = open_dir(parent, name);
    struct stat other = *like;
    const char *part;
    int r = 0;

    if (!dir)
        return -errno;
    other.st_atim.tv_nsec = UTIME_OMIT;
    other.st_mtim.tv_nsec = UTIME_OMIT;
    while (r == 0 && (part = next_name(dir)))
        r = frame_file_dress(dirfd(dir), part, is_index(part) ? like : &other);
    if (r == 0)
        r = -errno;
    closedir(dir);
    if (r < 0)
        return r;
    other.st_mode = mode_of_directory(like->st_mode);
    return frame_file_dress(parent, name, &other);
}
