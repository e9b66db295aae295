/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/plugin_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

/* Can nobody change it but root and this user?  In a sticky directory, nobody
   can exchange what belongs to another. */
static bool is_safe(const struct stat *st)
{
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return false;
    return !(st->st_mode & (S_IWGRP | S_IWOTH)) ||
           (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX));
}

/* Replace the descriptor of a directory by that of one in it. */
static int enter(int *dirfd, const char *name)
{
    int fd =
        openat(*dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int r = 0;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        r = -errno;
    else if (!is_safe(&st))
        r = -EPERM;
    close(*dirfd);
    *dirfd = fd;
    return r;
}

/* Open each directory of a path without links, so that all are checked. */
static int open_path(const char *path)
{
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *end = path;
    int r = fd < 0 ? -errno : 0;

    while (r == 0 && *end != '\0') {
        char name[NAME_MAX + 1];
        size_t len = strcspn(++end, "/");

        snprintf(name, sizeof(name), "%.*s", (int)len, end);
        end += len;
        r = enter(&fd, name);
    }
    if (r == -EPERM)
        log_error("plug-ins in %s are not used, because others could change "
                  "%.*s",
                  path, (int)(end - path), path);
    if (r < 0 && fd >= 0)
        close(fd);
    return r < 0 ? r : fd;
}

int plugin_dir_open(const char *dir)
{
    char *path = realpath(dir, NULL);
    int fd;

    if (!path)
        return -errno;
    fd = open_path(path);
    free(path);
    return fd;
}

/* The descriptor stays open as long as the library is loaded, because the
   dynamic linker knows libraries by their paths. */
static void *load(int fd, const char *name)
{
    char path[32];
    void *library;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        log_error("plug-in %s: %s", name, dlerror());
    return library;
}

static const void *find(void *library, const char *name, const char *symbol)
{
    const void *found = dlsym(library, symbol);

    if (!found)
        log_error("plug-in %s: does not define %s", name, symbol);
    return found;
}

const void *plugin_file_load(int dirfd, const char *name, const char *symbol)
{
    const void *found = NULL;
    struct stat st;
    void *library = NULL;
    int fd;

    fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        if (errno != ENOENT)
            log_error("plug-in %s: %s", name, strerror(errno));
        return NULL;
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        log_error("plug-in %s: is no ordinary file", name);
    } else if (!is_safe(&st)) {
        log_error("plug-in %s: is not loaded, because others could change it",
                  name);
    } else {
        library = load(fd, name);
        if (library)
            found = find(library, name, symbol);
    }
    if (!library)
        close(fd);
    return found;
}
