/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "fuse/options.h"

static int resolve_cacert(struct options *options)
{
    char *cacert = options->file.net.cacert;
    char *path = cacert[0] != '\0' ? realpath(cacert, NULL) : NULL;
    int r = 0;

    if (cacert[0] == '\0')
        return 0;
    if (!path)
        r = -errno;
    else if (strlen(path) >= NET_CACERT_MAX)
        r = -ENAMETOOLONG;
    else
        strcpy(cacert, path);
    if (r < 0)
        log_error("cacert=%s: %s", cacert, strerror(-r));
    free(path);
    return r < 0 ? -EINVAL : 0;
}

/* Do the same with the directory, which may not exist yet.  The path of a
   symbolic link stays, because such a directory is not used. */
static int resolve_netcache(struct options *options)
{
    char *dir = options->file.net.netcache;
    char *cwd = dir[0] != '\0' && dir[0] != '/' ? getcwd(NULL, 0) : NULL;
    char path[NET_CACHE_MAX];
    int n = 0;

    if (dir[0] == '\0' || dir[0] == '/')
        return 0;
    if (cwd)
        n = snprintf(path, sizeof(path), "%s/%s", cwd, dir);
    free(cwd);
    if (n <= 0 || (size_t)n >= sizeof(path)) {
        log_error("netcache=%s: %s", dir,
                  strerror(n <= 0 ? errno : ENAMETOOLONG));
        return -EINVAL;
    }
    strcpy(dir, path);
    return 0;
}

int options_resolve_paths(struct options *options)
{
    int r = resolve_cacert(options);

    return r < 0 ? r : resolve_netcache(options);
}
