/* SPDX-License-Identifier: BSD-3-Clause */
#include "change.h"

#include "edit.h"
#include "mounted.h"
#include "remote.h"

int change_mounted(const char *path,
                   int (*change)(struct mounted *mounted, const void *arg),
                   const void *arg)
{
    struct mounted mounted;
    int r = remote_is(path) ? 0 : mounted_open(path, &mounted);

    if (r < 0)
        return r;
    if (r == 0)
        return 1;
    r = change(&mounted, arg);
    mounted_close(&mounted);
    return r;
}

int change_chunks(const char *path, const struct change *how, const void *arg)
{
    struct edit edit;
    int r = change_mounted(path, how->mounted, arg);

    if (r <= 0)
        return r;
    r = how->open(path, &edit);
    if (r < 0)
        return r;
    return edit_end(&edit, how->edit(&edit, arg));
}
