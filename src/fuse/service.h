/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_SERVICE_H
#define FUSE_SERVICE_H

/*
 * Tell the service manager, which waits at the socket that the environment
 * variable NOTIFY_SOCKET names, about the state of this process, as
 * sd_notify(3) does.  Without such a socket, this does nothing.
 *
 *  state  a line such as "READY=1"
 */
void service_tell(const char *state);

#endif
