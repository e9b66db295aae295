/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/private_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/identity.h"
#include "frame/frame.h"
#include "frame/frame_object.h"
#include "frame/metalayer.h"
#include "store/store_local.h"
#include "writer/frame_dir.h"
#include "writer/swap.h"

enum {
    NNAMES = 1000 /* names to try */
};

bool private_dir_is_name(const char *name)
{
    const size_t len = strlen(STORE_TEMPORARY);

    return strncmp(name, STORE_TEMPORARY, len) == 0 && name[len] != '\0' &&
           name[len + strspn(name + len, "0123456789abcdef.")] == '\0';
}

static int open_dir(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

/* Make a directory as the program that this thread serves.  Returns 0 and the
   owner, or a negative errno. */
static int make_dir(int at, const char *name, bool for_program, uid_t *owner)
{
    int r;

    if (for_program)
        identity_begin();
    r = mkdirat(at, name, 0700) < 0 ? -errno : 0;
    *owner = identity_owner();
    if (for_program)
        identity_end();
    return r;
}

/* Give the owner all rights, because a default access control list may have
   left fewer. */
static int let_owner_in(int at, const char *name, uid_t owner)
{
    char path[sizeof("/proc/self/fd/") + 10];
    struct stat st;
    int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = 0;

    if (fd < 0)
        return -errno;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fstat(fd, &st) < 0)
        r = -errno;
    else if (st.st_uid != owner)
        r = -EEXIST;
    else if ((st.st_mode & 0700) != 0700 &&
             chmod(path, (st.st_mode & 02000) | 0700) < 0)
        r = -errno;
    close(fd);
    return r;
}

/* Make a directory and lock it.  Returns -EEXIST if the name is in use, or if
   another program found the directory before it was locked. */
static int try_name(int at, const char *name, bool for_program)
{
    struct stat st;
    uid_t owner;
    int fd;
    int r = make_dir(at, name, for_program, &owner);

    if (r == 0)
        r = let_owner_in(at, name, owner);
    if (r < 0)
        return r == -ENOENT ? -EEXIST : r;
    fd = open_dir(at, name);
    if (fd < 0)
        return fd == -ENOENT ? -EEXIST : fd;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 ||
        st.st_nlink == 0) {
        close(fd);
        return -EEXIST;
    }
    return fd;
}

int private_dir_make(int at, bool for_program, char name[PRIVATE_DIR_NAME_MAX])
{
    int fd = -EEXIST;

    for (unsigned n = 0; fd == -EEXIST && n < NNAMES; n++) {
        snprintf(name, PRIVATE_DIR_NAME_MAX, STORE_TEMPORARY "%ld.%u",
                 (long)getpid(), n);
        fd = try_name(at, name, for_program);
    }
    return fd;
}

int private_dir_mark(int fd)
{
    int mark = openat(fd, FRAME_DIR_MARK,
                      O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (mark < 0)
        return -errno;
    close(mark);
    return 0;
}

int private_dir_unmark(int fd)
{
    return unlinkat(fd, FRAME_DIR_MARK, 0) < 0 && errno != ENOENT ? -errno : 0;
}

static bool is_marked(int fd)
{
    struct stat st;

    return fstatat(fd, FRAME_DIR_MARK, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode);
}

/* Does a frame have neither chunks nor metalayers? */
static bool is_without_content(struct frame *frame)
{
    const struct frame_info *info = frame_get_info(frame);
    struct fault fault = FAULT_NONE;
    struct metalayer_list list;
    bool has_layers;

    if (info->nbytes > 0 || metalayer_list_read(frame, &list, &fault) < 0)
        return false;
    has_layers = list.nlayers > 0;
    metalayer_list_free(&list);
    return !has_layers;
}

static bool has_chunk_files(int at, const char *name)
{
    DIR *dir = frame_dir_open(at, name);
    const struct dirent *entry;
    bool found = false;

    if (!dir)
        return true;
    while (!found && (entry = frame_dir_next(dir)))
        found = frame_dir_is_chunk(entry->d_name);
    closedir(dir);
    return found;
}

/* Does a directory hold only a frame that was just made? */
static bool holds_no_content(int at, const char *name)
{
    struct fault fault = FAULT_NONE;
    struct store *store;
    struct store_stat st;
    struct frame *frame;
    bool empty;
    int r;

    if (frame_dir_check(at, name) < 0 || has_chunk_files(at, name) ||
        store_dir_open(at, name, STORE_NOATIME, &store) < 0)
        return false;
    if (store_stat(store, FRAME_OBJECT_INDEX, &st) == 0 &&
        st.version.size == 0) {
        store_close(store);
        return true;
    }
    r = frame_open(store, 0, &frame, &fault);
    store_close(store);
    if (r < 0)
        return false;
    empty = is_without_content(frame);
    frame_close(frame);
    return empty;
}

/* Remove the frames in subdirectories of a private directory. */
static void remove_frames(DIR *dir)
{
    const struct dirent *entry;

    while ((entry = frame_dir_next(dir))) {
        if (private_dir_is_name(entry->d_name))
            frame_dir_remove(dirfd(dir), entry->d_name);
    }
}

void private_dir_remove(int at, const char *name)
{
    DIR *dir = frame_dir_open(at, name);

    if (!dir)
        return;
    remove_frames(dir);
    frame_dir_remove_parts(dir);
    closedir(dir);
    unlinkat(at, name, AT_REMOVEDIR);
}

void private_dir_tidy_up(int at, const char *name)
{
    int fd;

    if (!private_dir_is_name(name))
        return;
    fd = open_dir(at, name);
    if (fd == -ENOTDIR)
        store_remove_stale(at, name);
    if (fd < 0)
        return;
    /* An empty directory needs no mark: rmdir alone removes it. */
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        unlinkat(at, name, AT_REMOVEDIR) < 0 &&
        (is_marked(fd) || holds_no_content(at, name))) {
        if (is_marked(fd))
            swap_recover(at, fd);
        private_dir_remove(at, name);
    }
    close(fd);
}

void private_dir_tidy_up_all(int at, const char *name)
{
    DIR *dir = frame_dir_open(at, name);
    const struct dirent *entry;

    if (!dir)
        return;
    while ((entry = frame_dir_next(dir)))
        private_dir_tidy_up(dirfd(dir), entry->d_name);
    closedir(dir);
}
