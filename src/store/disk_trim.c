/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/disk_trim.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    BLOCK = 512, /* unit of st_blocks */
    FREE_PART = 8,
    ABANDONED = 60 * 60 /* seconds after which nobody writes a file any more */
};

/* A file that may be removed. */
struct old {
    struct timespec used;
    uint64_t bytes;
    char *name;
};

struct files {
    struct old *files;
    size_t n;
    size_t max;
    uint64_t bytes;
};

static bool add(struct files *files, const char *name, const struct stat *st)
{
    struct old *file;

    if (files->n == files->max) {
        size_t max = files->max > 0 ? 2 * files->max : 256;
        void *grown = reallocarray(files->files, max, sizeof(*file));

        if (!grown)
            return false;
        files->files = grown;
        files->max = max;
    }
    file = &files->files[files->n];
    *file = (struct old){
        .used = st->st_mtim,
        .bytes = (uint64_t)st->st_blocks * BLOCK,
        .name = strdup(name),
    };
    if (!file->name)
        return false;
    files->n++;
    files->bytes += file->bytes;
    return true;
}

static bool is_temporary(const char *name)
{
    return strncmp(name, DISK_TEMPORARY, strlen(DISK_TEMPORARY)) == 0;
}

static void list_files(DIR *dir, struct files *files)
{
    time_t now = time(NULL);
    struct dirent *entry;
    struct stat st;

    while ((entry = readdir(dir))) {
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(st.st_mode))
            continue;
        if (is_temporary(entry->d_name)) {
            if (now - st.st_mtime > ABANDONED)
                unlinkat(dirfd(dir), entry->d_name, 0);
        } else if (!add(files, entry->d_name, &st)) {
            return;
        }
    }
}

static int compare(const void *a, const void *b)
{
    const struct timespec *left = &((const struct old *)a)->used;
    const struct timespec *right = &((const struct old *)b)->used;

    if (left->tv_sec != right->tv_sec)
        return left->tv_sec < right->tv_sec ? -1 : 1;
    return (left->tv_nsec > right->tv_nsec) - (left->tv_nsec < right->tv_nsec);
}

/* Remove the oldest files until so many bytes are left. */
static void reduce(int fd, struct files *files, uint64_t keep)
{
    qsort(files->files, files->n, sizeof(files->files[0]), compare);
    for (size_t i = 0; i < files->n && files->bytes > keep; i++) {
        unlinkat(fd, files->files[i].name, 0);
        files->bytes -= files->files[i].bytes;
    }
}

void disk_trim(int fd, uint64_t limit)
{
    DIR *dir = fdopendir(fd);
    struct files files = { 0 };
    uint64_t from;

    if (!dir) {
        close(fd);
        return;
    }
    list_files(dir, &files);
    from = limit > 0 ? limit : files.bytes;
    if (files.n > 0 && files.bytes >= from)
        reduce(dirfd(dir), &files, from - from / FREE_PART);
    for (size_t i = 0; i < files.n; i++)
        free(files.files[i].name);
    free(files.files);
    closedir(dir);
}
