/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backing/folder.h"

int folder_names_add(struct folder_names *list, const char *name)
{
    if (list->nnames == list->nallocated) {
        size_t n = list->nallocated ? 2 * list->nallocated : 64;
        char **names = realloc(list->names, n * sizeof(names[0]));

        if (!names)
            return -ENOMEM;
        list->names = names;
        list->nallocated = n;
    }
    list->names[list->nnames] = strdup(name);
    if (!list->names[list->nnames])
        return -ENOMEM;
    list->nnames++;
    return 0;
}

static int add_name(void *context, const char *name)
{
    return folder_names_add(context, name);
}

static int list_directory(int dirfd, struct folder_names *list)
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
            r = folder_names_add(list, entry->d_name);
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
static void sort_names(struct folder_names *list)
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

int folder_list(const struct backing_dir *dir, struct folder_names *out)
{
    const struct folder *folder = dir->folder;
    int r = bundle_list(folder->bundle, folder->path, add_name, out);

    if (r == 0 && dir->fd >= 0)
        r = list_directory(dir->fd, out);
    sort_names(out);
    return r;
}

void folder_names_free(struct folder_names *list)
{
    for (size_t i = 0; i < list->nnames; i++)
        free(list->names[i]);
    free(list->names);
    *list = (struct folder_names){ 0 };
}
