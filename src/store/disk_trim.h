/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_DISK_TRIM_H
#define STORE_DISK_TRIM_H

#include <stdint.h>

/*
 * Remove the files of a directory that were used longest ago, if they have too
 * many bytes.  An eighth is free then, so that it takes a while until this is
 * needed again.
 *
 *  fd     of the directory, which is closed
 *  limit  bytes that they may have; 0: remove an eighth in any case
 *
 * What writers that were killed have left is removed, too.  Errors are ignored.
 */
void disk_trim(int fd, uint64_t limit);

/* Names of files that are being written begin with this. */
#define DISK_TEMPORARY "tmp-"

#endif
