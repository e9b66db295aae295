/* SPDX-License-Identifier: BSD-3-Clause */
#include "lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/retry.h"
#include "interrupt.h"
#include "store/store_local.h"
#include "writeback/lock_file.h"

static const char variable[] = "BLOSC_LOCKING";

bool lock_is_wanted(void)
{
    const char *value = getenv(variable);

    return value && value[0] != '\0' && strcmp(value, "0") != 0;
}

void lock_want(void)
{
    setenv(variable, "1", 1);
}

static int take_lock_file(struct store_object *lock_file, bool exclusive)
{
    struct retry retry = {
        .tries_left = RETRY_ANY_NUMBER,
        .patience_ns = RETRY_FOREVER,
        .pause_ns = 5 * 1000 * 1000,
        .pause_max_ns = 5 * 1000 * 1000,
    };
    uint64_t count;
    int r;

    while ((r = store_object_lock(lock_file, exclusive ? STORE_EXCLUSIVE
                                                       : STORE_SHARED)) ==
           -EAGAIN) {
        if (interrupt_seen())
            return -EINTR;
        retry_wait(&retry);
    }
    if (r < 0 || !exclusive)
        return r;
    r = lock_file_read_count(lock_file, &count);
    return r < 0 ? r : lock_file_write_count(lock_file, count + 1);
}

int lock_store(struct store *store, bool exclusive)
{
    struct store_object *lock_file = store_lock_file(store);
    int r;

    if (!lock_file)
        return 0;
    r = take_lock_file(lock_file, exclusive);
    store_object_close(lock_file);
    return r;
}
