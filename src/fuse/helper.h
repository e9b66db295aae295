/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_HELPER_H
#define FUSE_HELPER_H

/*
 * Run a program of the system, found by PATH, and wait for it.
 *
 *  args  its name and arguments, up to a NULL
 *
 * Returns 0; -EIO if the program failed, which has then reported the error
 * itself; or another negative errno, which was logged.
 */
int helper_run(char *const args[]);

#endif
