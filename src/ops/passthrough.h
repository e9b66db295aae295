/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_PASSTHROUGH_H
#define OPS_PASSTHROUGH_H

#include <fuse_lowlevel.h>

#include "open/handle.h"

/*
 * Files that are no frames, read by the kernel itself.
 *
 * In a mount that is read-only the kernel can be given such a file when it is
 * opened, and then reads and maps it without asking us, out of the pages that it
 * has of it anyway.  It takes Linux 6.9, libfuse 3.17, and the right to
 * administer the system; without any of these we are asked for the bytes.
 *
 * The kernel refuses this to a mount for which it keeps what is written, as it
 * does for most that are writable; and in the others a file must be seen to
 * change.
 */

/*
 * Ask for it while the connection is set up.
 *
 *  conn  says what the kernel can do, and receives what we want
 */
void passthrough_init(struct fs *fs, struct fuse_conn_info *conn);

/*
 * Give the kernel the file that a handle was just opened on, if it may have it.
 * All that are open of a file at a time are treated alike, for the kernel
 * refuses to mix.
 *
 *  fi  as ops_open() filled it in; receives what the kernel is to know
 */
void passthrough_open(fuse_req_t req, struct handle *handle,
                      struct fuse_file_info *fi);

/* The handle goes: with the last one, take the file back from the kernel. */
void passthrough_close(fuse_req_t req, const struct handle *handle);

#endif
