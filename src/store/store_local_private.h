/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_LOCAL_PRIVATE_H
#define STORE_STORE_LOCAL_PRIVATE_H

#include <pthread.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "store/store_backend.h"
#include "store/store_local.h"

/* The common parts of the stores of a local file and of a local directory. */

/* The head of both, whose store_ops have `local`. */
struct store_local_head {
    struct store store;
    pthread_mutex_t lease_lock;
    unsigned nleases; /* leases that were taken and not yet given back */
};

/* Initialize the head, with one reference; and release its members. */
void store_local_init(struct store_local_head *head,
                      const struct store_ops *ops);
void store_local_fini(struct store_local_head *head);

/*
 * Do the work of store_local_open() without STORE_FOLLOW, for kernels that lack
 * openat2().  It opens the path name by name; the path may not contain "..".
 */
int store_local_walk(int dirfd, const char *path, unsigned flags, mode_t type);

/*
 * Open a path in the same mount, with flags for open().  A mount below it is
 * refused, because this process itself may serve that mount, and would then
 * wait for itself.  Returns a descriptor or a negative errno: -EXDEV if a mount
 * is in the way.
 */
int store_local_reach(int dir, const char *path, int flags);

/* The permissions in the flags, see STORE_MODE(). */
static inline mode_t store_local_mode(unsigned flags)
{
    return (mode_t)(flags >> 16 ^ 0666);
}

/* An open file. */
struct store_local {
    struct store_object object;
    int fd;
    bool writable;

    /* Of a draft: its directory, or -1; and its temporary name, or "". */
    int dir;
    char draft[STORE_DRAFT_NAME_LEN];
};

/* Make an object from an open file.  The object owns `fd`; if this fails, `fd`
   is closed. */
int store_local_object(int fd, bool writable, struct store_object **out);

/* Operations that change open files. */
int store_local_write(struct store_object *object, uint64_t off,
                      const void *buf, size_t len);
int store_local_truncate(struct store_object *object, uint64_t size);
int store_local_punch(struct store_object *object, uint64_t off, uint64_t len);
int store_local_sync(struct store_object *object);
int store_local_set_mtime(struct store_object *object,
                          const struct timespec *mtime);
int store_local_lock(struct store_object *object, enum store_lock how);

/* Mark a file before another one, with the same content, takes its place; and
   undo this if that fails.  See STORE_SUCCESSOR_MARK.  The mark may be missing
   afterwards, because not all file systems have attributes. */
void store_local_set_successor(int fd, int successor);
void store_local_clear_successor(int fd);
bool store_local_has_any_successor(int fd);
bool store_local_has_successor(struct store_object *object,
                               const struct store_version *version);

/* Convert the result of stat(). */
void store_local_convert(const struct stat *st, struct store_stat *out);

/*
 * Lease a file that is open for writing.  Returns 0, also if there are no
 * locks; -EAGAIN if another descriptor has the lease; or another negative
 * errno.
 */
int store_local_lease(int fd);

/* Give the lease back. */
void store_local_unlease(int fd);

/* Do the work of store_lock_in_use() and store_lock_in_use_alone() for an open
   file. */
int store_local_lock_in_use(int fd);
int store_local_lock_in_use_alone(int fd);

/*
 * The same for an open directory.
 *
 *  in_use  -1 at first; receives a descriptor of the directory, which the
 *          caller closes at the end
 *
 * A directory that may not be read is not locked.
 */
int store_local_dir_lock_in_use(int dir, int *in_use);
int store_local_dir_lock_in_use_alone(int dir, int *in_use);

/* Do the work of store_lease_holder() for an open file. */
long store_local_lease_holder(int fd);

/* Has the index file of a sparse frame a mark, see store_mark_replaced()? */
bool store_local_is_marked_replaced(int fd);

/* Does an open file bear the name of the draft with which it was exchanged? */
bool store_local_was_exchanged(int fd, const struct stat *st);

/* Does an open file or directory bear a temporary name? */
bool store_local_is_temporary(int fd);

/*
 * Open a lock file, or create it.
 *
 *  frame  descriptor of the file or directory that it is for; or -1 if that
 *         does not exist yet.  A lock file that we create is given to the
 *         owner of the frame, if we are allowed to do that, and made usable
 *         for all who may read the frame
 *  flags  of the store
 *  out    receives it; NULL if it cannot be created here, as on a read-only
 *         medium, and the store is only read
 *
 * Returns 0, -EINVAL if something else has its name, or another negative errno.
 */
int store_local_lock_file(int dir, const char *name, int frame, unsigned flags,
                          struct store_object **out);

/*
 * Create a file in a directory.  Its name must not exist.
 *
 *  like  an open file whose owner and permissions it gets; or -1, and then the
 *        program that this thread serves becomes the owner
 *  mode  permissions in that case, less the program's umask
 */
int store_local_create(int dir, const char *name, int like, mode_t mode,
                       struct store_object **out);

/*
 * Open a new file in a directory, with flags for open().
 *
 *  like, mode  as above; store_local_open_like() needs `like`, and makes a file
 *              that only its owner may use
 *
 * Returns a descriptor, or -1 and sets errno.
 */
int store_local_open_new(int dir, const char *name, int flags, int like,
                         mode_t mode);
int store_local_open_like(int dir, const char *name, int flags, int like);

/* Copy owner and permissions of a file.  Only root can give files away; for
   other users the file keeps its owner.  Returns 0 or a negative errno. */
int store_local_copy_owner(int fd, int like);

/* Copy the extended attributes of a file, as far as they can be read and may be
   set here.  Returns 0 or a negative errno. */
int store_local_copy_attributes(int fd, int like);

/*
 * Create a draft.  It gets the extended attributes of `like`.
 *
 *  named  give it a temporary name, because only then does the kernel tell
 *         later where the file is.  Without a name, nothing is left of the
 *         draft if the process is killed; if the file system does not support
 *         that, the draft gets a name all the same
 */
int store_local_draft(int dir, int like, mode_t mode, bool named,
                      struct store_object **out);

/*
 * Give a draft the name of a file that does not exist, or rename it as
 * renameat2() does.  Returns 0 or a negative errno: -EEXIST with
 * RENAME_NOREPLACE; -EINVAL if the file system does not support the flags.
 */
int store_local_rename(struct store_local *draft, int dir, const char *name,
                       unsigned flags);

/* Mark a draft as published: it has its final name. */
void store_local_published(struct store_local *draft);

/* Do the work of store_discard(). */
void store_local_discard(struct store *store, struct store_object *draft);

/* Make the names in a directory durable.  The directory may be open with
   O_PATH. */
int store_local_sync_dir(int dir);

/* Make all data of the file system that holds an open file durable.  The file
   must not be open with O_PATH. */
int store_local_sync_all(int fd);

/*
 * Make a name in a directory durable.
 *
 *  dir, path  the directory
 *  file       the file of that name, not open with O_PATH; its whole file
 *             system is synced if the directory cannot be opened
 */
int store_local_sync_name(int dir, const char *path, int file);

#endif
