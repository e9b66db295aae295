/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_OPERATION_H
#define BASE_OPERATION_H

#include <stdint.h>

/*
 * Operations of a thread that consist of several steps, each of which may wait
 * for something far away.  Somebody waits for all of them together, so the
 * steps share one time-out, which counts from the start of the operation.
 */

/* Begin an operation of this thread, unless it is in one already.  Returns what
   operation_end() needs. */
int64_t operation_begin(void);

/* Take part in an operation that another thread has begun at this time, or in
   none if it is 0.  Returns as operation_begin(). */
int64_t operation_join(int64_t began_ns);

/* End the operation, or go on with the outer one. */
void operation_end(int64_t outer);

/* When the operation of this thread has begun, by clock_monotonic_ns(); 0: it
   is in none. */
int64_t operation_began_ns(void);

#endif
