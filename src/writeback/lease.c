/* SPDX-License-Identifier: BSD-3-Clause */
#include "writeback/lease.h"

#include <errno.h>
#include <limits.h>

#include "base/clock.h"
#include "base/retry.h"
#include "frame/frame_object.h"
#include "store/store_local.h"

static struct retry retry_for(unsigned timeout)
{
    return (struct retry){
        .tries_left = RETRY_ANY_NUMBER,
        .patience_ns = timeout * CLOCK_SECOND_NS,
        .pause_ns = 200 * 1000,
        .pause_max_ns = 10 * 1000 * 1000,
    };
}

static int refuse(struct store *store, const char *name, struct fault *fault)
{
    long pid = store_lease_holder(store, name);

    fault_set(fault, -EBUSY, 0,
              pid > 0 ? "the frame is being changed by process"
                      : "another process is changing the frame");
    if (pid > 0 && pid <= INT_MAX)
        fault->id = (int)pid;
    return -EBUSY;
}

static int end_try(int r, struct fault *fault)
{
    if (r == -ESTALE)
        return fault_set(fault, r, 0, "another program has replaced the frame");
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

int lease_take(struct store *store, unsigned timeout, bool (*give_up)(void),
               struct fault *fault)
{
    const char *name = frame_object_name(store);
    struct retry retry = retry_for(timeout);
    int r;

    while ((r = store_lease(store, name)) == -EAGAIN) {
        if (give_up && give_up())
            return fault_set(fault, -EINTR, 0, NULL);
        if (!retry_wait(&retry))
            return refuse(store, name, fault);
        name = frame_object_name(store);
    }
    return end_try(r, fault);
}

int lease_prepare(struct store *store, struct fault *fault)
{
    return end_try(store_prepare_lease(store, frame_object_name(store)), fault);
}

int lease_lock_in_use(struct store *store, unsigned timeout,
                      struct fault *fault)
{
    struct retry retry = retry_for(timeout);
    int r;

    while ((r = store_lock_in_use(store)) == -EAGAIN)
        if (!retry_wait(&retry))
            return refuse(store, frame_object_name(store), fault);
    return end_try(r, fault);
}
