/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backing/backing_source.h"
#include "backing/folder.h"
#include "backing/local.h"
#include "backing/local_seen.h"
#include "base/identity.h"
#include "store/store_version.h"
#include "writer/private_dir.h"

/* A directory that is listed.  Its stream owns the descriptor. */
struct local_list {
    DIR *stream;
    off_t off; /* of the next entry of the stream */
};

/* Is a directory the one that holds the mount point? */
static bool holds_mount(const struct backing_source *source, int fd)
{
    struct stat st;

    return source->mounted && fstat(fd, &st) == 0 &&
           store_version_same_object(&st, &source->mounted_in);
}

int local_dir_open(const struct backing_place *place,
                   const struct backing_opening *how, struct backing_dir *out,
                   struct fault *fault)
{
    bool is_source =
        place->dirfd == how->source->fd && strcmp(place->name, ".") == 0;
    int fd;

    if (how->kind == ENTRY_STORE || how->kind == ENTRY_BUNDLE_DIR)
        return folder_open(place, how->bundle_path, out, fault);
    fd = is_source && !how->list
             ? how->source->fd
             : local_open(place, (how->list ? O_RDONLY : O_PATH) | O_DIRECTORY);
    if (fd < 0)
        return fault_set(fault, fd, 0, NULL);
    out->ops = &local_ops;
    out->fd = fd;
    /* While a program lists a directory, no frame in it is to look busy. */
    out->state = how->list ? NULL : local_seen_new();
    out->except = holds_mount(how->source, fd) ? how->source->mounted : NULL;
    return 0;
}

void local_dir_close(struct backing_dir *dir)
{
    struct local_list *list = dir->list;

    if (list)
        closedir(list->stream);
    else if (dir->fd != dir->source->fd)
        close(dir->fd);
    free(list);
    local_seen_free(dir->state);
}

void local_place_in(const struct backing_dir *dir, const char *name,
                    enum entry_kind kind __attribute__((unused)),
                    struct backing_place *out)
{
    local_place(dir->fd, name, out);
    out->holder = dir->state;
}

int local_list_begin(struct backing_dir *dir)
{
    struct local_list *list;
    int r = identity_check(dir->fd, R_OK);

    if (r < 0)
        return r;
    list = calloc(1, sizeof(*list));
    if (!list)
        return -ENOMEM;
    if (dir->source->noatime)
        store_leave_atime(dir->fd);
    list->stream = fdopendir(dir->fd);
    if (!list->stream) {
        r = -errno;
        free(list);
        return r;
    }
    dir->list = list;
    return 0;
}

/* Go to an offset of a directory. */
static void seek_list(struct local_list *list, off_t off)
{
    if (off == list->off)
        return;
    if (off == 0)
        rewinddir(list->stream);
    else
        seekdir(list->stream, off);
}

int local_list_next(struct backing_dir *dir, off_t off,
                    struct backing_listed *out)
{
    struct local_list *list = dir->list;
    const struct dirent *entry;

    seek_list(list, off);
    errno = 0;
    entry = readdir(list->stream);
    if (!entry)
        return -errno;
    /* Remove files that a killed daemon has left behind. */
    if (dir->source->writable && names_is_private(entry->d_name))
        private_dir_tidy_up(dir->fd, entry->d_name);
    list->off = entry->d_off;
    out->type = entry->d_type;
    out->unsure = false;
    out->ino = entry->d_ino;
    out->next = entry->d_off;
    memcpy(out->name, entry->d_name, strlen(entry->d_name) + 1);
    return 1;
}

int local_dir_stat(const struct backing_dir *dir, struct stat *out)
{
    return fstat(dir->fd, out) < 0 ? -errno : 0;
}

int local_dir_sync(const struct backing_dir *dir)
{
    return fsync(dir->fd) < 0 ? -errno : 0;
}
