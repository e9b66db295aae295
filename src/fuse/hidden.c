/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/hidden.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuse/remove.h"
#include "store/store.h"

enum {
    NNAMES = 1000 /* to try */
};

static int open_hidden(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

/* Make one under a name, and lock it before others find it: else -EEXIST. */
static int try_name(int at, const char *name)
{
    struct stat st;
    int fd;

    if (mkdirat(at, name, 0700) < 0)
        return -errno;
    fd = open_hidden(at, name);
    if (fd < 0)
        return fd == -ENOENT ? -EEXIST : fd;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 ||
        st.st_nlink == 0) {
        close(fd);
        return -EEXIST;
    }
    return fd;
}

int hidden_make(int at, char name[NAMES_TEMPORARY_MAX])
{
    int fd = -EEXIST;

    for (unsigned n = 0; fd == -EEXIST && n < NNAMES; n++) {
        snprintf(name, NAMES_TEMPORARY_MAX, NAMES_TEMPORARY "%ld.%u",
                 (long)getpid(), n);
        fd = try_name(at, name);
    }
    return fd;
}

void hidden_tidy_up(int at, const char *name)
{
    int fd;

    if (strncmp(name, NAMES_TEMPORARY, strlen(NAMES_TEMPORARY)) != 0)
        return;
    fd = open_hidden(at, name);
    if (fd == -ENOTDIR)
        store_remove_stale(at, name);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        remove_tree(at, name);
    close(fd);
}
