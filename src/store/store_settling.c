/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/store_settling.h"

#include <stdlib.h>

enum {
    PAUSE_NS = 1000 * 1000,
    TRIES = 20,
    RECENT_SECONDS = 2
};

struct store_settling store_settling_begin(struct store_version version)
{
    return (struct store_settling){
        .retry = { .tries_left = TRIES - 1,
                   .patience_ns = RETRY_FOREVER,
                   .pause_ns = PAUSE_NS,
                   .pause_max_ns = PAUSE_NS },
        .last = version,
    };
}

static bool is_recent(struct timespec mtime)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return llabs(now.tv_sec - mtime.tv_sec) <= RECENT_SECONDS;
}

bool store_settling_wait(struct store_settling *settling,
                         struct store_version version)
{
    bool changed =
        store_version_compare(settling->last, version) < VERSION_SAME_CONTENT;

    settling->last = version;
    return (changed || is_recent(version.mtime)) &&
           retry_wait(&settling->retry);
}
