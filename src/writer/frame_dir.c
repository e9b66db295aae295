/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/frame_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/frame_object.h"
#include "store/store_local.h"

bool frame_dir_is_chunk(const char *name)
{
    size_t len = strspn(name, "0123456789ABCDEF");

    return (len == 8 || len == 16) && strcmp(name + len, ".chunk") == 0;
}

bool frame_dir_is_part(const char *name)
{
    return frame_object_is_index(name) || frame_dir_is_chunk(name) ||
           strcmp(name, STORE_LOCK_SUFFIX) == 0 ||
           strncmp(name, STORE_TEMPORARY, strlen(STORE_TEMPORARY)) == 0;
}

DIR *frame_dir_open(int dirfd, const char *name)
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

const struct dirent *frame_dir_next(DIR *dir)
{
    const struct dirent *entry;

    do {
        errno = 0;
        entry = readdir(dir);
    } while (entry && (strcmp(entry->d_name, ".") == 0 ||
                       strcmp(entry->d_name, "..") == 0));
    return entry;
}

static bool is_regular(DIR *dir, const struct dirent *entry)
{
    struct stat st;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_REG;
    return fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode);
}

static bool is_own(DIR *dir, const struct dirent *entry)
{
    return frame_dir_is_part(entry->d_name) && is_regular(dir, entry);
}

int frame_dir_check(int dirfd, const char *name)
{
    DIR *dir = frame_dir_open(dirfd, name);
    const struct dirent *entry;
    bool has_part = false;
    int r = 0;

    if (!dir)
        return -errno;
    while (r == 0 && (entry = frame_dir_next(dir))) {
        has_part = true;
        if (!is_own(dir, entry))
            r = -ENOTEMPTY;
    }
    if (r == 0)
        r = errno != 0 ? -errno : has_part ? 0 : -ENOTEMPTY;
    closedir(dir);
    return r;
}

void frame_dir_remove_parts(DIR *dir)
{
    const struct dirent *entry;

    unlinkat(dirfd(dir), FRAME_OBJECT_INDEX, 0);
    rewinddir(dir);
    while ((entry = frame_dir_next(dir))) {
        if (is_own(dir, entry) && strcmp(entry->d_name, FRAME_DIR_MARK) != 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    }
    unlinkat(dirfd(dir), FRAME_DIR_MARK, 0);
}

int frame_dir_remove(int parent, const char *name)
{
    DIR *dir = frame_dir_open(parent, name);

    if (!dir)
        return -errno;
    frame_dir_remove_parts(dir);
    closedir(dir);
    return unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}
