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

bool access_is_granted(fuse_req_t req, const struct stat *st)
{
    uid_t uid = fuse_req_ctx(req)->uid;

    if (uid == 0 || geteuid() != 0)
        return true;
    if (uid == st->st_uid)
        return st->st_mode & S_IRUSR;
    if (is_in_group(req, st->st_gid))
        return st->st_mode & S_IRGRP;
    return st->st_mode & S_IROTH;
}
