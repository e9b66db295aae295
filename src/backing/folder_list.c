/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backing/folder_private.h"
#include "backing/name_list.h"
#include "base/identity.h"

static int add_name(void *context, const char *name)
{
    return name_list_add(context, name);
}

static int list_directory(int dirfd, struct name_list *list)
{
    int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int r = 0;

    if (!dir) {
        r = -errno;
        if (fd >= 0)
            close(fd);
        return r;
    }
    while (r == 0 && (errno = 0, entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            r = name_list_add(list, entry->d_name);
    }
    if (r == 0)
        r = -errno;
    closedir(dir);
    return r;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sort the names, and drop those that both the directory and the bundle
   have. */
static void sort_names(struct name_list *list)
{
    size_t n = 0;

    if (list->nnames > 0)
        qsort(list->names, list->nnames, sizeof(list->names[0]), compare);
    for (size_t i = 0; i < list->nnames; i++) {
        if (n > 0 && strcmp(list->names[n - 1], list->names[i]) == 0)
            free(list->names[i]);
        else
            list->names[n++] = list->names[i];
    }
    list->nnames = n;
}

/* The program must be allowed to read the directory, or the file of the store
   that alone holds the folder. */
static int check_access(const struct backing_dir *dir)
{
    const struct folder *folder = folder_of(dir);
    int fd = dir->fd;
    int r;

    if (fd < 0)
        fd = openat(folder->at, folder->file, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    r = identity_check(fd, R_OK);
    if (fd != dir->fd)
        close(fd);
    return r;
}

int folder_list_begin(struct backing_dir *dir)
{
    const struct folder *folder = folder_of(dir);
    struct name_list *list;
    int r = check_access(dir);

    if (r < 0)
        return r;
    list = dir->list = calloc(1, sizeof(*list));
    if (!list)
        return -ENOMEM;
    r = bundle_list(folder->bundle, folder->path, add_name, list);
    if (r == 0 && dir->fd >= 0)
        r = list_directory(dir->fd, list);
    sort_names(list);
    return r;
}

void folder_list_free(struct backing_dir *dir)
{
    if (!dir->list)
        return;
    name_list_free(dir->list);
    free(dir->list);
}

static void name_of(const struct backing_dir *dir, uint64_t no,
                    struct backing_listed *out)
{
    const struct name_list *list = dir->list;

    snprintf(out->name, sizeof(out->name), "%s", list->names[no]);
}

int folder_list_next(struct backing_dir *dir, off_t off,
                     struct backing_listed *out)
{
    const struct name_list *list = dir->list;

    return backing_list_numbered(dir, off, list->nnames, name_of, out);
}
