/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/access.h"

#include <unistd.h>

enum {
    MAX_GROUPS = 1024
};

static bool is_in_group(fuse_req_t req, gid_t gid)
{
    gid_t groups[MAX_GROUPS];
    int ngroups;

    if (fuse_req_ctx(req)->gid == gid)
        return true;
    ngroups = fuse_req_getgroups(req, MAX_GROUPS, groups);
    for (int i = 0; i < ngroups && i < MAX_GROUPS; i++) {
        if (groups[i] == gid)
            return true;
    }
    return false;
}

bool access_is_granted(fuse_req_t req, const struct stat *st, unsigned how)
{
    uid_t uid = fuse_req_ctx(req)->uid;
    unsigned granted = st->st_mode;

    if (uid == 0 || geteuid() != 0)
        return true;
    if (uid == st->st_uid)
        granted >>= 6;
    else if (is_in_group(req, st->st_gid))
        granted >>= 3;
    return (how & ~granted) == 0;
}
