/* SPDX-License-Identifier: BSD-3-Clause */
#include <unistd.h>

#include "frame/frame_private.h"
#include "store/store_local.h"

/* A program that changes a sparse frame creates files in its directory, so it
   also needs access to the directory. */
int frame_check_access(const struct frame *frame, int how)
{
    int r = store_object_check(frame->object, how);

    if (r == 0 && frame->info.sparse)
        r = store_check(frame->store, X_OK | (how & W_OK));
    return r;
}

bool frame_has_successor(const struct frame *frame,
                         const struct store_version *version)
{
    return !frame->info.sparse &&
           store_object_has_successor(frame->object, version);
}

bool frame_shares_access_list(const struct frame *a, const struct frame *b)
{
    return store_object_access_list(a->object) ==
           store_object_access_list(b->object);
}

int frame_identify(const struct frame *frame, struct store_stat *out)
{
    if (frame->info.sparse)
        return store_self(frame->store, out);
    *out = frame->stat;
    return 0;
}
