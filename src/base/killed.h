/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_KILLED_H
#define BASE_KILLED_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Programs that a signal tells to end while a thread of this process serves
 * them.  A program ends only when it has its reply, so a thread that waits for
 * something far away, which may take long, asks from time to time.  Signals
 * that mean something else count for nothing, because programs do not expect
 * that these end a read of a file.
 */

/* Name the program that this thread serves; 0: none that can be seen. */
void killed_serve(pid_t pid);

/* Has it got a signal that tells it to end? */
bool killed_is_set(void);

/* Has a thread of another process got SIGKILL?  Then no thread of that process
   runs again, but some may still wait in the kernel.  False if the thread has
   ended. */
bool killed_for_good(pid_t pid, pid_t tid);

/* Initialize a condition for killed_wait(). */
void killed_cond_init(pthread_cond_t *cond);

/* Wait on a condition for a while, as pthread_cond_wait().  Returns 0, or
   -EINTR if the program is to end. */
int killed_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);

#endif
