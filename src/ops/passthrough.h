/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_PASSTHROUGH_H
#define OPS_PASSTHROUGH_H

#include <fuse_lowlevel.h>

#include "open/handle.h"

/*
 * Files that are not frames, read by the kernel itself.
 *
 * In a read-only mount, the daemon can pass such a file to the kernel when a
 * program opens it.  The kernel then reads and maps the file without asking the
 * daemon, from the pages of the underlying file system.  This needs Linux 6.9,
 * libfuse 3.17 and CAP_SYS_ADMIN; without any of these the kernel asks the
 * daemon for the bytes.
 *
 * The kernel does not allow this in a mount with the writeback cache, which
 * most writable mounts use.  In the other writable mounts the daemon must be
 * able to see that a file changes.
 */

/*
 * Ask for passthrough during INIT.
 *
 *  conn  says what the kernel supports, and receives our choice
 */
void passthrough_init(struct fs *fs, struct fuse_conn_info *conn);

/*
 * Pass the file of a new handle to the kernel, if the kernel may have it.  All
 * handles of a file that are open at a time are treated alike, because the
 * kernel refuses to mix.
 *
 *  fi  as ops_open() filled it in; receives the kernel's id for the file
 */
void passthrough_open(fuse_req_t req, struct handle *handle,
                      struct fuse_file_info *fi);

/* Called when the handle is closed: the last one takes the file back from the
   kernel. */
void passthrough_close(fuse_req_t req, const struct handle *handle);

#endif
