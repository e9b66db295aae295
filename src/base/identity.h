/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_IDENTITY_H
#define BASE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The identity under which a thread uses the file system.
 *
 * The kernel keeps user, groups and capabilities for each thread, and so does
 * this module.  The daemon acts as itself, except for those calls that a
 * program might make itself; these it makes with the program's user, groups,
 * capabilities and umask.  Permissions, access control lists and the like
 * therefore have the same effect as they have without the daemon.
 *
 * A process that has not called identity_setup() always acts as itself.
 */

/*
 * Prepare the process.  Call this before there are other threads.
 *
 *  others  users other than the daemon's own are served.  A daemon that runs as
 *          root then gives up the rights that it does not need, among them the
 *          use of space that is reserved for root, and of more space than a
 *          quota allows
 *
 * Returns 0 or a negative errno.
 */
int identity_setup(bool others);

/* Was this daemon started by root, and does it serve other users' programs? */
bool identity_serves_others(void);

/* Can each thread have a umask of its own? */
bool identity_has_umask(void);

/*
 * Name the program that this thread serves from now on.
 *
 *  pid   its process id; 0 if this PID namespace does not show it
 *  uid   user that it acts as
 *  gid   group that it acts as
 *  mask  its umask
 */
void identity_serve(pid_t pid, uid_t uid, gid_t gid, mode_t mask);

/* Serve no program for a while.  Returns what identity_serve_again() takes to
   end that. */
bool identity_serve_nobody(void);
void identity_serve_again(bool served);

/*
 * Act as the program that this thread serves, until identity_end().  Calls
 * nest: each identity_begin() needs one identity_end().
 *
 * After identity_begin_create() new files also get the mode that the program's
 * umask leaves.
 *
 * A program in another PID namespace is taken to have no supplementary groups.
 * If its rights cannot be read for lack of memory or descriptors, the thread
 * acts without any rights, because otherwise a user who causes the failure
 * could gain by it.
 *
 * identity_end() leaves errno as it is.
 */
void identity_begin(void);
void identity_begin_create(void);
void identity_end(void);

/*
 * Create files as their owner, until identity_end_owner(), with all rights of
 * the daemon.  The kernel then checks the owner's quota before the file exists;
 * a file that is given away afterwards may exceed the quota.  Do not combine
 * this with identity_begin().
 */
void identity_begin_owner(uid_t uid, gid_t gid);
void identity_end_owner(void);

/* Act as the owner of a file that exists, until identity_end_owner(), with all
   rights of the daemon.  Only its owner may lease a file. */
void identity_begin_lease(uid_t uid, gid_t gid);

/*
 * May the program that this thread serves use the file of a descriptor?  The
 * descriptor may have been opened with O_PATH.
 *
 *  how  a combination of R_OK, W_OK and X_OK; F_OK is always granted
 *
 * Returns 0, -EACCES, -EROFS or another negative errno.
 */
int identity_check(int fd, int how);

/*
 * May the program remove, rename or replace an entry of a directory?
 *
 *  dirfd  the directory
 *  owner  owner of the entry
 *
 * Returns 0, -EACCES or -EPERM, or another negative errno.
 */
int identity_check_delete(int dirfd, uid_t owner);

/* Is the program in a group?  If the daemon serves only its own user, this
   returns true without a check. */
bool identity_is_in_group(gid_t gid);

/* The user that will own the files that this thread creates. */
uid_t identity_owner(void);

/* Can files of this user be those of a daemon of the same user as this one,
   acting as itself? */
bool identity_is_self(uid_t uid);

#endif
