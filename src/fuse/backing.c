/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/backing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "array/array.h"
#include "frame/frame.h"
#include "fuse/hash.h"

/* A path that leads to what a descriptor stands for, past all mounts. */
struct fd_path {
    char text[sizeof("/proc/self/fd/") + 10];
};

static struct fd_path path_of_fd(int fd)
{
    struct fd_path path;

    snprintf(path.text, sizeof(path.text), "/proc/self/fd/%d", fd);
    return path;
}

void backing_close(struct backing_place *place)
{
    if (place->owned)
        close(place->dirfd);
    if (place->held)
        pthread_rwlock_unlock(place->held);
}

/* Does an error say nothing of the file that was to be looked at? */
static bool is_shortage(int error)
{
    return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

/* Does a regular file start as a frame does? */
static int has_magic(int dirfd, const char *name)
{
    int fd =
        openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    uint8_t bytes[FRAME_MAGIC_LEN];
    ssize_t n;

    if (fd < 0)
        return is_shortage(-errno) ? -errno : false;
    n = pread(fd, bytes, sizeof(bytes), 0);
    close(fd);
    return n == FRAME_MAGIC_LEN && frame_has_magic(bytes, sizeof(bytes));
}

/* Attributes of the index file in the directory `name`, and what it is called
   if `index` is not NULL. */
static int stat_index(int dirfd, const char *name, struct stat *out,
                      const char **index)
{
    int fd = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = -ENOENT;

    if (fd < 0)
        return -errno;
    for (int i = 0; i < 2 && r == -ENOENT; i++) {
        r = fstatat(fd, frame_index_names[i], out, AT_SYMLINK_NOFOLLOW) < 0
                ? -errno
                : 0;
        if (index)
            *index = frame_index_names[i];
    }
    close(fd);
    return r;
}

static int type_of(int dirfd, const char *name, unsigned char *type)
{
    struct stat st;

    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    *type = (unsigned char)IFTODT(st.st_mode);
    return 0;
}

static int kind_of_directory(int dirfd, const char *name)
{
    struct stat st;
    int r = stat_index(dirfd, name, &st, NULL);

    if (is_shortage(r))
        return r;
    return r == 0 ? ENTRY_SPARSE : ENTRY_DIRECTORY;
}

int backing_kind(const struct backing_dir *dir, const char *name,
                 unsigned char type)
{
    int r = 0;

    if (dir->only)
        return strcmp(name, dir->only) == 0 ? (int)dir->only_kind : ENTRY_NONE;
    if (dir->except && strcmp(name, dir->except) == 0)
        return ENTRY_NONE;
    if (type == DT_UNKNOWN)
        r = type_of(dir->fd, name, &type);
    if (r < 0)
        return r == -ENOENT || r == -ENAMETOOLONG ? ENTRY_NONE : r;

    if (type == DT_DIR)
        return kind_of_directory(dir->fd, name);
    if (type != DT_REG)
        return ENTRY_OTHER;
    r = names_has_suffix(name) ? has_magic(dir->fd, name) : false;
    if (r < 0)
        return r;
    return r ? ENTRY_FRAME : ENTRY_OTHER;
}

int backing_is_array(struct store *store, uint64_t base)
{
    struct fault fault = FAULT_NONE;
    struct array *array = NULL;
    struct frame *frame;
    int r = frame_open_header(store_get(store), base, &frame, &fault);

    if (r < 0) {
        store_close(store);
        return r;
    }
    r = array_read(frame, &array, &fault);
    frame_close(frame);
    if (r == 0)
        r = array != NULL;
    array_free(array);
    return r;
}

static int kind_of_name(void *context, const char *name)
{
    return backing_kind(context, name, DT_UNKNOWN);
}

/* What can't be read is none. */
static int is_array(void *context, const char *name, enum entry_kind kind)
{
    const struct backing_dir *dir = context;
    struct backing_place place = { .dirfd = dir->fd };
    struct store *store;
    int r;

    if (dir->only)
        return dir->only_is_array;
    memcpy(place.name, name, strlen(name) + 1);
    r = backing_store(&place, kind, 0, &store);
    if (r < 0)
        return is_shortage(r) ? r : 0;
    r = backing_is_array(store, 0);
    store_close(store);
    return is_shortage(r) ? r : r > 0;
}

struct names_dir backing_names(struct backing_dir *dir)
{
    return (struct names_dir){
        .keep = dir->keep,
        .kind = kind_of_name,
        .is_array = dir->npy ? is_array : NULL,
        .context = dir,
    };
}

static bool is_of_kind(const struct stat *st, enum entry_kind kind)
{
    switch (kind) {
    case ENTRY_DIRECTORY:
    case ENTRY_SPARSE:
        return S_ISDIR(st->st_mode);
    case ENTRY_FRAME:
        return S_ISREG(st->st_mode);
    case ENTRY_OTHER:
        return !S_ISDIR(st->st_mode);
    case ENTRY_NONE:
        break;
    }
    return false;
}

/*
 * Who may read a sparse frame: whom the index file lets, and the directory lets
 * at it.  If their owners differ nobody knows who is who, and all must be let.
 */
static mode_t sparse_mode(const struct stat *dir, const struct stat *index)
{
    mode_t search = dir->st_mode & 0111;

    if (dir->st_uid != index->st_uid || dir->st_gid != index->st_gid)
        search = (dir->st_mode & 0011) == 0011 ? 0111 : 0;
    return (index->st_mode & ~(mode_t)0777) | (index->st_mode & 7 * search);
}

int backing_stat(const struct backing_place *place, enum entry_kind kind,
                 struct stat *out)
{
    struct stat st;
    struct stat index;

    if (fstatat(place->dirfd, place->name, &st,
                AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
        return -errno;
    if (!is_of_kind(&st, kind))
        return -ESTALE;
    if (kind == ENTRY_SPARSE) {
        int r = stat_index(place->dirfd, place->name, &index, NULL);

        if (r < 0)
            return r == -ENOENT ? -ESTALE : r;
        index.st_mode = sparse_mode(&st, &index);
        index.st_dev = st.st_dev;
        index.st_ino = st.st_ino;
        st = index;
    }
    *out = st;
    return 0;
}

int backing_open(const struct backing_place *place, int flags)
{
    int fd;

    if (place->name[0] == '\0')
        fd = open(path_of_fd(place->dirfd).text, flags | O_CLOEXEC);
    else
        fd = openat(place->dirfd, place->name, flags | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

ssize_t backing_getxattr(const struct backing_place *place, const char *name,
                         void *value, size_t size)
{
    int fd = backing_open(place, O_PATH);
    ssize_t r;

    if (fd < 0)
        return fd;
    r = getxattr(path_of_fd(fd).text, name, value, size);
    if (r < 0)
        r = -errno;
    close(fd);
    return r;
}

int backing_setxattr(const struct backing_place *place, const char *name,
                     const void *value, size_t size, int flags)
{
    int fd = backing_open(place, O_PATH);
    int r;

    if (fd < 0)
        return fd;
    r = setxattr(path_of_fd(fd).text, name, value, size, flags) < 0 ? -errno
                                                                    : 0;
    close(fd);
    return r;
}

int backing_removexattr(const struct backing_place *place, const char *name)
{
    int fd = backing_open(place, O_PATH);
    int r;

    if (fd < 0)
        return fd;
    r = removexattr(path_of_fd(fd).text, name) < 0 ? -errno : 0;
    close(fd);
    return r;
}

ssize_t backing_listxattr(const struct backing_place *place, char *list,
                          size_t size)
{
    int fd = backing_open(place, O_PATH);
    ssize_t r;

    if (fd < 0)
        return fd;
    r = listxattr(path_of_fd(fd).text, list, size);
    if (r < 0)
        r = -errno;
    close(fd);
    return r;
}

/*
 * A directory lets at the files of a sparse frame everyone to whom the mode of
 * the frame gives anything, and its owner in any case.
 */
static mode_t directory_mode(mode_t mode)
{
    mode_t read = mode & 0444;

    return 0700 | read | (mode & 0222) | read >> 2 | (mode & 0222) >> 1 |
           (mode & 0111);
}

/* The path of a file, or of the index file of a sparse frame. */
struct fd_name {
    int fd; /* of its directory, to be closed if `owned` */
    bool owned;
    const char *name;
};

static int find_file(const struct backing_place *place, enum entry_kind kind,
                     struct fd_name *out)
{
    struct stat st;
    int r;

    *out = (struct fd_name){ .fd = place->dirfd, .name = place->name };
    if (kind != ENTRY_SPARSE)
        return 0;
    r = stat_index(place->dirfd, place->name, &st, &out->name);
    if (r == 0)
        r = backing_open(place, O_PATH | O_DIRECTORY);
    if (r < 0)
        return r;
    out->fd = r;
    out->owned = true;
    return 0;
}

static void close_file(const struct fd_name *file)
{
    if (file->owned)
        close(file->fd);
}

static int chmod_one(int dirfd, const char *name, mode_t mode)
{
    int fd;
    int r;

    if (name[0] == '\0')
        return chmod(path_of_fd(dirfd).text, mode) < 0 ? -errno : 0;
    fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    r = chmod(path_of_fd(fd).text, mode) < 0 ? -errno : 0;
    close(fd);
    return r;
}

int backing_chmod(const struct backing_place *place, enum entry_kind kind,
                  mode_t mode)
{
    struct fd_name file;
    int r = find_file(place, kind, &file);

    if (r < 0)
        return r;
    if (kind == ENTRY_SPARSE)
        r = chmod_one(place->dirfd, place->name, directory_mode(mode));
    if (r == 0)
        r = chmod_one(file.fd, file.name, mode);
    close_file(&file);
    return r;
}

int backing_chown(const struct backing_place *place, enum entry_kind kind,
                  uid_t uid, gid_t gid)
{
    const int flags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
    struct fd_name file;
    int r = find_file(place, kind, &file);

    if (r < 0)
        return r;
    if (fchownat(file.fd, file.name, uid, gid, flags) < 0 ||
        (kind == ENTRY_SPARSE &&
         fchownat(place->dirfd, place->name, uid, gid, flags) < 0))
        r = -errno;
    close_file(&file);
    return r;
}

int backing_utimens(const struct backing_place *place, enum entry_kind kind,
                    const struct timespec times[2])
{
    struct fd_name file;
    int r = find_file(place, kind, &file);

    if (r < 0)
        return r;
    if (file.name[0] == '\0')
        r = utimensat(AT_FDCWD, path_of_fd(file.fd).text, times, 0);
    else
        r = utimensat(file.fd, file.name, times, AT_SYMLINK_NOFOLLOW);
    r = r < 0 ? -errno : 0;
    close_file(&file);
    return r;
}

int backing_store(const struct backing_place *place, enum entry_kind kind,
                  unsigned flags, struct store **out)
{
    if (kind == ENTRY_SPARSE)
        return store_dir_open(place->dirfd, place->name, flags, out);
    if (place->name[0] == '\0')
        return store_file_open(AT_FDCWD, path_of_fd(place->dirfd).text,
                               flags | STORE_FOLLOW, out);
    return store_file_open(place->dirfd, place->name, flags, out);
}

uint64_t backing_content_stamp(const struct stat *st)
{
    uint64_t hash = hash_mix(st->st_dev, st->st_ino);

    hash = hash_mix(hash, (uint64_t)st->st_size);
    hash = hash_mix(hash, (uint64_t)st->st_mtim.tv_sec);
    hash = hash_mix(hash, (uint64_t)st->st_mtim.tv_nsec);
    return hash | 1;
}

uint64_t backing_stamp(const struct stat *st)
{
    uint64_t hash = backing_content_stamp(st);

    hash = hash_mix(hash, (uint64_t)st->st_ctim.tv_sec);
    hash = hash_mix(hash, (uint64_t)st->st_ctim.tv_nsec);
    return hash | 1;
}
