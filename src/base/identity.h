/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_IDENTITY_H
#define BASE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * On whose behalf a thread acts on the file system.
 *
 * The kernel keeps that for each thread, and so does this module.  A daemon acts as
 * itself, but for the calls that a program might make itself, which it makes as
 * that program: with its user, groups, capabilities and umask.  So permissions,
 * access control lists and the like mean what they mean without the daemon.
 *
 * A process that has not called identity_setup() always acts as itself.
 */

/*
 * Prepare the process, before it makes threads.
 *
 *  others  users other than the daemon's are served: if it is root's, it gives up
 *          the rights that it does not need, among them that to space which is
 *          reserved for root, and to more than a quota allows
 *
 * Returns 0 or a negative errno.
 */
int identity_setup(bool others);

/* Are programs of other users served, with rights of root's? */
bool identity_serves_others(void);

/* Can each thread have a umask of its own? */
bool identity_has_umask(void);

/* For whom this thread acts from now on: a process, which may be 0 if it cannot be
   seen from here, with the user and group that it acts as; and its umask. */
void identity_serve(pid_t pid, uid_t uid, gid_t gid, mode_t mask);

/*
 * Act as the program that is served; until identity_end(), as often as this was
 * called.  With identity_begin_create() new files get the mode that its umask
 * leaves.  A program that cannot be seen is taken to be in no group but its own.  If
 * its rights cannot be read for want of memory or descriptors, the thread acts
 * without any, so a user who causes that gains nothing by it.
 *
 * identity_end() leaves errno as it is.
 */
void identity_begin(void);
void identity_begin_create(void);
void identity_end(void);

/*
 * Make files as their owner until identity_end_owner(), with all rights of the
 * daemon.  So his quota is asked before there is a file: a file that is given away
 * may be over it.  Not to be mixed with identity_begin().
 */
void identity_begin_owner(uid_t uid, gid_t gid);
void identity_end_owner(void);

/*
 * May the program that is served use what a descriptor stands for, which may have
 * been opened with O_PATH?
 *
 *  how  of R_OK, W_OK and X_OK; F_OK is always granted
 *
 * Returns 0, -EACCES, -EROFS or another negative errno.
 */
int identity_check(int fd, int how);

/*
 * May it remove or rename an entry of a directory, or replace it?
 *
 *  dirfd  the directory
 *  owner  of the entry
 *
 * Returns 0, -EACCES or -EPERM, or another negative errno.
 */
int identity_check_delete(int dirfd, uid_t owner);

/* Is it in a group?  The daemon takes it for granted of those whom it serves if they
   are of its own user. */
bool identity_is_in_group(gid_t gid);

/* The user to whom files belong that this thread makes. */
uid_t identity_owner(void);

#endif
