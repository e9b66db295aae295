/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/local_object.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/xattr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "backing/local.h"
#include "writer/frame_dir.h"

static const char acl_name[] = XATTR_NAME_POSIX_ACL_ACCESS;

static int pin_sparse(const struct backing_place *place,
                      struct backing_object *object)
{
    struct stat dir;
    struct stat index;
    const char *name;
    int r = object->dirfd = local_open(place, O_PATH | O_DIRECTORY);

    if (r < 0)
        return r;
    r = local_stat_index(object->dirfd, &index, &name);
    if (r < 0)
        return r == -ENOENT ? -ESTALE : r;
    object->fd = openat(object->dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (object->fd < 0 || fstat(object->fd, &index) < 0 ||
        fstat(object->dirfd, &dir) < 0)
        return -errno;
    if (!S_ISREG(index.st_mode))
        return -ESTALE;
    local_show_sparse(&dir, &index);
    object->st = index;
    return 0;
}

static int pin_file(const struct backing_place *place,
                    struct backing_object *object)
{
    int r = object->fd = local_open(place, O_PATH);

    if (r < 0)
        return r;
    if (fstat(object->fd, &object->st) < 0)
        return -errno;
    return local_is_of_kind(&object->st, object->kind) ? 0 : -ESTALE;
}

static void unpin(struct backing_object *object)
{
    if (object->fd >= 0)
        close(object->fd);
    if (object->dirfd >= 0)
        close(object->dirfd);
}

int local_pin(const struct backing_place *place, enum entry_kind kind,
              struct backing_object *out)
{
    int r;

    *out = (struct backing_object){
        .ops = &local_object_ops,
        .kind = kind,
        .fd = -1,
        .dirfd = -1,
    };
    r = kind == ENTRY_SPARSE ? pin_sparse(place, out) : pin_file(place, out);
    if (r < 0)
        unpin(out);
    return r;
}

/*
 * Everyone to whom the mode of a sparse frame grants anything may search its
 * directory.  The owner of the directory may do everything.
 */
static mode_t directory_mode(mode_t mode)
{
    mode_t read = mode & 0444;

    return 0700 | read | (mode & 0222) | read >> 2 | (mode & 0222) >> 1 |
           (mode & 0111);
}

/* Turn the access control list of an index file into that of the directory. */
static int open_acl(uint8_t *acl, size_t len)
{
    struct posix_acl_xattr_entry entry;

    if (len < sizeof(struct posix_acl_xattr_header))
        return -EINVAL;
    for (size_t off = sizeof(struct posix_acl_xattr_header);
         off + sizeof(entry) <= len; off += sizeof(entry)) {
        memcpy(&entry, acl + off, sizeof(entry));
        if (le16toh(entry.e_perm) & (ACL_READ | ACL_WRITE))
            entry.e_perm |= htole16(ACL_EXECUTE);
        if (le16toh(entry.e_tag) == ACL_USER_OBJ)
            entry.e_perm = htole16(ACL_READ | ACL_WRITE | ACL_EXECUTE);
        memcpy(acl + off, &entry, sizeof(entry));
    }
    return 0;
}

/* Remove an access control list.  There may be none, and the file system may
   not support any. */
static int remove_acl(const char *path)
{
    return removexattr(path, acl_name) < 0 && errno != ENODATA &&
                   errno != EOPNOTSUPP
               ? -errno
               : 0;
}

/* Copy the access control list of the index file to the directory, or remove
   it. */
static int fit_acl(const struct backing_object *object)
{
    struct fd_path from = fd_path(object->fd);
    struct fd_path to = fd_path(object->dirfd);
    uint8_t *acl;
    ssize_t len;
    int r;

    if (getxattr(from.text, acl_name, NULL, 0) <= 0)
        return remove_acl(to.text);
    acl = malloc(XATTR_SIZE_MAX);
    if (!acl)
        return -ENOMEM;
    len = getxattr(from.text, acl_name, acl, XATTR_SIZE_MAX);
    r = len < 0 ? -errno : open_acl(acl, (size_t)len);
    if (r == 0 && setxattr(to.text, acl_name, acl, (size_t)len, 0) < 0)
        r = -errno;
    free(acl);
    return r;
}

int local_fit_directory(const struct backing_object *object)
{
    struct stat st;
    int r;

    if (object->kind != ENTRY_SPARSE)
        return 0;
    if (fstat(object->fd, &st) < 0)
        return -errno;
    r = fit_acl(object);
    if (r == 0 &&
        chmod(fd_path(object->dirfd).text, directory_mode(st.st_mode)) < 0)
        r = -errno;
    return r;
}

static int change_mode(const struct backing_object *object, mode_t mode)
{
    if (chmod(fd_path(object->fd).text, mode) < 0)
        return -errno;
    return local_fit_directory(object);
}

/* A chunk file whose owner this process has changed. */
struct given {
    ino_t ino;
    gid_t gid; /* group before that */
};

/* The chunk files of a sparse frame whose owner is being changed. */
struct giving {
    const struct backing_object *object;
    uid_t uid;
    gid_t gid;
    struct given *files;
    size_t nfiles;
    size_t capacity; /* number of allocated elements of `files` */
};

static int note_given(struct giving *giving, const struct stat *st)
{
    if (giving->nfiles == giving->capacity) {
        size_t capacity = giving->capacity ? 2 * giving->capacity : 64;
        struct given *files =
            realloc(giving->files, capacity * sizeof(giving->files[0]));

        if (!files)
            return -ENOMEM;
        giving->files = files;
        giving->capacity = capacity;
    }
    giving->files[giving->nfiles++] =
        (struct given){ .ino = st->st_ino, .gid = st->st_gid };
    return 0;
}

/*
 * Change the owner of a chunk file.  This skips a file with several names or
 * with another owner than the frame, because another user may have put it
 * there.
 */
static int give(struct giving *giving, int fd)
{
    struct stat st;
    int r;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1 ||
        st.st_uid != giving->object->st.st_uid)
        return 0;
    r = note_given(giving, &st);
    if (r == 0 &&
        fchownat(fd, "", giving->uid, giving->gid, AT_EMPTY_PATH) < 0) {
        r = -errno;
        giving->nfiles--;
    }
    return r;
}

