/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_RETRY_H
#define BASE_RETRY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* Tries of an operation that fails because another process or thread is in the
   way.  The last field is zero at first. */
struct retry {
    unsigned tries_left;  /* after the first one; RETRY_ANY_NUMBER */
    int64_t patience_ns;  /* for which to go on after the first failure;
                             RETRY_FOREVER */
    int64_t pause_ns;     /* before the next try; 0: only let other threads run.
                             It doubles each time, */
    int64_t pause_max_ns; /* up to this */
    int64_t until_ns;     /* when to give up, by the monotonic clock */
};

#define RETRY_ANY_NUMBER UINT_MAX
#define RETRY_FOREVER    INT64_MAX

/* Tries of an operation that fails with -ESTALE because another program has
   replaced what it works on.  The next try finds the newest, so there is no
   pause. */
#define RETRY_REPLACED \
    ((struct retry){ .tries_left = 99, .patience_ns = RETRY_FOREVER })

/* The same for an object on a server, which takes its time for each try. */
#define RETRY_REPLACED_REMOTE \
    ((struct retry){ .tries_left = 5, .patience_ns = RETRY_FOREVER })

/* The same, if each try waits in line behind those other programs. */
#define RETRY_REPLACED_IN_LINE                       \
    ((struct retry){ .tries_left = RETRY_ANY_NUMBER, \
                     .patience_ns = RETRY_FOREVER })

/* Pause after a try that failed.  Returns false, without a pause, if there have
   been enough tries. */
bool retry_wait(struct retry *retry);

#endif
