/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_RETRY_H
#define BASE_RETRY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Tries of an operation that fails because another process is in the way.  The
   last field is zero at first. */
struct retry {
    unsigned tries_left;  /* after the first one; RETRY_ANY_NUMBER */
    int64_t patience_ns;  /* for which to go on after the first failure;
                             RETRY_FOREVER */
    int64_t pause_ns;     /* before the next try; it doubles each time, */
    int64_t pause_max_ns; /* up to this */
    int64_t until_ns;     /* when to give up, by the monotonic clock */
};

#define RETRY_ANY_NUMBER UINT_MAX
#define RETRY_FOREVER    INT64_MAX

/* Tries to read a file that another program may be writing. */
#define RETRY_SETTLE                               \
    ((struct retry){ .tries_left = 19,             \
                     .patience_ns = RETRY_FOREVER, \
                     .pause_ns = 1000000,          \
                     .pause_max_ns = 1000000 })

/* Pause after a try that failed.  Returns false, without a pause, if there have
   been enough tries. */
bool retry_wait(struct retry *retry);

/* Was a file changed so lately that another program may be half-way through a
   change? */
bool retry_is_recent(struct timespec mtime);

#endif
