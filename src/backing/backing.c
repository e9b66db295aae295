/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backing/backing_private.h"
#include "backing/chunks.h"
#include "backing/folder.h"
#include "base/hash.h"
#include "base/size.h"
#include "frame/frame.h"
#include "frame/frame_object.h"
#include "store/store_local.h"

enum {
    STAT_BLOCK = 512 /* bytes */
};

struct fd_path fd_path(int fd)
{
    struct fd_path path;

    snprintf(path.text, sizeof(path.text), "/proc/self/fd/%d", fd);
    return path;
}

void backing_close(struct backing_place *place)
{
    if (place->owned) {
        close(place->dirfd);
        bundle_put(place->bundle);
        chunks_put(place->chunks);
    }
    if (place->lock.unlock)
        place->lock.unlock(&place->lock);
}

void backing_dir_close(struct backing_dir *dir)
{
    if (dir->fd >= 0)
        close(dir->fd);
    folder_close(dir->folder);
    chunks_put(dir->chunks);
}

int backing_place_own(struct backing_place *place)
{
    place->owned = false;
    place->lock.unlock = NULL;
    place->dirfd = fcntl(place->dirfd, F_DUPFD_CLOEXEC, 0);
    if (place->dirfd < 0)
        return -errno;
    place->owned = true;
    if (place->bundle)
        bundle_get(place->bundle);
    if (place->chunks)
        chunks_get(place->chunks);
    return 0;
}

void backing_place_in(const struct backing_dir *dir, const char *name,
                      enum entry_kind kind, struct backing_place *out)
{
    if (dir->chunks) {
        chunks_place_in(dir->chunks, name, out);
        return;
    }
    if (dir->folder) {
        folder_place_in(dir, name, kind, out);
        return;
    }
    *out = (struct backing_place){ .dirfd = dir->fd };
    memcpy(out->name, name, strlen(name) + 1);
}

/* A directory in which an index file is looked for. */
struct index_look {
    int dirfd;
    struct stat *stat;
};

static int stat_index(void *context, const char *name)
{
    const struct index_look *look = context;

    return fstatat(look->dirfd, name, look->stat, AT_SYMLINK_NOFOLLOW) < 0
               ? -errno
               : 0;
}

int backing_stat_index_in(int dirfd, struct stat *out, const char **index)
{
    struct index_look look = { .dirfd = dirfd, .stat = out };

    return frame_object_find_index(stat_index, &look, index);
}

bool backing_is_of_kind(const struct stat *st, enum entry_kind kind,
                        bool in_bundle)
{
    switch (kind) {
    case ENTRY_DIRECTORY:
    case ENTRY_SPARSE:
        return S_ISDIR(st->st_mode);
    case ENTRY_FRAME:
    case ENTRY_LEAF:
        return S_ISREG(st->st_mode);
    case ENTRY_GROUP:
        return in_bundle ? S_ISREG(st->st_mode) : S_ISDIR(st->st_mode);
    case ENTRY_STORE:
        return S_ISREG(st->st_mode) || S_ISDIR(st->st_mode);
    case ENTRY_OTHER:
        return !S_ISDIR(st->st_mode);
    case ENTRY_CHUNKS:
    case ENTRY_CHUNK:
    case ENTRY_CHUNK_STORED:
    case ENTRY_NONE:
        break;
    }
    return false;
}

/*
 * The mode of a sparse frame.  A program can read the frame if the index file
 * allows it and the directory lets the program search for that file.  If user
 * or group of the two differ, the classes of one mode are not those of the
 * other.  Then nobody gets access unless the directory lets its group and all
 * other users search.
 */
static mode_t sparse_mode(const struct stat *dir, const struct stat *index)
{
    mode_t search = dir->st_mode & 0111;

    if (dir->st_uid != index->st_uid || dir->st_gid != index->st_gid)
        search = (dir->st_mode & 0011) == 0011 ? 0111 : 0;
    return (index->st_mode & ~(mode_t)0777) | (index->st_mode & 7 * search);
}

void backing_show_sparse(const struct stat *dir, struct stat *index)
{
    index->st_mode = sparse_mode(dir, index);
    index->st_dev = dir->st_dev;
    index->st_ino = dir->st_ino;
}

