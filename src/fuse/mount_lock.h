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
 * An unmount is over before the daemon is: the daemon still writes.  So that
 * others can tell, the daemon locks one byte of SOURCE's directory, and one of
 * each directory above that it may open.  These are OFD locks to read, which
 * need no permission to write and vanish with the process.  A directory
 * has no bytes to protect there, so the offset itself says who holds the lock:
 *
 *  bits  0..19  minor device number of the mount; FUSE mounts have major 0;
 *               0 if the mount cannot be recognised in a table of mounts
 *  bits 20..43  process id of the daemon
 *  bits 44..59  SOURCE: 0 for the whole directory, else a hash of a file's name;
 *               of MOUNT_LOCK_SESSION the tag of the mount, see mount_table.h
 *  bit  60      the daemon has left its loop, and writes what is left
 *  bits 61..62  an enum mount_lock_kind
 */

enum mount_lock_kind {
    MOUNT_LOCK_SESSION = 1, /* on a file of the daemon's own, see below */
    MOUNT_LOCK_HERE = 2,    /* SOURCE is this directory, or a file in it */
    MOUNT_LOCK_BELOW = 3,   /* SOURCE is somewhere below this directory */
};

/* An offset that stands for a lock of many bytes. */
enum {
    MOUNT_LOCK_HIDDEN = -1
};

/* The fields of a locked offset; the list above says what each means. */
struct mount_lock_id {
    enum mount_lock_kind kind;
    bool finishing;
    uint16_t entry;
    pid_t pid;
    dev_t dev;
};

/* The offset that stands for these fields, which must fit the bits above. */
off_t mount_lock_pack(const struct mount_lock_id *id);

/* Returns false if no mount locks that byte. */
bool mount_lock_unpack(off_t off, struct mount_lock_id *out);

/*
 * SOURCE's directory and those above, open.
 *
 * `session_fd` is a file in memory, which every mount locks, read-only ones too.
 * So the daemon shows in /proc/locks whatever SOURCE's file system can do.  It
 * stays empty unless something could not be saved.
 */
struct mount_lock {
    int *fds; /* the first is that of SOURCE; -1 if it cannot be opened */
    size_t nfds;
    int session_fd;
    uint16_t entry;
    uint16_t tag;
    struct mount_lock_id id; /* once it is taken */
};

/*
 * Open the directories.  This does not lock.
 *
 * Returns 0 or a negative errno if SOURCE cannot be found.  Directories that
 * the user may not open are left out.
 */
int mount_lock_open(const char *source, struct mount_lock *out);

/*
 * Lock for this process.  A file system without locks is left out.
 *
 *  dev, tag  of the mount; 0 if unknown
 *  writable  else only `session_fd` is locked
 */
void mount_lock_take(struct mount_lock *lock, dev_t dev, uint16_t tag,
                     bool writable);

/* Let others know that the mount is over and this process writes what is
   left. */
void mount_lock_finish(struct mount_lock *lock);

/* Tell who waits for the unlocking that something could not be saved. */
void mount_lock_fail(struct mount_lock *lock);

/* Unlock and close.  Accepts a zeroed struct. */
void mount_lock_close(struct mount_lock *lock);

/* Called for each lock, by its offset; or for a lock of many bytes, which no
   mount makes, and which may hide others. */
typedef void mount_lock_visit(void *arg, off_t off);

/*
 * Find the daemons that may write to what `lock` is for: of mounts of the same
 * SOURCE, of a directory above it, or of something below.
 */
void mount_lock_find(const struct mount_lock *lock, mount_lock_visit *visit,
                     void *arg);

#endif
