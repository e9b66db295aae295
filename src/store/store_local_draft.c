/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_local_private.h"
#include "store/store_place.h"

/*
 * Lock a draft, because store_remove_stale() would remove an unlocked one.  If
 * there are no locks, that function removes nothing.  Returns false if the
 * draft was removed before it was locked.
 */
static bool lock_draft(const struct store_local *draft)
{
    struct stat st;

    if (flock(draft->fd, LOCK_EX) < 0)
        return true;
    return fstat(draft->fd, &st) < 0 || st.st_nlink > 0;
}

void store_stale_name(const struct stat *file, char name[STORE_DRAFT_NAME_LEN])
{
    snprintf(name, STORE_DRAFT_NAME_LEN, STORE_TEMPORARY "%016" PRIx64,
             (uint64_t)file->st_ino);
}

/*
 * Make the name by which a draft is recognised even after its process has
 * ended: the number of its inode.  The number of `like` follows if the draft is
 * to be exchanged with that file, because `like` then bears the name for a
 * moment.
 */
static int name_after(int fd, int like, char name[STORE_DRAFT_NAME_LEN])
{
    struct stat st;
    size_t len;

    if (fstat(fd, &st) < 0)
        return -errno;
    store_stale_name(&st, name);
    len = strlen(name);
    if (like < 0)
        return 0;
    if (fstat(like, &st) < 0)
        return -errno;
    snprintf(name + len, STORE_DRAFT_NAME_LEN - len, ".%016" PRIx64,
             (uint64_t)st.st_ino);
    return 0;
}

/* Is this the name that name_after() gives to the file, or to the draft that
   was exchanged with it? */
static bool is_named_after(const char *name, const struct stat *st)
{
    const char *rest = name + strlen(STORE_TEMPORARY);
    char number[16 + 1];

    snprintf(number, sizeof(number), "%016" PRIx64, (uint64_t)st->st_ino);
    if (strcmp(rest, number) == 0)
        return true;
    return strlen(rest) == 16 + 1 + 16 && rest[16] == '.' &&
           (memcmp(rest, number, 16) == 0 ||
            strcmp(rest + 16 + 1, number) == 0);
}

/* Get the name of an open file or directory, if it is a temporary one; else
   NULL. */
static const char *temporary_name(int fd, char path[PATH_MAX])
{
    const char *name;

    if (store_place_path(fd, path) < 0)
        return NULL;
    name = strrchr(path, '/') + 1;
    return strncmp(name, STORE_TEMPORARY, strlen(STORE_TEMPORARY)) == 0 ? name
                                                                        : NULL;
}

bool store_local_is_temporary(int fd)
{
    char path[PATH_MAX];

    return temporary_name(fd, path) != NULL;
}

bool store_local_was_exchanged(int fd, const struct stat *st)
{
    char path[PATH_MAX];
    const char *name = temporary_name(fd, path);

    return name && is_named_after(name, st);
}

static int random_name(char name[STORE_DRAFT_NAME_LEN])
{
    uint64_t random;

    if (getrandom(&random, sizeof(random), 0) < 0)
        return -errno;
    snprintf(name, STORE_DRAFT_NAME_LEN, STORE_TEMPORARY "%016" PRIx64, random);
    return 0;
}

/* Name a draft after its inode, unless that name is taken. */
static void rename_after(int dir, int like, char *name,
                         const struct store_local *draft)
{
    char better[STORE_DRAFT_NAME_LEN];

    if (name_after(draft->fd, like, better) == 0 &&
        renameat2(dir, name, dir, better, RENAME_NOREPLACE) == 0)
        memcpy(name, better, sizeof(better));
}

/* Give a file without a name a name that does not exist yet. */
static int link_nameless(int fd, int dir, const char *name)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW) < 0 ? -errno
                                                                    : 0;
}

/*
 * Open a file by its new name; the kernel reports the place of such a
 * descriptor.  Returns -EOPNOTSUPP if that fails, and the file then has no
 * name.
 */
static int open_linked(int dir, const char *name, int nameless)
{
    int fd = store_local_open(dir, name, STORE_WRITE, S_IFREG);
    struct stat mine;
    struct stat there;

    if (fd >= 0 && fstat(fd, &there) == 0 && fstat(nameless, &mine) == 0 &&
        store_version_same_object(&mine, &there))
        return fd;
    if (fd >= 0)
        close(fd);
    else
        unlinkat(dir, name, 0);
    return -EOPNOTSUPP;
}

/*
 * Create a file for the owner of another one.  It gets the name from
 * name_after() at once.  Returns a descriptor; -EOPNOTSUPP if the file system
 * cannot do that, or if the name is taken; or another error.
 */
static int open_named_after(int dir, int like, char *name)
{
    int nameless;
    int fd = -EOPNOTSUPP;

    if (like < 0 || access("/proc/self/fd", X_OK) < 0)
        return -EOPNOTSUPP;
    nameless =
        store_local_open_like(dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, like);
    if (nameless < 0)
        return -EOPNOTSUPP;
    if (name_after(nameless, like, name) == 0 &&
        link_nameless(nameless, dir, name) == 0)
        fd = open_linked(dir, name, nameless);
    close(nameless);
    return fd;
}