/*
 * Turn the attributes of a file into those of a store or of an entry of one.  A
 * store keeps its write permissions, because without them the kernel lets
 * nobody but root move a directory to another parent.
 */
static void show_sealed(const struct backing_place *place, enum entry_kind kind,
                        struct stat *st)
{
    mode_t read = st->st_mode & 0444;
    mode_t write = kind == ENTRY_STORE ? st->st_mode & 0222 : 0;
    bool was_directory = S_ISDIR(st->st_mode);

    st->st_mode = S_IFREG | read;
    if (entry_is_folder(kind))
        st->st_mode = S_IFDIR | read | write | read >> 2;
    if (place->bundle)
        st->st_ino = hash_mix(st->st_ino, place->inner);
    if (place->bundle || (entry_is_folder(kind) && !was_directory)) {
        uint64_t len = place->entry ? place->entry->len : 0;

        st->st_nlink = 1;
        st->st_size = (off_t)len;
        st->st_blocks = (blkcnt_t)size_pieces(len, STAT_BLOCK);
    }
}

/* Find the kind of the frame that an entry is a view of.  Returns it or an
   error. */
static int kind_of_frame(const struct backing_place *place)
{
    struct stat st;

    if (place->bundle)
        return ENTRY_LEAF;
    if (fstatat(place->dirfd, place->name, &st,
                AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
        return -errno;
    return S_ISDIR(st.st_mode) ? ENTRY_SPARSE : ENTRY_FRAME;
}

/* This function looks at the directory and at its index file through one
   descriptor, because other programs may rename things meanwhile. */
static int stat_sparse(const struct backing_place *place, struct stat *out)
{
    const char *name;
    struct stat dir;
    int fd = backing_open(place, O_PATH | O_DIRECTORY);
    int r;

    if (fd < 0)
        return fd == -ENOTDIR || fd == -ELOOP ? -ESTALE : fd;
    r = fstat(fd, &dir) < 0 ? -errno : 0;
    if (r == 0)
        r = backing_stat_index_in(fd, out, &name);
    close(fd);
    if (r == 0)
        backing_show_sparse(&dir, out);
    return r == -ENOENT ? -ESTALE : r;
}

static int stat_entry(const struct backing_place *place, enum entry_kind kind,
                      struct stat *out)
{
    struct stat st;

    if (kind == ENTRY_SPARSE)
        return stat_sparse(place, out);
    if (fstatat(place->dirfd, place->name, &st,
                AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
        return -errno;
    if (!backing_is_of_kind(&st, kind, place->bundle != NULL))
        return -ESTALE;
    if (entry_is_sealed(kind) || entry_is_inner(kind))
        show_sealed(place, kind, &st);
    *out = st;
    return 0;
}

int backing_stat(const struct backing_place *place, enum entry_kind kind,
                 struct stat *out)
{
    int r;

    if (!entry_is_face(kind))
        return stat_entry(place, kind, out);
    r = kind_of_frame(place);
    if (r > 0)
        r = stat_entry(place, (enum entry_kind)r, out);
    if (r == 0)
        chunks_show(place, kind, out);
    return r;
}

int backing_open(const struct backing_place *place, int flags)
{
    int fd;

    if (place->name[0] == '\0')
        fd = open(fd_path(place->dirfd).text, flags | O_CLOEXEC);
    else
        fd = openat(place->dirfd, place->name, flags | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int backing_store(const struct backing_place *place, enum entry_kind kind,
                  unsigned flags, struct store **out, struct fault *fault)
{
    int r = (int)kind;

    if (place->bundle)
        return folder_store(place, out, fault);
    if (entry_is_face(kind))
        r = kind_of_frame(place);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    if (r == ENTRY_SPARSE)
        r = store_dir_open(place->dirfd, place->name, flags, out);
    else if (place->name[0] == '\0')
        r = store_file_open(AT_FDCWD, fd_path(place->dirfd).text,
                            flags | STORE_FOLLOW, out);
    else
        r = store_file_open(place->dirfd, place->name, flags, out);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

int backing_check_store(struct store *store, const struct stat *st)
{
    struct store_stat found;
    int r = store_self(store, &found);

    if (r < 0)
        return r;
    return found.ino == st->st_ino && found.dev == st->st_dev ? 0 : -ESTALE;
}
