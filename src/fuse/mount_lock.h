/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_MOUNT_LOCK_H
#define FUSE_MOUNT_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Locks that a writable mount holds until everything is saved.
 *
 * The mount ends before the daemon does, because the daemon still has to write.
 * To show that to other processes, the daemon locks one byte of SOURCE's
 * directory, and one of each directory above that it may open.  These are OFD
 * read locks, which need no permission to write and vanish with the process.  A
 * directory has no bytes that the lock could protect, so the offset itself says
 * who holds the lock:
 *
 *  bits  0..19  minor device number of the mount; FUSE mounts have major 0; 0
 *               if the mount cannot be recognised in a table of mounts
 *  bits 20..43  process id of the daemon
 *  bits 44..59  SOURCE: 0 for the whole directory, else a hash of a file's
 *               name; for MOUNT_LOCK_SESSION the tag of the mount, see
 *               mount_table.h; for MOUNT_LOCK_BELOW 0
 *  bit  60      the daemon has left its loop, and writes the remaining data
 *  bits 61..62  an enum mount_lock_kind
 */

enum mount_lock_kind {
    MOUNT_LOCK_SESSION = 1, /* on a file of the daemon's own, see below */
    MOUNT_LOCK_HERE = 2,    /* SOURCE is this directory, or a file in it */
    MOUNT_LOCK_BELOW = 3,   /* SOURCE is somewhere below this directory */
};

/* The offset that a visitor receives for a lock of many bytes. */
enum {
    MOUNT_LOCK_HIDDEN = -1
};

/* The fields of a locked offset; the list above explains them. */
struct mount_lock_id {
    enum mount_lock_kind kind;
    bool finishing;
    uint16_t entry;
    pid_t pid;
    dev_t dev;
};

/* Compute the offset for these fields, which must fit the bits above. */
off_t mount_lock_pack(const struct mount_lock_id *id);

/* Split an offset into its fields.  Returns false if no mount locks that
   byte. */
bool mount_lock_unpack(off_t off, struct mount_lock_id *out);

/* The byte of the same file that the daemon of a session locks, too, if
   something could not be saved. */
off_t mount_lock_lost(off_t session);

/*
 * SOURCE's directory and those above it, open.
 *
 * `session_fd` is a file in memory that every mount locks, including a
 * read-only one.  So the daemon appears in /proc/locks even if SOURCE's file
 * system supports no locks.  The file stays empty unless something could not be
 * saved.  A daemon whose descriptors no other process may open, because it has
 * secrets, shows that by another lock, which it holds for a moment.
 */
struct mount_lock {
    int *fds; /* the first is SOURCE's; -1 if it cannot be opened */
    size_t nfds;
    int session_fd;
    uint16_t entry;
    uint16_t tag;
    bool failed;             /* something could not be saved */
    struct mount_lock_id id; /* set by mount_lock_take() */
};

/*
 * Open the directories, without locking them.
 *
 * Returns 0, or a negative errno if SOURCE cannot be found.  Directories above
 * it that the user may not open are skipped.
 */
int mount_lock_open(const char *source, struct mount_lock *out);

/*
 * Lock the directories for this process.  Directories on a file system without
 * locks are skipped.
 *
 *  dev, tag  of the mount; 0 if unknown
 *  writable  if false, only `session_fd` is locked
 */
void mount_lock_take(struct mount_lock *lock, dev_t dev, uint16_t tag,
                     bool writable);

/* Show other processes that the mount is over and this process writes the
   remaining data. */
void mount_lock_finish(struct mount_lock *lock);

/* Tell processes that wait for the unlocking that something could not be
   saved. */
void mount_lock_fail(struct mount_lock *lock);

/* Unlock and close.  Accepts a zeroed struct. */
void mount_lock_close(struct mount_lock *lock);

/* Called for each lock, with its offset; or with MOUNT_LOCK_HIDDEN for a lock
   of many bytes, which no mount makes and which may hide other locks. */
typedef void mount_lock_visit(void *arg, off_t off);

/*
 * Find the daemons that may write to the SOURCE of `lock`: those of mounts of
 * the same SOURCE, of a directory above it, or of a directory or file below it.
 */
void mount_lock_find(const struct mount_lock *lock, mount_lock_visit *visit,
                     void *arg);

#endif
