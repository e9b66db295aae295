/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_ACCESS_H
#define FUSE_ACCESS_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <sys/stat.h>

/*
 * May the program that makes a request use a file?
 *
 *  how  R_OK, W_OK, X_OK
 *
 * The kernel has asked itself, but of attributes that may be a second old, and
 * a frame may have been replaced since.  Only a daemon that runs as root can
 * do more than that program's user.
 */
bool access_is_granted(fuse_req_t req, const struct stat *st, unsigned how);

#endif
