/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_LOCAL_H
#define STORE_STORE_LOCAL_H

#include <sys/stat.h>
#include <sys/types.h>

#include "store/store_backend.h"

/* What the stores of a local file and of a local directory share. */

/*
 * Open a file to read, or a directory to look up names in.
 *
 *  dirfd, path, flags  as for store_file_open()
 *  type                S_IFREG or S_IFDIR, which it must be; a file is also
 *                      opened for writing with STORE_WRITE
 *
 * Opening never waits, whatever `path` turns out to be.  Returns a descriptor,
 * or a negative errno: -EINVAL if it is of another type or a symbolic link
 * that is not to be followed, -EXDEV if the path leaves `dirfd`.
 */
int store_local_open(int dirfd, const char *path, unsigned flags, mode_t type);

/*
 * The same without STORE_FOLLOW, for kernels that have no openat2(): the path
 * is walked name by name, and may not contain "..".
 */
int store_local_walk(int dirfd, const char *path, unsigned flags, mode_t type);

/*
 * Open what lies in the same mount, with flags for open().  What is mounted
 * below it may be served by this very process, and must not be waited for.
 * Returns a descriptor or a negative errno: -EXDEV if a mount is in the way.
 */
int store_local_reach(int dir, const char *path, int flags);

/* The permissions that flags ask for, see STORE_MODE(). */
static inline mode_t store_local_mode(unsigned flags)
{
    return (mode_t)(flags >> 16 ^ 0666);
}

enum {
    STORE_DRAFT_NAME_LEN = sizeof(STORE_TEMPORARY) + 16 + 1 + 16
};

/* An open file. */
struct store_local {
    struct store_object object;
    int fd;
    bool writable;

    /* Of a draft: its directory, or -1, and its temporary name, or "" if it has
       none. */
    int dir;
    char draft[STORE_DRAFT_NAME_LEN];
};

/* Make an object of an open file, which closes `fd`, also if this fails. */
int store_local_object(int fd, bool writable, struct store_object **out);

/* How objects of open files are changed. */
int store_local_write(struct store_object *object, uint64_t off,
                      const void *buf, size_t len);
int store_local_truncate(struct store_object *object, uint64_t size);
int store_local_punch(struct store_object *object, uint64_t off, uint64_t len);
int store_local_sync(struct store_object *object);
int store_local_lock(struct store_object *object, enum store_lock how);

/* What stat() says of a file, as a store says it. */
void store_local_convert(const struct stat *st, struct store_stat *out);

/*
 * Lease a file that is open for writing.  Returns 0, also where there are no
 * locks; -EAGAIN if another descriptor has the lease; or another negative
 * errno.
 */
int store_local_lease(int fd);

/* Give the lease back. */
void store_local_unlease(int fd);

/* As store_hold() and store_hold_alone(), of an open file. */
int store_local_hold(int fd);
int store_local_hold_alone(int fd);

/* As store_lease_holder(), of an open file. */
long store_local_lease_holder(int fd);

/*
 * Open a sidecar, or make it.
 *
 *  frame  descriptor of the file or directory that it is for: what we make is
 *         given to its owner, if we may do that, and to be used by all who may
 *         read it; -1: it is not there yet
 *  flags  of the store
 *  out    receives it; NULL if it can't be made here, as on a read-only medium,
 *         and the store is only read
 *
 * Returns 0, -EINVAL if something else has its name, or another negative errno.
 */
int store_local_sidecar(int dir, const char *name, int frame, unsigned flags,
                        struct store_object **out);

/*
 * Make a file in a directory.  There must be none of this name.
 *
 *  like  an open file whose owner and permissions it gets; or -1: it is made as by
 *        the program that this thread serves
 *  mode  in that case
 */
int store_local_create(int dir, const char *name, int like, mode_t mode,
                       struct store_object **out);

/*
 * Make a draft, with the extended attributes of `like`.
 *
 *  named  it has a temporary name, by which the system knows where the file is
 *         later.  Else it has none, so that nothing is left of it if the process
 *         is killed; unless the file system wants one
 */
int store_local_draft(int dir, int like, mode_t mode, bool named,
                      struct store_object **out);

/*
 * Give a draft the name of a file that is not there, or rename it as
 * renameat2() does.  Returns 0 or a negative errno: -EEXIST with
 * RENAME_NOREPLACE; -EINVAL if the file system does not know the flags.
 */
int store_local_rename(struct store_local *draft, int dir, const char *name,
                       unsigned flags);

/* A draft is where it is to be. */
void store_local_published(struct store_local *draft);

/* See store_discard(). */
void store_local_discard(struct store *store, struct store_object *draft);

/* Wait until the names in a directory, open with O_PATH or not, last. */
int store_local_sync_dir(int dir);

/* Wait until all of the file system lasts that an open file is in, which is not
   opened with O_PATH. */
int store_local_sync_all(int fd);

/*
 * Wait until a name in a directory lasts.
 *
 *  dir, path  the directory
 *  file       what bears the name, as above: if the directory can't be opened,
 *             all of its file system is synced
 */
int store_local_sync_name(int dir, const char *path, int file);

#endif
