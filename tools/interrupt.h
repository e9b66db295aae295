/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_INTERRUPT_H
#define TOOLS_INTERRUPT_H

#include <stdbool.h>

/*
 * From here on SIGHUP, SIGINT, SIGPIPE and SIGTERM do not end the program: they
 * are noted, and interrupt a system call that waits.  So what is half done can be
 * cleared away.  Signals that are ignored stay so.
 */
void interrupt_catch(void);

/* Has one come?  Then the work is to be given up, with -EINTR. */
bool interrupt_seen(void);

/* If one has come, end the program by it, as whoever sent it expects. */
void interrupt_die(void);

#endif
