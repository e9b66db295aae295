/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "backing/backing_source.h"
#include "backing/backing_start.h"
#include "backing/folder.h"
#include "backing/local.h"
#include "backing/local_seen.h"
#include "base/identity.h"
#include "base/retry.h"
#include "bundle/bundle.h"
#include "frame/frame.h"
#include "store/store_local.h"
#include "store/store_version.h"

/* Get the type of a file, and its stamp for known_frames_has(). */
static int look(int dirfd, const char *name, unsigned char *type,
                uint64_t *stamp)
{
    struct stat st;

    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    *type = (unsigned char)IFTODT(st.st_mode);
    *stamp = store_version_stamp(store_version_of(&st));
    return 0;
}

/* Return ENTRY_STORE if the file or directory is a store, else `kind`, or an
   error. */
static int kind_or_store(int dirfd, const char *name, enum entry_kind kind)
{
    int r = folder_is_store(dirfd, name);

    if (backing_is_shortage(r))
        return r;
    return r > 0 ? (int)ENTRY_STORE : (int)kind;
}

/* Does a name lead to another file or directory than to the open one? */
static bool is_replaced(int dirfd, const char *name, int fd)
{
    struct stat was;
    struct stat is;

    return fstat(fd, &was) == 0 &&
           fstatat(dirfd, name, &is, AT_SYMLINK_NOFOLLOW) == 0 &&
           !store_version_same_object(&was, &is);
}

/*
 * Is a directory a sparse frame?  The name of an index file is not enough, the
 * file must have the magic.  If its bytes cannot be read, it counts.  If
 * permissions keep the daemon from reading it, it counts if the user for whom
 * this thread acts owns it, see kind_of_file().
 *
 * A process that replaces a sparse frame removes the index file of the old one
 * as soon as another one has its name.  So a directory without an index file
 * counts only if it has the name yet; else this returns -ESTALE.
 */
static int is_sparse(const struct backing_dir *dir, const char *name)
{
    int fd =
        openat(dir->fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const char *index;
    struct stat st;
    int r;

    if (fd < 0)
        return errno == ENOTDIR ? -ESTALE : -errno;
    r = local_stat_index(fd, &st, &index);
    if (r == 0 && S_ISREG(st.st_mode)) {
        r = backing_has_magic(fd, index);
        if (r == -EACCES)
            r = st.st_uid == identity_owner();
        if (r == -EIO)
            r = true;
    }
    if (r > 0 && dir->source->keep_names)
        r = !incoming_frames_is_incomplete(&dir->source->incoming, fd);
    if (r <= 0 && !backing_is_shortage(r) && is_replaced(dir->fd, name, fd))
        r = -ESTALE;
    close(fd);
    return r;
}

static int kind_of_directory(const struct backing_dir *dir, const char *name)
{
    int r = is_sparse(dir, name);

    if (backing_is_shortage(r) || r == -ESTALE)
        return r;
    return r > 0 ? (int)ENTRY_SPARSE
                 : kind_or_store(dir->fd, name, ENTRY_DIRECTORY);
}

/* Is a file the lock file of a frame in one file? */
static int is_lock(int dirfd, const char *name)
{
    struct fault fault = FAULT_NONE;
    char frame[NAME_MAX + 1];
    int r;

    if (!names_lock_stem(name, frame) || !names_has_suffix(frame))
        return false;
    r = backing_may_be_lock(dirfd, name);
    if (r <= 0)
        return r;
    r = backing_has_header(dirfd, frame, &fault);
    return backing_is_unreadable(r) ? true : r;
}

/*
 * If permissions keep the daemon from reading a file, its name decides.
 * Otherwise a frame would change its name along with its mode, and a user who
 * has removed his own permission to read it would not find it.  The name also
 * decides if the bytes cannot be read, because a frame that showed as it is
 * would be taken for the file that it holds.
 */
static int kind_of_file(const struct backing_dir *dir, const char *name,
                        uint64_t stamp)
{
    struct fault fault = FAULT_NONE;
    struct store *store;
    int r = is_lock(dir->fd, name);

    if (r > 0)
        return ENTRY_NONE;
    if (backing_is_shortage(r))
        return r;
    if (bundle_has_suffix(name))
        return kind_or_store(dir->fd, name, ENTRY_PLAIN);
    if (!names_has_suffix(name))
        return ENTRY_PLAIN;
    if (known_frames_has(&dir->source->known, stamp))
        return ENTRY_FRAME;
    r = backing_open_frame(dir->fd, name, &store, &fault);
    if (backing_is_shortage(r))
        return r;
    if (r > 0) {
        known_frames_add(&dir->source->known, stamp);
        local_seen_keep(dir->state, name, store);
    }
    return r > 0 || backing_is_unreadable(r) ? ENTRY_FRAME : ENTRY_PLAIN;
}

/* Find the kind of an entry.  Returns -ESTALE if another one got its name
   meanwhile. */
static int try_kind(const struct backing_dir *dir, const char *name,
                    unsigned char type)
{
    bool may_be_frame = type == DT_REG && names_has_suffix(name);
    uint64_t stamp = 0;
    int r = 0;

    if (dir->except && strcmp(name, dir->except) == 0)
        return ENTRY_NONE;
    if (type == DT_UNKNOWN || may_be_frame)
        r = look(dir->fd, name, &type, &stamp);
    if (r < 0)
        return r == -ENOENT || r == -ENAMETOOLONG ? ENTRY_NONE : r;

    if (type == DT_DIR)
        return kind_of_directory(dir, name);
    return type == DT_REG ? kind_of_file(dir, name, stamp) : ENTRY_PLAIN;
}

int local_kind(const struct backing_dir *dir, const char *name,
               unsigned char type)
{
    struct retry retry = RETRY_REPLACED;
    int r = try_kind(dir, name, type);

    while (r == -ESTALE && retry_wait(&retry))
        r = try_kind(dir, name, DT_UNKNOWN);
    return r;
}

int local_kind_of_directory(int dirfd)
{
    struct backing_source source = { .fd = -1 };
    const struct backing_dir dir = { .source = &source, .fd = dirfd };

    return kind_of_directory(&dir, ".");
}
