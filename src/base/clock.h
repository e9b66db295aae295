/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds in a second. */
#define CLOCK_SECOND_NS INT64_C(1000000000)

/* Return the time in nanoseconds since some fixed moment.  Nobody can set this
   clock, so it measures how long something takes. */
static inline int64_t clock_monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * CLOCK_SECOND_NS + now.tv_nsec;
}

#endif
