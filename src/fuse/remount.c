/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/remount.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fuse/helper.h"
#include "fuse/mount_table.h"

/* mount(8) knows which flags belong to which kind of flags of the kernel.  With
   -i it calls no helper, such as this process may be. */
static int call_mount(char *path, const char *flags)
{
    char options[512];
    char *const args[] = { "mount", "-i", "-o", options, "--", path, NULL };
    int n = snprintf(options, sizeof(options), "remount%s", flags);

    if (n < 0 || (size_t)n >= sizeof(options))
        return -ENAMETOOLONG;
    return helper_run(args);
}

int remount_run(const char *mountpoint, const char *flags)
{
    char *path = realpath(mountpoint, NULL);
    struct mount_entry entry;
    int r = path ? mount_table_find(path, &entry) : -errno;

    if (path && r == -ENOENT)
        log_error("%s: framefs is not mounted there", mountpoint);
    else if (r < 0)
        log_error("%s: %s", mountpoint, strerror(-r));
    else
        r = call_mount(path, flags);
    free(path);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
