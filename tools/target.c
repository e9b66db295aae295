/* SPDX-License-Identifier: BSD-3-Clause */
#include "target.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/retry.h"
#include "confine.h"
#include "interrupt.h"
#include "remote.h"
#include "source.h"
#include "store/store_local.h"
#include "store/store_version.h"
#include "writeback/lease.h"

enum {
    PATIENCE = 10, /* seconds to wait for a process that has the lease */
};

/* Is there nothing that could be held?  The one who replaces it finds out what
   is there. */
static bool is_no_frame(int error)
{
    return error == -ENOENT || error == -ENOTDIR || error == -EINVAL ||
           error == -EACCES || error == -EPERM || error == -EROFS ||
           error == -ELOOP;
}

static int try_hold(const char *path, struct store **out, struct fault *fault)
{
    struct store *store;
    int r = confine_store_open(path, STORE_WRITE, &store);

    if (r < 0)
        return r;
    r = lease_take(store, PATIENCE, interrupt_seen, fault);
    if (r < 0)
        store_close(store);
    else
        *out = store;
    return r;
}

int target_hold(const char *path, enum output_force *force, struct store **out)
{
    struct retry retry = RETRY_REPLACED_IN_LINE;
    struct fault fault = FAULT_NONE;
    int r;

    *out = NULL;
    if (*force != OUTPUT_FORCE || strcmp(path, "-") == 0 || remote_is(path))
        return 0;
    do
        r = try_hold(path, out, &fault);
    while (r == -ESTALE && retry_wait(&retry));
    if (r == -ENOENT)
        *force = OUTPUT_ABSENT;
    if (r == 0 || is_no_frame(r))
        return 0;
    source_report(path, r, &fault);
    return r;
}

int target_check_source(struct store *target, const char *path,
                        struct store *source)
{
    struct store_stat held;
    struct store_stat opened;

    if (!target || store_self(target, &held) < 0 ||
        store_self(source, &opened) < 0 ||
        store_version_compare(held.version, opened.version) >=
            VERSION_SAME_OBJECT)
        return 0;
    log_error("%s: was replaced or renamed meanwhile; try again", path);
    return -ESTALE;
}
