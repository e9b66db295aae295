/* SPDX-License-Identifier: BSD-3-Clause */
#include "lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/retry.h"
#include "interrupt.h"
#include "store/store_local.h"
#include "writeback/sidecar.h"

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

static int lock_sidecar(struct store_object *sidecar, bool exclusive)
{
    struct retry retry = {
        .tries_left = RETRY_ANY_NUMBER,
        .patience_ns = RETRY_FOREVER,
        .pause_ns = 5 * 1000 * 1000,
        .pause_max_ns = 5 * 1000 * 1000,
    };
    int r;

    while ((r = store_object_lock(sidecar, exclusive ? STORE_EXCLUSIVE
                                                     : STORE_SHARED)) ==
           -EAGAIN) {
        if (interrupt_seen())
            return -EINTR;
        retry_wait(&retry);
    }
    if (r == 0 && exclusive)
        r = sidecar_write_count(sidecar, sidecar_read_count(sidecar) + 1);
    return r;
}

int lock_store(struct store *store, bool exclusive)
{
    struct store_object *sidecar = store_sidecar(store);
    int r;

    if (!sidecar)
        return 0;
    r = lock_sidecar(sidecar, exclusive);
    store_object_close(sidecar);
    return r;
}
