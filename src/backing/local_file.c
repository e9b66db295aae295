/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backing/local.h"
#include "frame/frame_object.h"

struct fd_path fd_path(int fd)
{
    struct fd_path path;

    snprintf(path.text, sizeof(path.text), "/proc/self/fd/%d", fd);
    return path;
}

void local_place(int dirfd, const char *name, struct backing_place *out)
{
    *out = (struct backing_place){ .ops = &local_ops, .dirfd = dirfd };
    memcpy(out->name, name, strlen(name) + 1);
}

int local_own(struct backing_place *place)
{
    place->dirfd = fcntl(place->dirfd, F_DUPFD_CLOEXEC, 0);
    return place->dirfd < 0 ? -errno : 0;
}

void local_release(struct backing_place *place)
{
    close(place->dirfd);
}

/* A directory in which an index file is looked for. */
struct index_look {
    int dirfd;
    struct stat *stat;
};

static int stat_index(void *context, const char *name)
{
    const struct index_look *look = context;

    return fstatat(look->dirfd, name, look->stat, AT_SYMLINK_NOFOLLOW) < 0
               ? -errno
               : 0;
}

int local_stat_index(int dirfd, struct stat *out, const char **index)
{
    struct index_look look = { .dirfd = dirfd, .stat = out };

    return frame_object_find_index(stat_index, &look, index);
}

bool local_is_of_kind(const struct stat *st, enum entry_kind kind)
{
    switch (kind) {
    case ENTRY_DIRECTORY:
    case ENTRY_SPARSE:
        return S_ISDIR(st->st_mode);
    case ENTRY_FRAME:
        return S_ISREG(st->st_mode);
    case ENTRY_STORE:
        return S_ISREG(st->st_mode) || S_ISDIR(st->st_mode);
    case ENTRY_PLAIN:
        return !S_ISDIR(st->st_mode);
    default:
        return false;
    }
}

/*
 * The mode of a sparse frame.  A program can read the frame if the index file
 * allows it and the directory lets the program search for that file.  If user
 * or group of the two differ, the classes of one mode are not those of the
 * other.  Then nobody gets access unless the directory lets its group and all
 * other users search.
 */
static mode_t sparse_mode(const struct stat *dir, const struct stat *index)
{
    mode_t search = dir->st_mode & 0111;

    if (dir->st_uid != index->st_uid || dir->st_gid != index->st_gid)
        search = (dir->st_mode & 0011) == 0011 ? 0111 : 0;
    return (index->st_mode & ~(mode_t)0777) | (index->st_mode & 7 * search);
}

void local_show_sparse(const struct stat *dir, struct stat *index)
{
    index->st_mode = sparse_mode(dir, index);
    index->st_dev = dir->st_dev;
    index->st_ino = dir->st_ino;
}

int local_stat_file(const struct backing_place *place, struct stat *out)
{
    return fstatat(place->dirfd, place->name, out,
                   AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0
               ? -errno
               : 0;
}

int local_open(const struct backing_place *place, int flags)
{
    int fd;

    if (place->name[0] == '\0')
        fd = open(fd_path(place->dirfd).text, flags | O_CLOEXEC);
    else
        fd = openat(place->dirfd, place->name, flags | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}
