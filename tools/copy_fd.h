/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_COPY_FD_H
#define TOOLS_COPY_FD_H

/* Copy all bytes that are left in a file or pipe to another.  Returns 0, -EINTR
   if interrupt_seen(), or another negative errno. */
int copy_fd(int from, int to);

#endif
