/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_INTERRUPT_H
#define TOOLS_INTERRUPT_H

#include <stdbool.h>

/*
 * Catch SIGHUP, SIGINT, SIGPIPE and SIGTERM from here on.  They no longer end
 * the program; they are recorded, and interrupt a system call that waits, so
 * that the program can clean up unfinished work.  SIGALRM is caught too,
 * because it repeats the interruption.  Signals that are ignored stay ignored.
 */
void interrupt_catch(void);

/* Let these signals end the program again, as a process does that was started
   by one which catches them.  If one has been caught already, it ends the
   program now. */
void interrupt_uncatch(void);

/* Has a signal been caught?  The caller should then stop with -EINTR. */
bool interrupt_seen(void);

/* If a signal has been caught, end the program by that signal, because the
   sender expects it. */
void interrupt_die(void);

#endif
