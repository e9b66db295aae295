/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/retry.h"

#include <sched.h>
#include <time.h>

#include "base/clock.h"

static void pause_for(int64_t ns)
{
    const struct timespec pause = { .tv_sec = ns / CLOCK_SECOND_NS,
                                    .tv_nsec = ns % CLOCK_SECOND_NS };

    if (ns == 0)
        sched_yield();
    else
        nanosleep(&pause, NULL);
}

bool retry_wait(struct retry *retry)
{
    int64_t now = clock_monotonic_ns();

    if (retry->until_ns == 0)
        retry->until_ns = retry->patience_ns < INT64_MAX - now
                              ? now + retry->patience_ns
                              : INT64_MAX;
    if (retry->tries_left == 0 || now >= retry->until_ns)
        return false;
    if (retry->tries_left != RETRY_ANY_NUMBER)
        retry->tries_left--;
    pause_for(retry->pause_ns);
    retry->pause_ns *= 2;
    if (retry->pause_ns > retry->pause_max_ns)
        retry->pause_ns = retry->pause_max_ns;
    return true;
}
