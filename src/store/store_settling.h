/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_SETTLING_H
#define STORE_STORE_SETTLING_H

#include <stdbool.h>

#include "base/retry.h"
#include "store/store_version.h"

/*
 * Tries to read an object that another program may be writing.  A reader that
 * finds bytes which break the format may have seen half of a change, so it
 * tries again if the object has changed meanwhile, or shortly before.
 */
struct store_settling {
    struct retry retry;
    struct store_version last; /* the object before the last try */
};

/* Begin before the first try, with the version that the object has now. */
struct store_settling store_settling_begin(struct store_version version);

/*
 * Pause after a try that failed.
 *
 *  version  the version that the object has now
 *
 * Returns false, without a pause, if the object has not changed lately, or if
 * there have been enough tries.
 */
bool store_settling_wait(struct store_settling *settling,
                         struct store_version version);

#endif