static int compare_given(const void *a, const void *b)
{
    ino_t left = ((const struct given *)a)->ino;
    ino_t right = ((const struct given *)b)->ino;

    return left < right ? -1 : left > right;
}

/* Change the owner of a file back, if give() has changed it.  `files` is
   sorted. */
static int take_back(struct giving *giving, int fd)
{
    const struct given *given;
    struct given key;
    struct stat st;

    if (fstat(fd, &st) < 0)
        return 0;
    key.ino = st.st_ino;
    given = bsearch(&key, giving->files, giving->nfiles, sizeof(key),
                    compare_given);
    if (given && (giving->uid == (uid_t)-1 || st.st_uid == giving->uid))
        fchownat(fd, "", giving->object->st.st_uid, given->gid, AT_EMPTY_PATH);
    return 0;
}

/* Call `visit` for each chunk file of a sparse frame, opened with O_PATH, until
   it returns an error. */
static int visit_chunk_files(struct giving *giving,
                             int (*visit)(struct giving *giving, int fd))
{
    DIR *dir = frame_dir_open(giving->object->dirfd, ".");
    const struct dirent *entry;
    int r = 0;

    if (!dir)
        return -errno;
    while (r == 0 && (entry = frame_dir_next(dir))) {
        int fd;

        if (!frame_dir_is_chunk(entry->d_name))
            continue;
        fd = openat(dirfd(dir), entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
            r = visit(giving, fd);
        else if (errno != ENOENT)
            r = -errno;
        if (fd >= 0)
            close(fd);
    }
    closedir(dir);
    return r;
}

static void undo_giving(struct giving *giving)
{
    if (giving->nfiles == 0)
        return;
    qsort(giving->files, giving->nfiles, sizeof(giving->files[0]),
          compare_given);
    visit_chunk_files(giving, take_back);
}

static int chown_index(const struct backing_object *object, uid_t uid,
                       gid_t gid)
{
    const struct stat *old = &object->st;
    int r = 0;

    if (fchownat(object->fd, "", uid, gid, AT_EMPTY_PATH) < 0)
        return -errno;
    if (fchownat(object->dirfd, "", uid, gid, AT_EMPTY_PATH) < 0) {
        r = -errno;
        fchownat(object->fd, "", old->st_uid, old->st_gid, AT_EMPTY_PATH);
    }
    return r;
}

/* If this fails half-way, for example because the new owner's quota is too
   small, all files get their old owner back. */
static int chown_sparse(const struct backing_object *object, uid_t uid,
                        gid_t gid)
{
    struct giving giving = { .object = object, .uid = uid, .gid = gid };
    bool other = (uid != (uid_t)-1 && uid != object->st.st_uid) ||
                 (gid != (gid_t)-1 && gid != object->st.st_gid);
    int r = 0;

    if (other)
        r = visit_chunk_files(&giving, give);
    if (r == 0)
        r = chown_index(object, uid, gid);
    if (r < 0)
        undo_giving(&giving);
    free(giving.files);
    return r;
}

static int change_owner(const struct backing_object *object, uid_t uid,
                        gid_t gid)
{
    if (object->kind == ENTRY_SPARSE)
        return chown_sparse(object, uid, gid);
    return fchownat(object->fd, "", uid, gid, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

static int set_times(const struct backing_object *object,
                     const struct timespec times[2])
{
    return utimensat(AT_FDCWD, fd_path(object->fd).text, times, 0) < 0 ? -errno
                                                                       : 0;
}

/* The file that holds an attribute.  In a sparse frame only permissions are
   kept in the index file, because each commit replaces that file. */
static struct fd_path path_of_attribute(const struct backing_object *object,
                                        const char *name)
{
    bool of_directory =
        object->kind == ENTRY_SPARSE && strcmp(name, acl_name) != 0;

    return fd_path(of_directory ? object->dirfd : object->fd);
}

static ssize_t get_attribute(const struct backing_object *object,
                             const char *name, void *value, size_t size)
{
    ssize_t r =
        getxattr(path_of_attribute(object, name).text, name, value, size);

    return r < 0 ? -errno : r;
}

static ssize_t list_attributes(const struct backing_object *object, char *list,
                               size_t size)
{
    ssize_t r = listxattr(path_of_attribute(object, "").text, list, size);

    return r < 0 ? -errno : r;
}

static int set_attribute(const struct backing_object *object, const char *name,
                         const void *value, size_t size, int flags)
{
    if (setxattr(path_of_attribute(object, name).text, name, value, size,
                 flags) < 0)
        return -errno;
    return strcmp(name, acl_name) == 0 ? local_fit_directory(object) : 0;
}

static int remove_attribute(const struct backing_object *object,
                            const char *name)
{
    if (removexattr(path_of_attribute(object, name).text, name) < 0)
        return -errno;
    return strcmp(name, acl_name) == 0 ? local_fit_directory(object) : 0;
}

const struct backing_object_ops local_object_ops = {
    .unpin = unpin,
    .chmod = change_mode,
    .chown = change_owner,
    .utimens = set_times,
    .getxattr = get_attribute,
    .listxattr = list_attributes,
    .setxattr = set_attribute,
    .removexattr = remove_attribute,
};