/* Create a file with a temporary name. */
static int create_named(int dir, int like, mode_t mode, char *name,
                        struct store_object **out)
{
    int fd = open_named_after(dir, like, name);
    int r;

    if (fd < 0) {
        r = random_name(name);
        if (r == 0)
            r = store_local_create(dir, name, like, mode, out);
        if (r == 0)
            rename_after(dir, like, name, (struct store_local *)*out);
        return r;
    }
    r = store_local_object(fd, true, out);
    if (r == 0) {
        r = store_local_copy_owner(fd, like);
        if (r < 0)
            store_object_close(*out);
    }
    if (r < 0)
        unlinkat(dir, name, 0);
    return r;
}

static int create_temporary(int dir, int like, mode_t mode, char *name,
                            struct store_object **out)
{
    int r = -EEXIST;

    while (r == -EEXIST) {
        r = create_named(dir, like, mode, name, out);
        if (r == 0 && !lock_draft((struct store_local *)*out)) {
            store_object_close(*out);
            r = -EEXIST;
        }
    }
    return r;
}

/* Create a file without a name.  Returns -EOPNOTSUPP if the file system has no
   such files, or if there is no way to name one later. */
static int create_nameless(int dir, int like, mode_t mode,
                           struct store_object **out)
{
    int r = 0;
    int fd;

    if (access("/proc/self/fd", X_OK) < 0)
        return -EOPNOTSUPP;
    fd = store_local_open_new(dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, like,
                              mode);
    if (fd < 0)
        return -EOPNOTSUPP;
    store_leave_atime(fd);
    if (like >= 0)
        r = store_local_copy_owner(fd, like);
    if (r < 0) {
        close(fd);
        return r;
    }
    r = store_local_object(fd, true, out);
    if (r == 0)
        lock_draft((struct store_local *)*out);
    return r;
}

int store_local_draft(int dir, int like, mode_t mode, bool named,
                      struct store_object **out)
{
    char name[STORE_DRAFT_NAME_LEN] = "";
    struct store_object *draft;
    struct store_local *local;
    int r = named ? -EOPNOTSUPP : create_nameless(dir, like, mode, &draft);

    if (r == -EOPNOTSUPP)
        r = create_temporary(dir, like, mode, name, &draft);
    if (r < 0)
        return r;
    local = (struct store_local *)draft;
    memcpy(local->draft, name, sizeof(name));
    local->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    if (local->dir < 0)
        r = -errno;
    else if (like >= 0)
        r = store_local_copy_attributes(local->fd, like);
    if (r < 0) {
        if (name[0] != '\0')
            unlinkat(dir, name, 0);
        store_object_close(draft);
        return r;
    }
    *out = draft;
    return 0;
}

/* Give it a temporary name, from which it can be renamed. */
static int link_temporary(struct store_local *draft)
{
    char name[STORE_DRAFT_NAME_LEN];
    int r = name_after(draft->fd, -1, name);

    if (r == 0)
        r = link_nameless(draft->fd, draft->dir, name);
    while (r == -EEXIST) {
        r = random_name(name);
        if (r == 0)
            r = link_nameless(draft->fd, draft->dir, name);
    }
    if (r == 0)
        memcpy(draft->draft, name, sizeof(name));
    return r;
}

int store_local_rename(struct store_local *draft, int dir, const char *name,
                       unsigned flags)
{
    int r = 0;

    if (draft->draft[0] == '\0' && !(flags & RENAME_EXCHANGE)) {
        r = link_nameless(draft->fd, dir, name);
        if (r != -EEXIST || flags & RENAME_NOREPLACE)
            return r;
    }
    if (draft->draft[0] == '\0')
        r = link_temporary(draft);
    if (r == 0 && renameat2(draft->dir, draft->draft, dir, name, flags) < 0)
        r = -errno;
    return r;
}

void store_local_published(struct store_local *draft)
{
    draft->draft[0] = '\0';
    flock(draft->fd, LOCK_UN);
}

void store_local_discard(struct store *store, struct store_object *draft)
{
    const struct store_local *local = (struct store_local *)draft;

    (void)store;
    if (local->draft[0] != '\0')
        unlinkat(local->dir, local->draft, 0);
    store_object_close(draft);
}

/* Remove a file that is open and locked, if it still has this name. */
static int remove_locked(int dirfd, const char *name, int fd)
{
    struct stat mine;
    struct stat there;

    if (fstat(fd, &mine) < 0 ||
        fstatat(dirfd, name, &there, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (!store_version_same_object(&mine, &there))
        return -EBUSY;
    return unlinkat(dirfd, name, 0) < 0 ? -errno : 0;
}

int store_remove_stale(int dirfd, const char *name)
{
    struct stat st;
    int fd;
    int r = 0;

    if (strncmp(name, STORE_TEMPORARY, strlen(STORE_TEMPORARY)) != 0)
        return -EINVAL;
    fd = store_local_open(dirfd, name, STORE_NOATIME, S_IFREG);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        r = -errno;
    else if (!is_named_after(name, &st))
        r = -EINVAL;
    else if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        r = errno == EWOULDBLOCK ? -EBUSY : -errno;
    if (r == 0)
        r = remove_locked(dirfd, name, fd);
    close(fd);
    return r;
}
